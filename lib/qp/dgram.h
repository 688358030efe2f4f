/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DGRAM_H
#define WEFT_DGRAM_H

#include "qp.h"

/** A packet for a UC QP; checked as for resp_rx. A message with a gap is dropped whole. */
void uc_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns);

/**
 * A packet for a UD QP: Q_Key, a receive with room for it and its 40 bytes of GRH, or it is
 * dropped.
 *
 * @param frame  the whole frame: the IP header is delivered before the payload.
 */
void ud_rx(struct qp *qp, const struct wire_pkt *w, const uint8_t *frame);

#endif
