/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack.h"

#include <string.h>

#include "batch.h"
#include "comp.h"
#include "dgram.h"
#include "open.h"
#include "qp.h"
#include "rc.h"
#include "resp.h"
#include "weft_msg.h"
#include "weft_stream.h"
#include "wr.h"

/* The way in. A packet is judged from the outside in; the first thing wrong drops it. */

static bool
receives(const struct qp *qp)
{
	return qp->state == SHM_QPS_RTR || qp->state == SHM_QPS_RTS || qp->state == SHM_QPS_SQD ||
	       qp->state == SHM_QPS_SQE;
}

/* The transport bits of the opcode are the QP's; a CNP is for any. RC has two framings. */
static bool
same_transport(const struct qp *qp, uint8_t opcode)
{
	uint8_t transport = opcode & OP_TRANSPORT_MASK;

	return opcode == OP_CNP || transport == qp_transport(qp) ||
	       (transport == OP_WEFT && qp->type == SHM_QPT_RC);
}

static bool
same_framing(const struct qp *qp, const struct wire_pkt *w)
{
	if (w->opcode == OP_CNP)
		return true;
	return qp->framing == (w->op->flags & OPF_WEFT ? QP_WEFT : QP_PLAIN);
}

static bool
same_addresses(const struct qp *qp, const struct wire_pkt *w)
{
	return !memcmp(&w->src, &qp->peer_ip, sizeof(w->src)) &&
	       !memcmp(&w->dst, &qp->own_ip, sizeof(w->dst));
}

/* A datagram may come to any of our addresses, in its VLAN; else it is counted. */
static bool
is_to_us(struct nic *nic, const struct wire_pkt *w)
{
	if (gid_find(&nic->gids, &w->dst, vlan_id(w->vlan_tci)))
		return true;
	nic_drop(nic, gid_has_ip(&nic->gids, &w->dst) ? DROP_VLAN : DROP_ADDRESS);
	return false;
}

/* Whether a packet whose ICRC is right is for this QP (NULL = there is none); else it is counted.
 */
static bool
may_have(struct nic *nic, const struct qp *qp, const struct wire_pkt *w)
{
	enum drop why;

	if (!qp)
		why = DROP_NO_QP;
	else if (!same_transport(qp, w->opcode))
		why = DROP_QP_TYPE;
	else if (!receives(qp))
		why = DROP_QP_STATE;
	else if ((w->pkey & 0x7fff) != (PKEY_DEFAULT & 0x7fff))
		why = DROP_PKEY;
	else if (qp->type == SHM_QPT_UD)
		return is_to_us(nic, w);
	else if (!same_addresses(qp, w))
		why = DROP_ADDRESS;
	else if (vlan_id(w->vlan_tci) != qp->own_vlan)
		why = DROP_VLAN;
	else if (!same_framing(qp, w))
		why = DROP_FRAMING;
	else
		return true;
	nic_drop(nic, why);
	return false;
}

/*
 * Congestion marks are the receiver's business: it asks the sender to slow down. A datagram has no
 * sender that it could ask: a UD QP has no peer.
 */
static void
notice_ecn(struct qp *qp, const struct wire_pkt *w, uint32_t bytes, uint64_t now_ns)
{
	struct nic *nic = qp->nic;
	struct cc_rx rx;
	bool ce = (w->tos & IP_ECN_MASK) == ECN_CE;

	nic->stats.np_ecn_marked_roce_packets += ce;
	if (qp->type == SHM_QPT_UD || !qp->cc_ops->on_rx)
		return;
	rx = (struct cc_rx){.bytes = bytes, .ce = ce};
	if (qp->cc_ops->on_rx(qp->cc, &rx, now_ns) != CC_FEEDBACK_CNP)
		return;
	qp_notify(qp);
}

static void
on_cnp(struct qp *qp, uint64_t now_ns)
{
	qp->nic->stats.rp_cnp_handled++;
	if (qp->cc_ops->on_cnp && qp->state != SHM_QPS_RTR)
		qp->cc_ops->on_cnp(qp->cc, &qp->nic->cc_nic, now_ns);
	comp_arm(qp);
}

