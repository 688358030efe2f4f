/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"
#include "comp.h"
#include "fail.h"
#include "psn.h"
#include "resp.h"
#include "weft_msg.h"
#include "weft_stream.h"

/*
 * READs and atomics of the peer, which are messages of its stream and are answered by messages of
 * the own one. They run once, in the order in which they were posted, among the receives: their
 * order word says which SSN the peer would have used next. Then they wait to be opened as
 * responses (weft_out.c). And faults: what ends the QP, when all before it has gone.
 */

/** A NAK that was lost is said again at most so often, and so many times. Source: our choice. */
#define FAULT_REPEAT_NS 1000000
#define FAULTS_MAX 1000

static struct weft_rd_in *
rd_at(const struct weft_in *in, uint32_t idx)
{
	return &in->rx->rds[idx % WEFT_MAX_RD_ATOMIC];
}

/* Responses on their way that the peer did not have when it asked for this. */
static uint32_t
nb_unanswered(const struct qp *qp, uint64_t opp_emsn)
{
	const struct rel_qp *rq = &qp->rel_qp;
	uint64_t msn = opp_emsn > rq->tx_first_msn ? opp_emsn : rq->tx_first_msn;
	uint32_t nb = 0;

	for (; msn < rq->tx_end_msn; msn++)
		nb += qp->wout.tx->msgs[msn & rq->msg_mask].kind != WEFT_TX_REQUEST;
	return nb;
}

/* A response that is acknowledged, or that this request says it has, needs no room any more. */
static bool
has_room(const struct qp *qp, uint64_t opp_emsn)
{
	uint32_t waiting = (uint8_t)(qp->win.rd_tail - qp->win.rd_head);
	uint32_t max = qp->attr.max_dest_rd_atomic;

	if (waiting >= max || waiting >= WEFT_MAX_RD_ATOMIC)
		return false;
	return waiting + qp->wout.nb_resps < max || waiting + nb_unanswered(qp, opp_emsn) < max;
}

void
weft_rd_done(struct qp *qp, const struct weft_rx_msg *m)
{
	struct weft_in *in = &qp->win;
	uint64_t opp_emsn = psn_unwrap(qp->rel_qp.tx_end_msn, m->opp_emsn);

	if (!qp->attr.max_dest_rd_atomic) {
		weft_fault(qp, m->rel.msn, m->rel.first_psn, &exec_bad_rights);
		return;
	}
	if (!has_room(qp, opp_emsn)) {
		weft_fault(qp, m->rel.msn, m->rel.first_psn, &exec_bad_atomic);
		return;
	}
	*rd_at(in, in->rd_tail++) = (struct weft_rd_in){
		.msn = m->rel.msn,
		.psn = m->rel.first_psn,
		.order_ssn = psn_unwrap(in->essn, m->ref),
		.va = m->va,
		.swap_add = m->swap_add,
		.compare = m->compare,
		.rkey = m->rkey,
		.length = m->dma_len,
		.opcode = m->opcode,
	};
}

bool
weft_rd_is_due(const struct qp *qp)
{
	const struct weft_in *in = &qp->win;
	const struct weft_rd_in *rd = rd_at(in, in->rd_run);

	return in->rd_run != in->rd_tail && rd->order_ssn <= in->essn && rd->msn < in->fault_msn;
}

void
weft_rd_run(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	struct weft_rd_in *rd = rd_at(in, in->rd_run);
	struct exec_atomic at = {.swap = (rd->opcode & ~OP_TRANSPORT_MASK) == OP_CMP_SWAP,
	                         .va = rd->va,
	                         .rkey = rd->rkey,
	                         .swap_add = rd->swap_add,
	                         .compare = rd->compare};
	struct verdict v;

	if (opcode_table[rd->opcode].flags & OPF_READ)
		v = exec_judge_read(qp, rd->va, rd->rkey, rd->length);
	else
		v = exec_run_atomic(qp, &at, &rd->va);
	if (qp->state == SHM_QPS_ERR)
		return;
	if (v.syndrome) {
		weft_fault(qp, rd->msn, rd->psn, &v);
		return;
	}
	in->rd_run++;
	sched_wake(&qp->nic->sched, &qp->sched, qp->nic->now_ns);
}

