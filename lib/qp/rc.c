/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc.h"

#include "comp.h"
#include "fail.h"
#include "psn.h"
#include "req.h"
#include "sge.h"
#include "wr.h"

/*
 * What only the standard's RC needs at the requester. Its answers share the requests' PSNs: a READ
 * spends as many as its response has packets, and responses come back in order with no room for
 * loss. Engines see none of that: each answer becomes one cumulative fact. Source: IBA vol. 1,
 * ch. 9 (requester behaviour).
 */

/* The standard's table, in microseconds. */
static const uint32_t rnr_us[32] = {
	655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,    320,
	480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
	20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
};

uint64_t
rc_rnr_ns(uint8_t code)
{
	return (uint64_t)rnr_us[code & AETH_VALUE_MASK] * 1000;
}

/* The oldest READ or atomic without its whole response; NULL if none is open. */
static const struct rel_msg *
oldest_rd(const struct qp *qp)
{
	if (!qp->nb_rd)
		return NULL;
	return &qp->msgs[qp->rd_msn[qp->rd_head] & qp->rel_qp.msg_mask];
}

/* First PSN that only a response can acknowledge: nothing at or beyond it counts without. */
static uint64_t
response_due(const struct qp *qp)
{
	const struct rel_msg *rd = oldest_rd(qp);

	if (!rd)
		return UINT64_MAX;
	return rd->first_psn > qp->rel->tx_una ? rd->first_psn : qp->rel->tx_una;
}

/* All below cum is there, as far as responses allow. False if a response is missing: go back. */
static bool
acknowledge(struct qp *qp, uint64_t cum, uint64_t psn, uint64_t now_ns)
{
	uint64_t due = response_due(qp);
	struct rel_ack ack = {.kind = REL_ACK, .cum = cum, .psn = psn};

	if (cum > due) {
		qp->nic->stats.implied_nak_seq_err++;
		ack.kind = REL_GAP;
		ack.cum = due;
	}
	comp_answer(qp, &ack, NULL, now_ns);
	return cum <= due && qp->state != SHM_QPS_ERR;
}

static void
nak_sequence(struct qp *qp, uint64_t psn, uint64_t now_ns)
{
	uint64_t due = response_due(qp);
	struct rel_ack ack = {.kind = REL_GAP, .cum = psn < due ? psn : due, .psn = psn};

	qp->nic->stats.packet_seq_err++;
	comp_answer(qp, &ack, NULL, now_ns);
}

static void
nak_rnr(struct qp *qp, uint64_t psn, uint8_t code, uint64_t now_ns)
{
	struct rel_ack ack = {.kind = REL_REWIND, .cum = psn, .psn = psn};

	qp->nic->stats.rnr_nak_retry_err++;
	if (qp->hold_ns && qp->hold_is_rnr) /* one refusal, one hold: this is its echo */
		return;
	if (!acknowledge(qp, psn, psn, now_ns))
		return;
	qp->counts.rnr_naks++;
	if (qp->nb_rnr < UINT8_MAX)
		qp->nb_rnr++;
	if (qp->attr.rnr_retry != 7 && qp->nb_rnr > qp->attr.rnr_retry) {
		qp_fail(qp, QP_REASON_RNR_RETRY, SHM_WC_RNR_RETRY_EXC_ERR, psn);
		return;
	}
	qp->hold_ns = now_ns + rc_rnr_ns(code);
	qp->hold_is_rnr = true;
	qp->error.nb_timeouts = 0; /* it is there: timeouts count silence, rnr_retry refusals */
	comp_answer(qp, &ack, NULL, now_ns);
}

static void
nak_fatal(struct qp *qp, uint64_t psn, uint8_t syndrome, uint64_t now_ns)
{
	static const struct {
		enum qp_reason why;
		uint8_t status;
	} rows[] = {
		[AETH_NAK_INVALID & 3] = {QP_REASON_NAK_INVALID, SHM_WC_REM_INV_REQ_ERR},
		[AETH_NAK_ACCESS & 3] = {QP_REASON_NAK_ACCESS, SHM_WC_REM_ACCESS_ERR},
		[AETH_NAK_OPERATION & 3] = {QP_REASON_NAK_OPERATION, SHM_WC_REM_OP_ERR},
	};

	if (acknowledge(qp, psn, psn, now_ns))
		qp_fail(qp, rows[syndrome & 3].why, rows[syndrome & 3].status, psn);
}

/* AETH of an ACKNOWLEDGE packet. The PSN was sent, and is not acknowledged before. */
static void
on_aeth(struct qp *qp, const struct wire_pkt *w, uint64_t psn, uint64_t now_ns)
{
	switch (w->syndrome & AETH_TYPE_MASK) {
	case AETH_TYPE_ACK:
		acknowledge(qp, psn + 1, psn, now_ns);
		return;
	case AETH_TYPE_RNR:
		nak_rnr(qp, psn, w->syndrome & AETH_VALUE_MASK, now_ns);
		return;
	case AETH_TYPE_NAK:
		if (w->syndrome == AETH_NAK_PSN) {
			nak_sequence(qp, psn, now_ns);
			return;
		}
		if (w->syndrome <= AETH_NAK_OPERATION) {
			nak_fatal(qp, psn, w->syndrome, now_ns);
			return;
		}
		break;
	}
	nic_drop(qp->nic, DROP_STALE);
}

