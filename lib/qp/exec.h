/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_EXEC_H
#define WEFT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/** Whether the opcode may come now: MIDDLE and LAST only behind FIRST of their kind. */
bool exec_in_order(const struct qp *qp, uint32_t flags);

/**
 * Execute the request packet that is due, whose receive WQE (if it needs one) is taken.
 *
 * @return false if it was refused: a NAK is queued and the QP has failed.
 */
bool exec_request(struct qp *qp, const struct wire_pkt *w, uint64_t psn);

/** Queue an answer (resp.c). There must be room. */
void resp_push(struct qp *qp, const struct resp *resp);
/** Queue a NAK (resp.c). */
void resp_nak(struct qp *qp, uint8_t syndrome, uint64_t psn);

#endif
