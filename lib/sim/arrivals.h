/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_ARRIVALS_H
#define WEFT_SIM_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "workload.h"

/**
 * @file
 * Flows that arrive one by one at each host, independent of each other and of what became of the
 * earlier ones: Poisson processes, each with dice of its own, so that a host's flows are the same
 * whatever others do, and at another load the same come closer or farther.
 *
 * Times are computed by additions, multiplications and divisions of doubles only and rounded to
 * picoseconds: libm's logarithm differs in its last bit from one library, or CPU, to another.
 */

struct arrivals {
	double mean_ps; /**< from one to the next */
	bool is_limited;
	uint64_t nb_left;  /**< if is_limited: flows that may still begin */
	uint32_t nb_live;  /**< processes that go on */
	struct prng *dice; /**< of each process */
};

/** Natural logarithm of x > 0, to 1e-15; the same on every machine. */
double arrivals_log(double x);

/** Time to the next, at least 1 ps and at most 2^62. */
uint64_t arrivals_gap_ps(struct prng *dice, double mean_ps);

/**
 * Mean time between flows of a host that sends at a share of its link's rate; their bytes are
 * payload, without headers.
 */
double arrivals_mean_ps(double bytes, double load, uint64_t rate_bps);

/**
 * @param nb        processes.
 * @param nb_flows  of all together; 0 = no limit.
 * @return          0 or -ENOMEM; arrivals_free in any case.
 */
int arrivals_alloc(struct arrivals *a, struct workload *w, uint32_t nb, double mean_ps,
                   uint64_t nb_flows);
void arrivals_free(struct arrivals *a);

/**
 * Ask for on_time(tag) when the next flow of process i arrives, unless that is after stop_ns: then
 * the process is over.
 *
 * @param now_ps  of the one before.
 */
void arrivals_next(struct arrivals *a, struct workload *w, uint32_t i, uint64_t now_ps,
                   uint64_t tag);

/** A flow is due: whether it may begin. It is counted then. */
static inline bool
arrivals_take(struct arrivals *a)
{
	if (!a->is_limited)
		return true;
	if (a->nb_left == 0)
		return false;
	a->nb_left--;
	return true;
}

/** Whether none will begin any more. */
static inline bool
arrivals_are_over(const struct arrivals *a)
{
	return a->nb_live == 0 || (a->is_limited && a->nb_left == 0);
}

/** A host other than src, each equally likely. */
uint32_t arrivals_other_host(struct prng *dice, uint32_t src, uint32_t nb_hosts);

#endif
