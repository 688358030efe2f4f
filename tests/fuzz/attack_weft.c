/* SPDX-License-Identifier: BSD-3-Clause */
#include "attack_weft.h"

#include "attack.h"
#include "psn.h"
#include "weft_hdr.h"
#include "weft_stream.h"

static uint32_t
low24(uint64_t n)
{
	return (uint32_t)n & PSN_MASK;
}

/* Mostly what is due, or a little beside it, or anywhere. */
static uint32_t
near(struct script *s, uint64_t due)
{
	switch (script_below(s, 8)) {
	case 0:
		return low24(due + (uint64_t)(int64_t)(int8_t)script_take(s, 1));
	case 1:
		return low24(due - script_below(s, 3));
	case 2:
		return low24(script_take(s, 3));
	default:
		return low24(due);
	}
}

/* ---- stream packets ---- */

/* Opcode and length of the packet at this offset in its message. */
static void
cut(const struct qp *qp, struct wire_pkt *w, uint32_t family, uint32_t off, uint32_t length)
{
	/* By family, then FIRST, MIDDLE, LAST, ONLY. */
	static const uint8_t ops[][4] = {
		{OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_ONLY},
		{OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_IMM, OP_SEND_ONLY_IMM},
		{OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_INV, OP_SEND_ONLY_INV},
		{OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST, OP_WRITE_ONLY},
		{OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM, OP_WRITE_ONLY_IMM},
		{OP_READ_RESP_FIRST, OP_READ_RESP_MIDDLE, OP_READ_RESP_LAST, OP_READ_RESP_ONLY},
	};
	uint32_t left = length - off;
	bool is_last = left <= qp->mtu;

	w->opcode = OP_WEFT | ops[family][off == 0 ? (is_last ? 3 : 0) : (is_last ? 2 : 1)];
	w->payload_len = is_last ? left : qp->mtu;
	w->weft.offset = off;
	w->weft.msg_len = w->dma_len = length;
	w->va += off;
}

/* The message that is open, if it is one of several packets. */
static bool
go_on(struct script *s, const struct qp *qp, struct wire_pkt *w)
{
	const struct weft_in *in = &qp->win;
	const struct weft_rx_msg *m;
	uint64_t off = (qp->rel->rx_cum - in->emsn_psn) * qp->mtu;

	if (!in->nb_msgs || !weft_msg_of(qp, in->emsn))
		return false;
	m = &in->rx->msgs[weft_msg_slot(in, in->emsn)];
	if (off == 0 || off >= m->length)
		return false;
	w->weft.ssn = w->weft.req_msn = low24(m->ref); /* of a WRITE it is anything */
	w->rkey = m->rkey;
	switch (m->kind) {
	case OPF_SEND:
		cut(qp, w, script_below(s, 3), (uint32_t)off, m->length);
		break;
	case OPF_WRITE:
		cut(qp, w, 3 + script_below(s, 2), (uint32_t)off, m->length);
		if (w->opcode == (OP_WEFT | OP_WRITE_LAST_IMM))
			w->weft.ssn = low24(in->bssn);
		break;
	default:
		cut(qp, w, 5, (uint32_t)off, m->length);
		break;
	}
	if (script_below(s, 16) == 0 && m->kind == OPF_SEND) {
		w->opcode = OP_WEFT | OP_VOID;
		w->payload_len = 0;
	}
	return true;
}

/* The oldest READ or atomic of ours that waits for an answer. */
static uint32_t
request_due(const struct qp *qp, uint32_t *length)
{
	const struct weft_rd_out *rd;

	if (!qp->nb_rd || !qp->wout.tx)
		return 0;
	rd = &qp->wout.tx->rds[qp->rd_head % WEFT_MAX_RD_ATOMIC];
	*length = rd->length;
	return low24(rd->msn);
}

static void
begin(struct script *s, const struct qp *qp, struct wire_pkt *w)
{
	static const uint8_t rds[] = {OP_READ_REQUEST, OP_CMP_SWAP, OP_FETCH_ADD, OP_ATOMIC_ACK};
	uint32_t length = attack_pick_len(s) + (script_below(s, 4) ? 0 : attack_pick_len(s));
	uint32_t what = script_below(s, 10);

	w->weft.ssn = low24(qp->win.bssn);
	w->weft.req_msn = request_due(qp, &length);
	if (what < 6) {
		cut(qp, w, what, 0, length);
		return;
	}
	w->opcode = OP_WEFT | rds[what - 6];
	w->dma_len = length;
	w->weft.opp_emsn = near(s, qp->rel_qp.tx_first_msn);
}