/*
 * Whether a packet says which framing its sender's QP has. An acknowledgement of the weft framing
 * is of a connection before: to a QP that is not open nothing can be acknowledged.
 */
static bool
tells_framing(const struct wire_pkt *w)
{
	if (w->opcode == OP_CNP || wire_is_header_only(w))
		return false;
	return !(w->op->flags & OPF_WEFT) || (w->op->flags & OPF_STREAM);
}

/* The first packet of the peer says that it is there. */
static void
notice_peer(struct qp *qp)
{
	if (qp->state != SHM_QPS_RTR || qp->comm_est)
		return;
	qp->comm_est = true;
	qp->nic->conf.driver->event(qp->owner, SHM_EVENT_COMM_EST, qp->cookie);
}

/* A RoCE packet between the two passes over a burst. */
struct rx_pkt {
	struct wire_pkt w;
	const struct pkt *pkt;
	struct qp *qp; /* NULL = there is none */
};

/* A header-only packet has no ICRC; parsing it has checked its sum. */
static bool
is_whole(const struct pkt *p, const struct wire_pkt *w)
{
	if (p->absent)
		return !p->is_damaged;
	return wire_is_header_only(w) || wire_icrc_ok(p->data, w);
}

/* Of two ends that have failed neither tells the other again and again. */
static bool
asks_for_fault(const struct wire_pkt *w)
{
	uint32_t flags = w->op->flags;

	return flags & OPF_STREAM ||
	       (flags & OPF_WEFT && flags & OPF_ACK && !weft_ack_is_fatal(w->syndrome));
}

static void
rx_roce(struct nic *nic, const struct rx_pkt *rx, uint64_t now_ns)
{
	const struct wire_pkt *w = &rx->w;
	const struct pkt *p = rx->pkt;
	struct qp *qp = rx->qp;

	if (!is_whole(p, w)) {
		nic_drop(nic, DROP_ICRC);
		return;
	}
	if (qp && qp->framing == QP_PENDING && receives(qp) && tells_framing(w) &&
	    same_transport(qp, w->opcode) && same_addresses(qp, w))
		open_heard(qp, w->op->flags & OPF_STREAM, now_ns);
	if (!may_have(nic, qp, w)) {
		if (qp && qp->state == SHM_QPS_ERR && qp->framing == QP_WEFT && asks_for_fault(w) &&
		    same_addresses(qp, w))
			weft_repeat_fault(qp, now_ns);
		return;
	}
	if (w->opcode == OP_CNP) {
		on_cnp(qp, now_ns);
		return;
	}
	if (!(w->op->flags & OPF_ACK))
		notice_ecn(qp, w, p->len, now_ns);
	if (wire_is_header_only(w)) {
		weft_header_rx(qp, w, p, now_ns);
		return;
	}
	if (qp->type == SHM_QPT_UD) {
		ud_rx(qp, w, p->data);
		return;
	}
	notice_peer(qp);
	if (qp->type == SHM_QPT_UC)
		uc_rx(qp, w, now_ns);
	else if (w->op->flags & OPF_STREAM)
		weft_rx(qp, w, now_ns);
	else if (w->op->flags & OPF_WEFT)
		weft_ack_rx(qp, w, now_ns);
	else if (w->op->flags & OPF_REQUEST)
		resp_rx(qp, w, now_ns);
	else
		rc_answer(qp, w, now_ns);
}

static bool
for_us(const struct nic *nic, const uint8_t *dmac)
{
	return (dmac[0] & 1) || !memcmp(dmac, nic->self.mac, 6);
}

/* The other end of the link wants some classes to wait. */
static void
rx_pfc(struct nic *nic, const struct pkt *p, uint64_t now_ns)
{
	struct wire_pfc pfc;
	bool is_for_us = !memcmp(p->data, wire_pause_group, sizeof(wire_pause_group)) ||
	                 !memcmp(p->data, nic->self.mac, sizeof(nic->self.mac));

	if (!nic->conf.obeys_pfc || !is_for_us || !wire_parse_pfc(p->data, p->len, &pfc)) {
		nic_drop(nic, DROP_NOT_ROCE);
		return;
	}
	pause_receive_frame(&nic->pause, pfc.classes, pfc.time_quanta, nic->conf.line_rate_bps,
	                    now_ns);
}

