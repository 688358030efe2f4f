/* SPDX-License-Identifier: BSD-3-Clause */
#include "resp.h"

#include "batch.h"
#include "exec.h"
#include "fail.h"
#include "lease.h"
#include "psn.h"
#include "wr.h"

/* Room that one packet's answers need. */
#define FIFO_SPARE 2

static uint32_t
fifo_used(const struct qp *qp)
{
	return qp->fifo_tail - qp->fifo_head;
}

/* Whoever sends it must know: READ responses are paced, the others are not. */
static inline void
wake(struct qp *qp)
{
	struct nic *nic = qp->nic;

	if (resp_is_read(qp))
		sched_wake(&nic->sched, &qp->sched, nic->now_ns);
	else
		qp_respond(qp);
}

/* Room for one more; without memory the answer counts as lost on its way. */
static inline bool
has_room(struct qp *qp)
{
	if (qp->fifo || lease_fifo(qp)) {
		assert(fifo_used(qp) < RESP_FIFO_LEN);
		return true;
	}
	nic_drop(qp->nic, DROP_BUSY);
	return false;
}

void
resp_push(struct qp *qp, const struct resp *resp)
{
	if (!has_room(qp))
		return;
	qp->fifo[qp->fifo_tail++ % RESP_FIFO_LEN] = *resp;
	wake(qp);
}

/*
 * What is sent again leaves in front of all that has later PSNs: the requester takes none of that
 * before.
 */
static void
push_again(struct qp *qp, const struct resp *resp)
{
	uint32_t i;

	if (!has_room(qp))
		return;
	i = qp->fifo_tail++;
	for (; i != qp->fifo_head && qp->fifo[(i - 1) % RESP_FIFO_LEN].psn > resp->psn; i--)
		qp->fifo[i % RESP_FIFO_LEN] = qp->fifo[(i - 1) % RESP_FIFO_LEN];
	qp->fifo[i % RESP_FIFO_LEN] = *resp;
	wake(qp);
}

/*
 * An ACK merges only into an ACK at the queue's tail: it must not overtake a READ response. One
 * that says more already stays as it is.
 */
static void
push_ack(struct qp *qp, uint64_t psn)
{
	if (fifo_used(qp)) {
		struct resp *tail = &qp->fifo[(qp->fifo_tail - 1) % RESP_FIFO_LEN];

		if (tail->kind == RESP_ACK && tail->syndrome == AETH_ACK) {
			if (tail->psn < psn)
				tail->psn = psn;
			tail->msn = qp->msn;
			return;
		}
	}
	resp_push(qp, &(struct resp){
			      .kind = RESP_ACK, .syndrome = AETH_ACK, .msn = qp->msn, .psn = psn});
}

void
resp_nak(struct qp *qp, uint8_t syndrome, uint64_t psn)
{
	resp_push(qp, &(struct resp){
			      .kind = RESP_ACK, .syndrome = syndrome, .msn = qp->msn, .psn = psn});
}

bool
resp_take_recv(struct qp *qp)
{
	qp->recv = recv_take(qp);
	return qp->recv != NULL;
}

void
resp_deliver(struct qp *qp, const struct shm_cqe *cqe, bool solicited)
{
	if (!qp->srq)
		wq_give_back(&qp->rq);
	lease_recv_end(qp);
	batch_cqe(qp->nic, qp, qp->recv_cq, cqe, solicited);
}

/* PSNs that a request spends: a READ as many as its response has packets. */
static uint32_t
psns_of(const struct qp *qp, const struct wire_pkt *w)
{
	if (!(w->op->flags & OPF_READ) || w->dma_len <= qp->mtu || w->dma_len > WEFT_MAX_MSG)
		return 1;
	return (uint32_t)(((uint64_t)w->dma_len + qp->mtu - 1) / qp->mtu);
}

static const struct rd_res *
find_res(const struct qp *qp, uint64_t psn)
{
	for (uint32_t i = 0; qp->res && i < qp->nb_res; i++)
		if (psn - qp->res[i].first_psn < qp->res[i].nb_psns)
			return &qp->res[i];
	return NULL;
}

/* The response to this READ if it waits or is on its way; NULL if it has left. */
static struct resp *
response_of(struct qp *qp, const struct rd_res *r)
{
	for (uint32_t i = qp->fifo_head; i != qp->fifo_tail; i++) {
		struct resp *f = &qp->fifo[i % RESP_FIFO_LEN];

		if (f->kind == RESP_READ && f->psn - r->first_psn < r->nb_psns)
			return f;
	}
	return NULL;
}

/* A READ from a packet of its response on that was asked for before. */
static void
replay_read(struct qp *qp, const struct wire_pkt *w, const struct rd_res *r, uint64_t psn)
{
	struct resp *f = response_of(qp, r);

	if (f && f->psn <= psn) /* it comes to that yet */
		return;
	if (f) {
		f->psn = psn;
		f->va = w->va;
		f->left = w->dma_len;
		f->started = false;
		return;
	}
	push_again(qp, &(struct resp){.kind = RESP_READ,
	                              .syndrome = AETH_ACK,
	                              .msn = r->msn,
	                              .psn = psn,
	                              .va = w->va,
	                              .rkey = w->rkey,
	                              .left = w->dma_len,
	                              .replay = true});
}

