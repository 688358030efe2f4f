/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LINK_CLOCK_H
#define WEFT_LINK_CLOCK_H

#include <stdint.h>

/**
 * @file
 * The time that frames take on a link of some rate, exact to a part of a nanosecond however many
 * there are.
 *
 * Times are the link's, not its driver's: who comes late sends what the link could have sent
 * meanwhile, up to a bound.
 */

/** Slower links would overflow the clock: 9 KB must fit. */
#define LINK_RATE_MIN_BPS 1000000

/** Of a nanosecond: a byte at 400 Gb/s takes 0.02. */
#define LINK_CLOCK_FRAC_BITS 30

struct link_clock {
	uint64_t ns_per_byte; /**< in 2^-30 ns, rounded up; 0 = a link of no rate: no time at all */
	uint64_t free_ns;     /**< when the end of the last frame has left */
	uint32_t free_frac;   /**< of it, in 2^-30 ns */
};

/** From the next frame on this rate: LINK_RATE_MIN_BPS or more, or 0 = no rate. */
static inline void
link_clock_set_rate(struct link_clock *c, uint64_t rate_bps)
{
	const uint64_t ns_per_byte_at_1_bps = UINT64_C(8000000000) << LINK_CLOCK_FRAC_BITS;

	c->ns_per_byte = rate_bps ? (ns_per_byte_at_1_bps + rate_bps - 1) / rate_bps : 0;
}

/**
 * A sender is at the link now: what it sends next begins at this time, or when the link is free.
 *
 * @param late_ns  what it may have missed and still send at once; 0 if it had nothing to send.
 * @return         time that the link was free before, and that is lost.
 */
static inline uint64_t
link_clock_begin(struct link_clock *c, uint64_t now_ns, uint64_t late_ns)
{
	uint64_t earliest_ns = now_ns, lost_ns;

	if (c->ns_per_byte) /* a link of no rate misses nothing */
		earliest_ns = now_ns > late_ns ? now_ns - late_ns : 0;
	if (c->free_ns >= earliest_ns)
		return 0;
	lost_ns = earliest_ns - c->free_ns;
	c->free_ns = earliest_ns;
	c->free_frac = 0;
	return lost_ns;
}

/** The link is taken for so many bytes. */
static inline void
link_clock_take(struct link_clock *c, uint32_t bytes)
{
	uint64_t length = bytes * c->ns_per_byte + c->free_frac;

	c->free_ns += length >> LINK_CLOCK_FRAC_BITS;
	c->free_frac = length & ((1u << LINK_CLOCK_FRAC_BITS) - 1);
}

#endif
