/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RESP_H
#define WEFT_RESP_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/** The responder of an RC QP: one request packet, its ICRC and addresses checked. */
void resp_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns);

/** Whether this packet cannot be accepted until a receive is taken. */
static inline bool
resp_needs_recv(const struct qp *qp, uint32_t flags)
{
	if (qp->recv)
		return false;
	return ((flags & OPF_SEND) && (flags & OPF_START)) ||
	       ((flags & OPF_WRITE) && (flags & OPF_IMM));
}

/**
 * Take the receive WQE for a message that begins.
 *
 * @return false if none is posted, or there is no memory for it. Otherwise qp->recv holds it.
 */
bool resp_take_recv(struct qp *qp);

/** Deliver a message: one receive completion; the receive is no longer in hand. */
void resp_deliver(struct qp *qp, const struct shm_cqe *cqe, bool solicited);

/** Queue an answer. There must be room in the queue. Without memory for one, it is lost. */
void resp_push(struct qp *qp, const struct resp *resp);

/** Queue a NAK, or an RNR NAK. There must be room. */
void resp_nak(struct qp *qp, uint8_t syndrome, uint64_t psn);

/** Whether what goes next is one packet: an ACK, a NAK or an atomic response. */
static inline bool
resp_is_ack(const struct qp *qp)
{
	if (qp->win.ack_due)
		return true;
	return qp->fifo_head != qp->fifo_tail &&
	       qp->fifo[qp->fifo_head % RESP_FIFO_LEN].kind != RESP_READ;
}
/** Whether it is a READ response. */
static inline bool
resp_is_read(const struct qp *qp)
{
	return qp->fifo_head != qp->fifo_tail &&
	       qp->fifo[qp->fifo_head % RESP_FIFO_LEN].kind == RESP_READ;
}

/** Plan it. */
void resp_tx_ack(struct qp *qp);

/** Plan a CNP. */
void resp_tx_cnp(struct qp *qp);

/** Plan the next packet of the READ response at the queue's head; returns its bytes, 0 = none. */
uint32_t resp_tx_read(struct qp *qp);

#endif
