/* SPDX-License-Identifier: BSD-3-Clause */
#include "dgram.h"

#include <string.h>

#include "exec.h"
#include "fail.h"
#include "hdr.h"
#include "psn.h"
#include "resp.h"
#include "sge.h"

/* Bytes before the payload of a UD message: an IPv6 header, or an IPv4 one at the end. */
#define GRH_LEN IPV6_LEN

/* ---- UC ---- */

/*
 * Drop the rest of a message, up to the next FIRST or ONLY. A receive taken for it stays in hand
 * and serves the next message. Source: IBA vol. 1, ch. 9 (UC: a gap drops the message).
 */
static void
uc_skip(struct qp *qp, enum drop why)
{
	nic_drop(qp->nic, why);
	qp->rx_op = 0;
	qp->rx_skip = true;
	qp->rx_skip_why = why;
}

/* What is wrong with the own receive ends the QP, what the peer did drops its message. */
static void
uc_exec(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	struct verdict v = exec_packet(qp, w, psn);

	if (qp->state == SHM_QPS_ERR || !v.syndrome)
		return;
	if (v.recv_status)
		qp_fail_recv(qp, v.why, v.recv_status, psn);
	else
		uc_skip(qp, v.drop);
}

void
uc_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	uint32_t flags = w->op->flags;
	struct rel_rx rx = {.psn = psn_unwrap(qp->rel->rx_cum, w->psn), .nb_psns = 1};
	struct rel_rx_out out = {0};
	bool gap = rx.psn != qp->rel->rx_cum;

	qp->rel_ops->on_data(qp->rel, &rx, now_ns, &out);
	if (flags & OPF_START) {
		qp->rx_op = 0; /* whatever was open is dropped */
		qp->rx_skip = false;
	} else if (gap || qp->rx_skip) {
		uc_skip(qp, gap ? DROP_GAP : qp->rx_skip_why);
		return;
	}
	if (exec_in_order(qp, flags) && resp_needs_recv(qp, flags) && !resp_take_recv(qp)) {
		qp->nic->stats.out_of_buffer++;
		uc_skip(qp, DROP_NO_RECV);
		return;
	}
	uc_exec(qp, w, rx.psn);
}

/* ---- UD ---- */

/* GRH as applications know it: the IP header, an IPv4 one behind 20 bytes that mean nothing. */
static bool
deliver_grh(struct qp *qp, const struct wire_pkt *w, const uint8_t *frame)
{
	static const uint8_t zero[GRH_LEN - IPV4_LEN];

	if (w->ipv6)
		return sge_place_recv(qp, qp->recv, 0, frame + w->l3_off, GRH_LEN, w->psn);
	return sge_place_recv(qp, qp->recv, 0, zero, sizeof(zero), w->psn) &&
	       sge_place_recv(qp, qp->recv, sizeof(zero), frame + w->l3_off, IPV4_LEN, w->psn);
}

void
ud_rx(struct qp *qp, const struct wire_pkt *w, const uint8_t *frame)
{
	struct shm_cqe cqe = {
		.ts_ns = qp->nic->now_ns,
		.byte_len = GRH_LEN + w->payload_len,
		.qpn = qp->qpn,
		.src_qpn = w->src_qpn,
		.op = SHM_WC_RECV,
		.flags = SHM_WC_GRH | (w->op->flags & OPF_IMM ? SHM_WC_WITH_IMM : 0),
		.imm = w->op->flags & OPF_IMM ? w->imm : 0,
		.sl = w->ipv6 ? 1 : 2,
	};

	if (w->qkey != qp->attr.qkey) {
		nic_drop(qp->nic, DROP_QKEY);
		return;
	}
	if (!qp->recv && !resp_take_recv(qp)) {
		qp->nic->stats.out_of_buffer++;
		nic_drop(qp->nic, DROP_NO_RECV);
		return;
	}
	if (qp->recv->is_bad) { /* names too many entries: nothing passes it */
		qp_fail_recv(qp, QP_REASON_LOCAL_WQE, SHM_WC_LOC_QP_OP_ERR, 0);
		return;
	}
	if (cqe.byte_len > qp->recv->length) { /* the receive waits for one that fits */
		nic_drop(qp->nic, DROP_LENGTH);
		return;
	}
	if (!deliver_grh(qp, w, frame) ||
	    !sge_place_recv(qp, qp->recv, GRH_LEN, w->payload, w->payload_len, w->psn)) {
		qp_fail_recv(qp, QP_REASON_LOCAL_PROT, SHM_WC_LOC_PROT_ERR, 0);
		return;
	}
	cqe.wr_id = qp->recv->wr_id;
	resp_deliver(qp, &cqe, w->solicited);
}
