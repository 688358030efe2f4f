/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FAIL_H
#define WEFT_FAIL_H

#include <stdint.h>

#include "qp.h"

/**
 * End a QP: state ERR, the oldest send completes with status, everything else is flushed.
 *
 * @param why     for people: one log line, vendor_err, and query.
 * @param status  of the oldest incomplete send (enum shm_wc_status); 0 = flush it too.
 * @param psn     unwrapped PSN that it is about; 0 = none.
 */
void qp_fail(struct qp *qp, enum qp_reason why, uint8_t status, uint64_t psn);

/**
 * As responder: the receive in hand completes with status (0 = flush), the rest as qp_fail. A NAK
 * that was queued before still leaves.
 */
void qp_fail_recv(struct qp *qp, enum qp_reason why, uint8_t status, uint64_t psn);

/**
 * Registered memory is gone: what a packet brought could not be placed.
 *
 * @param psn   as in copy_run: of the request, which is refused; BATCH_ANSWER = it was an answer.
 * @param told  a completion that waits to be written tells of it already.
 */
void qp_fail_placing(struct qp *qp, uint32_t psn, bool told);
/** The same: what a READ asks for could not be read for its response; psn as in out_pkt. */
void qp_fail_reading(struct qp *qp, uint32_t psn);
/** The application wrote nonsense into the header of its send queue. */
void qp_fail_ring(struct qp *qp);
/** As qp_fail, but not the oldest send has the status: the one at this SQ index, which is open. */
void qp_fail_request(struct qp *qp, enum qp_reason why, uint8_t status, uint32_t wr_idx);
/** A receive of a QP that has failed: flushed, or with a status of its own. There is room. */
void qp_flush_recv(struct qp *qp, const struct recv_wr *wr);
/** Its completion queue is full. */
void qp_fail_overrun(struct qp *qp);

/** It and its peer's do not agree on how to talk. */
void qp_fail_open(struct qp *qp, enum qp_reason why);

/** Its own address is no longer the NIC's. */
void qp_fail_address(struct qp *qp);

/** A send error of a UC or UD QP: state SQE, sends are flushed, receiving goes on. */
void qp_fail_sq(struct qp *qp, enum qp_reason why, uint8_t status);

/**
 * Complete what is in the queues of a QP in ERR (sends also in SQE) as flushed, as far as there is
 * room for completions; wr_settle goes on.
 */
void qp_flush(struct qp *qp);

/** What happened, as a sentence for people. */
void qp_explain(const struct qp *qp, char *buf, uint32_t size);

#endif
