/* SPDX-License-Identifier: BSD-3-Clause */
#include "comp.h"

#include "fail.h"
#include "framing.h"
#include "open.h"
#include "req.h"
#include "weft_stream.h"
#include "wr.h"

/* Timeouts without progress before a peer is asked whether it was started anew. Our choice. */
#define PROBE_TIMEOUTS 2

static bool
outstanding(const struct qp *qp)
{
	return qp->rel->tx_una < qp->tx_nxt_psn;
}

/*
 * Silence has lasted for retry_cnt + 1 timeouts, with as many repeats in between, and the last of
 * them has had its time too. The engines repeat; the host gives up.
 */
static bool
is_silent(struct qp *qp, uint64_t now_ns)
{
	uint64_t timeout_ns = qp_ack_timeout_ns(qp);
	uint32_t retry_cnt = qp->attr.retry_cnt;

	if (qp->framing == QP_WEFT && weft_is_stalled(qp, now_ns))
		return true;
	if (!timeout_ns || qp->hold_ns || !outstanding(qp) || qp->rel->deadline_ns > now_ns)
		return false;
	if (qp->framing == QP_WEFT && weft_is_answering(qp)) {
		retry_cnt = RESPONSE_RETRIES;
		timeout_ns = timeout_ns > RESPONSE_TIMEOUT_NS ? timeout_ns : RESPONSE_TIMEOUT_NS;
	} else if (!qp->attr.timeout) {
		return false;
	}
	return qp->error.nb_timeouts >= retry_cnt &&
	       now_ns - qp->progress_ns >= (retry_cnt + 1u) * timeout_ns;
}

void
comp_arm(struct qp *qp)
{
	uint64_t due;

	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_RESET)
		return;
	due = min_ns(qp->cc->deadline_ns, qp->lb->deadline_ns);
	due = min_ns(due, qp->hold_ns ? qp->hold_ns : qp->rel->deadline_ns);
	if (qp->framing == QP_WEFT)
		due = min_ns(due, weft_due_ns(qp));
	if (qp->framing == QP_PENDING)
		due = open_gives_up_ns(qp);
	/* A later deadline only waits: the timer looks again when it comes up. */
	if (!wheel_is_armed(&qp->timer) || due < qp->timer.due_ns)
		wheel_arm(&qp->nic->wheel, &qp->timer, due);
}

/* Bytes of so many packets, by the mean of what is outstanding; takes them off the count. */
static uint32_t
take_bytes(struct qp *qp, uint32_t nb_pkts)
{
	uint64_t all = (uint64_t)nb_pkts + qp->rel->inflight_pkts;
	uint64_t bytes = all ? qp->out_bytes * nb_pkts / all : 0;

	qp->out_bytes = qp->rel->inflight_pkts ? qp->out_bytes - bytes : 0;
	return (uint32_t)bytes;
}

static uint64_t
take_rtt(struct qp *qp, uint64_t now_ns)
{
	uint64_t rtt;

	if (!qp->rtt_sent_ns || qp->rel->tx_una <= qp->rtt_psn)
		return 0;
	rtt = now_ns - qp->rtt_sent_ns;
	qp->rtt_sent_ns = 0;
	return rtt;
}

static void
feed_lb(struct qp *qp, enum lb_signal signal, const struct rel_runs *runs, uint16_t udp_sport,
        uint64_t rtt_ns, uint64_t now_ns)
{
	struct lb_feedback fb = {.signal = signal, .udp_sport = udp_sport, .rtt_ns = rtt_ns};

	if (!qp->lb_ops->on_feedback)
		return;
	for (uint32_t i = 0; i < runs->nb_runs; i++) {
		fb.range = runs->run[i];
		qp->lb_ops->on_feedback(qp->lb, &fb, now_ns);
	}
}

/* An acknowledgement, for congestion control. */
static void
feed_cc(struct qp *qp, const struct rel_out *out, uint64_t rtt_ns, const struct comp_echo *echo,
        uint64_t now_ns)
{
	struct cc_ack ack = {
		.sent_count = qp->sent_count,
		.acked_count = qp->sent_count - qp->rel->inflight_pkts,
		.rtt_ns = rtt_ns,
		.acked_bytes = take_bytes(qp, out->acked.nb_pkts),
		.inflight_bytes = (uint32_t)qp->out_bytes,
	};

	if (echo) {
		ack.udp_sport = echo->udp_sport;
		ack.ecn_echo = echo->ce;
	}
	if (echo && echo->hops) {
		ack.int_path_id = echo->hops->path_id;
		ack.tbo = echo->hops->tbo;
		ack.nb_hops = (uint8_t)echo->hops->nb_hops;
		ack.hops = echo->hops->hops;
	}
	qp->cc_ops->on_ack(qp->cc, &qp->nic->cc_nic, &ack, now_ns);
}

/* Packets that were given up. */
static void
feed_loss(struct qp *qp, const struct rel_out *out, uint64_t now_ns)
{
	struct cc_loss loss = {.kind = out->timeout ? CC_LOSS_TIMEOUT : CC_LOSS_GAP,
	                       .lost_bytes = take_bytes(qp, out->lost.nb_pkts)};

	if (qp->cc_ops->on_loss)
		qp->cc_ops->on_loss(qp->cc, &qp->nic->cc_nic, &loss, now_ns);
	feed_lb(qp, out->timeout ? LB_TIMEOUT : LB_LOST, &out->lost, 0, 0, now_ns);
}

