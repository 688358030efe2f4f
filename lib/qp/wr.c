/* SPDX-License-Identifier: BSD-3-Clause */
#include "wr.h"

#include <string.h>

#include "batch.h"
#include "fail.h"
#include "lease.h"
#include "path.h"
#include "psn.h"
#include "weft_stream.h"

/* Binds and invalidations that one QP runs in one turn. Our choice. */
#define LOCAL_OPS_MAX 32
/* Rounds in which wr_settle goes on at once: about a thousand completions. Our choice. */
#define SETTLE_ROUNDS 4

bool
wq_take_recv(struct wq *wq, struct recv_wr *wr)
{
	const struct shm_recv_wqe *slot;
	struct shm_recv_wqe wqe;

	if (!wq_posted(wq, wq->head))
		return false;
	slot = wq_slot(wq, wq->head);
	shm_copy(&wqe, slot, sizeof(wqe));
	wr->wr_id = wqe.wr_id;
	wr->is_bad = wqe.nb_sge > wq->max_sge;
	wr->nb_sge = wr->is_bad ? 0 : wqe.nb_sge;
	shm_copy(wr->sge, slot + 1, wr->nb_sge * (uint32_t)sizeof(wr->sge[0]));
	wr->length = 0;
	for (uint32_t i = 0; i < wr->nb_sge; i++)
		wr->length += wr->sge[i].length;
	wq->head++;
	return true;
}

/* Every local buffer must be there before the first packet leaves; it is looked up again then. */
static bool
buffers_ok(const struct qp *qp, const struct send_wr *wr)
{
	struct mr_use use = {.pd = qp->pd};

	if (SHM_OP_BIT(wr->wqe.op) & SHM_OPS_RD)
		use.access = SHM_ACCESS_LOCAL_WRITE;
	for (uint32_t i = 0; i < wr->wqe.nb_sge; i++) {
		use.addr = wr->sge[i].addr;
		use.len = wr->sge[i].length;
		if (use.len && !mr_local(qp->nic, wr->sge[i].lkey, &use))
			return false;
	}
	return true;
}

/* What is wrong with a request, as a completion status. */
static uint8_t
judge(const struct qp *qp, const struct send_wr *wr)
{
	const struct shm_send_wqe *wqe = &wr->wqe;
	uint32_t op = wqe->op < SHM_WR_NB ? SHM_OP_BIT(wqe->op) : 0;

	if (!(op & shm_ops_of(qp->type)) || wqe->nb_sge > qp->sq.max_sge)
		return SHM_WC_LOC_QP_OP_ERR;
	if ((wqe->flags & SHM_SEND_INLINE) &&
	    (wqe->inline_len > qp->max_inline || wqe->nb_sge || (op & SHM_OPS_RD)))
		return SHM_WC_LOC_QP_OP_ERR;
	if ((op & SHM_OPS_RD) && !qp->attr.max_rd_atomic)
		return SHM_WC_LOC_QP_OP_ERR;
	if (qp->type == SHM_QPT_UD &&
	    (wqe->ud.qpn > PSN_MASK || !path_is_valid(qp->nic, &wqe->ud.av)))
		return SHM_WC_LOC_QP_OP_ERR;
	if (wr->length > WEFT_MAX_MSG || ((op & SHM_OPS_ATOMIC) && wr->length != 8) ||
	    (qp->type == SHM_QPT_UD && wr->length > qp->mtu))
		return SHM_WC_LOC_LEN_ERR;
	if (!(op & SHM_OPS_LOCAL) && !buffers_ok(qp, wr))
		return SHM_WC_LOC_PROT_ERR;
	return SHM_WC_SUCCESS;
}

/* Bind and invalidate happen here, in their turn among the sends. */
static uint8_t
run_local(struct qp *qp, const struct shm_send_wqe *wqe)
{
	if (wqe->op == SHM_WR_BIND_MW)
		return mr_bind(qp->nic, qp, wqe);
	return mr_invalidate(qp->nic, qp, wqe->imm) ? SHM_WC_SUCCESS : SHM_WC_MW_BIND_ERR;
}

