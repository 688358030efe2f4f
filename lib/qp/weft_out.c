/* SPDX-License-Identifier: BSD-3-Clause */
#include "comp.h"
#include "lease.h"
#include "psn.h"
#include "req.h"
#include "weft_hdr.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * The own stream. Requests and responses are messages of it and take turns; each gets its MSN and
 * its PSNs when its first packet may leave. A READ REQUEST has one PSN: what it brings comes in the
 * peer's stream.
 */

#define OPS_SSN (SHM_OPS_SEND | SHM_OP_BIT(SHM_WR_SEND_INV) | SHM_OP_BIT(SHM_WR_WRITE_IMM))

/* A WR that has failed keeps the op that the application wrote, which may be none. */
bool
weft_uses_recv(const struct send_wr *wr)
{
	return wr->wqe.op < SHM_WR_NB && SHM_OP_BIT(wr->wqe.op) & OPS_SSN;
}

bool
weft_has_slot(struct qp *qp, uint64_t now_ns)
{
	const struct rel_qp *rq = &qp->rel_qp;

	if (rq->tx_end_msn - rq->tx_first_msn > rq->msg_mask)
		return false;
	if (qp->wout.tx || lease_weft_tx(qp))
		return true;
	qp->hold_ns = now_ns + LEASE_RETRY_NS;
	qp->hold_is_rnr = false;
	return false;
}

/* Give a message its numbers, and tell the engine. */
static void
begin(struct qp *qp, uint32_t nb_psns, const struct weft_tx_msg *t, uint64_t now_ns)
{
	struct rel_qp *rq = &qp->rel_qp;
	uint32_t slot = (uint32_t)rq->tx_end_msn & rq->msg_mask;

	qp->msgs[slot] = (struct rel_msg){
		.msn = rq->tx_end_msn, .first_psn = rq->tx_end_psn, .nb_psns = nb_psns};
	qp->wout.tx->msgs[slot] = *t;
	if (rq->tx_end_psn == qp->rel->tx_una)
		qp->progress_ns = now_ns;
	rq->tx_end_psn += nb_psns;
	rq->tx_end_msn++;
	qp->rel_ops->on_post(qp->rel, &qp->msgs[slot], now_ns);
}

void
weft_post(struct qp *qp, struct send_wr *wr, uint32_t wr_idx, uint64_t now_ns)
{
	struct weft_out *out = &qp->wout;
	uint64_t left = wr->length - wr->opened, most = MSG_PSNS_MAX * qp->mtu;
	bool rd = SHM_OP_BIT(wr->wqe.op) & SHM_OPS_RD;
	struct weft_tx_msg t = {.kind = WEFT_TX_REQUEST, .wr_idx = wr_idx, .offset = wr->opened};

	if (rd && left > most)
		left = most;
	if (weft_uses_recv(wr) && !wr->whole)
		wr->ssn = out->ssn++;
	t.ssn = weft_uses_recv(wr) ? wr->ssn : out->ssn;
	t.length = (uint32_t)left;
	wr->msn = qp->rel_qp.tx_end_msn;
	t.is_rd = rd;
	if (rd)
		weft_rd_asked(qp,
		              &(struct weft_rd_out){.msn = wr->msn,
		                                    .offset = wr->opened,
		                                    .length = t.length,
		                                    .wr_idx = wr_idx},
		              now_ns);
	wr->opened += left;
	wr->whole = wr->opened == wr->length;
	wr->end_psn = qp->rel_qp.tx_end_psn + (rd ? 1 : weft_pkts_of(qp->mtu, left));
	begin(qp, (uint32_t)(wr->end_psn - qp->rel_qp.tx_end_psn), &t, now_ns);
}

static bool
open_response(struct qp *qp, uint64_t now_ns)
{
	struct weft_in *in = &qp->win;
	const struct weft_rd_in *rd;
	bool is_read;

	if (in->rd_head == in->rd_run)
		return false;
	rd = &in->rx->rds[in->rd_head % WEFT_MAX_RD_ATOMIC];
	is_read = opcode_table[rd->opcode].flags & OPF_READ;
	qp->wout.nb_resps++;
	begin(qp, is_read ? weft_pkts_of(qp->mtu, rd->length) : 1,
	      &(struct weft_tx_msg){.kind = is_read ? WEFT_TX_READ_RESP : WEFT_TX_ATOMIC_RESP,
	                            .va = rd->va,
	                            .rkey = rd->rkey,
	                            .length = is_read ? rd->length : 0,
	                            .req_msn = (uint32_t)rd->msn & PSN_MASK},
	      now_ns);
	in->rd_head++;
	weft_in_rest(qp);
	return true;
}

