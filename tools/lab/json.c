/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "outfile.h"
#include "sheets.h"

/* In the order in which members were added; real numbers as in CSV. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(VALUE_DIGITS))

/* Names come out of files: what is not UTF-8 in them can't be JSON. */
static json_t *
word_json(const char *word)
{
	json_t *j = json_string(word);
	char *copy;

	if (j)
		return j;
	copy = strdup(word);
	for (char *c = copy; copy && *c; c++)
		*c = *c & 0x80 ? '?' : *c;
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j;
}

static json_t *
value_json(const struct value *v)
{
	switch (v->kind) {
	case VALUE_NONE:
		return json_null();
	case VALUE_COUNT:
		return json_integer((json_int_t)v->count);
	case VALUE_REAL:
		return json_real(v->real);
	case VALUE_WORD:
		return word_json(v->word);
	}
	assert(!"a kind of value");
	return NULL;
}

/* Takes the value. Without memory nothing is written and the file is known to be bad. */
static int
dump(FILE *f, json_t *j)
{
	int err = j && json_dumpf(j, f, DUMP_FLAGS) == 0 ? 0 : -ENOMEM;

	json_decref(j);
	/* A full disk is told at the close. */
	return ferror(f) ? 0 : err;
}

static json_t *
summary_json(const struct summary *summary)
{
	json_t *j = json_object();

	for (uint32_t i = 0; j && i < summary->nb; i++) {
		json_t *name = word_json(summary->metrics[i].name);

		if (!name || json_object_set_new(j, json_string_value(name),
		                                 value_json(&summary->metrics[i].value))) {
			json_decref(j);
			j = NULL;
		}
		json_decref(name);
	}
	return j;
}

static json_t *
row_json(const struct row *row)
{
	json_t *j = json_object();

	for (uint32_t i = 0; j && i < row->nb; i++) {
		if (json_object_set_new(j, row->cells[i].name, value_json(&row->cells[i].value))) {
			json_decref(j);
			j = NULL;
		}
	}
	return j;
}

/* Row by row: a run may have millions of flows. */
static int
write_sheet(FILE *f, const struct result *r, const struct sheet *sheet, struct row *row)
{
	const uint64_t nb = sheet->nb_rows(r);
	int err = 0;

	fprintf(f, ",\n\"%s\":[", sheet->name);
	for (uint64_t i = 0; !err && i < nb && !ferror(f); i++) {
		row->nb = 0;
		sheet->fill(r, i, row);
		fputs(i == 0 ? "\n" : ",\n", f);
		err = dump(f, row_json(row));
	}
	fputs("]", f);
	return err;
}

int
json_write(const struct result *result, const struct summary *summary, const char *path)
{
	struct row *row = malloc(sizeof(*row));
	struct outfile out;
	int err = row ? outfile_open(&out, NULL, path) : -ENOMEM;

	if (!err) {
		int at_close;

		fputs("{\"scenario\":", out.f);
		err = dump(out.f, word_json(summary_scenario(result)));
		fputs(",\n\"summary\":", out.f);
		if (!err)
			err = dump(out.f, summary_json(summary));
		for (const struct sheet *s = sheets; !err && s->name; s++)
			err = write_sheet(out.f, result, s, row);
		fputs("}\n", out.f);
		at_close = outfile_close(&out);
		err = err ? err : at_close;
	}
	if (err == -ENOMEM)
		log_error("cannot write %s: out of memory", path);
	free(row);
	return err;
}