/* Copy the slot at sq_open out of shared memory and judge the copy. */
static struct send_wr *
take(struct qp *qp)
{
	const struct shm_send_wqe *slot = wq_slot(&qp->sq, qp->sq_open);
	struct send_wr *wr = wr_at(qp, qp->sq_open);

	shm_copy(&wr->wqe, slot, sizeof(wr->wqe));
	wr->first_psn = wr->end_psn = qp->rel_qp.tx_end_psn;
	wr->opened = 0;
	wr->whole = false;
	wr->why = QP_REASON_NONE;
	wr->inline_data = (const uint8_t *)(slot + 1);
	wr->length = wr->wqe.flags & SHM_SEND_INLINE ? wr->wqe.inline_len : 0;
	if (wr->wqe.nb_sge <= qp->sq.max_sge) {
		shm_copy(wr->sge, slot + 1, wr->wqe.nb_sge * (uint32_t)sizeof(wr->sge[0]));
		for (uint32_t i = 0; i < wr->wqe.nb_sge; i++)
			wr->length += wr->sge[i].length;
	}
	wr->status = judge(qp, wr);
	qp->sq_open++;
	wq_prefetch(&qp->sq, qp->sq_open);
	return wr;
}

/* The request opened last, if some of its messages are still to be opened. */
static struct send_wr *
unfinished(const struct qp *qp)
{
	struct send_wr *wr;

	if (qp->sq_open == qp->sq.head)
		return NULL;
	wr = wr_at(qp, qp->sq_open - 1);
	return wr->whole ? NULL : wr;
}

bool
wr_pending(const struct qp *qp)
{
	const struct send_wr *wr = unfinished(qp);

	if (wr)
		return wr->status == SHM_WC_SUCCESS;
	return wq_posted(&qp->sq, qp->sq_open) != 0;
}

/* Draining ends what was begun: also a READ in parts. */
static bool
is_begun(const struct qp *qp)
{
	const struct send_wr *wr = unfinished(qp);

	return qp->state == SHM_QPS_SQD && wr && wr->opened;
}

static bool
may_open(const struct qp *qp)
{
	const struct rel_qp *rq = &qp->rel_qp;

	if (qp->framing == QP_WEFT && qp->wout.hold_ns)
		return false;
	return !qp->is_spoilt && (qp->state == SHM_QPS_RTS || is_begun(qp)) &&
	       rq->tx_end_msn - rq->tx_first_msn <= rq->msg_mask &&
	       qp->rel->inflight_pkts < rq->window_pkts;
}

/* Give a request its next message: all of it, or a READ's next MSG_PSNS_MAX packets. */
static void
post_message(struct qp *qp, struct send_wr *wr, uint64_t now_ns)
{
	struct rel_qp *rq = &qp->rel_qp;
	uint32_t slot = (uint32_t)rq->tx_end_msn & rq->msg_mask;
	uint64_t left = wr->length - wr->opened;
	uint64_t nb_psns = left ? (left + qp->mtu - 1) / qp->mtu : 1;
	bool rd = SHM_OP_BIT(wr->wqe.op) & SHM_OPS_RD;

	if (wr->wqe.op == SHM_WR_READ && nb_psns > MSG_PSNS_MAX) {
		nb_psns = MSG_PSNS_MAX;
		left = MSG_PSNS_MAX * qp->mtu;
	}
	qp->msgs[slot] = (struct rel_msg){.msn = rq->tx_end_msn,
	                                  .first_psn = rq->tx_end_psn,
	                                  .nb_psns = (uint32_t)nb_psns,
	                                  .one_pkt = wr->wqe.op == SHM_WR_READ};
	qp->tx_msgs[slot] =
		(struct tx_msg){.wr_idx = qp->sq_open - 1, .offset = wr->opened, .length = left};
	if (rd)
		qp->rd_msn[(qp->rd_head + qp->nb_rd++) % WEFT_MAX_RD_ATOMIC] = rq->tx_end_msn;
	wr->opened += left;
	wr->whole = wr->opened == wr->length;
	if (rq->tx_end_psn == qp->rel->tx_una)
		qp->progress_ns = now_ns;
	rq->tx_end_psn += nb_psns;
	rq->tx_end_msn++;
	wr->end_psn = rq->tx_end_psn;
	qp->rel_ops->on_post(qp->rel, &qp->msgs[slot], now_ns);
}

