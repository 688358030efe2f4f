/* SPDX-License-Identifier: BSD-3-Clause */
#include "req.h"

#include <string.h>

#include "batch.h"
#include "fail.h"
#include "path.h"
#include "piece.h"
#include "psn.h"
#include "sge.h"
#include "weft_hdr.h"
#include "weft_stream.h"
#include "wr.h"

/* Packets that may follow one that asked for an acknowledgement before the next must ask. */
#define ACK_EVERY_PKTS 16

/*
 * How long a request looks for the MAC of its next hop, and how soon again: a quarter of the time
 * it has waited, at least so much. Until the question is repeated: a datagram that leaves before is
 * lost for no more than a neighbour, or a kernel that asks for us, with little time. Our choice.
 */
#define NEIGH_WAIT_NS NEIGH_ASK_NS
#define NEIGH_POLL_NS 20000
#define NEIGH_WAIT_ASKS 1

/* Operations of each kind of request, by the packet's place in its message. */
struct op_row {
	uint8_t first, middle, last, only;
};
static const struct op_row op_rows[SHM_WR_NB] = {
	[SHM_WR_WRITE] = {OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST, OP_WRITE_ONLY},
	[SHM_WR_WRITE_IMM] = {OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM,
                              OP_WRITE_ONLY_IMM},
	[SHM_WR_SEND] = {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_ONLY},
	[SHM_WR_SEND_IMM] = {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_IMM, OP_SEND_ONLY_IMM},
	[SHM_WR_SEND_INV] = {OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_INV, OP_SEND_ONLY_INV},
	[SHM_WR_READ] = {0, 0, 0, OP_READ_REQUEST},
	[SHM_WR_CMP_SWAP] = {0, 0, 0, OP_CMP_SWAP},
	[SHM_WR_FETCH_ADD] = {0, 0, 0, OP_FETCH_ADD},
};

/* The message of this number if it is open and has this PSN, else NULL. */
static const struct rel_msg *
holder(const struct qp *qp, uint64_t msn, uint64_t psn)
{
	const struct rel_qp *rq = &qp->rel_qp;
	const struct rel_msg *m = &qp->msgs[msn & rq->msg_mask];
	bool is_open = msn - rq->tx_first_msn < rq->tx_end_msn - rq->tx_first_msn;

	return is_open && psn - m->first_psn < m->nb_psns ? m : NULL;
}

/* The message of a PSN: nearly always that of the packet before, or the next one. */
static const struct rel_msg *
msg_of(struct qp *qp, uint64_t psn)
{
	const struct rel_msg *m = holder(qp, qp->tx_msn, psn);

	if (!m)
		m = holder(qp, qp->tx_msn + 1, psn);
	if (!m)
		m = rel_msg_of(&qp->rel_qp, psn);
	qp->tx_msn = m->msn;
	return m;
}

/* A packet's payload: inline data lie in the slot, which is ours until the request completes. */
static bool
gather(struct qp *qp, const struct send_wr *wr, uint64_t off, const struct out_pkt *o)
{
	if (!(wr->wqe.flags & SHM_SEND_INLINE))
		return sge_gather(qp, wr, off, o->payload, o->payload_len);
	if (o->payload_len)
		batch_gather_ptr(qp->nic->batch, wr->inline_data + off, o->payload, o->payload_len);
	return true;
}

uint8_t
req_op(const struct send_wr *wr, bool is_first, bool is_last)
{
	const struct op_row *row = &op_rows[wr->wqe.op];

	if (is_first)
		return is_last ? row->only : row->first;
	return is_last ? row->last : row->middle;
}

static uint8_t
opcode_of(const struct qp *qp, const struct send_wr *wr, const struct rel_msg *m, uint64_t psn)
{
	bool last = m->one_pkt || psn == m->first_psn + m->nb_psns - 1;

	return qp_transport(qp) | req_op(wr, m->one_pkt || psn == m->first_psn, last);
}

void
req_fill(const struct qp *qp, const struct send_wr *wr, uint64_t off, uint64_t left, uint8_t opcode,
         struct wire_pkt *w)
{
	uint32_t flags = opcode_table[opcode].flags;

