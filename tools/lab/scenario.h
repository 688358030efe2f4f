/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SCENARIO_H
#define WEFT_LAB_SCENARIO_H

#include <stdbool.h>
#include <stdio.h>

#include "lab.h"

/**
 * @file
 * A scenario file as a run to be: read, checked, defaults filled in. See weft-scenario(5).
 */

struct scenario {
	struct lab_conf conf; /**< for lab_create; what its pointers lead to is the scenario's */
};

/**
 * Read and check a scenario.
 *
 * @param path       the file; folders of what it names begin at its own.
 * @param overrides  texts "SECTION.KEY=VALUE" in place of lines of the file, ending with NULL;
 *                   NULL = none.
 * @param errors     gets one line per mistake and doubt: "PATH:LINE: what is wrong".
 * @return           the scenario, to be freed by scenario_free after the run that it is for; NULL
 *                   if there was any mistake.
 */
struct scenario *scenario_read(const char *path, const char *const *overrides, FILE *errors);

/** The same of a stream that is open already. */
struct scenario *scenario_read_stream(FILE *stream, const char *path, const char *const *overrides,
                                      FILE *errors);

void scenario_free(struct scenario *scenario);

/**
 * Go through all keys of scenarios, for who holds the manual against them.
 *
 * @param fn  desc is NULL for a key that is no number.
 * @return    false without memory.
 */
bool scenario_each_key(void (*fn)(const char *section, const char *name,
                                  const struct param_desc *desc));

#endif
