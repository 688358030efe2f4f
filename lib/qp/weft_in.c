/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "batch.h"
#include "fail.h"
#include "lease.h"
#include "piece.h"
#include "psn.h"
#include "sge.h"
#include "weft_msg.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * The receiver of a stream. A packet says itself where its payload belongs, so it is placed as soon
 * as the engine takes it, in whatever order; a message is done when all of it is here and all
 * messages before it are done.
 */

/** Answers that one packet may bring. */
#define ANSWERS_MAX (REL_MISSING_MAX + 1)

void
weft_in_rest(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	if (in->rx && !in->nb_msgs && !in->nb_refused && in->bssn == in->essn &&
	    in->rd_head == in->rd_tail && !in->has_echo)
		lease_weft_rx_end(qp);
}

/* ---- what a packet does ---- */

static const struct verdict fine;

static uint64_t
ssn_of(const struct qp *qp, const struct wire_pkt *w)
{
	return psn_unwrap(qp->win.essn, w->weft.ssn);
}

/* A packet of a message that uses a receive. A WRITE does with its last one only. */
static enum weft_take
take(struct qp *qp, struct weft_arrival *a)
{
	enum weft_take take = WEFT_TAKE_REFUSE;

	if (!(a->w->op->flags & OPF_VOID))
		take = weft_take_recv(qp, ssn_of(qp, a->w), a->msn);
	if (take == WEFT_TAKE_REFUSE)
		a->m->is_refused = true;
	return take;
}

static struct verdict
do_send(struct qp *qp, struct weft_arrival *a)
{
	const struct wire_pkt *w = a->w;
	const struct recv_wr *recv;

	if (take(qp, a) != WEFT_TAKE_PLACE || a->m->is_refused)
		return fine;
	recv = weft_recv_of(qp, ssn_of(qp, w));
	if (recv->is_bad)
		return exec_recv_bad;
	if (w->weft.msg_len > recv->length)
		return exec_recv_short;
	if (!sge_place_recv(qp, recv, w->weft.offset, w->payload, w->payload_len, w->msn))
		return exec_recv_fault;
	return fine;
}

static struct verdict
do_write(struct qp *qp, struct weft_arrival *a)
{
	const struct wire_pkt *w = a->w;

	if (!(qp->attr.access & SHM_ACCESS_REMOTE_WRITE))
		return exec_bad_rights;
	if (w->op->flags & OPF_IMM) {
		a->m->ref = w->weft.ssn;
		if (take(qp, a) != WEFT_TAKE_PLACE)
			return fine;
		if (weft_recv_of(qp, ssn_of(qp, w))->is_bad)
			return exec_recv_bad;
	}
	if (w->payload_len &&
	    !piece_place_remote(qp, w->rkey, w->va, w->payload_len, w->payload, w->msn))
		return exec_bad_access;
	return fine;
}

/* READs and atomics are executed when they are done, and due. */
static void
keep_rd(struct weft_arrival *a)
{
	const struct wire_pkt *w = a->w;
	struct weft_rx_msg *m = a->m;

	m->opcode = w->opcode;
	m->va = w->va;
	m->dma_len = w->dma_len;
	m->opp_emsn = w->weft.opp_emsn;
	m->swap_add = w->swap_add;
	m->compare = w->compare;
}

static struct verdict
execute(struct qp *qp, struct weft_arrival *a)
{
	const struct wire_pkt *w = a->w;
	struct weft_rx_msg *m = a->m;

	if (w->op->flags & OPF_END) {
		m->end_flags = w->op->flags & (OPF_IMM | OPF_IETH);
		m->imm = w->op->flags & OPF_IETH ? w->inv_rkey : w->imm;
		m->solicited = w->solicited;
	}
	if (m->kind == OPF_SEND)
		return do_send(qp, a);
	if (m->kind == OPF_WRITE)
		return do_write(qp, a);
	if (m->kind & (OPF_READ | OPF_ATOMIC))
		keep_rd(a);
	else
		weft_place_response(qp, w);
	return fine;
}

/* ---- what is done ---- */

static void
finish(struct qp *qp, const struct weft_rx_msg *m)
{
	switch (m->kind) {
	case OPF_SEND:
		if (!m->is_refused)
			weft_recv_done(qp, m, psn_unwrap(qp->win.essn, m->ref));
		break;
	case OPF_WRITE:
		qp->nic->stats.rx_write_requests++;
		if ((m->end_flags & OPF_IMM) && !m->is_refused)
			weft_recv_done(qp, m, psn_unwrap(qp->win.essn, m->ref));
		break;
	case OPF_READ:
	case OPF_ATOMIC:
		weft_rd_done(qp, m);
		break;
	default:
		weft_response_done(qp, m);
		break;
	}
}

static void
advance(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	const struct weft_rx_msg *m;
	bool some = false;

	while (in->nb_msgs && in->emsn != in->fault_msn && (m = weft_msg_slot_of(in, in->emsn))) {
		uint64_t end = in->emsn_psn + m->rel.nb_psns;

		if (end > qp->rel->rx_cum)
			break;
		finish(qp, m);
		if (qp->state == SHM_QPS_ERR)
			return;
		weft_msg_close(in, in->emsn);
		in->emsn++;
		in->emsn_psn = end;
		some = true;
	}
	if (!some)
		return;
	weft_deliver(qp);
	if (qp->state == SHM_QPS_ERR)
		return;
	weft_settle_fault(qp);
	if (qp->state != SHM_QPS_ERR)
		weft_in_rest(qp);
}

