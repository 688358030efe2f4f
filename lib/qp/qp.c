/* SPDX-License-Identifier: BSD-3-Clause */
#include "qp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "comp.h"
#include "engines.h"
#include "fail.h"
#include "lease.h"
#include "log.h"
#include "open.h"
#include "path.h"
#include "psn.h"
#include "req.h"
#include "state.h"
#include "view.h"
#include "wr.h"

/* What a QP starts from, and comes back to by a change to RESET. */
static void
reset(struct qp *qp)
{
	lease_end_all(qp);
	qp->state = SHM_QPS_RESET;
	qp->attr = (struct shm_qp_attr){.state = SHM_QPS_RESET};
	memset(qp->rel, 0, qp->engines_size);
	qp->rel->deadline_ns = qp->cc->deadline_ns = qp->lb->deadline_ns = NEVER_NS;
	qp->framing = QP_PLAIN;
	memset(&qp->win, 0, sizeof(qp->win));
	memset(&qp->wout, 0, sizeof(qp->wout));
	qp->rel_qp = (struct rel_qp){.msg_mask = qp->wr_mask};
	qp->sq_open = qp->sq.head;
	qp->rd_head = qp->nb_rd = qp->nb_unasked = 0;
	qp->hold_ns = qp->rtt_sent_ns = 0;
	qp->nb_rnr = 0;
	qp->sent_count = qp->out_bytes = 0;
	qp->tx_nxt_psn = qp->progress_ns = qp->asked_ns = qp->neigh_wait_ns = 0;
	qp->comm_est = false;
	qp->msn = qp->rx_op = 0;
	qp->is_spoilt = false;
	qp->rx_skip = qp->rnr_sent = false;
	memset(&qp->error, 0, sizeof(qp->error));
	memset(&qp->counts, 0, sizeof(qp->counts));
}

static void
link_refs(struct qp *qp, uint32_t by)
{
	qp->send_cq->nb_refs += by;
	qp->recv_cq->nb_refs += by;
	if (qp->srq)
		qp->srq->nb_refs += by;
}

static bool
init_ok(const struct qp_init *init)
{
	return (init->type == SHM_QPT_RC || init->type == SHM_QPT_UC || init->type == SHM_QPT_UD) &&
	       shm_qp_cap_ok(&init->cap) && init->send_cq && init->recv_cq &&
	       (!init->srq || init->type != SHM_QPT_UC);
}

struct qp *
qp_create(struct nic *nic, const struct qp_init *init)
{
	struct qp *qp;

	if (!init_ok(init)) {
		errno = EINVAL;
		return NULL;
	}
	qp = lease_qp(nic, (uint32_t)qp_engines_size(nic, init->type));
	if (!qp)
		goto no_qp;
	qp->type = init->type;
	qp_engines_place(qp);
	qp->pd = init->pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->max_inline = init->cap.max_inline;
	qp->sq_sig_all = init->sq_sig_all;
	qp->cookie = init->cookie;
	qp->owner = init->owner;
	qp->sq = (struct wq){init->sq,
	                     init->sq_slots,
	                     init->sq_stride,
	                     init->cap.max_send_wr,
	                     init->cap.max_send_sge,
	                     0};
	qp->rq = (struct wq){init->rq,
	                     init->rq_slots,
	                     init->rq_stride,
	                     init->cap.max_recv_wr,
	                     init->cap.max_recv_sge,
	                     0};
	sched_ent_init(&qp->sched, init->client ? &init->client->sched : &nic->own_client.sched);
	list_init(&qp->resp_link);
	list_init(&qp->cnp_link);
	list_init(&qp->done_link);
	list_init(&qp->open.link);
	wheel_timer_init(&qp->timer);
	do
		qp->qpn = (uint32_t)nic_random(nic) & PSN_MASK;
	while (qp->qpn <= QPN_GSI || qp->qpn == PSN_MASK || keytab_get(&nic->qps, qp->qpn));
	if (!lease_begin(qp))
		goto no_lease;
	if (keytab_put(&nic->qps, qp->qpn, qp))
		goto no_slot;
	reset(qp);
	link_refs(qp, 1);
	return qp;

no_slot:
	lease_finish(qp);
no_lease:
	lease_qp_end(qp);
no_qp:
	errno = ENOMEM;
	return NULL;
}

