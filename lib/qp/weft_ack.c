/* SPDX-License-Identifier: BSD-3-Clause */
#include "comp.h"
#include "fail.h"
#include "lease.h"
#include "path.h"
#include "psn.h"
#include "resp.h"
#include "weft_hdr.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * Acknowledgements of the weft framing: what is to be said when, the packet, and what it means to
 * the sender. Every one says how far its stream has come, whatever else it is for; so one that is
 * lost is made good by the next.
 */

/** Packets that one acknowledgement may stand for, and time. Source: our choice. */
#define ACK_EVERY_PKTS 16
/** Syndromes beside those of AETH. docs/wire.md, "Acknowledgements". */
#define ACK_COUNT 0x40
#define NAK_MISSING 0x65
#define NAK_RESTART 0x66

/* ---- receiver: what to say ---- */

void
weft_ack_now(struct qp *qp)
{
	if (qp->win.is_mute)
		return;
	qp->win.ack_due = true;
	qp_respond(qp);
}

void
weft_mute(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	in->is_mute = true;
	in->ack_due = false;
	in->ack_due_ns = NEVER_NS;
	if (!in->fault_repeat_ns)
		lease_fifo_end(qp);
}

bool
weft_ack_waits(const struct qp *qp)
{
	return qp->win.ack_due || qp->fifo_head != qp->fifo_tail;
}

/* One with a syndrome of its own. */
static void
push(struct qp *qp, uint8_t syndrome, uint64_t value)
{
	resp_push(qp, &(struct resp){.kind = RESP_ACK,
	                             .syndrome = syndrome,
	                             .psn = value,
	                             .sport = qp->win.sport,
	                             .ts_ns = qp->win.ts_ns,
	                             .came_ns = qp->win.came_ns});
}

static void
push_missing(struct qp *qp, const struct rel_rx_out *out)
{
	assert(out->miss_count <= REL_MISSING_MAX);
	for (uint32_t i = 0; i < out->miss_count; i++)
		push(qp, NAK_MISSING, out->miss_first + (uint64_t)i * out->miss_stride);
}

static uint32_t
ack_every(const struct qp *qp)
{
	uint8_t wanted = qp->terms.ack_every;

	return wanted && wanted < ACK_EVERY_PKTS ? wanted : ACK_EVERY_PKTS;
}

/* Of the newest packet: what an acknowledgement echoes. */
static void
note_newest(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	struct weft_in *in = &qp->win;
	bool ce = (w->tos & IP_ECN_MASK) == ECN_CE;

	in->sport = w->udp_sport;
	in->came_ns = now_ns;
	if (w->weft.has_ts)
		in->ts_ns = w->weft.ts_ns;
	if (ce && !in->ce && (qp->terms.rx_wire & WIRE_CE_ECHO)) {
		in->ce = true;
		weft_ack_now(qp);
	}
}

void
weft_answer(struct qp *qp, const struct wire_pkt *w, const struct rel_rx *rx,
            const struct rel_rx_out *out, uint64_t now_ns)
{
	struct weft_in *in = &qp->win;
	bool each = qp->rel_ops->info.wire & WIRE_ACK_EACH;

	note_newest(qp, w, now_ns);
	if (in->is_mute)
		return;
	in->ack_psn = (uint32_t)rx->psn & PSN_MASK;
	if (out->place != REL_DROP)
		in->nb_unacked++;
	switch (out->resp) {
	case REL_RESP_GAP:
		push(qp, AETH_NAK_PSN, rx->psn);
		return;
	case REL_RESP_MISSING:
		push_missing(qp, out);
		return;
	case REL_RESP_RESTART:
		push(qp, NAK_RESTART, rx->msn);
		return;
	case REL_RESP_NONE:
	case REL_RESP_ACK:
	case REL_RESP_BOUNCE:
		break;
	}
	if (each && out->place != REL_DROP) {
		push(qp, AETH_ACK, rx->psn);
		return;
	}
	if (out->resp == REL_RESP_ACK || out->place == REL_DUPLICATE ||
	    (out->place == REL_PLACE && (w->ack_req || in->nb_unacked >= ack_every(qp)))) {
		weft_ack_now(qp);
	} else if (in->nb_unacked && qp->terms.ack_delay_us && in->ack_due_ns == NEVER_NS &&
	           !in->ack_due) {
		in->ack_due_ns = now_ns + qp->terms.ack_delay_us * UINT64_C(1000);
		comp_arm(qp);
	}
}

