/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SCENARIO_H
#define WEFT_LAB_SCENARIO_H

#include <stdbool.h>
#include <stdio.h>

#include "conf_engine.h"
#include "lab.h"

/**
 * @file
 * A scenario file as a run to be: read, checked, defaults filled in. See weft-scenario(5).
 */

/** Most sections [workload]. Our choice. */
#define SCENARIO_WORKLOADS_MAX 64
/** Most probes. Our choice. */
#define SCENARIO_PROBES_MAX 64

struct scenario {
	struct lab_conf conf; /**< for lab_create */
	/* what its pointers lead to */
	char *path;
	struct plan plan;
	struct conf_engine *engines;
	uint32_t nb_engines;
	struct fault_params *faults; /**< one per link; NULL = none anywhere */
	struct workload workloads[SCENARIO_WORKLOADS_MAX];
	const char *probes[SCENARIO_PROBES_MAX];
};

/**
 * Read and check a scenario.
 *
 * @param path       the file; paths of what it names begin at its folder.
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

/** NULL does nothing. */
void scenario_free(struct scenario *scenario);

/**
 * The node of a name that people write.
 *
 * @param why, size  gets one line if there is none, with the nearest name.
 * @return           UINT32_MAX: there is none.
 */
uint32_t scenario_node(const struct plan *plan, const char *name, char *why, size_t size);

/**
 * Go through all keys of scenarios, for who holds the manual against them.
 *
 * @param fn  desc is NULL for a key that is no number.
 * @return    false without memory.
 */
bool scenario_each_key(void (*fn)(const char *section, const char *name,
                                  const struct param_desc *desc));

#endif
