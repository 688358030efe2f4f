/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SHEETS_H
#define WEFT_LAB_SHEETS_H

#include <stdint.h>

#include "result.h"
#include "value.h"

/**
 * @file
 * Everything that a run found, as sheets of rows and columns: what CSV files and JSON hold. Whole
 * numbers stay whole, times are picoseconds or nanoseconds as their names say, and nothing depends
 * on when or where the run was made.
 */

#define CELL_NAME_MAX 48

struct cell {
	char name[CELL_NAME_MAX];
	struct value value;
};

/** Columns of a sheet at most: a port's counters and some. */
#define ROW_CELLS_MAX 256

struct row {
	uint32_t nb;
	struct cell cells[ROW_CELLS_MAX];
	char names[2][PLAN_NAME_LEN]; /**< words that are nobody else's */
};

/** All rows of a sheet have cells of the same names in the same order. */
struct sheet {
	const char *name;
	uint64_t (*nb_rows)(const struct result *result);
	/** The i-th row, from 0 on; row->nb is 0. Words in it are the result's, or the row's. */
	void (*fill)(const struct result *result, uint64_t i, struct row *row);
};

/** All of them; a NULL name at the end. */
extern const struct sheet sheets[];

#endif
