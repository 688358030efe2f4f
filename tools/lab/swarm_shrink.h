/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_SHRINK_H
#define WEFT_LAB_SWARM_SHRINK_H

#include <stdint.h>

#include "swarm_cell.h"
#include "swarm_sketch.h"
#include "sweep_crew.h"

/**
 * @file
 * A scenario that breaks a rule, made smaller step by step: fewer hosts, sections, keys, messages
 * and bytes, a shorter run. A step stays if the same rule is broken still, with the same seed of
 * the run or one of a few others: another fabric throws other dice.
 */

/** How long one may take. Our choice: enough for all that were seen, some times over. */
#define SHRINK_RUNS_MAX 3000
#define SHRINK_TIME_NS UINT64_C(30000000000)

struct shrunk {
	struct sketch sketch;
	struct swarm_finding finding; /**< of that scenario */
	uint32_t nb_runs;
	bool is_flaky; /**< the first repetition found nothing, and nothing was tried */
};

/**
 * Make it smaller.
 *
 * @param crew     has nothing to do, and runs swarm_cell.
 * @param sketch   what was found in.
 * @param finding  what was found.
 * @return         0 or a negative errno.
 */
int swarm_shrink(struct crew *crew, const struct sketch *sketch,
                 const struct swarm_finding *finding, struct shrunk *shrunk);

/**
 * Run one and wait.
 *
 * @param crew  has nothing to do.
 * @return      0 or a negative errno; -EINTR if a signal asks the program to end.
 */
int swarm_run_one(struct crew *crew, const struct sketch *sketch, struct swarm_finding *finding);

#endif
