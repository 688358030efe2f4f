/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv.h"

/* Metrics that have a column. */
struct columns {
	char **names;
	uint32_t nb, room;
};

struct table {
	struct journal *journals;
	uint32_t nb_journals;
	struct columns columns;
	const char **fields; /* [columns.nb] of one line */
};

/* Who has a cell. */
static struct journal *
owner(const struct table *t, uint32_t cell)
{
	for (uint32_t i = 0; i < t->nb_journals; i++) {
		if (journal_is_done(&t->journals[i], cell))
			return &t->journals[i];
	}
	return NULL;
}

/* Its index, or nb. Rows are mostly alike, so it is mostly where the last one was, and one on. */
static uint32_t
column_find(const struct columns *c, const struct row_metric *m, uint32_t guess)
{
	if (guess < c->nb && strcmp(c->names[guess], m->name) == 0)
		return guess;
	for (uint32_t i = 0; i < c->nb; i++) {
		if (strcmp(c->names[i], m->name) == 0)
			return i;
	}
	return c->nb;
}

static int
column_add(struct columns *c, const struct row_metric *m)
{
	char *name;

	if (c->nb == c->room) {
		uint32_t room = c->room ? 2 * c->room : 64;
		char **names = realloc(c->names, room * sizeof(*names));

		if (!names)
			return -ENOMEM;
		c->names = names;
		c->room = room;
	}
	name = strdup(m->name);
	if (!name)
		return -ENOMEM;
	c->names[c->nb++] = name;
	return 0;
}

/* The seed, say, has its column already if it varies. */
static bool
is_parameter(const struct matrix *m, const char *name)
{
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		if (strcmp(m->axes[i].key, name) == 0)
			return true;
	}
	return false;
}

static int
collect_columns(struct table *t)
{
	for (uint32_t cell = 0; cell < t->journals[0].nb_cells; cell++) {
		struct journal *j = owner(t, cell);
		const struct sweep_row *row = j ? journal_row(j, cell) : NULL;
		uint32_t at = 0;

		if (j && !row)
			return -EIO;
		for (uint32_t i = 0; row && i < row->nb_metrics; i++) {
			if (is_parameter(&j->matrix, row->metrics[i].name))
				continue;
			at = column_find(&t->columns, &row->metrics[i], at);
			if (at == t->columns.nb && column_add(&t->columns, &row->metrics[i]) < 0)
				return -ENOMEM;
			at++;
		}
	}
	return 0;
}

static void
write_head(const struct table *t, FILE *out)
{
	const struct matrix *m = &t->journals[0].matrix;

	fputs("cell", out);
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		putc(',', out);
		csv_field(out, m->axes[i].key);
	}
	fputs(",status", out);
	for (uint32_t i = 0; i < t->columns.nb; i++) {
		putc(',', out);
		csv_field(out, t->columns.names[i]);
	}
	putc('\n', out);
}

static void
write_row(struct table *t, const struct sweep_row *row, FILE *out)
{
	const struct matrix *m = &t->journals[0].matrix;
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->columns.nb; i++)
		t->fields[i] = "";
	for (uint32_t i = 0; i < row->nb_metrics; i++) {
		at = column_find(&t->columns, &row->metrics[i], at);
		if (at < t->columns.nb)
			t->fields[at++] = row->metrics[i].value;
	}
	fprintf(out, "%" PRIu32, row->cell);
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		putc(',', out);
		csv_field(out, matrix_value(m, i, row->cell));
	}
	putc(',', out);
	csv_field(out, row->status);
	for (uint32_t i = 0; i < t->columns.nb; i++) {
		putc(',', out);
		csv_field(out, t->fields[i]);
	}
	putc('\n', out);
}

static int
write_all(struct table *t, FILE *out)
{
	int err = collect_columns(t);

	if (err)
		return err;
	t->fields = calloc(t->columns.nb + 1, sizeof(*t->fields));
	if (!t->fields)
		return -ENOMEM;
	write_head(t, out);
	for (uint32_t cell = 0; cell < t->journals[0].nb_cells; cell++) {
		struct journal *j = owner(t, cell);
		const struct sweep_row *row = j ? journal_row(j, cell) : NULL;

		if (j && !row)
			return -EIO;
		if (row)
			write_row(t, row, out);
	}
	return 0;
}

static void
table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->columns.nb; i++)
		free(t->columns.names[i]);
	free(t->columns.names);
	free(t->fields);
}

int
sweep_table_write(const char *path, struct journal *journals, uint32_t nb_journals, char *why,
                  size_t size)
{
	struct table t = {.journals = journals, .nb_journals = nb_journals};
	char *scratch;
	FILE *out;
	int err;

	if (asprintf(&scratch, "%s.new", path) < 0) {
		snprintf(why, size, "no memory");
		return -1;
	}
	out = fopen(scratch, "we");
	err = out ? write_all(&t, out) : -errno;
	if (out && !err && (fflush(out) != 0 || fsync(fileno(out)) < 0))
		err = -errno;
	if (out && fclose(out) != 0 && !err)
		err = -errno;
	if (!err && rename(scratch, path) < 0)
		err = -errno;
	if (err) {
		snprintf(why, size, "%s: %s", path,
		         err == -EIO ? "the journal cannot be read back" : strerror(-err));
		if (out)
			unlink(scratch);
	}
	free(scratch);
	table_free(&t);
	return err ? -1 : 0;
}

struct sweep_gaps
sweep_table_gaps(const struct journal *journals, uint32_t nb_journals)
{
	struct sweep_gaps gaps = {0};

	for (uint32_t cell = 0; cell < journals[0].nb_cells; cell++) {
		uint32_t nb = 0;

		for (uint32_t i = 0; i < nb_journals; i++)
			nb += journal_is_done(&journals[i], cell);
		if (nb == 0 && gaps.nb_missing++ == 0)
			gaps.first_missing = cell;
		if (nb > 1 && gaps.nb_double++ == 0)
			gaps.first_double = cell;
	}
	return gaps;
}