/* ---- receiver: the packet ---- */

/* Nothing is acknowledged that will be refused. */
static uint64_t
cum_of(const struct qp *qp)
{
	const struct weft_in *in = &qp->win;
	uint64_t cum = qp->rel->rx_cum, fault;

	if (in->fault_msn == WEFT_NONE || in->fault_msn < in->emsn)
		return cum;
	fault = psn_unwrap(cum, in->fault_psn);
	return fault < cum ? fault : cum;
}

static void
fill_blocks(const struct qp *qp, uint64_t cum, const struct resp *r, struct wire_weft *f)
{
	const struct weft_in *in = &qp->win;
	const struct rel_head *rel = qp->rel;
	uint64_t ssn;

	f->has_rnr = in->nb_refused != 0;
	if (f->has_rnr) {
		f->rnr_msn = (uint32_t)weft_first_refused(qp, &ssn)->refused_msn & PSN_MASK;
		f->rnr_ssn = (uint32_t)ssn & PSN_MASK;
		f->rnr_code = qp->attr.min_rnr_timer & AETH_VALUE_MASK;
	}
	f->has_sack = (qp->terms.rx_wire & WIRE_SACK) && rel->sack_bits && cum == rel->rx_cum;
	if (f->has_sack) {
		f->sack_off = (uint16_t)(rel->sack_base - cum);
		f->sack_bits = rel->sack_bits;
	}
	f->has_ts = qp->terms.rx_wire & WIRE_TS;
	if (f->has_ts) {
		f->ts_ns = r->ts_ns;
		f->held_ns = (uint32_t)(qp->nic->now_ns - r->came_ns);
	}
	f->ce = in->ce;
	f->ext_len = 0;
	f->nb_slots = 0;
	if (in->has_int && in->rx->int_area[0] >> 4 <= qp->terms.rx_slots) {
		f->nb_slots = in->rx->int_area[0] >> 4;
		f->int_area = in->rx->int_area;
	}
}

/* The QP has ended. What it refused was done with, and never delivered: it must not complete. */
static void
fill_fatal(const struct weft_in *in, const struct resp *r, struct wire_pkt *w)
{
	w->msn = r->msn;
	w->weft.has_rnr = in->fault_refuses;
	w->weft.rnr_ssn = in->fault_rnr_ssn;
	w->weft.rnr_msn = in->fault_rnr_msn;
}

/* The oldest that has a syndrome of its own, else a plain one. */
static struct resp
next(struct qp *qp)
{
	const struct weft_in *in = &qp->win;
	struct resp r;

	if (qp->fifo_head == qp->fifo_tail)
		return (struct resp){
			.syndrome = qp->rel_ops->info.wire & WIRE_COUNT ? ACK_COUNT : AETH_ACK,
			.psn = qp->rel_ops->info.wire & WIRE_COUNT ? qp->rel->rx_count
		                                                   : in->ack_psn,
			.sport = in->sport,
			.ts_ns = in->ts_ns,
			.came_ns = in->came_ns,
		};
	r = qp->fifo[qp->fifo_head++ % RESP_FIFO_LEN];
	if (qp->fifo_head == qp->fifo_tail)
		lease_fifo_end(qp);
	return r;
}

static bool
is_fatal(uint8_t syndrome)
{
	return syndrome > AETH_NAK_PSN && syndrome <= AETH_NAK_OPERATION;
}

