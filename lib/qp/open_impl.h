/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OPEN_IMPL_H
#define WEFT_OPEN_IMPL_H

#include "open_terms.h"
#include "peers.h"
#include "qp.h"

/**
 * @file
 * OPEN from inside: open.c decides for a QP, open_peers.c asks peers and learns of them, open_rx.c
 * hears what they ask and answer. Everyone else calls open.h.
 */

/** Whether the QP is in a state in which it may be asked, and ask. */
static inline bool
open_is_there(const struct qp *qp)
{
	return qp->state == SHM_QPS_RTR || qp->state == SHM_QPS_RTS || qp->state == SHM_QPS_SQD;
}

/** It asks no more. If its peer is started anew, it fails. */
void open_settle(struct qp *qp);
/** It fails: the two ends do not fit. */
void open_refuse(struct qp *qp, enum qp_reason why);
/** Its peer speaks no weft: it is plain, or fails if its conf has it weft only. */
void open_go_plain(struct qp *qp, enum qp_reason why_not, uint64_t now_ns);
/** Both ends agree. */
void open_go_weft(struct qp *qp, const struct weft_terms *terms, uint64_t now_ns);

/** It asks its peer at that time. */
void open_ask_at(struct qp *qp, uint64_t at_ns);

/** struct peers_ops, opened: an OPEN or ANSWER came; arg is the NIC. */
void open_rx(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns);

#endif