	w->opcode = opcode;
	w->mig_req = true;
	w->fecn = w->becn = false;
	w->solicited = (wr->wqe.flags & SHM_SEND_SOLICITED) && (flags & OPF_END) &&
	               (flags & (OPF_SEND | OPF_IMM));
	w->pkey = PKEY_DEFAULT;
	w->dest_qpn = qp->type == SHM_QPT_UD ? wr->wqe.ud.qpn : qp->attr.dest_qpn;
	w->payload_len = 0;
	if (flags & OPF_PAYLOAD)
		w->payload_len = left < qp->mtu ? (uint32_t)left : qp->mtu;
	w->va = wr->wqe.remote_addr + off;
	w->rkey = wr->wqe.rkey;
	w->dma_len = (uint32_t)left;
	w->imm = w->inv_rkey = wr->wqe.imm;
	if (flags & OPF_ATOMIC) {
		w->swap_add = wr->wqe.op == SHM_WR_CMP_SWAP ? wr->wqe.atomic.swap
		                                            : wr->wqe.atomic.compare_add;
		w->compare = wr->wqe.op == SHM_WR_CMP_SWAP ? wr->wqe.atomic.compare_add : 0;
	}
	if (flags & OPF_DETH) {
		w->qkey = wr->wqe.ud.qkey & 0x80000000 ? qp->attr.qkey : wr->wqe.ud.qkey;
		w->src_qpn = qp->qpn;
	}
}

/* Whether a packet fits the window of the congestion control behind so many bytes more. */
static bool
window_fits(const struct qp *qp, uint64_t bytes)
{
	return qp->cc->window_bytes == CC_NO_WINDOW ||
	       qp->out_bytes + bytes + qp->mtu + FRAME_OVERHEAD <= qp->cc->window_bytes;
}

/* More can leave right behind this packet of so many bytes. */
static bool
more_follows(const struct qp *qp, uint32_t bytes)
{
	if (!window_fits(qp, bytes))
		return false;
	if (qp->rel->tx_ready)
		return true;
	return (qp->framing == QP_WEFT ? weft_wants_open(qp) : wr_pending(qp)) &&
	       qp->rel->inflight_pkts < qp->rel_qp.window_pkts;
}

uint64_t
req_rate_bps(const struct qp *qp)
{
	uint64_t limit = (uint64_t)qp->attr.rate_limit_kbps * 1000;
	uint64_t rate = limit && limit < qp->cc->rate_bps ? limit : qp->cc->rate_bps;

	return rate < qp->nic->conf.line_rate_bps ? rate : SCHED_UNPACED;
}

/* A slow QP must be answered within its timeout, however few packets it sends in that time. */
static bool
waits_long(const struct qp *qp, uint32_t bytes, uint64_t rate_bps, uint64_t now_ns)
{
	uint64_t since_ns = qp->asked_ns > qp->progress_ns ? qp->asked_ns : qp->progress_ns;
	uint64_t next_ns = now_ns;

	if (rate_bps != SCHED_UNPACED)
		next_ns += bytes * UINT64_C(8000000000) / rate_bps;
	return qp->rel_qp.ack_timeout_ns && next_ns - since_ns > qp->rel_qp.ack_timeout_ns / 4;
}

/* Whether this packet asks for an acknowledgement. READs and atomics are answered anyway. */
static bool
want_ack(struct qp *qp, const struct rel_tx *tx, uint32_t flags, uint32_t bytes, uint64_t rate_bps,
         uint64_t now_ns)
{
	uint32_t every = ACK_EVERY_PKTS;

	if (qp->type != SHM_QPT_RC || (flags & (OPF_READ | OPF_ATOMIC)))
		return false;
	if (qp->cc->ack_every_pkts && qp->cc->ack_every_pkts < every)
		every = qp->cc->ack_every_pkts;
	if (++qp->nb_unasked < every && !tx->ack_req && more_follows(qp, bytes) &&
	    !waits_long(qp, bytes, rate_bps, now_ns))
		return false;
	qp->nb_unasked = 0;
	qp->asked_ns = now_ns;
	return true;
}

/* The way that it goes. */
static uint16_t
choose_sport(struct qp *qp, const struct rel_tx *tx, uint32_t bytes, struct wire_weft *weft,
             uint64_t now_ns)
{
	static const struct lb_hop hop = {.up = true};
	struct lb_pkt pkt = {.psn = tx->psn, .len_bytes = bytes, .retransmit = tx->retransmit};
	struct lb_choice choice = {0};

	qp->lb_ops->select(qp->lb, &pkt, &hop, 1, now_ns, &choice);
	if (qp->framing == QP_WEFT && weft->has_lane)
		weft->lane =
			(struct wire_lane){.lanes = choice.path.lanes,
		                           .offset = choice.path.offset,
		                           .first_psn = (uint32_t)choice.path.first_psn & PSN_MASK,
		                           .back = choice.path.back};
	return choice.udp_sport;
}

