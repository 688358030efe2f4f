/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"
#include "fail.h"
#include "lease.h"
#include "path.h"
#include "piece.h"
#include "psn.h"
#include "resp.h"
#include "weft_stream.h"

static void
begin(const struct qp *qp, struct wire_pkt *w, uint8_t opcode, uint64_t psn)
{
	*w = (struct wire_pkt){
		.opcode = opcode,
		.mig_req = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = qp->attr.dest_qpn,
		.psn = (uint32_t)psn & PSN_MASK,
	};
}

void
resp_tx_cnp(struct qp *qp)
{
	struct wire_pkt w;
	struct out_pkt *o;

	begin(qp, &w, OP_CNP, 0);
	w.mig_req = false;
	w.becn = true;
	o = path_plan(qp, &w, path_sport(qp), 0);
	if (!o)
		return;
	wire_set_tos(o->pkt->data, &qp->path, CNP_TOS);
	qp->nic->stats.np_cnp_sent++;
}

void
resp_tx_ack(struct qp *qp)
{
	const struct resp *r;
	struct wire_pkt w;

	assert(resp_is_ack(qp));
	if (qp->framing == QP_WEFT) {
		weft_ack_tx(qp);
		return;
	}
	r = &qp->fifo[qp->fifo_head++ % RESP_FIFO_LEN];
	begin(qp, &w, r->kind == RESP_ATOMIC ? OP_ATOMIC_ACK : OP_ACK, r->psn);
	w.syndrome = r->syndrome;
	w.msn = r->msn;
	w.atomic_orig = r->orig;
	if (qp->fifo_head == qp->fifo_tail)
		lease_fifo_end(qp);
	path_plan(qp, &w, path_sport(qp), 0);
}

static uint8_t
read_opcode(const struct resp *r, bool last)
{
	if (!r->started)
		return last ? OP_READ_RESP_ONLY : OP_READ_RESP_FIRST;
	return last ? OP_READ_RESP_LAST : OP_READ_RESP_MIDDLE;
}

/* The READ cannot go on: a NAK in its place, and the QP ends. */
static void
abandon(struct qp *qp)
{
	uint64_t psn = qp->fifo[qp->fifo_head % RESP_FIFO_LEN].psn;

	qp->fifo_head = qp->fifo_tail;
	resp_nak(qp, AETH_NAK_ACCESS, psn);
	qp_fail_recv(qp, QP_REASON_REQ_ACCESS, 0, psn);
}

uint32_t
resp_tx_read(struct qp *qp)
{
	struct resp *r = &qp->fifo[qp->fifo_head % RESP_FIFO_LEN];
	uint32_t len = r->left < qp->mtu ? r->left : qp->mtu;
	struct wire_pkt w;
	struct out_pkt *o;

	if (len && !piece_readable(qp, r->rkey, r->va, len)) { /* gone meanwhile */
		abandon(qp);
		return 0;
	}
	begin(qp, &w, read_opcode(r, len == r->left), r->psn);
	w.syndrome = r->syndrome;
	w.msn = r->msn;
	w.payload_len = len;
	o = path_plan(qp, &w, path_sport(qp), path_data_ecn(qp));
	if (o && len && !piece_gather_remote(qp, r->rkey, r->va, len, o->payload))
		o->failed = true;
	r->started = true;
	r->psn++;
	r->va += len;
	r->left -= len;
	if (!r->left) {
		qp->fifo_head++;
		if (qp->fifo_head == qp->fifo_tail)
			lease_fifo_end(qp);
		else if (resp_is_ack(qp))
			qp_respond(qp);
	}
	return len + FRAME_OVERHEAD + AETH_LEN;
}
