/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_CELL_H
#define WEFT_LAB_SWARM_CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sweep_row.h"

/**
 * @file
 * One scenario of a swarm: run in a child process (sweep_crew.h), and what its parent hears of it.
 *
 * Beside the checkers of every run, these rules hold:
 * - the reader takes what was made up;
 * - QPs fail for want of answers, and for nothing else: nobody asks for what is not allowed; and
 *   answers are not wanted where nothing was lost, paused or out of order;
 * - who has a timeout does not wait for ever: something gets on, or all work is done;
 * - virtual time goes on.
 */

/** Events of the clock that one may take: a second or so. What is left is not looked at. */
#define SWARM_EVENTS_MAX 400000

/** What is wrong with a scenario, if anything is. */
struct swarm_finding {
	/** The rule that was broken, or how the process ended; "" = nothing is wrong. */
	char rule[ROW_STATUS_MAX + 1];
	char what[128]; /**< more of it, one line; "" */
	uint64_t at_ps; /**< of virtual time, if a rule was broken */
	uint64_t nb_events;
	uint64_t data_pkts;
	bool is_cut; /**< there was more than SWARM_EVENTS_MAX */
};

/** A crew_cell; scenario is not a path but the text. */
int swarm_cell(const char *scenario, char *const *overrides, FILE *row);
/**
 * The same, and a leak is a failure, in a build whose sanitizer looks for them. For children of a
 * program without threads: of others the sanitizer reports that it could not stop them.
 */
int swarm_cell_leaks(const char *scenario, char *const *overrides, FILE *row);

/**
 * What the row of such a cell says.
 *
 * @param row       is cut into pieces.
 * @param[out] cell  its number.
 * @return           false: it is no row.
 */
bool swarm_finding_parse(char *row, uint32_t *cell, struct swarm_finding *finding);

/** Whether both are of one kind: of the same rule, or the same end. */
bool swarm_finding_is_same(const struct swarm_finding *a, const struct swarm_finding *b);

#endif