static void
account(struct qp *qp, const struct rel_tx *tx, bool asked, uint32_t bytes, uint64_t now_ns)
{
	uint64_t end = tx->psn + tx->nb_psns;

	if (end > qp->tx_nxt_psn)
		qp->tx_nxt_psn = end;
	qp->sent_count++;
	qp->out_bytes += bytes;
	if (tx->retransmit) {
		qp->nic->stats.retransmits++;
		qp->counts.retransmits++;
		qp->rtt_sent_ns = 0;
	} else if (asked && !qp->rtt_sent_ns) {
		qp->rtt_psn = tx->psn;
		qp->rtt_sent_ns = now_ns;
	}
	if (qp->cc_ops->on_sent)
		qp->cc_ops->on_sent(qp->cc, &qp->nic->cc_nic, bytes, now_ns);
}

/* A packet that counts as sent, and is not: its memory is gone, or it has no address. */
static bool
goes_nowhere(struct qp *qp, uint32_t wr_idx)
{
	if (qp->is_spoilt && (int32_t)(wr_idx - qp->spoilt_idx) >= 0)
		return true;
	if (!qp->has_path)
		nic_drop(qp->nic, DROP_NO_NEIGH);
	return !qp->has_path;
}

/* Its payload. */
static void
gather_request(struct qp *qp, const struct send_wr *wr, uint32_t wr_idx, uint64_t off,
               struct out_pkt *o)
{
	o->is_request = true;
	o->wr_idx = wr_idx;
	if (!gather(qp, wr, off, o)) { /* deregistered while in use */
		o->failed = true;
		wr_spoil(qp, wr_idx, QP_REASON_LOCAL_PROT);
	}
}

static uint32_t
plan(struct qp *qp, const struct rel_tx *tx, uint64_t rate_bps, uint64_t now_ns)
{
	const struct rel_msg *m = msg_of(qp, tx->psn);
	const struct tx_msg *t = &qp->tx_msgs[m->msn & qp->rel_qp.msg_mask];
	struct send_wr *wr = wr_at(qp, t->wr_idx);
	uint64_t off = t->offset + (tx->psn - m->first_psn) * qp->mtu;
	uint8_t opcode = opcode_of(qp, wr, m, tx->psn);
	struct wire_pkt w;
	struct out_pkt *o;
	uint32_t bytes;

	req_fill(qp, wr, off, t->offset + t->length - off, opcode, &w);
	w.psn = (uint32_t)tx->psn & PSN_MASK;
	bytes = w.payload_len + FRAME_OVERHEAD;
	w.ack_req = want_ack(qp, tx, opcode_table[opcode].flags, bytes, rate_bps, now_ns);
	account(qp, tx, w.ack_req, bytes, now_ns);
	if (goes_nowhere(qp, t->wr_idx))
		return bytes;
	o = path_plan(qp, &w, choose_sport(qp, tx, bytes, NULL, now_ns), path_data_ecn(qp));
	if (o)
		gather_request(qp, wr, t->wr_idx, off, o);
	return bytes;
}

/* What a READ brings, unless the region is gone meanwhile. */
static void
gather_response(struct qp *qp, const struct weft_fill *f, struct out_pkt *o)
{
	o->psn = f->req_msn;
	if (o->payload_len && !piece_gather_remote(qp, f->rkey, f->va, o->payload_len, o->payload))
		o->failed = true;
}

/* Bytes of a frame, for pace and window. */
static uint32_t
frame_bytes(const struct qp *qp, const struct wire_pkt *w)
{
	const struct weft_terms *t = &qp->terms;
	bool has_options = t->tx_slots || (t->tx_wire & (WIRE_TS | WIRE_PATH)) || w->weft.ext_len;
	uint32_t hdr_len = BTH_LEN + opcode_table[w->opcode].ext_len;

	if (has_options)
		hdr_len = wire_hdr_len(w);

	return FRAME_OVERHEAD - BTH_LEN + hdr_len + w->payload_len;
}