bool
weft_wants_open(const struct qp *qp)
{
	if (qp->win.rd_head != qp->win.rd_run || weft_wants_again(qp))
		return true;
	return !qp->wout.hold_ns && qp->state != SHM_QPS_RTR && wr_pending(qp);
}

bool
weft_open(struct qp *qp, uint64_t now_ns)
{
	if (!weft_has_slot(qp, now_ns))
		return false;
	qp->resp_turn = !qp->resp_turn;
	if (qp->resp_turn && open_response(qp, now_ns))
		return true;
	if (weft_wants_again(qp) && weft_open_again(qp, now_ns))
		return true;
	/* It may have found that nothing is left to be sent again. */
	if (!weft_wants_again(qp) && wr_open(qp, now_ns))
		return true;
	return open_response(qp, now_ns);
}

bool
weft_is_answering(const struct qp *qp)
{
	const struct rel_qp *rq = &qp->rel_qp;

	return rq->tx_first_msn != rq->tx_end_msn &&
	       qp->wout.tx->msgs[rq->tx_first_msn & rq->msg_mask].kind != WEFT_TX_REQUEST;
}

void
weft_retire(struct qp *qp)
{
	struct rel_qp *rq = &qp->rel_qp;
	uint64_t una = qp->rel->tx_una;

	for (; rq->tx_first_msn != rq->tx_end_msn; rq->tx_first_msn++) {
		uint32_t slot = (uint32_t)rq->tx_first_msn & rq->msg_mask;

		if (qp->msgs[slot].first_psn + qp->msgs[slot].nb_psns > una)
			break;
		qp->wout.nb_resps -= qp->wout.tx->msgs[slot].kind != WEFT_TX_REQUEST;
	}
}

void
weft_rest(struct qp *qp)
{
	if (qp->win.rx) {
		weft_deliver(qp);
		if (qp->state == SHM_QPS_ERR)
			return;
		weft_in_rest(qp);
	}
	weft_settle_fault(qp);
	if (qp->wout.tx && !qp->nb_rd && qp->rel_qp.tx_first_msn == qp->rel_qp.tx_end_msn)
		lease_weft_tx_end(qp);
}

void
weft_end(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	if (in->rx) {
		weft_drop_recvs(qp);
		lease_weft_rx_end(qp);
	}
	if (qp->wout.tx)
		lease_weft_tx_end(qp);
}

uint64_t
weft_due_ns(const struct qp *qp)
{
	uint64_t due = qp->win.ack_due_ns;

	if (qp->wout.hold_ns)
		due = min_ns(due, qp->wout.hold_ns);
	return min_ns(min_ns(due, weft_rd_due_ns(qp)), weft_fault_due_ns(qp));
}

void
weft_timer(struct qp *qp, uint64_t now_ns)
{
	weft_end_hold(qp, now_ns);
	if (qp->win.ack_due_ns <= now_ns && qp->win.nb_unacked) {
		qp->win.ack_due_ns = NEVER_NS;
		weft_ack_now(qp);
	}
	weft_rd_timer(qp, now_ns);
	if (weft_fault_due_ns(qp) <= now_ns)
		weft_settle_fault(qp);
}

bool
weft_is_complete(struct qp *qp, uint32_t idx)
{
	struct weft_out *out = &qp->wout;
	const struct send_wr *wr = wr_at(qp, idx);

	if (weft_rd_is_missing(qp, idx))
		return false;
	/* A response needs no acknowledgement beside it; a bind has nothing to be acknowledged. */
	if (wr->whole && (SHM_OP_BIT(wr->wqe.op) & (SHM_OPS_LOCAL | SHM_OPS_RD))) {
		out->conf_idx += idx == out->conf_idx;
		return (int32_t)(idx - out->conf_idx) < 0;
	}
	/* An engine need not believe an answer, and may send again what it has not taken it for. */
	return (int32_t)(idx - out->conf_idx) < 0 && wr->end_psn <= qp->rel->tx_una;
}

/* ---- packets ---- */

/* The BTH of what is not, or no longer, made of a work request. */
static void
fill_bth(const struct qp *qp, struct wire_pkt *w)
{
	w->mig_req = true;
	w->solicited = w->fecn = w->becn = false;
	w->pkey = PKEY_DEFAULT;
	w->dest_qpn = qp->attr.dest_qpn;
}