/* Run in its turn, behind a fence if it asks for one. Local operations need no engine. */
static void
open_local(struct qp *qp, struct send_wr *wr)
{
	wr->status = run_local(qp, &wr->wqe);
	wr->whole = wr->status == SHM_WC_SUCCESS;
	wr_complete_later(qp);
}

/* Whether a request waits for READs and atomics before it. */
static bool
must_wait(const struct qp *qp, const struct send_wr *wr)
{
	if ((wr->wqe.flags & SHM_SEND_FENCE) && qp->nb_rd && !wr->opened)
		return true;
	if (qp->framing == QP_WEFT && weft_uses_recv(wr) &&
	    qp->wout.ssn - qp->wout.ssn_una >= qp->terms.max_msgs)
		return true;
	return (SHM_OP_BIT(wr->wqe.op) & SHM_OPS_RD) && qp->nb_rd >= qp->attr.max_rd_atomic;
}

/* Whether there is room for one more copy; wr_complete goes on when there is again. */
static inline bool
has_room(struct qp *qp, uint64_t now_ns)
{
	if (qp->wrs || lease_wrs(qp))
		return qp->sq_open - qp->sq.head <= qp->wr_mask;
	qp->hold_ns = now_ns + LEASE_RETRY_NS;
	qp->hold_is_rnr = false;
	return false;
}

bool
wr_open(struct qp *qp, uint64_t now_ns)
{
	uint32_t nb_local = 0;

	while (may_open(qp)) {
		struct send_wr *wr = unfinished(qp);

		if (!wr) {
			if (!wq_posted(&qp->sq, qp->sq_open) || !has_room(qp, now_ns))
				return false;
			wr = take(qp);
		}
		if (wr->status != SHM_WC_SUCCESS) {
			/* It stops what is behind it, and completes when all before it have. */
			wr_complete_later(qp);
			return false;
		}
		if (must_wait(qp, wr))
			return false;
		if (!(SHM_OP_BIT(wr->wqe.op) & SHM_OPS_LOCAL)) {
			if (qp->framing == QP_WEFT)
				weft_post(qp, wr, qp->sq_open - 1, now_ns);
			else
				post_message(qp, wr, now_ns);
			return true;
		}
		if (nb_local++ == LOCAL_OPS_MAX) {
			sched_wake(&qp->nic->sched, &qp->sched, now_ns);
			return false;
		}
		qp->nic->batch->nb_planned++;
		open_local(qp, wr);
	}
	return false;
}

static void
complete_one(struct qp *qp, const struct send_wr *wr)
{
	struct shm_cqe cqe = {
		.wr_id = wr->wqe.wr_id,
		.ts_ns = qp->nic->now_ns,
		.byte_len = (uint32_t)wr->length,
		.qpn = qp->qpn,
		.wqe_idx = qp->sq.head,
		.op = shm_wc_op_of(wr->wqe.op),
	};

	batch_cqe(qp->nic, qp, qp->send_cq, &cqe, false);
}

static enum qp_reason
reason_of(const struct send_wr *wr)
{
	static const struct {
		uint8_t status;
		enum qp_reason why;
	} rows[] = {
		{SHM_WC_LOC_LEN_ERR, QP_REASON_LOCAL_LENGTH},
		{SHM_WC_LOC_PROT_ERR, QP_REASON_LOCAL_PROT},
		{SHM_WC_MW_BIND_ERR, QP_REASON_BIND},
	};

	if (wr->why)
		return wr->why;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].status == wr->status)
			return rows[i].why;
	return QP_REASON_LOCAL_WQE;
}

/* A refused request reached the front: the QP ends with it. */
static void
refuse(struct qp *qp, const struct send_wr *wr)
{
	bool is_gone = wr->why == QP_REASON_LOCAL_MEMORY;

	if (qp->type == SHM_QPT_RC)
		qp_fail(qp, reason_of(wr), wr->status, qp->rel->tx_una);
	else
		qp_fail_sq(qp, reason_of(wr), wr->status);
	if (is_gone)
		qp->nic->conf.driver->event(qp->owner, SHM_EVENT_QP_FATAL, qp->cookie);
}

/*
 * A request with an error ends the QP when all before it is complete. Without reliability all that
 * was opened is sent first, if into the void: the engine must hold nothing of it when it goes on.
 */
