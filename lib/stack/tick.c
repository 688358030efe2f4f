/* SPDX-License-Identifier: BSD-3-Clause */
#include "stack.h"

#include "batch.h"
#include "comp.h"
#include "lease.h"
#include "peers.h"
#include "qp.h"
#include "wr.h"

/* Timers that a turn serves: those of one client's QPs must not hold up the others. Our choice. */
#define TICK_TIMERS 32

static void
rx_loop(struct nic *nic, uint64_t now_ns)
{
	struct pkt *pkts[STACK_BURST];
	uint32_t n = 0;

	while (n < STACK_BURST && (pkts[n] = pkt_queue_pop(&nic->loop)))
		n++;
	if (n)
		stack_rx(nic, pkts, n, now_ns);
}

void
stack_tick(struct nic *nic, uint64_t now_ns)
{
	struct wheel_timer *t;

	nic->now_ns = now_ns;
	rx_loop(nic, now_ns);
	for (uint32_t n = 0; n < TICK_TIMERS && (t = wheel_expired(&nic->wheel, now_ns)); n++) {
		if (!batch_cqe_fits(nic->batch))
			batch_flush_in(nic);
		comp_timer(container_of(t, struct qp, timer), now_ns);
	}
	wr_settle(nic);
	lease_trim(nic, now_ns);
}

static uint64_t
peers_wish_ns(const struct nic *nic)
{
	bool may_send = nic->peers && nic->is_up && !(nic->sched.closed >> PEERS_CLASS & 1);

	return may_send ? peers_next_ns(nic->peers) : NEVER_NS;
}

uint64_t
stack_next_ns(const struct nic *nic)
{
	uint8_t closed = nic->sched.closed;
	/* What is of a paused class waits for the pause to end, and not for a turn. */
	uint64_t next[] = {
		sched_next_ns(&nic->sched),
		wheel_next_ns(&nic->wheel),
		closed >> NEIGH_CLASS & 1 ? NEVER_NS : neigh_next_ns(nic->neigh),
		peers_wish_ns(nic),
		pause_next_ns(&nic->pause),
		nic->trim_ns,
	};
	uint64_t min = NEVER_NS;

	if ((nic->resp_mask & ~closed) || !turns_is_empty(&nic->done_qps) || nic->loop.nb_pkts ||
	    nic->bounces.nb_pkts)
		return 0;
	if (!turns_is_empty(&nic->cnp_qps) && !(closed >> tos_class(CNP_TOS) & 1))
		return 0;
	for (uint32_t i = 0; i < sizeof(next) / sizeof(next[0]); i++)
		min = next[i] < min ? next[i] : min;
	return min;
}
