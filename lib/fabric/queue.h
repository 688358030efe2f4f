/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include <stdint.h>

#include "pkt.h"

/**
 * @file
 * The queues of one egress port, and whose turn it is.
 *
 * Strict queues come before weighted ones, and among themselves in the order of their numbers, the
 * highest first. Weighted queues share what is left in proportion to their weights, counted in
 * bytes of the link (frame and overhead), by deficit round robin: a queue in turn sends until it
 * has used up its quantum; the frame that does is sent whole, and what it took too much is a debt
 * of the next turn. A queue that runs empty forgets what it had left, but not its debt, or one that
 * has a long frame at a time would pay for none; debts end when nothing waits at all. Nobody waits
 * for who has nothing to send, or may not.
 *
 * Source: M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin",
 * SIGCOMM 1995; the form with debts: S. Floyd and V. Jacobson, "Link-Sharing and Resource
 * Management Models for Packet Networks", ToN 3(4), 1995.
 */

#define QUEUES_NB 8

/** None of them. */
#define QUEUE_NONE 0xff

struct queues {
	uint8_t backlog; /**< bit i: queue i has frames */
	uint8_t strict;  /**< bit i: queue i is strict */
	uint8_t turn;    /**< weighted queue that has the turn */
	struct pkt_queue q[QUEUES_NB];
	int64_t deficit[QUEUES_NB];  /**< bytes left of this turn; a debt if negative */
	uint32_t quantum[QUEUES_NB]; /**< bytes of a turn; 0 = strict */
};

/**
 * @param weights        0 = strict, else more than 0.
 * @param quantum_bytes  of the smallest weight. Shares are right within one quantum and one frame.
 */
void queues_init(struct queues *qs, const double weights[QUEUES_NB], uint32_t quantum_bytes);

static inline void
queues_push(struct queues *qs, uint8_t i, struct pkt *p)
{
	pkt_queue_push(&qs->q[i], p);
	qs->backlog |= (uint8_t)(1u << i);
}

/**
 * Take the next frame.
 *
 * @param may             bit i: queue i may send now.
 * @param overhead_bytes  what a frame takes of the link beyond its length.
 * @param[out] queue      of the frame; QUEUE_NONE if there is none.
 * @return                NULL if no queue has a frame and may send it.
 */
struct pkt *queues_pop(struct queues *qs, uint8_t may, uint32_t overhead_bytes, uint8_t *queue);

#endif