void
weft_ack_tx(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	uint64_t cum = cum_of(qp);
	struct resp r = next(qp);
	struct wire_pkt w = {
		.opcode = OP_WEFT | OP_ACK,
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->attr.dest_qpn,
		.psn = (uint32_t)cum & PSN_MASK,
		.msn = (uint32_t)in->emsn & PSN_MASK,
		.syndrome = r.syndrome,
		.weft = {.value = (uint32_t)r.psn & PSN_MASK,
	                 .tag = qp->terms.rx_wire & WIRE_TRIM ? DCP_ACK : DCP_OTHER},
	};

	if (is_fatal(r.syndrome))
		fill_fatal(in, &r, &w);
	else
		fill_blocks(qp, cum, &r, &w.weft);
	path_plan(qp, &w, r.sport ? r.sport : path_sport(qp), ECN_NOT_ECT);
	in->ack_due = in->ce = in->has_int = false;
	in->nb_unacked = 0;
	in->ack_due_ns = NEVER_NS;
	weft_in_rest(qp);
}

/* ---- sender: what it means ---- */

/* Requests before an SQ index that the peer has, and does not refuse. */
static void
confirm(struct qp *qp, uint32_t end_idx, uint64_t cum, uint64_t refused_ssn)
{
	struct weft_out *out = &qp->wout;

	for (; (int32_t)(end_idx - out->conf_idx) > 0; out->conf_idx++) {
		const struct send_wr *wr = wr_at(qp, out->conf_idx);

		if (wr->status != SHM_WC_SUCCESS || !wr->whole || wr->end_psn > cum)
			return;
		if (!weft_uses_recv(wr))
			continue;
		/* One that is still to be sent again was seen in an earlier instance only. */
		if (wr->ssn >= refused_ssn ||
		    out->conf_idx - out->again_idx < out->again_end - out->again_idx)
			return;
		out->ssn_una = wr->ssn + 1;
		qp->nb_rnr = 0;
	}
}

/*
 * The request that a message carried: one that is open, or a READ or atomic without its answer; if
 * it was complete already, the oldest that is not. False if it never was.
 */
static bool
request_of(const struct qp *qp, uint32_t msn_wire, uint32_t *wr_idx)
{
	const struct rel_qp *rq = &qp->rel_qp;
	uint64_t msn = psn_unwrap(rq->tx_end_msn, msn_wire);
	const struct weft_rd_out *rd = weft_rd_of(qp, msn_wire);
	const struct weft_tx_msg *t;

	if (rd) {
		*wr_idx = rd->wr_idx;
		return true;
	}
	*wr_idx = qp->sq.head;
	if (msn < rq->tx_first_msn || msn >= rq->tx_end_msn)
		return msn < rq->tx_end_msn;
	t = &qp->wout.tx->msgs[msn & rq->msg_mask];
	*wr_idx = t->wr_idx;
	return t->kind == WEFT_TX_REQUEST;
}

static void
on_fatal(struct qp *qp, const struct wire_pkt *w, uint32_t wr_idx)
{
	static const struct {
		enum qp_reason why;
		uint8_t status;
	} rows[] = {
		[AETH_NAK_INVALID & 3] = {QP_REASON_NAK_INVALID, SHM_WC_REM_INV_REQ_ERR},
		[AETH_NAK_ACCESS & 3] = {QP_REASON_NAK_ACCESS, SHM_WC_REM_ACCESS_ERR},
		[AETH_NAK_OPERATION & 3] = {QP_REASON_NAK_OPERATION, SHM_WC_REM_OP_ERR},
	};

	qp_fail_request(qp, rows[w->syndrome & 3].why, rows[w->syndrome & 3].status, wr_idx);
}

