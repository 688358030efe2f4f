/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_LINK_H
#define WEFT_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "fault.h"
#include "pkt.h"
#include "result.h"

/**
 * @file
 * Links: a frame occupies one for its bytes at the link's rate, its last bit arrives after the
 * delay, and it may meet faults on the way. Exact to 2^-20 ps, however many frames there are.
 */

/** What a frame takes of a link beside its bytes: FCS 4, preamble 8, gap 12. Source: IEEE 802.3. */
#define LINK_OVERHEAD_BYTES 24

struct link_faults;

/** One way of a link. What one step needs lies together, in lines of the cache. */
struct sim_link {
	/* faults */
	_Alignas(64) struct event due; /**< of the first frame that faults hold */
	struct link_faults *faults;    /**< of both ways; NULL = none */
	/* its end */
	struct event arrival;    /**< of the first frame in flight */
	struct events *clock;    /**< of who gets frames */
	struct pkt_queue flight; /**< by due_ps */
	/** The frame is there, and the callee's. */
	void (*deliver)(struct sim_link *link, struct pkt *p, uint64_t now_ps);
	uint32_t rank; /**< of arrivals at one time at one node, which nodes' turns must not decide
	                */
	uint8_t way;   /**< 0 = from end[0] */
	bool is_up;
	/* its begin */
	uint32_t free_frac;   /**< of free_ps, in 2^-20 ps */
	uint64_t free_ps;     /**< when the end of the last frame has left */
	uint64_t ps_per_byte; /**< in 2^-20 ps, rounded to nearest */
	uint64_t delay_ps;
	uint64_t nb_pkts, nb_bytes, busy_ps; /**< that left, as link_result */
};

/** @param rate_bps  LINK_RATE_MIN_BPS or more. clock and deliver are set, all else is zero. */
void sim_link_init(struct sim_link *link, uint64_t rate_bps, uint64_t delay_ps);

/** Time that so many bytes take, overhead included; rounded down. */
static inline uint64_t
sim_link_ps(const struct sim_link *link, uint32_t bytes)
{
	return bytes * link->ps_per_byte >> 20;
}

/** Whether a frame may begin. */
static inline bool
sim_link_is_free(const struct sim_link *link, uint64_t now_ps)
{
	return link->free_ps <= now_ps;
}

/** A frame begins; the link is free. One that is down loses it. */
void sim_link_send(struct sim_link *link, struct pkt *p, uint64_t now_ps);

/** Frames that are on their way. */
uint64_t sim_link_nb_inside(const struct sim_link *link);
/** Free them. */
void sim_link_clear(struct sim_link *link);

/**
 * Both ways of a link meet these faults from now on.
 *
 * @param clock    of the whole: for the times at which the link goes down and comes up.
 * @param on_turn  the link went down or came up; arg is the caller's.
 * @param pool     for doubles.
 * @return         0 or -ENOMEM.
 */
int link_faults_create(struct sim_link *const ways[2], const struct fault_params *params,
                       struct events *clock, struct pkt_pool *pool,
                       void (*on_turn)(void *arg, bool is_up, uint64_t now_ps), void *arg);
/** Free them and what they hold; ways without faults are passed over. */
void link_faults_destroy(struct sim_link *const ways[2]);
/** What became of frames; NULL without faults. tx = of way 0. */
const struct fault_stats *link_fault_stats(const struct sim_link *link);

#endif
