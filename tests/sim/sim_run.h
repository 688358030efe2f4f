/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_SIM_RUN_H
#define WEFT_TESTS_SIM_RUN_H

#include "scenario.h"

/*
 * Runs of scenarios that a test writes down, with all that they found. A run that a checker stops
 * fails its test.
 */

struct sim_run {
	struct scenario *scenario;
	struct lab *lab;
	const struct result *result;
};

/** Read a scenario's text, without a run yet; nb_hosts and so on are in scenario->plan. */
__attribute__((format(printf, 1, 2))) struct sim_run sim_run_read(const char *fmt, ...);
/** Make it, with a tap if not NULL, and run it to its end. */
void sim_run_go(struct sim_run *r, const struct lab_tap *tap);
/** Both. */
__attribute__((format(printf, 1, 2))) struct sim_run sim_run(const char *fmt, ...);
void sim_run_end(struct sim_run *r);

/** Number of a link of the plan, by its ends; the test fails if there is none. */
uint32_t sim_run_link(const struct sim_run *r, const char *from, const char *to);

/** A counter of an engine by its name, of one host. */
uint64_t sim_run_engine_stat(const struct sim_run *r, uint32_t host, const char *name);

/** Full counts are wanted. */
bool sim_run_is_long(void);

#endif
