/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include "fail.h"
#include "framing.h"
#include "psn.h"
#include "wr.h"

static_assert(QP_REASON_NONE == 0, "a view that is all zero has no error");

static void
view_path(const struct qp *qp, struct qp_view *v)
{
	v->own_ip = qp->own_ip;
	v->peer_ip = qp->peer_ip;
	v->has_path = qp->has_path && qp->type != SHM_QPT_UD;
	if (v->has_path)
		v->dest_qpn = qp->attr.dest_qpn;
}

static void
view_sender(const struct qp *qp, struct qp_view *v)
{
	v->psn_una = (uint32_t)qp->rel->tx_una & PSN_MASK;
	v->psn_nxt = (uint32_t)qp->tx_nxt_psn & PSN_MASK;
	v->inflight_pkts = qp->rel->inflight_pkts;
	v->inflight_bytes = qp->out_bytes;
	v->rate_bps = qp->cc->rate_bps;
	v->window_bytes = qp->cc->window_bytes;
}

static const char *
framing_text(const struct qp *qp)
{
	static const char *const text[] = {
		[QP_PLAIN] = "rocev2",
		[QP_PENDING] = "pending",
		[QP_WEFT] = "weft",
	};

	if (qp->type != SHM_QPT_RC)
		return text[QP_PLAIN];
	return qp->rel_qp.rx_first_psn ? text[qp->framing] : NULL;
}

void
qp_view(const struct qp *qp, struct qp_view *v)
{
	/* QPs in ERR and SQE keep what they had. */
	bool receives = qp->rel && qp->rel_qp.rx_first_psn != 0;
	bool sends = qp->rel && qp->rel_qp.tx_first_psn != 0;

	*v = (struct qp_view){
		.qpn = qp->qpn,
		.type = qp->type,
		.state = qp->state,
		.owner = qp->owner,
		.framing = framing_text(qp),
		.rel = qp->rel_ops ? qp->rel_ops->info.name : NULL,
		.cc = qp->cc_ops ? qp->cc_ops->info.name : NULL,
		.lb = qp->lb_ops ? qp->lb_ops->info.name : NULL,
		.nb_sends = wq_posted(&qp->sq, qp->sq.head),
		.nb_recvs = qp->srq ? 0 : wq_posted(&qp->rq, qp->rq.head),
		.nb_rd = qp->nb_rd,
		.nb_sent = qp->sent_count,
		.nb_retransmits = qp->counts.retransmits,
		.nb_timeouts = qp->counts.timeouts,
		.nb_rnr = qp->counts.rnr_naks,
		.reason = qp->error.why,
	};
	view_path(qp, v);
	if (receives) {
		v->mtu = qp->mtu;
		v->psn_expected = (uint32_t)qp->rel->rx_cum & PSN_MASK;
	}
	if (sends)
		view_sender(qp, v);
	qp_explain(qp, v->why, sizeof(v->why));
}

uint32_t
qp_list(const struct nic *nic, uint32_t *qpns, uint32_t max)
{
	const struct qp *qp;
	uint32_t pos = 0, n = 0;

	while (n < max && (qp = keytab_next(&nic->qps, &pos)))
		qpns[n++] = qp->qpn;
	return n;
}

bool
qp_work_now(const struct nic *nic, uint32_t qpn, struct qp_work *work)
{
	const struct qp *qp = qp_find(nic, qpn);

	if (qp)
		*work = (struct qp_work){qpn, qp->sq.head + wq_posted(&qp->sq, qp->sq.head)};
	return qp != NULL;
}

uint32_t
qp_work_left(const struct nic *nic, const struct qp_work *work)
{
	const struct qp *qp = qp_find(nic, work->qpn);
	uint32_t left = qp ? work->end - qp->sq.head : 0;

	/* Beyond a queue's length: it is past them. */
	return qp && qp->state == SHM_QPS_RTS && left <= qp->sq.nb_slots ? left : 0;
}

const char *
qp_state_text(uint8_t state)
{
	static const char *const text[] = {
		[SHM_QPS_RESET] = "RESET", [SHM_QPS_INIT] = "INIT", [SHM_QPS_RTR] = "RTR",
		[SHM_QPS_RTS] = "RTS",     [SHM_QPS_SQD] = "SQD",   [SHM_QPS_SQE] = "SQE",
		[SHM_QPS_ERR] = "ERR",
	};

	return state < sizeof(text) / sizeof(text[0]) && text[state] ? text[state] : "?";
}

const char *
qp_type_text(uint8_t type)
{
	static const char *const text[] = {
		[SHM_QPT_RC] = "RC",
		[SHM_QPT_UC] = "UC",
		[SHM_QPT_UD] = "UD",
	};

	return type < sizeof(text) / sizeof(text[0]) && text[type] ? text[type] : "?";
}
