/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_REQ_H
#define WEFT_REQ_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/**
 * The requester: plan the next packet of the own stream, if window and engine allow one.
 *
 * @param rate_bps  what req_rate_bps says: the pace of this packet.
 * @return bytes of the frame planned (accounted to the pace even if it could not leave); 0 = none.
 */
uint32_t req_tx(struct qp *qp, uint64_t rate_bps, uint64_t now_ns);

/**
 * The pace of a QP: the lesser of its congestion control's rate and the application's limit;
 * SCHED_UNPACED at line rate, which the port itself keeps.
 */
uint64_t req_rate_bps(const struct qp *qp);

/** The operation of a packet of a request by its place in the message, without transport bits. */
uint8_t req_op(const struct send_wr *wr, bool is_first, bool is_last);
/**
 * The headers of one packet of a request, all but PSN and A, as plain RoCEv2 has them.
 *
 * @param off   where it begins in the work request, bytes.
 * @param left  bytes of the message from there on.
 */
void req_fill(const struct qp *qp, const struct send_wr *wr, uint64_t off, uint64_t left,
              uint8_t opcode, struct wire_pkt *w);

/** Whether req_tx is worth asking, window aside. */
bool req_has_work(const struct qp *qp);

#endif