/* It answers nothing, for now. */
static void
hush(struct qp *qp)
{
	struct nic *nic = qp->nic;
	uint8_t cls = qp->sched.cls;

	turns_del(&qp_client(qp)->resp[cls], &qp->resp_link);
	if (turns_is_empty(&nic->resp_qps[cls]))
		nic->resp_mask &= (uint8_t) ~(1u << cls);
}

void
qp_set_class(struct qp *qp, uint8_t cls)
{
	struct nic *nic = qp->nic;
	bool answers = list_is_linked(&qp->resp_link);

	hush(qp);
	sched_set_class(&nic->sched, &qp->sched, cls, nic->now_ns);
	if (answers)
		qp_respond(qp);
}

/* Its engines' states are cleared or freed next. */
static void
stop(struct qp *qp)
{
	nic_add_engine_stats(qp, &qp->nic->ended_stats);
	sched_remove(&qp->nic->sched, &qp->sched);
	hush(qp);
	turns_del(&qp_client(qp)->cnp, &qp->cnp_link);
	turns_del(&qp_client(qp)->done, &qp->done_link);
	wheel_cancel(&qp->nic->wheel, &qp->timer);
	open_end(qp);
	path_drop(qp);
}

void
qp_destroy(struct qp *qp)
{
	batch_flush_in(qp->nic);
	stop(qp);
	keytab_del(&qp->nic->qps, qp->qpn);
	link_refs(qp, (uint32_t)-1);
	lease_finish(qp);
	lease_qp_end(qp);
}

struct qp *
qp_find(const struct nic *nic, uint32_t qpn)
{
	return keytab_get(&nic->qps, qpn);
}

/* ---- changes of state ---- */

static void
to_reset(struct qp *qp)
{
	struct wq *wqs[] = {&qp->sq, &qp->rq};

	stop(qp);
	for (uint32_t i = 0; i < 2; i++) {
		wqs[i]->head += wq_posted(wqs[i], wqs[i]->head);
		wq_give_back(wqs[i]);
		if (wqs[i]->ring)
			atomic_store(&wqs[i]->ring->need_bell, 0);
	}
	reset(qp);
}

/* The receiver halves start: requests may come before the own PSN is known. */
static void
to_rtr(struct qp *qp)
{
	qp->mtu = qp->type == SHM_QPT_UD ? mtu_bytes(qp->nic->active_mtu)
	                                 : mtu_bytes(qp->attr.path_mtu);
	qp->rel_qp.rx_first_psn = PSN_BIAS + qp->attr.rq_psn;
	qp->rel_qp.window_pkts = qp->nic->conf.window_pkts;
	qp_engines_init(qp);
}

uint64_t
qp_ack_timeout_ns(const struct qp *qp)
{
	bool is_said = qp->state != SHM_QPS_RTR && qp->attr.timeout;

	if (qp->framing == QP_WEFT && !is_said)
		return RESPONSE_TIMEOUT_NS;
	return is_said ? UINT64_C(4096) << qp->attr.timeout : 0;
}

static void
refuse(struct qp *qp, uint8_t to, const char *why)
{
	struct nic *nic = qp->nic;

	snprintf(nic->refusal, sizeof(nic->refusal),
	         "refused to change QP 0x%06x from %s to %s: %s", qp->qpn, qp_state_text(qp->state),
	         to < SHM_QPS_NB ? qp_state_text(to) : "nothing", why);
	log_info("%s %s", nic->conf.name, nic->refusal);
}

/* Everything that can fail, before anything is changed. */
static int
prepare(struct qp *qp, const struct shm_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
	const char *why = state_check(qp->type, qp->state, attr, mask, qp->nic->active_mtu);
	int rc = why ? -EINVAL : 0;
	char path[192];

	if (!why && (mask & SHM_QP_AV) && !path_is_valid(qp->nic, &attr->av)) {
		rc = -EINVAL;
		path_explain(qp->nic, &attr->av, path, sizeof(path));
		why = path;
	}
	if (!why && (mask & SHM_QP_MAX_DEST_RD_ATOMIC)) {
		rc = lease_res_resize(qp, attr->max_dest_rd_atomic);
		why = rc ? "no memory to remember its READs and atomics" : NULL;
	}
	if (!why && (mask & SHM_QP_AV)) {
		rc = path_set(qp, &attr->av, now_ns);
		why = "too many neighbours";
	}
	if (rc)
		refuse(qp, mask & SHM_QP_STATE ? attr->state : qp->state, why);
	return rc;
}

