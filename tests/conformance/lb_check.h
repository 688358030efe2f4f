/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_LB_CHECK_H
#define WEFT_TEST_LB_CHECK_H

#include "bind.h"

/**
 * @file
 * What every load balancer promises (lib/engine/lb.h), looked after from outside while a random
 * schedule drives it: packets, hops that go up and down, pause and fill, time that stands and
 * jumps.
 */

/** A promise that was broken. */
enum lb_fault {
	LB_KEPT,         /**< none */
	LB_RANGE,        /**< a hop that the group has not */
	LB_DOWN,         /**< a hop that is down, while another is up */
	LB_UNDETERMINED, /**< the same calls gave other answers, in memory of other content */
	LB_OUTSIDE,      /**< wrote before or behind its state */
	LB_INPUT,        /**< changed what it was given to read: packet, hops, parameters */
	LB_PRESET,       /**< changed a part of the choice that is not its to make */
	LB_SPORT,        /**< in a host: a source port of none of its paths */
	LB_TIMER,        /**< a deadline without on_timer, or one that on_timer left in the past */
	LB_NB_FAULTS,
};

struct lb_verdict {
	enum lb_fault fault;
	uint32_t step; /**< of the schedule */
};

/**
 * Run one schedule to its end or to the first fault. The seed makes all of it.
 *
 * @param nb_hops_max  of one choice, up to LB_GROUP_MAX.
 */
struct lb_verdict lb_check_run(const struct lb_ops *ops, uint16_t nb_hops_max, uint64_t seed,
                               uint32_t nb_steps);

/** Of so many pairs of engines that differ in their seed alone, how many chose differently. */
uint32_t lb_check_seeds(const struct lb_ops *ops, uint64_t seed, uint32_t nb_pairs);

/** In words, for a message. */
const char *lb_fault_text(enum lb_fault fault);

#endif
