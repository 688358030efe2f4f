/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_MATRIX_H
#define WEFT_LAB_SWEEP_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * What a sweep goes through: parameters, each with the values that it takes, and one cell for each
 * combination. The last parameter varies fastest, so cells are numbered as nested loops count.
 */

/** Most cells of a sweep, and most values of a parameter. Ours: more is a mistake of typing. */
#define MATRIX_CELLS_MAX 1000000
/** Most parameters. */
#define MATRIX_AXES_MAX 64
/** Longest key, and longest value, in bytes. */
#define MATRIX_TEXT_MAX 255

struct axis {
	char *key;
	char **values;
	uint32_t nb_values;
};

/** Zeroed, it has one cell: the scenario as it stands. */
struct matrix {
	struct axis axes[MATRIX_AXES_MAX];
	uint32_t nb_axes;
};

/**
 * Add a parameter as people write it: "KEY=ITEM,ITEM...". An item is a value, or A..B for all
 * integers from A to B. A comma in a value is written "\,".
 *
 * @param[out] why  what is wrong with it, in one line.
 * @return          0; -EINVAL: wrong, twice there, or too much; -ENOMEM.
 */
int matrix_add(struct matrix *m, const char *text, char *why, size_t size);

/** The same for a key that is known, "ITEM,ITEM..." being its values. */
int matrix_add_key(struct matrix *m, const char *key, const char *items, char *why, size_t size);

/** Add a parameter with no values yet, and one value, as they are. Same errors. */
int matrix_add_axis(struct matrix *m, const char *key, char *why, size_t size);
int matrix_add_value(struct matrix *m, const char *value, char *why, size_t size);

void matrix_free(struct matrix *m);

uint32_t matrix_nb_cells(const struct matrix *m);

/** Whether two have the same keys with the same values, in the same order. */
bool matrix_equal(const struct matrix *a, const struct matrix *b);

/** Value of a parameter in a cell. */
const char *matrix_value(const struct matrix *m, uint32_t axis, uint32_t cell);

/**
 * A cell as overrides of the scenario, one "KEY=VALUE" for each parameter.
 *
 * @return nb_axes strings and a NULL, in one piece of memory that the caller frees; NULL without
 *         memory.
 */
char **matrix_overrides(const struct matrix *m, uint32_t cell);

#endif
