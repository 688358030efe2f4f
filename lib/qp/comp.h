/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_COMP_H
#define WEFT_COMP_H

#include <stdint.h>

#include "qp.h"

/**
 * The completer: give an answer to the reliability engine, and what it learned to congestion
 * control, load balancing and the queues. Completes sends, arms the timer, wakes the scheduler.
 */
void comp_answer(struct qp *qp, const struct rel_ack *ack, uint64_t now_ns);

/** The QP's timer came up: whichever engine's head said so, the end of an RNR hold, giving up. */
void comp_timer(struct qp *qp, uint64_t now_ns);

/** Arm the QP's timer for the nearest deadline of its engines and holds. */
void comp_arm(struct qp *qp);

#endif
