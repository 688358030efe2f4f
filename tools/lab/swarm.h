/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_H
#define WEFT_LAB_SWARM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "swarm_shrink.h"

/**
 * @file
 * Many random scenarios, each in a process of its own; and what is wrong with any of them, made as
 * small as it can be.
 */

/** Something is thoroughly broken then. Our choice. */
#define SWARM_FINDINGS_MAX 20

struct swarm_conf {
	uint64_t first, last; /**< seeds, both included */
	uint64_t time_ns;     /**< of the wall, after which no seed is begun; 0 = for ever */
	uint64_t
		timeout_ns; /**< of the wall, which is a finding for a scenario that takes longer */
	uint32_t findings_max; /**< after which it stops, 1 to SWARM_FINDINGS_MAX */
	uint32_t nb_jobs;      /**< scenarios at a time, 1 to CREW_MAX */
	const char *dir;       /**< gets a file for each finding; NULL = none */
	FILE *out;             /**< gets the findings */
	bool is_quiet;         /**< no progress on stderr */
	bool finds_leaks;      /**< swarm_cell_leaks */
};

struct swarm_result {
	uint64_t nb_seeds;
	uint64_t nb_cut; /**< of them, that had more events than were looked at */
	uint64_t nb_events, data_pkts;
	uint64_t wall_ns; /**< without shrinking */
	uint32_t nb_findings;
	uint64_t seed;      /**< of the last that was shrunk */
	struct shrunk last; /**< if nb_findings is not 0 */
};

/**
 * Run them.
 *
 * @return 0, or a negative errno after a message; -EINTR if a signal asked to stop.
 */
int swarm_run(const struct swarm_conf *conf, struct swarm_result *result);

#endif
