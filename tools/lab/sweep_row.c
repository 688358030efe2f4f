/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_row.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_matrix.h"

/* Longest name, longest value. */
#define FIELD_MAX 120

/* Cut off the field that a text begins with. */
static char *
next_field(char **text)
{
	char *field = *text, *tab;

	if (!field)
		return NULL;
	tab = strchr(field, '\t');
	if (tab)
		*tab = '\0';
	*text = tab ? tab + 1 : NULL;
	return field;
}

/* Of printable characters, and not too long. */
static bool
is_text(const char *text, size_t max)
{
	size_t len = 0;

	for (; text[len]; len++) {
		if (len == max || iscntrl((unsigned char)text[len]))
			return false;
	}
	return true;
}

static bool
parse_cell(const char *text, uint32_t *cell)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 7 || text[len] != '\0')
		return false;
	*cell = (uint32_t)strtoul(text, NULL, 10);
	return *cell < MATRIX_CELLS_MAX;
}

static bool
is_status(const char *text)
{
	return strcmp(text, ROW_OK) == 0 ||
	       (strncmp(text, "failed", 6) == 0 && is_text(text, ROW_STATUS_MAX));
}

bool
row_parse(char *text, struct sweep_row *row)
{
	const char *cell = next_field(&text);
	const char *status = next_field(&text);

	if (!status || !parse_cell(cell, &row->cell) || !is_status(status))
		return false;
	row->status = status;
	for (row->nb_metrics = 0; text; row->nb_metrics++) {
		struct row_metric *m = &row->metrics[row->nb_metrics];

		if (row->nb_metrics == ROW_METRICS_MAX)
			return false;
		m->name = next_field(&text);
		m->value = next_field(&text);
		if (!m->value || *m->name == '\0' || !is_text(m->name, FIELD_MAX) ||
		    !is_text(m->value, FIELD_MAX))
			return false;
	}
	return row_is_ok(row) || row->nb_metrics == 0;
}

/* Whether row_parse takes it; it needs a copy that it may cut. */
static bool
is_row(const char *text)
{
	struct sweep_row *row = malloc(sizeof(*row));
	char *copy = strdup(text);
	bool ok = row && copy && row_parse(copy, row);

	free(copy);
	free(row);
	return ok;
}

char *
row_of_results(uint32_t cell, char *results, size_t len)
{
	char *text;

	if (memchr(results, '\0', len) || (len > 0 && results[len - 1] != '\n'))
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (results[i] == '\n')
			results[i] = '\t';
	}
	if (len > 0)
		len--; /* the last newline */
	if (asprintf(&text, "%" PRIu32 "\t" ROW_OK "%s%.*s", cell, len ? "\t" : "", (int)len,
	             results) < 0)
		return NULL;
	if (strlen(text) <= ROW_TEXT_MAX && is_row(text))
		return text;
	free(text);
	return NULL;
}

char *
row_of_failure(uint32_t cell, const char *why)
{
	int max = ROW_STATUS_MAX - (int)strlen("failed: ");
	char *text;

	if (asprintf(&text, "%" PRIu32 "\tfailed: %.*s", cell, max, why) < 0)
		return NULL;
	for (char *p = strchr(text, '\t') + 1; *p; p++) {
		if (iscntrl((unsigned char)*p))
			*p = ' ';
	}
	return text;
}
