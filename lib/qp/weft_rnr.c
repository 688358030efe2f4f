/* SPDX-License-Identifier: BSD-3-Clause */
#include "comp.h"
#include "fail.h"
#include "psn.h"
#include "rc.h"
#include "weft_stream.h"
#include "wr.h"

/*
 * Receiver not ready, at the sender. While the peer refuses SSN r, no request from r on completes.
 * It holds for the time that the peer names: no new request opens, responses and what is open go
 * on. Then all that used receives from r on is sent again, as new messages with the same SSNs.
 * PSNs are not touched, so engines know nothing of it.
 */

static bool
is_between(uint32_t idx, uint32_t from, uint32_t end)
{
	return idx - from < end - from;
}

bool
weft_wants_again(const struct qp *qp)
{
	return !qp->wout.hold_ns && qp->wout.again_idx != qp->wout.again_end;
}

/* The opened request with this SSN. */
static bool
find(const struct qp *qp, uint64_t ssn, uint32_t *idx)
{
	for (*idx = qp->sq.head; *idx != qp->sq_open; ++*idx) {
		const struct send_wr *wr = wr_at(qp, *idx);

		if (weft_uses_recv(wr) && wr->whole && wr->ssn == ssn)
			return true;
	}
	return false;
}

/* What has not left of the refused messages need not carry anything any more. */
static void
make_void(struct qp *qp, uint64_t ssn)
{
	const struct rel_qp *rq = &qp->rel_qp;

	for (uint64_t msn = rq->tx_first_msn; msn < rq->tx_end_msn; msn++) {
		struct weft_tx_msg *t = &qp->wout.tx->msgs[msn & rq->msg_mask];
		const struct send_wr *wr;

		if (t->kind != WEFT_TX_REQUEST || t->ssn < ssn)
			continue;
		wr = wr_at(qp, t->wr_idx);
		if (wr->wqe.op != SHM_WR_WRITE_IMM && weft_uses_recv(wr))
			t->is_void = true;
	}
}

/* The refused request ends the QP, as soon as all before it are complete. */
static void
give_up(struct qp *qp)
{
	struct send_wr *wr = wr_at(qp, qp->wout.again_idx);

	wr->status = SHM_WC_RNR_RETRY_EXC_ERR;
	wr->why = QP_REASON_RNR_RETRY;
	qp->wout.hold_ns = NEVER_NS;
	wr_complete_later(qp);
}

/* A request before the one that is held for is refused, too; if that one was given up, it is. */
static void
lower(struct qp *qp, uint32_t idx, uint64_t ssn)
{
	bool has_given_up = qp->wout.hold_ns == NEVER_NS;

	if (has_given_up) {
		struct send_wr *wr = wr_at(qp, qp->wout.again_idx);

		wr->status = SHM_WC_SUCCESS;
		wr->why = QP_REASON_NONE;
	}
	qp->wout.again_idx = idx;
	make_void(qp, ssn);
	if (has_given_up)
		give_up(qp);
}

static void
hold(struct qp *qp, uint8_t code, uint64_t now_ns)
{
	qp->counts.rnr_naks++;
	if (qp->nb_rnr < UINT8_MAX)
		qp->nb_rnr++;
	if (qp->attr.rnr_retry != 7 && qp->nb_rnr > qp->attr.rnr_retry) {
		give_up(qp);
		return;
	}
	qp->wout.hold_ns = now_ns + rc_rnr_ns(code);
	qp->error.nb_timeouts = 0; /* it is there: timeouts count silence, rnr_retry refusals */
	comp_arm(qp);
}

void
weft_refused(struct qp *qp, uint32_t ssn_wire, uint32_t msn_wire, uint8_t code, uint64_t now_ns)
{
	struct weft_out *out = &qp->wout;
	uint64_t ssn = psn_unwrap(out->ssn, ssn_wire);
	uint32_t idx;

	weft_rd_note(qp, now_ns); /* READs behind it wait for it */
	if (ssn < out->ssn_una || ssn >= out->ssn || !find(qp, ssn, &idx))
		return;
	if (out->hold_ns) {
		if (is_between(idx, qp->sq.head, out->again_idx))
			lower(qp, idx, ssn);
		return;
	}
	/* Of an earlier instance, or about to be sent again: known. */
	if (((uint32_t)wr_at(qp, idx)->msn & PSN_MASK) != msn_wire ||
	    is_between(idx, out->again_idx, out->again_end))
		return;
	qp->nic->stats.rnr_nak_retry_err++;
	out->again_idx = idx;
	out->again_end = qp->sq_open;
	make_void(qp, ssn);
	hold(qp, code, now_ns);
}

void
weft_end_hold(struct qp *qp, uint64_t now_ns)
{
	if (!qp->wout.hold_ns || qp->wout.hold_ns > now_ns)
		return;
	qp->wout.hold_ns = 0;
	weft_rd_note(qp, now_ns);
}

/* Skip what need not be sent again. */
static struct send_wr *
next_again(struct qp *qp)
{
	struct weft_out *out = &qp->wout;

	for (; out->again_idx != out->again_end; out->again_idx++) {
		struct send_wr *wr = wr_at(qp, out->again_idx);

		if (!is_between(out->again_idx, qp->sq.head, qp->sq_open))
			continue;
		if (weft_uses_recv(wr) && wr->whole)
			return wr;
	}
	return NULL;
}

bool
weft_open_again(struct qp *qp, uint64_t now_ns)
{
	struct send_wr *wr = next_again(qp);

	if (!wr || qp->rel->inflight_pkts >= qp->rel_qp.window_pkts)
		return false;
	wr->opened = 0;
	qp->wout.again_idx++;
	weft_post(qp, wr, qp->wout.again_idx - 1, now_ns);
	return true;
}
