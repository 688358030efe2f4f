/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack.h"

#include "batch.h"
#include "comp.h"
#include "peers.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "wr.h"

/*
 * The way out: answers first, then whoever's turn it is; then payload is gathered for all. What is
 * of a class that the other end of the link has paused stays where it is, and holds up nothing
 * else.
 */

/* Questions and answers about neighbours, and about peers, in a turn: many of them hold up no data.
 * Our choice. */
#define NEIGH_TURN_PKTS 4
#define PEERS_TURN_PKTS 4

static bool
room(const struct nic *nic, uint32_t max)
{
	return nic->batch->nb_planned < max && batch_out_fits(nic->batch, nic->conf.pool);
}

static bool
is_paused(const struct nic *nic, uint8_t cls)
{
	return nic->sched.closed >> cls & 1;
}

/* They are to slow down the peer before anything else. */
static void
plan_cnps(struct nic *nic, uint32_t max)
{
	while (room(nic, max) && !turns_is_empty(&nic->cnp_qps)) {
		struct qp *qp = container_of(turns_pop(&nic->cnp_qps), struct qp, cnp_link);

		nic->batch->nb_planned++;
		resp_tx_cnp(qp);
	}
}

/* Who may answer: classes take turns, in them clients, and their QPs; NULL = nobody. */
static struct qp *
next_to_answer(struct nic *nic)
{
	uint32_t open = nic->resp_mask & ~(uint32_t)nic->sched.closed;
	uint32_t later = open & ~((2u << nic->resp_cls) - 1);
	struct turns *turns;
	struct list *link;

	if (!open)
		return NULL;
	nic->resp_cls = (uint8_t)__builtin_ctz(later ? later : open);
	turns = &nic->resp_qps[nic->resp_cls];
	link = turns_pop(turns);
	if (turns_is_empty(turns))
		nic->resp_mask &= (uint8_t) ~(1u << nic->resp_cls);
	return container_of(link, struct qp, resp_link);
}

/* Acknowledgements wait for no pace: they let the peer go on. */
static void
plan_acks(struct nic *nic, uint32_t max)
{
	struct qp *qp;

	while (room(nic, max) && (qp = next_to_answer(nic))) {
		if (!resp_is_ack(qp))
			continue;
		nic->batch->nb_planned++;
		resp_tx_ack(qp);
		if (resp_is_ack(qp))
			qp_respond(qp);
		else if (resp_is_read(qp))
			sched_wake(&nic->sched, &qp->sched, nic->now_ns);
	}
}

/* READ responses and requests take turns within a QP. */
static uint32_t
plan_one(struct qp *qp, uint64_t rate_bps, uint64_t now_ns)
{
	uint32_t bytes;

	qp->resp_turn = !qp->resp_turn;
	if (qp->resp_turn && resp_is_read(qp))
		return resp_tx_read(qp);
	bytes = req_tx(qp, rate_bps, now_ns);
	if (!bytes && resp_is_read(qp))
		bytes = resp_tx_read(qp);
	return bytes;
}

static void
plan_turn(struct qp *qp, uint32_t max, uint64_t now_ns)
{
	struct nic *nic = qp->nic;
	bool more = true;

	while (more && room(nic, max) && sched_may_send(&qp->sched, now_ns)) {
		uint64_t rate_bps = req_rate_bps(qp);
		uint32_t bytes = plan_one(qp, rate_bps, now_ns);

		more = bytes != 0;
		nic->batch->nb_planned += more;
		if (more)
			sched_sent(&qp->sched, bytes, rate_bps, now_ns);
	}
	if (qp->type != SHM_QPT_RC)
		wr_complete_later(qp);
	comp_arm(qp);
	sched_done(&nic->sched, &qp->sched, more, now_ns);
}

/* Whoever has a turn; the memory of the next is asked for meanwhile. */
static void
plan_turns(struct nic *nic, uint32_t max, uint64_t now_ns)
{
	struct sched_ent *e, *next;

	while (room(nic, max) && (e = sched_next(&nic->sched, now_ns))) {
		next = sched_peek(&nic->sched);
		if (next)
			qp_prefetch(container_of(next, struct qp, sched), QP_SEND);
		plan_turn(container_of(e, struct qp, sched), max, now_ns);
	}
}

/* Questions and answers about neighbours, of class 0; on a link that is down they are lost. */
static uint32_t
send_neigh(struct nic *nic, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n;

	if (is_paused(nic, NEIGH_CLASS))
		return 0;
	n = neigh_tx(nic->neigh, pkts, max < NEIGH_TURN_PKTS ? max : NEIGH_TURN_PKTS, now_ns);
	if (!nic->is_up) {
		pkt_free(pkts, n);
		nic->stats.drop[DROP_LINK] += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		nic_count_tx(nic, pkts[i]);
	return n;
}

/* HELLO and OPEN: what is asked on a link that is down would be lost. */
static uint32_t
send_hellos(struct nic *nic, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n;

	if (!nic->peers || !nic->is_up || is_paused(nic, PEERS_CLASS))
		return 0;
	n = peers_tx(nic->peers, pkts, max < PEERS_TURN_PKTS ? max : PEERS_TURN_PKTS, now_ns);
	for (uint32_t i = 0; i < n; i++)
		nic_count_tx(nic, pkts[i]);
	return n;
}

/* Headers of packets that were cut go back at once: no pace and no turn. */
static uint32_t
send_bounces(struct nic *nic, struct pkt **pkts, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && (pkts[n] = pkt_queue_pop(&nic->bounces)))
		nic_count_tx(nic, pkts[n++]);
	return n;
}

uint32_t
stack_tx(struct nic *nic, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n;

	nic->now_ns = now_ns;
	if (max > STACK_BURST)
		max = STACK_BURST;
	nic->batch->nb_planned = 0;
	sched_close(&nic->sched, pause_mask(&nic->pause, now_ns));
	n = send_neigh(nic, pkts, max, now_ns);
	n += send_hellos(nic, pkts + n, max - n, now_ns);
	n += send_bounces(nic, pkts + n, max - n);
	if (!is_paused(nic, tos_class(CNP_TOS)))
		plan_cnps(nic, max - n);
	plan_acks(nic, max - n);
	plan_turns(nic, max - n, now_ns);
	n += batch_flush_out(nic, pkts + n);
	wr_settle(nic); /* requests without an answer are done when their payload has been taken */
	return n;
}
