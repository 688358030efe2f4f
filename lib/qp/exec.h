/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_EXEC_H
#define WEFT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/** Whether the opcode may come now: MIDDLE and LAST only behind FIRST of their kind. */
bool exec_in_order(const struct qp *qp, uint32_t flags);

/** What was found wrong with a request packet. */
struct verdict {
	uint8_t syndrome;    /**< RC: the NAK; 0 = nothing is wrong */
	uint8_t why;         /**< enum qp_reason, for people */
	uint8_t recv_status; /**< of the receive in hand; 0 = not its fault */
	uint8_t drop;        /**< enum drop; UC: what a packet that harms no QP counts as */
};

/* What both framings find. */
extern const struct verdict exec_bad_rights, exec_bad_access, exec_bad_atomic;
extern const struct verdict exec_recv_short, exec_recv_bad, exec_recv_fault;

/** Whether the peer may READ this; counts it. */
struct verdict exec_judge_read(struct qp *qp, uint64_t va, uint32_t rkey, uint32_t len);

/** A COMPARE SWAP or FETCH ADD. */
struct exec_atomic {
	bool swap;
	uint32_t rkey;
	uint64_t va;
	uint64_t swap_add, compare;
};
/** Check and execute it; orig is the value before. As exec_packet, the QP may be in ERR. */
struct verdict exec_run_atomic(struct qp *qp, const struct exec_atomic *a, uint64_t *orig);

/**
 * Check and execute a request packet that is due, whose receive WQE (if it needs one) is taken. The
 * QP may be in ERR afterwards whatever the verdict: its memory or a CQ failed, and that was told.
 */
struct verdict exec_packet(struct qp *qp, const struct wire_pkt *w, uint64_t psn);

#endif
