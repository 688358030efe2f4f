/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PIECE_H
#define WEFT_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/*
 * Payload between a packet and one piece of registered memory, at the batch's next flush at the
 * latest. Every packet asks for its key's rights: a region may have been deregistered, a window
 * bound anew, since the packet before. False if the key allows it no more, or if the piece falls
 * into too many segments.
 */

/** Out of the own memory under an lkey, for the packet planned last. */
bool piece_gather(struct qp *qp, uint32_t lkey, uint64_t addr, uint32_t len, uint8_t *pkt);
/** Into the own memory. pd: the QP's or its SRQ's; psn as in copy_run. */
bool piece_place(struct qp *qp, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len,
                 const uint8_t *pkt, uint32_t psn);

/** Whether the peer may have this access (one of SHM_ACCESS_REMOTE_*), and to which region. */
const struct mr *piece_remote(const struct qp *qp, uint32_t rkey, uint64_t addr, uint64_t len,
                              uint32_t access);
/** Whether piece_gather_remote may be called. */
bool piece_readable(const struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len);
/** Out of memory that the peer READs. */
bool piece_gather_remote(struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len, uint8_t *pkt);
/** Into memory that the peer WRITEs. */
bool piece_place_remote(struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len,
                        const uint8_t *pkt, uint32_t psn);

#endif