/* The response that was due is wrong or cannot be placed. It still answers what is before it. */
static void
fail_response(struct qp *qp, enum qp_reason why, uint8_t status, uint64_t psn, uint64_t now_ns)
{
	if (acknowledge(qp, psn, psn, now_ns))
		qp_fail(qp, why, status, psn);
}

static void
bad_response(struct qp *qp, uint64_t psn, uint64_t now_ns)
{
	fail_response(qp, QP_REASON_BAD_RESPONSE, SHM_WC_BAD_RESP_ERR, psn, now_ns);
}

/* The response that was due is here; it acknowledges all before it. */
static void
answered(struct qp *qp, uint64_t psn, bool last, uint64_t now_ns)
{
	struct rel_ack ack = {.kind = REL_ACK, .cum = psn + 1, .psn = psn};

	if (last) {
		qp->rd_head = (qp->rd_head + 1) % WEFT_MAX_RD_ATOMIC;
		qp->nb_rd--;
	}
	comp_answer(qp, &ack, NULL, now_ns);
}

/* Length and opcode must be those of this place in the response that was asked for. */
static bool
read_fits(const struct qp *qp, const struct wire_pkt *w, const struct rel_msg *rd,
          const struct tx_msg *t, uint64_t psn)
{
	uint64_t off = (psn - rd->first_psn) * qp->mtu;
	uint64_t want = t->length - off < qp->mtu ? t->length - off : qp->mtu;
	bool last = psn == rd->first_psn + rd->nb_psns - 1;

	return w->payload_len == want && !!(w->op->flags & OPF_END) == last;
}

static void
read_response(struct qp *qp, const struct wire_pkt *w, uint64_t psn, uint64_t now_ns)
{
	const struct rel_msg *rd = oldest_rd(qp);
	const struct tx_msg *t = &qp->tx_msgs[rd->msn & qp->rel_qp.msg_mask];
	const struct send_wr *wr = wr_at(qp, t->wr_idx);
	uint64_t off = t->offset + (psn - rd->first_psn) * qp->mtu;

	if (wr->wqe.op != SHM_WR_READ || !read_fits(qp, w, rd, t, psn)) {
		bad_response(qp, psn, now_ns);
		return;
	}
	if (!sge_place_answer(qp, wr, off, w->payload, w->payload_len)) {
		fail_response(qp, QP_REASON_LOCAL_PROT, SHM_WC_LOC_PROT_ERR, psn, now_ns);
		return;
	}
	answered(qp, psn, psn == rd->first_psn + rd->nb_psns - 1, now_ns);
}

static void
atomic_response(struct qp *qp, const struct wire_pkt *w, uint64_t psn, uint64_t now_ns)
{
	const struct rel_msg *rd = oldest_rd(qp);
	const struct send_wr *wr = wr_at(qp, qp->tx_msgs[rd->msn & qp->rel_qp.msg_mask].wr_idx);

	if (wr->wqe.op == SHM_WR_READ) {
		bad_response(qp, psn, now_ns);
		return;
	}
	if (!sge_place_atomic(qp, wr, w)) {
		fail_response(qp, QP_REASON_LOCAL_PROT, SHM_WC_LOC_PROT_ERR, psn, now_ns);
		return;
	}
	answered(qp, psn, true, now_ns);
}

/* READ and atomic responses come in order or not at all: a later one means that one was lost. */
static void
on_response(struct qp *qp, const struct wire_pkt *w, uint64_t psn, uint64_t now_ns)
{
	uint64_t due = response_due(qp);

	if (psn < due || due == UINT64_MAX) { /* of a request answered already */
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	if (psn > due) {
		acknowledge(qp, psn, psn, now_ns);
		return;
	}
	if (w->op->flags & OPF_READ_RESP)
		read_response(qp, w, psn, now_ns);
	else
		atomic_response(qp, w, psn, now_ns);
}

/*
 * A response that is not needed any more: its READ was asked for once too often. Nothing of it
 * counts, but the peer is busy with it, and what is outstanding waits behind it.
 */
static void
late_response(struct qp *qp, uint64_t psn, uint64_t now_ns)
{
	struct rel_ack ack = {.kind = REL_ACK, .cum = psn + 1, .psn = psn};

	nic_drop(qp->nic, DROP_STALE);
	comp_answer(qp, &ack, NULL, now_ns);
}

void
rc_answer(struct qp *qp, const struct wire_pkt *w, uint64_t now_ns)
{
	bool is_response = w->op->flags & OPF_READ_RESP || w->opcode == OP_ATOMIC_ACK;
	uint64_t psn = psn_unwrap(qp->rel->tx_una, w->psn);

	if (qp->state != SHM_QPS_RTS && qp->state != SHM_QPS_SQD) {
		nic_drop(qp->nic, DROP_QP_STATE);
		return;
	}
	if (psn < qp->rel->tx_una && is_response) {
		late_response(qp, psn, now_ns);
		return;
	}
	if (psn < qp->rel->tx_una || psn >= qp->tx_nxt_psn) {
		nic_drop(qp->nic, DROP_STALE);
		return;
	}
	qp->error.peer_spoke = true;
	qp->error.peer_psn = w->psn;
	qp->error.peer_syndrome = w->op->flags & OPF_AETH ? w->syndrome : AETH_ACK;
	if (is_response)
		on_response(qp, w, psn, now_ns);
	else
		on_aeth(qp, w, psn, now_ns);
}
