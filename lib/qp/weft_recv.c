/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "batch.h"
#include "fail.h"
#include "lease.h"
#include "psn.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * Receives of the weft framing. SSNs number the messages of a stream that use one. They get theirs
 * in that order, whatever order their packets come in: the first packet that needs SSN s binds all
 * up to s as far as there are receives. From a shared queue, too, receives are thus reserved for
 * messages of which nothing has come yet: were a later one allowed to take the last, the earlier
 * one could not be delivered, nor the later one completed.
 *
 * A packet that finds no receive is refused: its PSN counts as received, so that nothing behind it
 * stops, but its message will come again with another MSN.
 */

static bool
is_used(const struct weft_in *in, uint64_t ssn)
{
	uint32_t slot = weft_recv_slot(in, ssn);

	return in->rx->recvs_used[slot / 64] >> slot % 64 & 1;
}

static struct weft_recv *
slot_of(const struct weft_in *in, uint64_t ssn)
{
	return &in->rx->recvs[weft_recv_slot(in, ssn)];
}

/* The slot of an SSN, empty if it is new. */
static struct weft_recv *
use_slot(const struct weft_in *in, uint64_t ssn)
{
	struct weft_recv *r = slot_of(in, ssn);
	uint32_t slot = weft_recv_slot(in, ssn);

	if (!is_used(in, ssn))
		memset(r, 0, sizeof(*r));
	in->rx->recvs_used[slot / 64] |= UINT64_C(1) << slot % 64;
	return r;
}

