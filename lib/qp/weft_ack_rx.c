/* SPDX-License-Identifier: BSD-3-Clause */
#include "comp.h"
#include "fail.h"
#include "psn.h"
#include "weft_stream.h"
#include "wr.h"

/* What acknowledgements of the weft framing mean to the sender. */

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
	return weft_ack_is_fatal(w->syndrome);
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
		ack->rtt_ns = (uint32_t)((uint32_t)now_ns - f->ts_ns - f->held_ns);
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
	       f->ext_len == qp->rel_ops->ack_ext_len && f->nb_slots <= qp->terms.tx_slots;
}

void
weft_ack_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	const struct wire_weft *f = &w->weft;
	struct rel_ack ack = {.cum = psn_unwrap(qp->rel->tx_una, w->psn)};
	struct comp_echo echo = {0};
	struct int_stack stack;
	bool fatal = weft_ack_is_fatal(w->syndrome);
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
	ack.ext = fatal ? weft_no_ext : f->ext;
	read_echo(w, &ack, &echo, &stack, now_ns);
	/* First: what has its receive now starts the count of refusals anew. */
	confirm(qp, wr_idx, ack.cum, f->has_rnr ? psn_unwrap(qp->wout.ssn, f->rnr_ssn) : WEFT_NONE);
	if (f->has_rnr && !fatal)
		weft_refused(qp, f->rnr_ssn, f->rnr_msn, f->rnr_code, now_ns);
	comp_answer(qp, &ack, &echo, now_ns);
	if (fatal && qp->state != SHM_QPS_ERR)
		on_fatal(qp, w, wr_idx);
}
