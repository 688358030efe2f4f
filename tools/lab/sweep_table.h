/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_TABLE_H
#define WEFT_LAB_SWEEP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sweep_journal.h"

/**
 * @file
 * The CSV of a sweep (RFC 4180, but lines end in a newline only): a line for each cell, in the
 * order of cells, whatever the order in which they came and in whichever journals they are.
 * Columns: cell, the parameters, status, then all metrics that some cell has and that are no
 * parameter, in the order in which they first appear; what a cell lacks is empty.
 */

/**
 * Write it to a file, which is there as a whole or not at all.
 *
 * @param journals  of one sweep (same matrix); all their cells that are done, each in one only.
 * @return          0, or -1 with why in one line.
 */
int sweep_table_write(const char *path, struct journal *journals, uint32_t nb_journals, char *why,
                      size_t size);

/** Cells of the matrix that no journal has done, and those that more than one has. */
struct sweep_gaps {
	uint32_t nb_missing, first_missing;
	uint32_t nb_double, first_double;
};
struct sweep_gaps sweep_table_gaps(const struct journal *journals, uint32_t nb_journals);

#endif