/*
 * A READ again, from the start or from a packet in its middle: execute it again. An atomic again:
 * return the value it returned. What is no longer kept is older than any honest repeat.
 */
static void
replay(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	const struct rd_res *r = find_res(qp, psn);
	uint64_t skipped;

	if (!r || (bool)r->atomic != !!(w->op->flags & OPF_ATOMIC)) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	if (r->atomic) {
		push_again(qp, &(struct resp){.kind = RESP_ATOMIC,
		                              .syndrome = AETH_ACK,
		                              .msn = r->msn,
		                              .psn = psn,
		                              .orig = r->orig,
		                              .replay = true});
		return;
	}
	skipped = (psn - r->first_psn) * qp->mtu;
	if (w->rkey != r->rkey || w->va != r->va + skipped || w->dma_len > r->length - skipped) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	replay_read(qp, w, r, psn);
}

/*
 * The last PSN that a requester which is back at psn may be told: all but what comes from a READ or
 * an atomic on, whose response it may still miss. Linux's rxe takes an ACK with the PSN of an
 * atomic for the atomic's answer, and completes it without a value.
 */
static uint64_t
last_to_ack(const struct qp *qp, uint64_t psn)
{
	uint64_t last = qp->rel->rx_cum - 1;

	for (uint32_t i = 0; qp->res && i < qp->nb_res; i++) {
		const struct rd_res *r = &qp->res[i];

		if (r->nb_psns && r->first_psn > psn && r->first_psn <= last)
			last = r->first_psn - 1;
	}
	return last;
}

static void
duplicate(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	qp->nic->stats.duplicate_request++;
	if (w->op->flags & (OPF_READ | OPF_ATOMIC))
		replay(qp, w, psn);
	else
		push_ack(qp, last_to_ack(qp, psn));
}

/* No receive for the request that is due: refuse it, and drop what follows until it comes again. */
static void
refuse_rnr(struct qp *qp, uint64_t psn)
{
	qp->nic->stats.out_of_buffer++;
	qp->rnr_sent = true;
	resp_nak(qp, AETH_RNR | (qp->attr.min_rnr_timer & AETH_VALUE_MASK), psn);
}

/* Execute the packet that is due; if it is refused, NAK it and fail. Whether it was accepted. */
static bool
execute(struct qp *qp, const struct wire_pkt *w, uint64_t psn)
{
	struct verdict v = exec_packet(qp, w, psn);

	if (qp->state == SHM_QPS_ERR)
		return false;
	if (!v.syndrome)
		return true;
	resp_nak(qp, v.syndrome, psn);
	qp_fail_recv(qp, v.why, v.recv_status, psn);
	return false;
}

/* What the engine made of the packet. */
static void
act(struct qp *qp, const struct wire_pkt *w, const struct rel_rx *rx, const struct rel_rx_out *out)
{
	switch (out->place) {
	case REL_PLACE:
		qp->rnr_sent = false;
		if (execute(qp, w, rx->psn) && w->ack_req &&
		    !(w->op->flags & (OPF_READ | OPF_ATOMIC)))
			push_ack(qp, qp->rel->rx_cum - 1);
		break;
	case REL_DUPLICATE:
		duplicate(qp, w, rx->psn);
		break;
	case REL_DROP:
		nic_drop(qp->nic, DROP_GAP);
		if (rx->psn > qp->rel->rx_cum)
			qp->nic->stats.out_of_sequence++;
		if (out->resp == REL_RESP_GAP)
			resp_nak(qp, AETH_NAK_PSN, qp->rel->rx_cum);
		break;
	}
}

void
resp_rx(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	struct rel_rx rx = {.psn = psn_unwrap(qp->rel->rx_cum, w->psn), .nb_psns = psns_of(qp, w)};
	struct rel_rx_out out = {0};

	/* Judge room first: once the engine has seen a packet, it counts as received. */
	if (fifo_used(qp) + FIFO_SPARE > RESP_FIFO_LEN) {
		nic_drop(qp->nic, DROP_BUSY);
		return;
	}
	if (rx.psn > qp->rel->rx_cum && qp->rnr_sent) {
		nic_drop(qp->nic, DROP_GAP);
		return;
	}
	if ((w->op->flags & (OPF_READ | OPF_ATOMIC)) && !qp->res && qp->nb_res && !lease_res(qp)) {
		nic_drop(qp->nic, DROP_BUSY);
		return;
	}
	if (rx.psn == qp->rel->rx_cum && resp_needs_recv(qp, w->op->flags) &&
	    exec_in_order(qp, w->op->flags) && !resp_take_recv(qp)) {
		refuse_rnr(qp, rx.psn);
		return;
	}
	qp->rel_ops->on_data(qp->rel, &rx, now_ns, &out);
	act(qp, w, &rx, &out);
}
