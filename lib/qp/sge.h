/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SGE_H
#define WEFT_SGE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/*
 * Bytes [off, off + len) of a scatter/gather list into a packet, or from one, at the batch's next
 * flush at the latest. Each buffer's key is looked up again: it may have been deregistered since it
 * was posted. False if a buffer is not there, or not writable for what is placed.
 */

/** Of a send, for its packet. */
bool sge_gather(struct qp *qp, const struct send_wr *wr, uint64_t off, uint8_t *pkt, uint32_t len);
/** Of a READ or atomic, from its answer. */
bool sge_place_answer(struct qp *qp, const struct send_wr *wr, uint64_t off, const uint8_t *pkt,
                      uint32_t len);
/** Of an atomic: the original value, which is turned round where it lies in the packet. */
bool sge_place_atomic(struct qp *qp, const struct send_wr *wr, const struct wire_pkt *w);
/** Of a receive, from a request; psn as in copy_run. */
bool sge_place_recv(struct qp *qp, const struct recv_wr *wr, uint64_t off, const uint8_t *pkt,
                    uint32_t len, uint32_t psn);

#endif
