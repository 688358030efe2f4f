/* SPDX-License-Identifier: BSD-3-Clause */
#include "fail.h"
#include "open.h"
#include "psn.h"
#include "req.h"
#include "sge.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * READs and atomics of our own, and the responses to them, which are messages of the peer's stream.
 */

/* Grows with each packet of the peer's stream; under engines that count, in whole messages. */
static uint64_t
seen_of(const struct qp *qp)
{
	return qp->rel->rx_cum + qp->rel->rx_count;
}

void
weft_rd_note(struct qp *qp, uint64_t now_ns)
{
	struct weft_out *out = &qp->wout;

	if (!qp->nb_rd)
		return;
	out->rd_ns = now_ns;
	out->tx->rd_seen = seen_of(qp);
	out->tx->rd_asked = 0;
}

void
weft_rd_asked(struct qp *qp, const struct weft_rd_out *rd, uint64_t now_ns)
{
	qp->wout.tx->rds[(qp->rd_head + qp->nb_rd++) % WEFT_MAX_RD_ATOMIC] = *rd;
	if (qp->nb_rd == 1)
		weft_rd_note(qp, now_ns);
}

bool
weft_rd_is_missing(const struct qp *qp, uint32_t idx)
{
	return qp->nb_rd && (int32_t)(idx - qp->wout.tx->rds[qp->rd_head].wr_idx) >= 0;
}

/* ---- one that does not come ---- */

/* A READ waits for what was posted before it, so each of its timeouts is four times as long. */
uint64_t
weft_rd_due_ns(const struct qp *qp)
{
	/* What waits for a receive of the peer can't run while nothing is sent. */
	bool holds = qp->wout.hold_ns && qp->wout.hold_ns != NEVER_NS;

	if (!qp->nb_rd || !qp->attr.timeout || holds)
		return NEVER_NS;
	return qp->wout.rd_ns + (qp->wout.tx->rd_asked + 1u) * 4 * qp_ack_timeout_ns(qp);
}

/*
 * Nothing is outstanding that a timeout would repeat. So the peer hears an acknowledgement, to
 * which one that has failed says why again, and is asked whether it was started anew.
 */
void
weft_rd_timer(struct qp *qp, uint64_t now_ns)
{
	if (now_ns < weft_rd_due_ns(qp))
		return;
	/* A response waits for the message that the peer is sending: that is no silence. */
	if (qp->wout.tx->rd_seen != seen_of(qp)) {
		weft_rd_note(qp, now_ns);
	} else if (qp->wout.tx->rd_asked < qp->attr.retry_cnt) {
		qp->wout.tx->rd_asked++;
		weft_ack_now(qp);
		open_probe(qp, now_ns);
	}
}

bool
weft_is_stalled(const struct qp *qp, uint64_t now_ns)
{
	return weft_rd_due_ns(qp) <= now_ns && qp->wout.tx->rd_asked >= qp->attr.retry_cnt;
}

/* ---- those that come ---- */

struct weft_rd_out *
weft_rd_of(const struct qp *qp, uint32_t req_msn)
{
	for (uint32_t i = 0; i < qp->nb_rd; i++) {
		struct weft_rd_out *rd = &qp->wout.tx->rds[(qp->rd_head + i) % WEFT_MAX_RD_ATOMIC];

		if (((uint32_t)rd->msn & PSN_MASK) == req_msn)
			return rd;
	}
	return NULL;
}

/* A response that fits no request ends its WR and the QP. The peer is not told, as in RC. */
static void
bad_response(struct qp *qp, const struct weft_rd_out *rd)
{
	if (rd)
		qp_fail_request(qp, QP_REASON_BAD_RESPONSE, SHM_WC_BAD_RESP_ERR, rd->wr_idx);
	else
		qp_fail(qp, QP_REASON_BAD_RESPONSE, SHM_WC_BAD_RESP_ERR, qp->rel->rx_cum - 1);
}

void
weft_place_response(struct qp *qp, const struct wire_pkt *w)
{
	const struct weft_rd_out *rd = weft_rd_of(qp, w->weft.req_msn);
	const struct send_wr *wr = rd ? wr_at(qp, rd->wr_idx) : NULL;
	bool is_read = w->op->flags & OPF_READ_RESP, ok;

	if (!rd || is_read != (wr->wqe.op == SHM_WR_READ) ||
	    (is_read && w->weft.msg_len != rd->length)) {
		bad_response(qp, rd);
		return;
	}
	weft_rd_note(qp, qp->nic->now_ns);
	if (is_read)
		ok = sge_place_answer(qp, wr, rd->offset + w->weft.offset, w->payload,
		                      w->payload_len);
	else
		ok = sge_place_atomic(qp, wr, w);
	if (!ok)
		qp_fail_request(qp, QP_REASON_LOCAL_PROT, SHM_WC_LOC_PROT_ERR, rd->wr_idx);
}

void
weft_response_done(struct qp *qp, const struct weft_rx_msg *m)
{
	struct weft_rd_out *rd = weft_rd_of(qp, m->ref);

	if (!rd)
		return;
	rd->is_done = true;
	if (rd->msn >= qp->rel_qp.tx_first_msn) /* its request may still be repeated */
		qp->wout.tx->msgs[rd->msn & qp->rel_qp.msg_mask].is_void = true;
	while (qp->nb_rd && qp->wout.tx->rds[qp->rd_head].is_done) {
		qp->rd_head = (qp->rd_head + 1) % WEFT_MAX_RD_ATOMIC;
		qp->nb_rd--;
	}
	wr_complete(qp);
	if (qp->state != SHM_QPS_ERR && req_has_work(qp))
		sched_wake(&qp->nic->sched, &qp->sched, qp->nic->now_ns);
}
