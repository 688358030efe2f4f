/* SPDX-License-Identifier: BSD-3-Clause */
#include "open_terms.h"

#include <stdio.h>
#include <string.h>

#include "bind.h"
#include "hdr.h"
#include "weft_hdr.h"

/* Optional parts of own data, and of the answers to it, as OPEN has them. */
static const struct {
	uint32_t wire;
	uint16_t option;
} parts[] = {
	{WIRE_PATH, HELLO_OPT_PATH},       {WIRE_TS, HELLO_OPT_TS},     {WIRE_ECT, HELLO_OPT_ECN},
	{WIRE_CE_ECHO, HELLO_OPT_CE_ECHO}, {WIRE_SACK, HELLO_OPT_SACK},
};
#define NB_PARTS (sizeof(parts) / sizeof(parts[0]))

static uint32_t
wire_of(uint16_t options)
{
	uint32_t wire = 0;

	for (size_t i = 0; i < NB_PARTS; i++)
		wire |= options & parts[i].option ? parts[i].wire : 0;
	return wire;
}

struct hello_terms
open_terms_of(const struct qp *qp)
{
	struct engine_set set = {qp->rel_ops, qp->cc_ops, qp->lb_ops};
	uint32_t wire = engine_set_wire(&set);
	struct hello_terms t = {
		.own_qpn = qp->qpn,
		.peer_qpn = qp->attr.dest_qpn,
		.rq_psn = qp->attr.rq_psn,
		.window_pkts = qp->nic->conf.window_pkts,
		.max_msgs = WEFT_MSGS,
		.mtu_code = qp->attr.path_mtu,
		.nb_slots = wire & WIRE_INT ? INT_SLOTS_DEFAULT : 0,
		.ack_every = (uint8_t)qp->cc->ack_every_pkts,
		.max_rd_atomic = qp->attr.max_rd_atomic,
		.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
	};

	for (size_t i = 0; i < NB_PARTS; i++)
		t.options |= wire & parts[i].wire ? parts[i].option : 0;
	if (qp->state != SHM_QPS_RTR) {
		t.options |= HELLO_OPT_SQ_PSN;
		t.sq_psn = qp->attr.sq_psn;
	}
	snprintf(t.engine, sizeof(t.engine), "%s", qp->rel_ops->info.name);
	return t;
}

/* Bytes of the peer's longest packet, from its IP header on. */
static uint32_t
longest_of(const struct qp *qp, const struct hello_terms *peer)
{
	uint32_t len = (qp->path.ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN + WEFT_OFF_INT + RETH_LEN +
	               WEFT_WORD_LEN + IMM_LEN + ICRC_LEN;

	if (peer->nb_slots)
		len += INT_LEN(peer->nb_slots);
	len += peer->options & HELLO_OPT_PATH ? LANE_LEN : 0;
	len += peer->options & HELLO_OPT_TS ? TS_LEN : 0;
	return len + mtu_bytes(peer->mtu_code);
}

static uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct weft_terms
open_terms_agree(const struct qp *qp, const struct hello_terms *own, const struct hello_terms *peer)
{
	uint32_t trim = qp->rel_ops->info.wire & WIRE_TRIM;

	return (struct weft_terms){
		.tx_first_psn = peer->rq_psn,
		.window_pkts = min_u32(own->window_pkts, peer->window_pkts),
		.max_msgs = min_u32(own->max_msgs, peer->max_msgs),
		.tx_wire = wire_of(own->options) | trim,
		.rx_wire = wire_of(peer->options) | trim,
		.tx_slots = own->nb_slots,
		.rx_slots = peer->nb_slots,
		.tx_lanes = own->lanes_shift,
		.rx_lanes = peer->lanes_shift,
		.ack_every = peer->ack_every,
		.ack_delay_us = peer->ack_delay_us,
	};
}

void
open_terms_judge(const struct qp *qp, const struct hello_terms *peer, struct hello_terms *own)
{
	own->status = HELLO_AGREED;
	own->reason = HELLO_REASON_NONE;
	if (strcmp(peer->engine, own->engine) != 0) {
		own->status = HELLO_ENGINES;
	} else if (peer->mtu_code != own->mtu_code) {
		own->status = HELLO_UNFIT;
		own->reason = HELLO_REASON_PMTU;
	} else if (longest_of(qp, peer) > qp->nic->ip_mtu_bytes && !qp->path_to_self) {
		own->status = HELLO_UNFIT;
		own->reason = HELLO_REASON_LINK_MTU;
	}
}

bool
open_terms_are_foreign(const struct hello_terms *own, const struct hello_terms *peer)
{
	bool knows_in = peer->options & HELLO_OPT_SQ_PSN;
	bool knows_out = own->options & HELLO_OPT_SQ_PSN;

	if (knows_in && peer->sq_psn == own->rq_psn)
		return false;
	if (knows_out && own->sq_psn == peer->rq_psn)
		return false;
	return knows_in || knows_out;
}

bool
open_terms_equal(const struct weft_terms *a, const struct weft_terms *b)
{
	return a->tx_first_psn == b->tx_first_psn && a->window_pkts == b->window_pkts &&
	       a->max_msgs == b->max_msgs && a->tx_wire == b->tx_wire && a->rx_wire == b->rx_wire &&
	       a->tx_slots == b->tx_slots && a->rx_slots == b->rx_slots &&
	       a->rx_lanes == b->rx_lanes;
}

bool
open_terms_refused(const struct hello_terms *t)
{
	return t->status == HELLO_ENGINES || t->status == HELLO_UNFIT;
}

enum qp_reason
open_terms_reason(const struct hello_terms *t)
{
	static const enum qp_reason unfit[HELLO_REASON_NB] = {
		[HELLO_REASON_NONE] = QP_REASON_OPEN_TERMS,
		[HELLO_REASON_PMTU] = QP_REASON_OPEN_PMTU,
		[HELLO_REASON_OPTIONS] = QP_REASON_OPEN_TERMS,
		[HELLO_REASON_LINK_MTU] = QP_REASON_OPEN_LINK_MTU,
	};

	return t->status == HELLO_ENGINES ? QP_REASON_OPEN_ENGINES : unfit[t->reason];
}