static uint32_t
plan_weft(struct qp *qp, const struct rel_tx *tx, uint64_t rate_bps, uint64_t now_ns)
{
	struct weft_fill f;
	struct wire_pkt w;
	struct out_pkt *o;
	uint32_t bytes;

	weft_fill(qp, msg_of(qp, tx->psn), tx, &w, &f, now_ns);
	bytes = frame_bytes(qp, &w);
	w.ack_req = want_ack(qp, tx, 0, bytes, rate_bps, now_ns);
	account(qp, tx, w.ack_req, bytes, now_ns);
	if (f.wr && goes_nowhere(qp, f.wr_idx))
		return bytes;
	if (!f.wr && w.payload_len && !piece_readable(qp, f.rkey, f.va, w.payload_len)) {
		weft_fault_now(qp, f.req_msn, AETH_NAK_ACCESS);
		qp_fail_recv(qp, QP_REASON_REQ_ACCESS, 0, tx->psn);
		return 0;
	}
	o = path_plan(qp, &w, choose_sport(qp, tx, bytes, &w.weft, now_ns), path_data_ecn(qp));
	if (o && f.wr)
		gather_request(qp, f.wr, f.wr_idx, f.off, o);
	else if (o)
		gather_response(qp, &f, o);
	return bytes;
}

/* One packet is always allowed when nothing is in flight. */
static bool
window_open(const struct qp *qp)
{
	return !qp->rel->inflight_pkts || window_fits(qp, 0);
}

/*
 * The first packets to a neighbour wait a little for its MAC. If no answer comes they are sent into
 * the void, as packet loss, so that the retry count ends the QP. Who has not answered before is not
 * waited for again.
 */
static bool
wait_for_neigh(struct qp *qp, uint64_t now_ns)
{
	uint64_t poll_ns;

	if (!qp->has_path || path_ready(qp, now_ns)) {
		qp->neigh_wait_ns = 0;
		return false;
	}
	if (!qp->neigh_wait_ns)
		qp->neigh_wait_ns = now_ns + NEIGH_WAIT_NS;
	if (now_ns >= qp->neigh_wait_ns || qp->neigh->nb_asked > NEIGH_WAIT_ASKS)
		return false;
	poll_ns = (now_ns + NEIGH_WAIT_NS - qp->neigh_wait_ns) / 4;
	qp->hold_ns = now_ns + (poll_ns > NEIGH_POLL_NS ? poll_ns : NEIGH_POLL_NS);
	qp->hold_is_rnr = false;
	return true;
}

/* A UD QP's path is that of its next message. Nothing is sent without one. */
static void
aim(struct qp *qp, uint64_t now_ns)
{
	const struct rel_msg *m = msg_of(qp, qp->rel->tx_una);
	const struct send_wr *wr = wr_at(qp, qp->tx_msgs[m->msn & qp->rel_qp.msg_mask].wr_idx);

	if (qp->has_path && !memcmp(&qp->av, &wr->wqe.ud.av, sizeof(qp->av)))
		return;
	if (path_set(qp, &wr->wqe.ud.av, now_ns))
		path_drop(qp);
}

bool
req_has_work(const struct qp *qp)
{
	if (qp->framing == QP_PENDING)
		return false;
	if (qp->framing == QP_WEFT)
		return (qp->state == SHM_QPS_RTR || qp->state == SHM_QPS_RTS ||
		        qp->state == SHM_QPS_SQD) &&
		       !qp->hold_ns && (qp->rel->tx_ready || weft_wants_open(qp));
	if (qp->state != SHM_QPS_RTS && qp->state != SHM_QPS_SQD)
		return false;
	return !qp->hold_ns && (qp->rel->tx_ready || wr_pending(qp));
}

uint32_t
req_tx(struct qp *qp, uint64_t rate_bps, uint64_t now_ns)
{
	uint8_t ext[REL_EXT_MAX];
	struct rel_tx tx = {.nb_psns = 1, .ext = ext};

	if (!req_has_work(qp) || !window_open(qp))
		return 0;
	while (!qp->rel->tx_ready)
		if (!(qp->framing == QP_WEFT ? weft_open(qp, now_ns) : wr_open(qp, now_ns)))
			return 0;
	if (qp->type == SHM_QPT_UD)
		aim(qp, now_ns);
	if (wait_for_neigh(qp, now_ns))
		return 0;
	if (sched_is_closed(&qp->nic->sched, &qp->sched)) { /* the class of this path is another */
		sched_wake(&qp->nic->sched, &qp->sched, now_ns);
		return 0;
	}
	if (!qp->rel_ops->tx_next(qp->rel, now_ns, &tx))
		return 0;
	return qp->framing == QP_WEFT ? plan_weft(qp, &tx, rate_bps, now_ns)
	                              : plan(qp, &tx, rate_bps, now_ns);
}
