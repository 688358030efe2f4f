/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_COMP_H
#define WEFT_COMP_H

#include <stdint.h>

#include "qp.h"

/** Of two deadlines the nearer one. */
static inline uint64_t
min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** What an acknowledgement of the weft framing echoes of the way there. */
struct comp_echo {
	uint16_t udp_sport;           /**< of the packet that it answers */
	bool ce;                      /**< a packet with CE came since the last one */
	const struct int_stack *hops; /**< NULL = no telemetry */
};

/**
 * The completer: give an answer to the reliability engine, and what it learned to congestion
 * control, load balancing and the queues. Completes sends, arms the timer, wakes the scheduler.
 *
 * @param echo  NULL if it echoes nothing.
 */
void comp_answer(struct qp *qp, const struct rel_ack *ack, const struct comp_echo *echo,
                 uint64_t now_ns);

/** The QP's timer came up: whichever engine's head said so, the end of an RNR hold, giving up. */
void comp_timer(struct qp *qp, uint64_t now_ns);

/** Arm the QP's timer for the nearest deadline of its engines and holds. */
void comp_arm(struct qp *qp);

#endif