/* What the peer has refused, or has answered already: its PSN is all that is left of it. */
static void
fill_void(const struct qp *qp, const struct weft_tx_msg *t, uint32_t off, struct wire_pkt *w,
          struct weft_fill *f)
{
	fill_bth(qp, w);
	f->wr = NULL;
	f->req_msn = 0;
	w->opcode = OP_WEFT | OP_VOID;
	w->payload_len = 0;
	w->weft.offset = off;
	w->weft.msg_len = t->kind == WEFT_TX_REQUEST && t->is_rd ? 0 : t->length;
	w->weft.ssn = (uint32_t)t->ssn & PSN_MASK;
}

static void
fill_request(struct qp *qp, const struct weft_tx_msg *t, const struct rel_tx *tx,
             const struct rel_msg *m, struct wire_pkt *w, struct weft_fill *f)
{
	const struct send_wr *wr = wr_at(qp, t->wr_idx);
	uint64_t off = (tx->psn - m->first_psn) << __builtin_ctz(qp->mtu);
	uint8_t opcode = OP_WEFT | req_op(wr, off == 0, tx->psn == m->first_psn + m->nb_psns - 1);

	f->wr = wr;
	f->wr_idx = t->wr_idx;
	f->off = t->offset + off;
	req_fill(qp, wr, f->off, t->offset + t->length - f->off, opcode, w);
	w->dma_len = t->length;
	w->weft.offset = (uint32_t)off;
	w->weft.msg_len = t->length;
	w->weft.ssn = (uint32_t)t->ssn & PSN_MASK;
	w->weft.opp_emsn = (uint32_t)qp->win.emsn & PSN_MASK;
}

static void
fill_response(struct qp *qp, const struct weft_tx_msg *t, const struct rel_tx *tx,
              const struct rel_msg *m, struct wire_pkt *w, struct weft_fill *f)
{
	uint32_t off = (uint32_t)(tx->psn - m->first_psn) << __builtin_ctz(qp->mtu);
	uint32_t left = t->length - off;
	bool first = off == 0, last = tx->psn == m->first_psn + m->nb_psns - 1;

	fill_bth(qp, w);
	f->wr = NULL;
	f->va = t->va + off;
	f->rkey = t->rkey;
	f->req_msn = t->req_msn;
	w->weft.req_msn = t->req_msn;
	w->payload_len = 0;
	if (t->kind == WEFT_TX_ATOMIC_RESP) {
		w->opcode = OP_WEFT | OP_ATOMIC_ACK;
		w->atomic_orig = t->orig;
		return;
	}
	w->opcode = OP_WEFT | (first && last ? OP_READ_RESP_ONLY
	                       : first       ? OP_READ_RESP_FIRST
	                       : last        ? OP_READ_RESP_LAST
	                                     : OP_READ_RESP_MIDDLE);
	w->payload_len = left < qp->mtu ? left : qp->mtu;
	w->weft.offset = off;
	w->weft.msg_len = t->length;
}

void
weft_fill(struct qp *qp, const struct rel_msg *m, const struct rel_tx *tx, struct wire_pkt *w,
          struct weft_fill *f, uint64_t now_ns)
{
	const struct weft_tx_msg *t = &qp->wout.tx->msgs[m->msn & qp->rel_qp.msg_mask];
	const struct weft_terms *terms = &qp->terms;

	if (t->is_void)
		fill_void(qp, t, (uint32_t)(tx->psn - m->first_psn) * qp->mtu, w, f);
	else if (t->kind == WEFT_TX_REQUEST)
		fill_request(qp, t, tx, m, w, f);
	else
		fill_response(qp, t, tx, m, w, f);
	w->psn = (uint32_t)tx->psn & PSN_MASK;
	w->msn = (uint32_t)m->msn & PSN_MASK;
	w->weft.nb_slots = terms->tx_slots;
	w->weft.has_lane = terms->tx_wire & WIRE_PATH;
	w->weft.has_ts = terms->tx_wire & WIRE_TS;
	w->weft.retransmit = tx->retransmit;
	w->weft.sync = tx->sync;
	w->weft.ext_len = qp->rel_ops->data_ext_len;
	w->weft.ext = tx->ext;
	w->weft.int_area = NULL;
	w->weft.ts_ns = (uint32_t)now_ns;
	w->weft.retry = tx->retry;
	w->weft.tag = terms->tx_wire & WIRE_TRIM ? DCP_DATA : DCP_OTHER;
	w->weft.is_header_only = false;
}