/* ---- faults ---- */

void
weft_fault(struct qp *qp, uint64_t msn, uint64_t psn, const struct verdict *v)
{
	struct weft_in *in = &qp->win;

	if (msn >= in->fault_msn)
		return;
	in->fault_msn = msn;
	in->fault_ns = qp->nic->now_ns;
	in->fault_psn = (uint32_t)psn & PSN_MASK;
	in->fault_syndrome = v->syndrome;
	in->fault_why = v->why;
	in->fault_recv_status = v->recv_status;
}

/* Whose receive is to blame: that of the message at fault, if no other had it meanwhile. */
static void
blame_recv(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	const struct weft_rx_msg *m = weft_msg_slot_of(in, in->fault_msn);
	uint64_t ssn;

	if (!in->fault_recv_status || !m)
		return;
	ssn = psn_unwrap(in->essn, m->ref);
	if ((m->kind & (OPF_SEND | OPF_WRITE)) && ssn >= in->essn && ssn < in->bssn)
		weft_recv_of(qp, ssn)->status = in->fault_recv_status;
}

static void
tell(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	in->nb_faults++;
	in->fault_ns = qp->nic->now_ns + FAULT_REPEAT_NS;
	resp_push(qp, &(struct resp){.kind = RESP_ACK,
	                             .syndrome = in->fault_syndrome,
	                             .msn = (uint32_t)in->fault_msn & PSN_MASK,
	                             .psn = in->fault_psn});
}

/* The peer is told now, and the QP ends. */
static void
end(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	uint64_t ssn;

	qp->fifo_head = qp->fifo_tail;
	in->fault_refuses = in->nb_refused != 0;
	if (in->fault_refuses) {
		in->fault_rnr_msn = (uint32_t)weft_first_refused(qp, &ssn)->refused_msn & PSN_MASK;
		in->fault_rnr_ssn = (uint32_t)ssn & PSN_MASK;
	}
	tell(qp);
	blame_recv(qp);
}

/* All before the fault is done, and nobody knows of it yet. */
static bool
is_untold(const struct weft_in *in)
{
	return in->fault_msn != WEFT_NONE && !in->nb_faults && in->emsn >= in->fault_msn;
}

/*
 * The peer may be at fault, too, and then takes no response that is behind its own fault in our
 * stream: each would wait for the other. So responses have two ACK timeouts to be acknowledged.
 */
uint64_t
weft_fault_due_ns(const struct qp *qp)
{
	uint64_t from_ns = qp->win.fault_ns > qp->progress_ns ? qp->win.fault_ns : qp->progress_ns;

	if (!is_untold(&qp->win))
		return NEVER_NS;
	return from_ns + (qp->attr.retry_cnt ? 2 : 1) * qp->rel_qp.ack_timeout_ns;
}

/* The NAK overtakes no response that was begun for a request before the one at fault. */
void
weft_settle_fault(struct qp *qp)
{
	struct weft_in *in = &qp->win;
	bool waits = in->rd_head != in->rd_run || qp->wout.nb_resps;

	if (!is_untold(in))
		return;
	if (waits && weft_fault_due_ns(qp) > qp->nic->now_ns) {
		comp_arm(qp);
		return;
	}
	end(qp);
	qp_fail_recv(qp, in->fault_why, 0, in->fault_psn);
}

void
weft_repeat_fault(struct qp *qp, uint64_t now_ns)
{
	struct weft_in *in = &qp->win;

	if (!in->nb_faults || now_ns < in->fault_ns || in->nb_faults == FAULTS_MAX)
		return;
	if (!resp_is_ack(qp))
		tell(qp);
}

void
weft_fault_now(struct qp *qp, uint32_t msn, uint8_t syndrome)
{
	struct weft_in *in = &qp->win;

	in->fault_msn = psn_unwrap(in->emsn, msn);
	in->fault_psn = (uint32_t)(qp->rel->rx_cum - 1) & PSN_MASK;
	in->fault_syndrome = syndrome;
	in->fault_recv_status = 0;
	end(qp);
}
