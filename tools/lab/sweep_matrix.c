/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_matrix.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole decimal number of few enough digits, up to the end or to a "..". */
static bool
parse_number(const char **text, uint64_t *value)
{
	const char *p = *text;

	for (*value = 0; isdigit((unsigned char)*p) && p - *text < 18; p++)
		*value = *value * 10 + (uint64_t)(*p - '0');
	if (p == *text)
		return false;
	*text = p;
	return true;
}

static bool
parse_range(const char *item, uint64_t *first, uint64_t *last)
{
	if (!parse_number(&item, first) || strncmp(item, "..", 2) != 0)
		return false;
	item += 2;
	return parse_number(&item, last) && *item == '\0';
}

/* What would break a line of the journal apart. */
static bool
is_plain(const char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			return false;
	}
	return true;
}

uint32_t
matrix_nb_cells(const struct matrix *m)
{
	uint32_t nb = 1;

	for (uint32_t i = 0; i < m->nb_axes; i++)
		nb *= m->axes[i].nb_values;
	return nb;
}

int
matrix_add_axis(struct matrix *m, const char *key, char *why, size_t size)
{
	if (*key == '\0' || strlen(key) > MATRIX_TEXT_MAX || !is_plain(key)) {
		snprintf(why, size, "a parameter is KEY=VALUE,VALUE...");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		if (strcmp(m->axes[i].key, key) == 0) {
			snprintf(why, size, "%s is there twice", key);
			return -EINVAL;
		}
	}
	if (m->nb_axes == MATRIX_AXES_MAX) {
		snprintf(why, size, "more than %d parameters", MATRIX_AXES_MAX);
		return -EINVAL;
	}
	m->axes[m->nb_axes] = (struct axis){.key = strdup(key)};
	if (!m->axes[m->nb_axes].key)
		return -ENOMEM;
	m->nb_axes++;
	return 0;
}

/* Room for one value more, in steps that double. */
static int
grow(struct axis *a)
{
	char **values;

	if (a->nb_values & (a->nb_values - 1))
		return 0;
	values =
		realloc(a->values, (a->nb_values ? 2 * (size_t)a->nb_values : 1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	a->values = values;
	return 0;
}

int
matrix_add_value(struct matrix *m, const char *value, char *why, size_t size)
{
	struct axis *a = &m->axes[m->nb_axes - 1];
	uint64_t nb = 1;

	assert(m->nb_axes > 0);
	if (strlen(value) > MATRIX_TEXT_MAX || !is_plain(value)) {
		snprintf(why, size, "a value of %s is longer than %d letters, or not of letters",
		         a->key, MATRIX_TEXT_MAX);
		return -EINVAL;
	}
	for (uint32_t i = 0; i + 1 < m->nb_axes; i++)
		nb *= m->axes[i].nb_values;
	if (nb * (a->nb_values + 1) > MATRIX_CELLS_MAX) {
		snprintf(why, size, "more than %d cells with %s", MATRIX_CELLS_MAX, a->key);
		return -EINVAL;
	}
	if (grow(a) < 0)
		return -ENOMEM;
	a->values[a->nb_values] = strdup(value);
	if (!a->values[a->nb_values])
		return -ENOMEM;
	a->nb_values++;
	return 0;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same value twice would be the same cell twice. */
static int
check_distinct(const struct axis *a, char *why, size_t size)
{
	char **sorted = malloc(a->nb_values * sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, a->values, a->nb_values * sizeof(*sorted));
	qsort(sorted, a->nb_values, sizeof(*sorted), compare);
	for (uint32_t i = 1; i < a->nb_values && !err; i++) {
		if (strcmp(sorted[i - 1], sorted[i]) == 0) {
			snprintf(why, size, "%s has the value '%s' twice", a->key, sorted[i]);
			err = -EINVAL;
		}
	}
	free(sorted);
	return err;
}

static int
add_item(struct matrix *m, const char *item, char *why, size_t size)
{
	uint64_t first, last;
	int err = 0;

	if (!parse_range(item, &first, &last))
		return matrix_add_value(m, item, why, size);
	if (first > last) {
		snprintf(why, size, "%s: '%s' runs backwards", m->axes[m->nb_axes - 1].key, item);
		return -EINVAL;
	}
	for (uint64_t i = first; i <= last && !err; i++) {
		char value[24];

		snprintf(value, sizeof(value), "%" PRIu64, i);
		err = matrix_add_value(m, value, why, size);
	}
	return err;
}

int
matrix_add_key(struct matrix *m, const char *key, const char *items, char *why, size_t size)
{
	char item[MATRIX_TEXT_MAX + 2];
	int err = matrix_add_axis(m, key, why, size);

	while (!err) {
		size_t len = 0;

		for (; *items && *items != ',' && len < sizeof(item) - 1; items++) {
			if (items[0] == '\\' && items[1] == ',')
				items++;
			item[len++] = *items;
		}
		item[len] = '\0';
		err = add_item(m, item, why, size);
		if (*items == '\0')
			break;
		items++;
	}
	return err ? err : check_distinct(&m->axes[m->nb_axes - 1], why, size);
}

int
matrix_add(struct matrix *m, const char *text, char *why, size_t size)
{
	char key[MATRIX_TEXT_MAX + 1];
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || (size_t)(equals - text) > MATRIX_TEXT_MAX) {
		snprintf(why, size, "'%s' is not KEY=VALUE,VALUE...", text);
		return -EINVAL;
	}
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	return matrix_add_key(m, key, equals + 1, why, size);
}

void
matrix_free(struct matrix *m)
{
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		for (uint32_t k = 0; k < m->axes[i].nb_values; k++)
			free(m->axes[i].values[k]);
		free(m->axes[i].values);
		free(m->axes[i].key);
	}
	m->nb_axes = 0;
}

bool
matrix_equal(const struct matrix *a, const struct matrix *b)
{
	if (a->nb_axes != b->nb_axes)
		return false;
	for (uint32_t i = 0; i < a->nb_axes; i++) {
		const struct axis *x = &a->axes[i], *y = &b->axes[i];

		if (x->nb_values != y->nb_values || strcmp(x->key, y->key) != 0)
			return false;
		for (uint32_t k = 0; k < x->nb_values; k++) {
			if (strcmp(x->values[k], y->values[k]) != 0)
				return false;
		}
	}
	return true;
}

const char *
matrix_value(const struct matrix *m, uint32_t axis, uint32_t cell)
{
	assert(axis < m->nb_axes);
	for (uint32_t i = m->nb_axes - 1; i > axis; i--)
		cell /= m->axes[i].nb_values;
	return m->axes[axis].values[cell % m->axes[axis].nb_values];
}

char **
matrix_overrides(const struct matrix *m, uint32_t cell)
{
	size_t size = (m->nb_axes + 1) * sizeof(char *);
	char **list, *text;

	for (uint32_t i = 0; i < m->nb_axes; i++)
		size += strlen(m->axes[i].key) + strlen(matrix_value(m, i, cell)) + 2;
	list = malloc(size);
	if (!list)
		return NULL;
	text = (char *)(list + m->nb_axes + 1);
	for (uint32_t i = 0; i < m->nb_axes; i++) {
		list[i] = text;
		text += sprintf(text, "%s=%s", m->axes[i].key, matrix_value(m, i, cell)) + 1;
	}
	list[m->nb_axes] = NULL;
	return list;
}