static void
rx_hello(struct nic *nic, const struct pkt *p, const struct wire_pkt *w, uint64_t now_ns)
{
	if (nic->peers)
		peers_rx(nic->peers, p->data, w, now_ns);
	else
		nic_drop(nic, DROP_NOT_ROCE);
}

/* Everything but RoCE; those packets are judged in a second pass. */
static void
rx_other(struct nic *nic, const struct pkt *p, const struct wire_pkt *w, enum wire_kind kind,
         enum wire_bad bad, uint64_t now_ns)
{
	switch (kind) {
	case WIRE_ROCE:
		break;
	case WIRE_ARP:
	case WIRE_ND:
		neigh_rx(nic->neigh, p->data, p->len, now_ns);
		break;
	case WIRE_PFC:
		rx_pfc(nic, p, now_ns);
		break;
	case WIRE_HELLO:
		rx_hello(nic, p, w, now_ns);
		break;
	case WIRE_OTHER:
		nic_drop(nic, DROP_NOT_ROCE);
		break;
	case WIRE_BAD:
		nic->stats.bad[bad]++;
		break;
	}
}

/* Read the headers of a burst, and ask for the places where its QPs are found. */
static uint32_t
parse_all(struct nic *nic, struct pkt **pkts, uint32_t n, struct rx_pkt *rx, uint64_t now_ns)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rx_pkt *r = &rx[nb];
		enum wire_bad bad;
		enum wire_kind kind = wire_parse(pkts[i]->data, pkts[i]->len, &r->w, &bad);

		nic->stats.rx_bytes += pkts[i]->len;
		if (kind != WIRE_ROCE) {
			rx_other(nic, pkts[i], &r->w, kind, bad, now_ns);
			continue;
		}
		if (!for_us(nic, pkts[i]->data)) {
			nic_drop(nic, DROP_NOT_ROCE);
			continue;
		}
		r->pkt = pkts[i];
		keytab_prefetch(&nic->qps, r->w.dest_qpn);
		nb++;
	}
	nic->stats.rx_packets += n;
	return nb;
}

/* Find the QPs of a burst, and ask for their memory. */
static void
find_all(const struct nic *nic, struct rx_pkt *rx, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		if (i && rx[i].w.dest_qpn == rx[i - 1].w.dest_qpn) {
			rx[i].qp = rx[i - 1].qp;
			continue;
		}
		rx[i].qp = qp_find(nic, rx[i].w.dest_qpn);
		if (rx[i].qp)
			qp_prefetch(rx[i].qp, rx[i].w.op->flags & (OPF_REQUEST | OPF_STREAM)
			                              ? QP_REQUEST
			                              : QP_ANSWER);
	}
}

/* Its QP is near, and not that of the packet before. */
static void
prefetch_next(const struct rx_pkt *rx)
{
	qp_prefetch_cqs(rx->qp);
	if (rx->qp->framing == QP_WEFT)
		weft_msg_prefetch(&rx->qp->win, rx->w.msn);
}

void
stack_rx(struct nic *nic, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct rx_pkt rx[STACK_BURST];
	uint32_t nb;

	assert(n <= STACK_BURST);
	nic->now_ns = now_ns;
	nb = parse_all(nic, pkts, n, rx, now_ns);
	find_all(nic, rx, nb);
	for (uint32_t i = 0; i < nb; i++) {
		if (i + 1 < nb && rx[i + 1].qp && rx[i + 1].qp != rx[i].qp)
			prefetch_next(&rx[i + 1]);
		if (!batch_in_fits(nic->batch))
			batch_flush_in(nic);
		rx_roce(nic, &rx[i], now_ns);
	}
	wr_settle(nic);
	pkt_free(pkts, n);
}