static bool
may_refuse(const struct qp *qp, const struct send_wr *wr)
{
	if (qp->framing == QP_WEFT)
		return true;
	if (qp->type == SHM_QPT_RC)
		return wr->first_psn <= qp->rel->tx_una;
	return qp->rel_qp.tx_end_psn == qp->rel->tx_una;
}

void
wr_spoil(struct qp *qp, uint32_t idx, enum qp_reason why)
{
	struct send_wr *wr = wr_at(qp, idx);

	if (qp->state == SHM_QPS_ERR || (qp->is_spoilt && (int32_t)(idx - qp->spoilt_idx) >= 0))
		return;
	wr->status = SHM_WC_LOC_PROT_ERR;
	wr->why = (uint8_t)why;
	qp->is_spoilt = true;
	qp->spoilt_idx = idx;
	wr_complete_later(qp);
}

void
wr_complete_later(struct qp *qp)
{
	turns_add(&qp->nic->done_qps, &qp_client(qp)->done, &qp->done_link);
}

static void
go_on(struct qp *qp)
{
	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_SQE)
		qp_flush(qp);
	else
		wr_complete(qp);
}

void
wr_settle(struct nic *nic)
{
	struct list *done;

	batch_flush_in(nic);
	for (int i = 0; i < SETTLE_ROUNDS && !turns_is_empty(&nic->done_qps); i++) {
		/* A QP comes back only if it found no room for a completion: that ends a round. */
		while (batch_cqe_fits(nic->batch) && (done = turns_pop(&nic->done_qps)))
			go_on(container_of(done, struct qp, done_link));
		batch_flush_in(nic);
	}
}

bool
wr_is_drained(const struct qp *qp)
{
	const struct send_wr *last = unfinished(qp);

	/* A request that waits behind a fence, or for a READ's turn, has not begun. */
	return qp->sq.head == qp->sq_open ||
	       (qp->sq.head == qp->sq_open - 1 && last && !last->opened);
}

static void
tell_drained(struct qp *qp)
{
	if (qp->state != SHM_QPS_SQD || qp->drained_told || !wr_is_drained(qp))
		return;
	qp->drained_told = true;
	if (qp->attr.en_sqd_notify)
		qp->nic->conf.driver->event(qp->owner, SHM_EVENT_SQ_DRAINED, qp->cookie);
}

/* Messages that are acknowledged leave their slots. */
static void
retire(struct qp *qp)
{
	struct rel_qp *rq = &qp->rel_qp;

	while (rq->tx_first_msn != rq->tx_end_msn) {
		const struct rel_msg *m = &qp->msgs[rq->tx_first_msn & rq->msg_mask];

		if (m->first_psn + m->nb_psns > qp->rel->tx_una)
			break;
		rq->tx_first_msn++;
	}
}

/* Whether the request at the head of the queue is complete. */
static inline bool
is_complete(struct qp *qp, const struct send_wr *wr)
{
	if (qp->framing == QP_WEFT)
		return weft_is_complete(qp, qp->sq.head);
	return wr->whole && wr->end_psn <= qp->rel->tx_una;
}

void
wr_complete(struct qp *qp)
{
	uint32_t head = qp->sq.head;

	if (qp->framing == QP_WEFT)
		weft_retire(qp);
	else
		retire(qp);
	while (qp->sq.head != qp->sq_open) {
		const struct send_wr *wr = wr_at(qp, qp->sq.head);

		if (wr->status != SHM_WC_SUCCESS) {
			if (!may_refuse(qp, wr))
				break;
			if (head != qp->sq.head)
				wq_give_back(&qp->sq);
			refuse(qp, wr);
			return;
		}
		if (!is_complete(qp, wr))
			break;
		if (!batch_cqe_fits(qp->nic->batch)) {
			wr_complete_later(qp);
			break;
		}
		if (qp->sq_sig_all || (wr->wqe.flags & SHM_SEND_SIGNALED))
			complete_one(qp, wr);
		qp->sq.head++;
	}
	if (head != qp->sq.head) {
		wq_give_back(&qp->sq);
		if (qp->sq_open - head > qp->wr_mask && wr_pending(qp)) /* was full */
			sched_wake(&qp->nic->sched, &qp->sched, qp->nic->now_ns);
	}
	if (qp->sq.head == qp->sq_open)
		lease_wrs_end(qp);
	if (qp->framing == QP_WEFT)
		weft_rest(qp);
	tell_drained(qp);
}