static void
free_slot(struct weft_in *in, uint64_t ssn)
{
	uint32_t slot = weft_recv_slot(in, ssn);

	in->rx->recvs_used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

bool
weft_ssn_fits(const struct qp *qp, uint64_t ssn)
{
	return ssn < qp->win.essn + qp->terms.max_msgs;
}

/* Receives that are taken from a queue of its own are the application's again when delivered. */
static void
give_back(struct qp *qp)
{
	if (!qp->srq)
		wq_give_back_behind(&qp->rq, (uint32_t)(qp->win.bssn - qp->win.essn));
}

static void
bind_up_to(struct qp *qp, uint64_t ssn)
{
	struct weft_in *in = &qp->win;
	struct recv_wr *wr;

	for (; in->bssn <= ssn && (wr = recv_take(qp)); in->bssn++)
		use_slot(in, in->bssn)->wr = wr;
}

static void
refuse(struct qp *qp, struct weft_recv *r, uint64_t msn)
{
	if (r->refused_msn >= msn)
		return;
	qp->nic->stats.out_of_buffer++;
	qp->win.nb_refused += !r->refused_msn;
	r->refused_msn = msn;
	weft_ack_now(qp);
}

enum weft_take
weft_take_recv(struct qp *qp, uint64_t ssn, uint64_t msn)
{
	struct weft_in *in = &qp->win;
	struct weft_recv *r;

	if (ssn < in->essn)
		return WEFT_TAKE_SKIP;
	if (ssn >= in->bssn)
		bind_up_to(qp, ssn);
	r = use_slot(in, ssn);
	if (r->is_done)
		return WEFT_TAKE_SKIP;
	if (!r->wr) {
		refuse(qp, r, msn);
		return WEFT_TAKE_REFUSE;
	}
	if (r->refused_msn >= msn)
		return WEFT_TAKE_REFUSE;
	if (r->refused_msn) { /* a later instance: the refusal is over */
		r->refused_msn = 0;
		in->nb_refused--;
	}
	r->is_touched = true;
	return WEFT_TAKE_PLACE;
}

struct recv_wr *
weft_recv_of(const struct qp *qp, uint64_t ssn)
{
	return slot_of(&qp->win, ssn)->wr;
}

const struct weft_recv *
weft_first_refused(const struct qp *qp, uint64_t *ssn)
{
	const struct weft_in *in = &qp->win;

	assert(in->nb_refused);
	for (*ssn = in->essn; !is_used(in, *ssn) || !slot_of(in, *ssn)->refused_msn; ++*ssn)
		assert(*ssn < in->essn + WEFT_MSGS);
	return slot_of(in, *ssn);
}

void
weft_recv_done(struct qp *qp, const struct weft_rx_msg *m, uint64_t ssn)
{
	struct weft_in *in = &qp->win;
	struct weft_recv *r;

	if (ssn < in->essn || !is_used(in, ssn)) /* was here in another message already */
		return;
	r = slot_of(in, ssn);
	if (r->is_done || !r->wr)
		return;
	r->is_done = true;
	r->msn = m->rel.msn;
	r->length = m->length;
	r->imm = m->imm;
	r->kind = m->kind;
	r->end_flags = m->end_flags;
	r->solicited = m->solicited;
}

/* One receive completion. */
static void
deliver(struct qp *qp, const struct weft_recv *r)
{
	struct weft_in *in = &qp->win;
	struct shm_cqe cqe = {
		.wr_id = r->wr->wr_id,
		.ts_ns = qp->nic->now_ns,
		.byte_len = r->length,
		.imm = r->end_flags ? r->imm : 0,
		.qpn = qp->qpn,
		.op = r->kind == OPF_WRITE ? SHM_WC_RECV_WRITE_IMM : SHM_WC_RECV,
		.flags = r->end_flags & OPF_IMM    ? SHM_WC_WITH_IMM
	                 : r->end_flags & OPF_IETH ? SHM_WC_WITH_INV
	                                           : 0,
	};

	recv_end(qp, r->wr);
	free_slot(in, in->essn);
	in->essn++;
	give_back(qp);
	batch_cqe(qp->nic, qp, qp->recv_cq, &cqe, r->solicited);
}

/* Invalidation is executed at delivery, once. */
static bool
invalidate(struct qp *qp, const struct weft_recv *r)
{
	if (!(r->end_flags & OPF_IETH) || mr_invalidate(qp->nic, qp, r->imm))
		return true;
	weft_fault(qp, r->msn, qp->rel->rx_cum - 1, &exec_bad_access);
	weft_mute(qp); /* its message is done already, and the NAK may have to wait */
	return false;
}

void
weft_deliver(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	while (in->rx) {
		const struct weft_recv *r = slot_of(in, in->essn);

		if (weft_rd_is_due(qp)) {
			weft_rd_run(qp);
			if (qp->state == SHM_QPS_ERR)
				return;
			continue;
		}
		if (!is_used(in, in->essn) || !r->is_done)
			return;
		if (!batch_cqe_fits(qp->nic->batch)) {
			wr_complete_later(qp);
			return;
		}
		if (!invalidate(qp, r))
			return;
		deliver(qp, r);
	}
}

/* Reserved, and nothing of its message came: another QP may have it. */
static bool
is_unused(const struct weft_recv *r)
{
	return !r->is_touched && !r->wr->status;
}

/*
 * From the last on, so that what goes back to a shared queue is taken in the old order. Their slots
 * are empty then.
 */
static void
put_back_unused(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	for (uint64_t ssn = in->bssn; qp->srq && ssn-- > in->essn;) {
		struct weft_recv *r = slot_of(in, ssn);

		if (!r->wr || !is_unused(r))
			continue;
		recv_put_back(qp, r->wr);
		r->wr = NULL;
	}
}

void
weft_drop_recvs(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	put_back_unused(qp);
	while (in->bssn > in->essn) {
		struct weft_recv *r = slot_of(in, --in->bssn);

		if (r->wr)
			recv_end(qp, r->wr);
	}
}

bool
weft_flush_recvs(struct qp *qp)
{
	struct weft_in *in = &qp->win;

	if (qp->framing == QP_WEFT) /* what was refused is not known any more */
		weft_mute(qp);
	if (!in->rx)
		return true;
	put_back_unused(qp);
	while (in->essn < in->bssn) {
		struct weft_recv *r = slot_of(in, in->essn);

		if (r->wr) {
			if (!batch_cqe_fits(qp->nic->batch))
				return false;
			qp_flush_recv(qp, r->wr);
			recv_end(qp, r->wr);
		}
		in->nb_refused -= r->refused_msn != 0;
		free_slot(in, in->essn);
		in->essn++;
	}
	return true;
}