/* One thing that is not as it should be. */
static void
spoil(struct script *s, struct wire_pkt *w)
{
	struct wire_weft *x = &w->weft;

	switch (script_below(s, 12)) {
	case 0:
		w->psn = near(s, w->psn);
		break;
	case 1:
		w->msn = near(s, w->msn);
		break;
	case 2:
		x->ssn = near(s, x->ssn);
		break;
	case 3:
		x->req_msn = near(s, x->req_msn);
		break;
	case 4:
		x->offset += 1024u * script_below(s, 8);
		break;
	case 5:
		x->msg_len ^= (uint32_t)script_take(s, 2);
		w->dma_len = x->msg_len;
		break;
	case 6:
		if (opcode_table[w->opcode].flags & OPF_PAYLOAD)
			w->payload_len = attack_pick_len(s);
		break;
	case 7:
		w->opcode = (uint8_t)(OP_WEFT | script_below(s, OP_SEND_ONLY_INV + 1));
		if (!(opcode_table[w->opcode].flags & OPF_PAYLOAD))
			w->payload_len = 0;
		break;
	case 8:
		x->retry = (uint8_t)script_below(s, 128);
		x->retransmit = x->sync = true;
		break;
	case 9:
		x->has_ts = !x->has_ts;
		break;
	case 10:
		x->has_lane = true;
		x->lane.lanes = (uint16_t)(1u << script_below(s, 16));
		x->lane.back = (uint8_t)script_take(s, 1);
		break;
	default:
		x->nb_slots = (uint8_t)script_below(s, 8);
		break;
	}
}

/* ---- acknowledgements ---- */

static void
answer(struct script *s, const struct qp *qp, struct wire_pkt *w)
{
	static const uint8_t syndromes[] = {0x1f, 0x1f, 0x1f, 0x00, 0x40, 0x60,
	                                    0x61, 0x62, 0x63, 0x65, 0x66};
	uint64_t una = qp->rel->tx_una, open = qp->tx_nxt_psn - una;
	uint64_t cum = open ? una + script_take(s, 1) % (open + 1) : una;
	struct wire_weft *x = &w->weft;

	w->opcode = OP_WEFT | OP_ACK;
	w->psn = near(s, cum);
	w->msn = near(s, script_below(s, 2) ? qp->rel_qp.tx_first_msn : qp->rel_qp.tx_end_msn - 1);
	w->syndrome = script_below(s, 16) ? syndromes[script_below(s, sizeof(syndromes))]
	                                  : (uint8_t)script_take(s, 1);
	x->value = near(s, w->syndrome == 0x66 ? qp->rel_qp.tx_first_msn : cum);
	x->ce = script_below(s, 2);
	x->has_sack = script_below(s, 8) == 0;
	x->sack_bits = script_take(s, 1);
	x->has_ts = !!(qp->terms.tx_wire & WIRE_TS) ^ (script_below(s, 16) == 0);
	x->nb_slots = script_below(s, 4) ? 0 : (uint8_t)script_below(s, 8);
	x->has_rnr = script_below(s, 4) == 0;
	x->rnr_ssn = near(s, qp->wout.ssn_una);
	x->rnr_msn =
		near(s, script_below(s, 2) ? qp->rel_qp.tx_first_msn : qp->rel_qp.tx_end_msn - 1);
	x->rnr_code = (uint8_t)script_below(s, 32);
}

void
attack_weft_pick(struct script *s, const struct crowd_end *to, struct wire_pkt *w)
{
	const struct qp *qp = to->qp[CROWD_RC].qp;

	w->payload_len = 0;
	if (script_below(s, 4) == 0) {
		answer(s, qp, w);
		return;
	}
	w->weft.has_ts = qp->terms.rx_wire & WIRE_TS;
	w->weft.tag = qp->terms.rx_wire & WIRE_TRIM ? DCP_DATA : DCP_OTHER;
	w->weft.has_lane = qp->terms.rx_wire & WIRE_PATH;
	w->weft.lane.lanes = (uint16_t)(1u << qp->terms.rx_lanes);
	w->weft.nb_slots = qp->terms.rx_slots;
	w->psn = low24(qp->rel->rx_cum);
	w->msn = low24(qp->win.emsn + (qp->win.nb_msgs && script_below(s, 8) == 0));
	if (script_below(s, 4) == 0 || !go_on(s, qp, w))
		begin(s, qp, w);
	if (script_below(s, 2))
		spoil(s, w);
}

void
attack_weft_whole(const struct crowd_end *to, uint8_t opcode, uint32_t len, struct wire_pkt *w)
{
	const struct qp *qp = to->qp[CROWD_RC].qp;
	uint32_t flags = opcode_table[opcode].flags;

	w->psn = low24(flags & OPF_STREAM ? qp->rel->rx_cum : qp->rel->tx_una);
	w->msn = low24(flags & OPF_STREAM ? qp->win.emsn : qp->rel_qp.tx_first_msn);
	w->dma_len = w->weft.msg_len = len;
	w->weft.ssn = low24(qp->win.bssn);
	w->weft.req_msn = request_due(qp, &len);
}
