/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_MAKER_H
#define WEFT_TEST_REL_MAKER_H

#include "prng.h"
#include "rel_schedule.h"

/**
 * @file
 * Making a schedule, from inside: rel_ways.c makes what is asked and received, rel_schedule.c all
 * around it. Everyone else calls rel_schedule.h.
 */

/** Messages of this many packets at most, but for the few runs with large ones. */
#define PKTS_MAX 20

/** While a schedule is made. */
struct maker {
	struct rel_schedule *s;
	struct prng prng;
	uint32_t mtu;
	bool is_large;
	bool is_clean; /**< no loss on the link */
	/** WRITEs to one place may follow each other at once. Not under weft: packets are placed as
	 * they come. */
	bool overlaps;
};

static inline uint32_t
below(struct maker *m, uint32_t n)
{
	return prng_below(&m->prng, n);
}

static inline bool
one_in(struct maker *m, uint32_t n)
{
	return below(m, n) == 0;
}

/** All ways of a schedule, the receives for them, and where they begin. */
void make_ways(struct maker *m);
/** Operations of a way have changed: count those that need a receive. */
void count_recvs(struct rel_way *w);

#endif