/* What the reliability engine learned, in the terms of the other two. */
static void
feed_answer(struct qp *qp, const struct rel_out *out, const struct rel_ack *ack,
            const struct comp_echo *echo, uint64_t now_ns)
{
	uint64_t rtt_ns = take_rtt(qp, now_ns);
	uint16_t sport = echo ? echo->udp_sport : 0;

	if (ack->rtt_ns)
		rtt_ns = ack->rtt_ns;
	if (out->lost.nb_pkts)
		feed_loss(qp, out, now_ns);
	feed_cc(qp, out, rtt_ns, echo, now_ns);
	feed_lb(qp, LB_ACKED, &out->acked, sport, rtt_ns, now_ns);
	if (echo && echo->ce)
		feed_lb(qp, LB_CE, &out->acked, sport, 0, now_ns);
}

static void
note_progress(struct qp *qp, uint64_t old_una, uint64_t now_ns)
{
	if (qp->rel->tx_una == old_una)
		return;
	qp->progress_ns = now_ns;
	if (qp->framing == QP_PLAIN) /* of weft, refused requests are acknowledged too */
		qp->nb_rnr = 0;
	qp->error.nb_timeouts = 0;
	qp->rel_qp.ack_timeout_ns = qp_ack_timeout_ns(qp);
}

/*
 * What a short timeout is for is its requests. A response has all of its time to be acknowledged,
 * and is not repeated in it as often as they.
 */
static void
back_off(struct qp *qp)
{
	uint64_t timeout_ns = 2 * qp->rel_qp.ack_timeout_ns;

	if (qp->framing == QP_WEFT && timeout_ns <= RESPONSE_TIMEOUT_NS && weft_is_answering(qp))
		qp->rel_qp.ack_timeout_ns = timeout_ns;
}

/* After anything that may have opened the window or finished a request. */
static void
go_on(struct qp *qp, uint64_t now_ns)
{
	wr_complete(qp);
	if (qp->state == SHM_QPS_ERR)
		return;
	comp_arm(qp);
	if (req_has_work(qp))
		sched_wake(&qp->nic->sched, &qp->sched, now_ns);
}

/* The engines' out-struct is large: only its counts are preset. */
static void
preset(struct rel_out *out)
{
	out->acked.nb_pkts = out->acked.nb_runs = 0;
	out->lost.nb_pkts = out->lost.nb_runs = 0;
	out->timeout = false;
}

void
comp_answer(struct qp *qp, const struct rel_ack *ack, const struct comp_echo *echo, uint64_t now_ns)
{
	uint64_t old_una = qp->rel->tx_una;
	struct rel_out out;

	preset(&out);
	qp->rel_ops->on_ack(qp->rel, ack, now_ns, &out);
	note_progress(qp, old_una, now_ns);
	feed_answer(qp, &out, ack, echo, now_ns);
	go_on(qp, now_ns);
}

static void
end_hold(struct qp *qp, uint64_t now_ns)
{
	if (!qp->hold_ns || qp->hold_ns > now_ns)
		return;
	qp->hold_ns = 0;
	qp->progress_ns = now_ns;
}

static bool
gave_up(struct qp *qp, uint64_t now_ns)
{
	bool no_neigh = qp->neigh && !qp->neigh->valid;

	if (!is_silent(qp, now_ns))
		return false;
	qp_fail(qp,
	        !qp->nic->is_up && !qp->path_to_self ? QP_REASON_LINK
	        : no_neigh                           ? QP_REASON_NO_NEIGH
	                                             : QP_REASON_RETRY,
	        SHM_WC_RETRY_EXC_ERR, qp->rel->tx_una);
	return true;
}

static void
rel_timer(struct qp *qp, uint64_t now_ns)
{
	struct rel_out out;

	preset(&out);
	qp->rel_ops->on_timer(qp->rel, now_ns, &out);
	if (out.timeout) {
		qp->error.nb_timeouts++;
		qp->nic->stats.local_ack_timeout_err++;
		qp->counts.timeouts++;
		back_off(qp);
		if (qp->error.nb_timeouts == PROBE_TIMEOUTS)
			open_probe(qp, now_ns);
	}
	if (out.lost.nb_pkts)
		feed_loss(qp, &out, now_ns);
}

void
comp_timer(struct qp *qp, uint64_t now_ns)
{
	if (qp->state == SHM_QPS_ERR || qp->state == SHM_QPS_RESET)
		return;
	if (qp->framing == QP_PENDING) {
		if (open_gives_up_ns(qp) <= now_ns)
			open_give_up(qp);
		comp_arm(qp);
		return;
	}
	end_hold(qp, now_ns);
	if (qp->framing == QP_WEFT)
		weft_timer(qp, now_ns);
	if (qp->state == SHM_QPS_ERR || gave_up(qp, now_ns))
		return;
	if (!qp->hold_ns && qp->rel->deadline_ns <= now_ns)
		rel_timer(qp, now_ns);
	if (qp->cc->deadline_ns <= now_ns)
		qp->cc_ops->on_timer(qp->cc, &qp->nic->cc_nic, now_ns);
	if (qp->lb->deadline_ns <= now_ns)
		qp->lb_ops->on_timer(qp->lb, now_ns, NULL);
	go_on(qp, now_ns);
}
