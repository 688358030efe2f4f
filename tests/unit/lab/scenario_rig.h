/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SCENARIO_RIG_H
#define WEFT_SCENARIO_RIG_H

#include "scenario.h"

/** What most rows begin with: 2 lines that are right. */
#define LONG                                                                                       \
	"[workload w]\n"                                                                           \
	"kind = long\n"

/** A text, what the command line says beside it, and all that is told of both. */
struct scenario_row {
	const char *text;
	const char *want; /**< the whole report, or its begin if no line ends; NULL = none */
	const char *overrides[4]; /**< ends with NULL */
};

/** The scenario of a text as the file t.scenario, or NULL; what is told is the caller's to free. */
struct scenario *read_text(const char *text, const char *const *overrides, char **errors);

/** Of a text without a mistake or doubt. */
struct scenario *read_good(const char *text);

/** Whether each row is told of as it wants; one that is good may be told of as well. */
void try_rows(const struct scenario_row *rows, size_t nb);
#define TRY_ROWS(rows) try_rows(rows, sizeof(rows) / sizeof(rows[0]))

#endif