/*
 * What was posted before the change is flushed, and only that. The application may spoil its queue
 * meanwhile: then nothing more can be taken from it.
 */
static void
from_sqe(struct qp *qp)
{
	uint32_t end = qp->sq.head + wq_posted(&qp->sq, qp->sq.head), head;

	qp->state = SHM_QPS_SQE;
	while (qp->state == SHM_QPS_SQE && (int32_t)(end - qp->sq.head) > 0) {
		head = qp->sq.head;
		qp_flush(qp);
		batch_flush_in(qp->nic);
		if (qp->sq.head == head)
			qp_fail_ring(qp);
	}
	if (qp->state == SHM_QPS_ERR) /* that, or its CQ overran */
		return;
	turns_del(&qp_client(qp)->done, &qp->done_link);
	qp->state = SHM_QPS_RTS;
	memset(&qp->error, 0, sizeof(qp->error));
}

static void
enter(struct qp *qp, uint8_t from, uint8_t to, uint64_t now_ns)
{
	qp->state = qp->attr.state = to;
	switch (to) {
	case SHM_QPS_RESET:
		to_reset(qp);
		break;
	case SHM_QPS_RTR:
		to_rtr(qp);
		if (qp->framing == QP_PENDING)
			open_begin(qp, now_ns);
		break;
	case SHM_QPS_RTS:
		if (from == SHM_QPS_RTR && qp->framing == QP_PLAIN)
			framing_start_plain(qp, now_ns);
		if (from == SHM_QPS_SQE)
			from_sqe(qp);
		break;
	case SHM_QPS_SQD:
		qp->drained_told = false;
		wr_complete(qp);
		break;
	}
}

int
qp_modify(struct qp *qp, const struct shm_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
	uint8_t from = qp->state;
	uint8_t to = mask & SHM_QP_STATE ? attr->state : from;
	int rc;

	qp->nic->now_ns = now_ns;
	rc = prepare(qp, attr, mask, now_ns);
	if (rc)
		return rc;
	state_copy(&qp->attr, attr, mask);
	if (to == SHM_QPS_SQD && to != from && !(mask & SHM_QP_EN_SQD_ASYNC_NOTIFY))
		qp->attr.en_sqd_notify = 0; /* asked for by each change anew */
	if (to == SHM_QPS_ERR) {
		/* From RESET there is nothing to flush, and qp_fail takes it for dead. */
		if (from == SHM_QPS_RESET)
			qp->state = SHM_QPS_INIT;
		qp_fail(qp, QP_REASON_USER, 0, 0);
	} else if (to != from) {
		enter(qp, from, to, now_ns);
	}
	qp->rel_qp.ack_timeout_ns = qp_ack_timeout_ns(qp);
	if (qp->state == SHM_QPS_RTS || qp->state == SHM_QPS_SQD) {
		comp_arm(qp);
		qp_doorbell(qp, now_ns);
	}
	wr_settle(qp->nic);
	return 0;
}

void
qp_query(const struct qp *qp, struct shm_qp_attr *attr, char *reason, uint32_t size)
{
	*attr = qp->attr;
	attr->state = attr->cur_state = qp->state;
	attr->sq_draining = qp->state == SHM_QPS_SQD && !wr_is_drained(qp);
	if (qp->rel && qp->state >= SHM_QPS_RTR) {
		attr->rq_psn = (uint32_t)qp->rel->rx_cum & PSN_MASK;
		if (qp->state >= SHM_QPS_RTS)
			attr->sq_psn = (uint32_t)qp->tx_nxt_psn & PSN_MASK;
	}
	if (size)
		qp_explain(qp, reason, size);
}

void
qp_doorbell(struct qp *qp, uint64_t now_ns)
{
	qp->nic->now_ns = now_ns;
	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_SQE)
		wr_complete_later(qp);
	else if ((qp->state == SHM_QPS_RTS || qp->state == SHM_QPS_SQD) && wq_is_broken(&qp->sq))
		qp_fail_ring(qp);
	else if (qp->framing == QP_PENDING)
		open_posted(qp, now_ns);
	else if (req_has_work(qp))
		sched_wake(&qp->nic->sched, &qp->sched, now_ns);
}

void
qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++)
		qp_prefetch(qps[i], QP_SEND);
	for (uint32_t i = 0; i < n; i++)
		wq_prefetch(&qps[i]->sq, qps[i]->sq_open);
	for (uint32_t i = 0; i < n; i++)
		qp_doorbell(qps[i], now_ns);
}
