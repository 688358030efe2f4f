/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_ROW_H
#define WEFT_LAB_SWEEP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * What became of one cell, as a text without a newline: fields with tabs between them,
 *
 *     CELL STATUS [NAME VALUE]...
 *
 * It comes from a child process that may have gone mad, from a file that anybody may have written,
 * or from another machine: row_parse is the only way to look into it.
 */

/** Longest text of a row, without its end. */
#define ROW_TEXT_MAX 262144
#define ROW_METRICS_MAX 2048
/** Longest status, in bytes. */
#define ROW_STATUS_MAX 240
/** Status of a cell that went well; all others begin with "failed". */
#define ROW_OK "ok"

struct row_metric {
	const char *name;  /**< with its unit, as "goodput_bps" */
	const char *value; /**< as CSV has it, unquoted; "" = it has none */
};

struct sweep_row {
	uint32_t cell;
	const char *status;
	uint32_t nb_metrics;
	struct row_metric metrics[ROW_METRICS_MAX];
};

/**
 * Take a text apart.
 *
 * @param text  is cut into pieces, which the row points to.
 * @return      whether it is a row.
 */
bool row_parse(char *text, struct sweep_row *row);

static inline bool
row_is_ok(const struct sweep_row *row)
{
	return row->status[0] == 'o';
}

/**
 * The row of a cell that went well.
 *
 * @param results  lines "NAME\tVALUE\n", len bytes; is used up.
 * @return         a text to be freed; NULL if these are no results, or without memory.
 */
char *row_of_results(uint32_t cell, char *results, size_t len);

/** The row of a cell that failed. Control characters in why become blanks. NULL without memory. */
char *row_of_failure(uint32_t cell, const char *why);

#endif
