/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RC_H
#define WEFT_RC_H

#include <stdint.h>

#include "qp.h"

/** An answer to a plain RC requester: ACK, NAK, READ or atomic response; checked as resp_rx. */
void rc_answer(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns);

/** RNR NAK timer code to time. Source: IBA vol. 1, ch. 9, table of RNR NAK timer values. */
uint64_t rc_rnr_ns(uint8_t code);

#endif
