/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MARK_H
#define WEFT_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "prng.h"

/**
 * @file
 * ECN marking by RED: the congestion point of DCQCN.
 *
 * Chance of a mark by what waits in the queue: none up to Kmin, then rising evenly to Pmax at Kmax,
 * certain above Kmax. Kmin = Kmax is a step. Sources: S. Floyd and V. Jacobson, "Random Early
 * Detection Gateways", ToN 1(4), 1993; Y. Zhu et al., "Congestion Control for Large-Scale RDMA
 * Deployments", SIGCOMM 2015, section 3 (on the instantaneous queue).
 */

struct mark {
	uint64_t kmin_bytes, kmax_bytes; /**< kmin <= kmax; both 0 = never marks */
	double slope;                    /**< chance per byte between them: see mark_init */
};

/** @param pmax  0 to 1. */
static inline void
mark_init(struct mark *m, uint64_t kmin_bytes, uint64_t kmax_bytes, double pmax)
{
	*m = (struct mark){kmin_bytes, kmax_bytes, 0};
	if (kmax_bytes > kmin_bytes)
		m->slope = pmax / (double)(kmax_bytes - kmin_bytes);
}

/** The chance at a queue of so many bytes, 0 to 1. */
static inline double
mark_chance(const struct mark *m, uint64_t queue_bytes)
{
	if (queue_bytes <= m->kmin_bytes || m->kmax_bytes == 0)
		return 0;
	if (queue_bytes > m->kmax_bytes)
		return 1;
	return m->slope * (double)(queue_bytes - m->kmin_bytes);
}

/** Throw the dice. */
static inline bool
mark_hit(const struct mark *m, uint64_t queue_bytes, struct prng *dice)
{
	double chance = mark_chance(m, queue_bytes);

	return chance > 0 && (chance >= 1 || prng_unit(dice) < chance);
}

/**
 * Set CE in an IP header, if it is ECT; the IPv4 checksum follows.
 *
 * @param ip  a whole header of version 4 or 6.
 * @return    whether it carries CE now and did not before. Source: RFC 3168, section 5.
 */
bool mark_ce(uint8_t *ip);

#endif