/* The engine has taken the packet. */
static void
accept(struct qp *qp, struct weft_arrival *a)
{
	struct verdict v;

	weft_msg_open(&qp->win, a);
	v = execute(qp, a);
	if (qp->state == SHM_QPS_ERR)
		return;
	if (v.syndrome) {
		weft_fault(qp, a->msn, a->psn, &v);
		weft_settle_fault(qp);
		if (qp->state == SHM_QPS_ERR)
			return;
	}
	if (a->msn == qp->win.emsn && qp->win.emsn_psn + a->m->rel.nb_psns > qp->rel->rx_cum)
		return; /* nearly always: more of it is to come */
	advance(qp);
}

/* ---- the way in ---- */

/* The optional parts are those that were agreed on. */
static bool
has_parts(const struct qp *qp, const struct wire_weft *f)
{
	const struct weft_terms *t = &qp->terms;

	return f->has_ts == !!(t->rx_wire & WIRE_TS) && f->has_lane == !!(t->rx_wire & WIRE_PATH) &&
	       f->nb_slots == t->rx_slots && f->ext_len == qp->rel_ops->data_ext_len &&
	       (!f->has_lane || f->lane.lanes == 1u << t->rx_lanes);
}

/* Whether there is room for all that a packet can bring; once the engine has seen it, it counts. */
static bool
has_room(struct qp *qp, const struct weft_arrival *a)
{
	uint32_t flags = a->w->op->flags;

	if (qp->fifo_tail - qp->fifo_head + ANSWERS_MAX > RESP_FIFO_LEN)
		return false;
	if ((flags & (OPF_SSN | OPF_SEND | OPF_VOID)) && a->psn >= qp->rel->rx_cum &&
	    !weft_ssn_fits(qp, ssn_of(qp, a->w)))
		return false;
	return qp->win.rx || lease_weft_rx(qp);
}

/*
 * What the next acknowledgement echoes. Before the packet is taken: the block may be given back
 * behind its last message.
 */
static void
keep_echo(struct qp *qp, const struct wire_weft *f)
{
	struct weft_in *in = &qp->win;

	if (!f->nb_slots && !qp->rel_ops->ack_ext_len)
		return;
	in->has_echo = true;
	if (f->nb_slots)
		memcpy(in->rx->int_area, f->int_area, INT_LEN(f->nb_slots));
}

static void
ask_engine(struct qp *qp, struct weft_arrival *a, uint64_t now_ns)
{
	const struct wire_weft *f = &a->w->weft;
	struct path_info path;
	struct rel_rx_out out = {0};
	struct rel_rx rx = {
		.psn = a->psn,
		.msn = a->msn,
		.msg = &a->m->rel,
		.ext = f->ext,
		.nb_psns = 1,
		.retry = f->retry,
		.retransmit = f->retransmit,
		.sync = f->sync,
	};

	if (f->has_ts)
		rx.owd_ns = (uint32_t)now_ns - f->ts_ns;
	if (f->has_lane) {
		path = (struct path_info){.first_psn = psn_unwrap(a->psn, f->lane.first_psn),
		                          .lanes = f->lane.lanes,
		                          .offset = f->lane.offset,
		                          .back = f->lane.back};
		rx.path = &path;
	}
	keep_echo(qp, f);
	qp->rel_ops->on_data(qp->rel, &rx, now_ns, &out);
	switch (out.place) {
	case REL_PLACE:
		accept(qp, a);
		break;
	case REL_DUPLICATE:
		weft_msg_forget(a);
		qp->nic->stats.duplicate_request++;
		break;
	case REL_DROP:
		weft_msg_forget(a);
		nic_drop(qp->nic, DROP_GAP);
		if (a->psn > qp->rel->rx_cum)
			qp->nic->stats.out_of_sequence++;
		break;
	}
	if (qp->state == SHM_QPS_ERR)
		return;
	weft_answer(qp, a->w, &rx, &out, now_ns);
	if (!qp->win.nb_msgs)
		weft_in_rest(qp);
}

void
weft_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	struct weft_arrival a;

	if (!has_parts(qp, &w->weft)) {
		nic_drop(qp->nic, DROP_PARTS);
		return;
	}
	a.w = w;
	a.psn = psn_unwrap(qp->rel->rx_cum, w->psn);
	a.msn = psn_unwrap(qp->win.emsn, w->msn);
	if (a.msn >= qp->win.fault_msn) { /* the peer will hear of that */
		nic_drop(qp->nic, DROP_GAP);
		return;
	}
	if (!weft_msg_find(qp, &a)) {
		nic_drop(qp->nic, DROP_MESSAGE);
		return;
	}
	if (!has_room(qp, &a)) {
		weft_msg_forget(&a);
		nic_drop(qp->nic, DROP_BUSY);
		return;
	}
	ask_engine(qp, &a, now_ns);
}
