/* SPDX-License-Identifier: BSD-3-Clause */
#include "framing.h"

#include "comp.h"
#include "lease.h"
#include "psn.h"
#include "qp.h"
#include "req.h"

/** Packets of the weft framing that one acknowledgement may stand for. Our choice. */
#define ACK_EVERY_PKTS 16

/* What waits in its queues may leave. */
static void
go(struct qp *qp, uint64_t now_ns)
{
	comp_arm(qp);
	if (req_has_work(qp))
		sched_wake(&qp->nic->sched, &qp->sched, now_ns);
}

void
framing_weft(struct qp *qp, const struct weft_terms *terms, uint64_t now_ns)
{
	struct rel_qp *rq = &qp->rel_qp;
	uint64_t msn = PSN_BIAS + qp->nic->conf.first_msn;

	assert(qp->framing == QP_PENDING && terms->max_msgs <= WEFT_MSGS);
	qp->framing = QP_WEFT;
	qp->terms = *terms;
	if (!terms->ack_every || terms->ack_every > ACK_EVERY_PKTS)
		qp->win.ack_every = ACK_EVERY_PKTS;
	else
		qp->win.ack_every = terms->ack_every;
	qp->win.emsn = qp->win.essn = qp->win.bssn = msn;
	qp->win.emsn_psn = rq->rx_first_psn;
	qp->win.fault_msn = WEFT_NONE;
	qp->win.ack_due_ns = NEVER_NS;
	qp->wout.ssn = qp->wout.ssn_una = msn;
	qp->wout.conf_idx = qp->wout.again_idx = qp->wout.again_end = qp->sq_open;
	rq->window_pkts = terms->window_pkts;
	rq->msg_mask = lease_weft_tx_msgs(qp) - 1;
	if (terms->max_msgs <= rq->msg_mask)
		rq->msg_mask = terms->max_msgs - 1;
	rq->tx_first_psn = rq->tx_end_psn = PSN_BIAS + terms->tx_first_psn;
	rq->tx_first_msn = rq->tx_end_msn = qp->tx_msn = msn;
	qp->tx_nxt_psn = rq->tx_first_psn;
	rq->ack_timeout_ns = qp_ack_timeout_ns(qp);
	qp->rel_ops->start(qp->rel, now_ns);
	go(qp, now_ns);
}

void
framing_plain(struct qp *qp, uint64_t now_ns)
{
	assert(qp->framing == QP_PENDING);
	qp->framing = QP_PLAIN;
	if (qp->state == SHM_QPS_RTR)
		return;
	framing_start_plain(qp, now_ns);
	go(qp, now_ns);
}

void
framing_start_plain(struct qp *qp, uint64_t now_ns)
{
	uint64_t first = PSN_BIAS + qp->attr.sq_psn;
	struct rel_qp *rq = &qp->rel_qp;

	rq->tx_first_psn = rq->tx_end_psn = first;
	rq->tx_first_msn = rq->tx_end_msn = PSN_BIAS;
	qp->tx_msn = PSN_BIAS;
	qp->tx_nxt_psn = first;
	qp->rel_ops->start(qp->rel, now_ns);
}