/* What a syndrome tells the engine; false if it names what was not sent. */
static bool
read_syndrome(const struct qp *qp, const struct wire_pkt *w, struct rel_ack *ack)
{
	const struct rel_qp *rq = &qp->rel_qp;

	ack->kind = REL_ACK;
	ack->psn = psn_unwrap(ack->cum, w->weft.value);
	if ((w->syndrome & AETH_TYPE_MASK) == AETH_TYPE_ACK)
		return ack->psn < qp->tx_nxt_psn;
	switch (w->syndrome) {
	case ACK_COUNT:
		ack->count = psn_unwrap(qp->wout.count, w->weft.value);
		ack->psn = ack->cum - 1;
		return ack->count <= qp->sent_count;
	case AETH_NAK_PSN:
		ack->kind = REL_GAP;
		return ack->psn >= ack->cum && ack->psn < qp->tx_nxt_psn;
	case NAK_MISSING:
		ack->kind = REL_MISSING;
		return ack->psn >= ack->cum && ack->psn < qp->tx_nxt_psn;
	case NAK_RESTART:
		ack->kind = REL_RESTART;
		ack->msn = psn_unwrap(rq->tx_end_msn, w->weft.value);
		return ack->msn < rq->tx_end_msn;
	}
	return is_fatal(w->syndrome);
}

/* Times and marks that it echoes. */
static void
read_echo(const struct wire_pkt *w, struct rel_ack *ack, struct comp_echo *echo,
          struct int_stack *stack, uint64_t now_ns)
{
	const struct wire_weft *f = &w->weft;

	echo->ce = f->ce;
	echo->udp_sport = w->udp_sport;
	if (f->has_ts) {
		ack->rtt_ns = (uint32_t)now_ns - f->ts_ns - f->held_ns;
		ack->rtt_ns = (uint32_t)ack->rtt_ns;
		ack->sent_ns = now_ns - ack->rtt_ns - f->held_ns;
	}
	if (f->has_sack) {
		ack->sack_base = ack->cum + f->sack_off;
		ack->sack_bits = f->sack_bits;
	}
	if (f->nb_slots && int_read(f->int_area, f->nb_slots, stack) == INT_READ_OK)
		echo->hops = stack;
}

static bool
has_parts(const struct qp *qp, const struct wire_weft *f)
{
	uint32_t wire = qp->terms.tx_wire;

	return (!f->has_sack || (wire & WIRE_SACK)) && f->has_ts == !!(wire & WIRE_TS) &&
	       f->nb_slots <= qp->terms.tx_slots;
}

void
weft_ack_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	const struct wire_weft *f = &w->weft;
	struct rel_ack ack = {.cum = psn_unwrap(qp->rel->tx_una, w->psn)};
	struct comp_echo echo = {0};
	struct int_stack stack;
	bool fatal = is_fatal(w->syndrome);
	uint32_t wr_idx = qp->sq_open;

	if (!fatal && !has_parts(qp, f)) {
		nic_drop(qp->nic, DROP_PARTS);
		return;
	}
	if (ack.cum > qp->tx_nxt_psn || !read_syndrome(qp, w, &ack) ||
	    (fatal && !request_of(qp, w->msn, &wr_idx))) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	qp->error.peer_spoke = true;
	qp->error.peer_psn = w->psn;
	qp->error.peer_syndrome = w->syndrome;
	qp->nic->stats.packet_seq_err += ack.kind == REL_GAP || ack.kind == REL_MISSING;
	read_echo(w, &ack, &echo, &stack, now_ns);
	/* First: what has its receive now starts the count of refusals anew. */
	confirm(qp, wr_idx, ack.cum, f->has_rnr ? psn_unwrap(qp->wout.ssn, f->rnr_ssn) : WEFT_NONE);
	if (f->has_rnr && !fatal)
		weft_refused(qp, f->rnr_ssn, f->rnr_msn, f->rnr_code, now_ns);
	comp_answer(qp, &ack, &echo, now_ns);
	if (fatal && qp->state != SHM_QPS_ERR)
		on_fatal(qp, w, wr_idx);
}
