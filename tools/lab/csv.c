/* SPDX-License-Identifier: BSD-3-Clause */
#include "csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "outfile.h"
#include "sheets.h"

void
csv_field(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', f);
		putc(*text, f);
	}
	putc('"', f);
}

void
csv_value(FILE *f, const struct value *value)
{
	char text[VALUE_TEXT_MAX];

	csv_field(f, value_text(value, text));
}

static int
write_summary(const struct summary *summary, const char *folder)
{
	struct outfile out;
	int err = outfile_open(&out, folder, "summary.csv");

	if (err)
		return err;
	fputs("metric,unit,value\n", out.f);
	for (uint32_t i = 0; i < summary->nb; i++) {
		const struct metric *m = &summary->metrics[i];

		csv_field(out.f, m->name);
		fprintf(out.f, ",%s,", m->unit);
		csv_value(out.f, &m->value);
		putc('\n', out.f);
	}
	return outfile_close(&out);
}

static void
write_names(FILE *f, const struct row *row)
{
	for (uint32_t i = 0; i < row->nb; i++)
		fprintf(f, "%s%s", i == 0 ? "" : ",", row->cells[i].name);
	putc('\n', f);
}

static void
write_row(FILE *f, const struct row *row)
{
	for (uint32_t i = 0; i < row->nb; i++) {
		if (i > 0)
			putc(',', f);
		csv_value(f, &row->cells[i].value);
	}
	putc('\n', f);
}

/* What is left of another run would look as if it were of this one. */
static int
remove_old(const char *folder, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	log_error("cannot remove %s, which is of another run: %s", path, strerror(errno));
	return -errno;
}

static int
write_sheet(const struct result *r, const struct sheet *sheet, struct row *row, const char *folder)
{
	const uint64_t nb = sheet->nb_rows(r);
	struct outfile out;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%s.csv", sheet->name);
	if (nb == 0)
		return remove_old(folder, name);
	err = outfile_open(&out, folder, name);
	if (err)
		return err;
	for (uint64_t i = 0; i < nb && !ferror(out.f); i++) {
		row->nb = 0;
		sheet->fill(r, i, row);
		if (i == 0)
			write_names(out.f, row);
		write_row(out.f, row);
	}
	return outfile_close(&out);
}

int
csv_write(const struct result *result, const struct summary *summary, const char *folder)
{
	struct row *row = malloc(sizeof(*row));
	int err;

	if (!row) {
		log_error("cannot write into %s: out of memory", folder);
		return -ENOMEM;
	}
	err = outfile_folder(folder);
	if (!err)
		err = write_summary(summary, folder);
	for (const struct sheet *s = sheets; !err && s->name; s++)
		err = write_sheet(result, s, row, folder);
	free(row);
	return err;
}
