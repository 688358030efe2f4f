/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "engine.h"
#include "fault_lane.h"
#include "list.h"

#define FRAC_BITS 20

/* Of both ways of one link. */
struct link_faults {
	struct fault_lane lanes[2];
	struct fault_stats stats;
	struct fault_outage down;
	struct event turn;    /* the link goes down or comes up */
	struct events *clock; /* of turn */
	struct sim_link *ways[2];
	void (*on_turn)(void *arg, bool is_up, uint64_t now_ps);
	void *arg;
};

static void
arm_due(struct sim_link *link, uint64_t now_ps)
{
	uint64_t due_ns = fault_lane_next_ns(&link->faults->lanes[link->way], now_ps / PS_PER_NS);
	uint64_t due_ps = due_ns < NEVER_PS / PS_PER_NS ? due_ns * PS_PER_NS : NEVER_PS;

	if (due_ps == NEVER_PS)
		event_cancel(link->clock, &link->due);
	else
		event_arm(link->clock, &link->due, due_ps > now_ps ? due_ps : now_ps);
}

/* Those that faults hold no longer. */
static void
fire_due(struct event *e, uint64_t now_ps)
{
	struct sim_link *link = container_of(e, struct sim_link, due);
	struct fault_lane *lane = &link->faults->lanes[link->way];
	struct pkt *p;

	while (fault_lane_pop(lane, &p, 1, now_ps / PS_PER_NS))
		link->deliver(link, p, now_ps);
	arm_due(link, now_ps);
}

/* A frame with faults ahead of it. What they take is counted. */
static void
suffer(struct sim_link *link, struct pkt *p, uint64_t now_ps)
{
	fault_lane_push(&link->faults->lanes[link->way], p, now_ps / PS_PER_NS);
	fire_due(&link->due, now_ps);
}

static void
fire_arrival(struct event *e, uint64_t now_ps)
{
	struct sim_link *link = container_of(e, struct sim_link, arrival);
	struct pkt *p = pkt_queue_pop(&link->flight);

	if (link->flight.head) {
		__builtin_prefetch(link->flight.head->next);
		__builtin_prefetch(link->flight.head->data);
		event_arm_ranked(link->clock, &link->arrival, link->flight.head->due_ps,
		                 link->rank);
	}
	if (link->faults)
		suffer(link, p, now_ps);
	else
		link->deliver(link, p, now_ps);
}

void
sim_link_init(struct sim_link *link, uint64_t rate_bps, uint64_t delay_ps)
{
	const uint64_t at_1_bps = (8 * PS_PER_S) << FRAC_BITS;

	assert(rate_bps >= LINK_RATE_MIN_BPS);
	link->ps_per_byte = (at_1_bps + rate_bps / 2) / rate_bps;
	link->delay_ps = delay_ps;
	link->is_up = true;
	link->arrival.fire = fire_arrival;
	link->due.fire = fire_due;
}

/* The link is taken for so many bytes. */
static void
occupy(struct sim_link *link, uint32_t bytes, uint64_t now_ps)
{
	uint64_t length;

	/* A frame that follows another at once begins at its very end. */
	if (link->free_ps < now_ps || link->free_ps == 0) {
		link->free_ps = now_ps;
		link->free_frac = 0;
	}
	length = bytes * link->ps_per_byte + link->free_frac;
	link->free_ps += length >> FRAC_BITS;
	link->free_frac = length & ((1u << FRAC_BITS) - 1);
	link->nb_pkts++;
	link->nb_bytes += bytes;
	link->busy_ps += length >> FRAC_BITS;
}

void
sim_link_send(struct sim_link *link, struct pkt *p, uint64_t now_ps)
{
	assert(sim_link_is_free(link, now_ps));
	occupy(link, p->len + LINK_OVERHEAD_BYTES, now_ps);
	if (!link->is_up) {
		link->faults->stats.tx[FAULT_DOWN] += link->way == 0;
		link->faults->stats.rx[FAULT_DOWN] += link->way == 1;
		pkt_free(&p, 1);
		return;
	}
	p->due_ps = link->free_ps + link->delay_ps;
	if (!link->flight.head)
		event_arm_ranked(link->clock, &link->arrival, p->due_ps, link->rank);
	pkt_queue_push(&link->flight, p);
}

static uint32_t
clear_flight(struct sim_link *link)
{
	uint32_t nb = link->flight.nb_pkts;
	struct pkt *p;

	event_cancel(link->clock, &link->arrival);
	while ((p = pkt_queue_pop(&link->flight)))
		pkt_free(&p, 1);
	return nb;
}

uint64_t
sim_link_nb_inside(const struct sim_link *link)
{
	const struct fault_lane *lane;

	if (!link->faults)
		return link->flight.nb_pkts;
	lane = &link->faults->lanes[link->way];
	return link->flight.nb_pkts + lane->line.nb_pkts + lane->nb_held;
}

void
sim_link_clear(struct sim_link *link)
{
	clear_flight(link);
	if (link->faults)
		fault_lane_clear(&link->faults->lanes[link->way]);
	event_cancel(link->clock, &link->due);
}

/* Down or up, both ways; what is on its way when it goes down never arrives. */
static void
set_link(struct link_faults *f, bool is_up, uint64_t now_ps)
{
	uint64_t *hits[] = {f->stats.tx, f->stats.rx};

	for (int way = 0; way < 2; way++) {
		struct sim_link *link = f->ways[way];

		link->is_up = is_up;
		if (!is_up)
			hits[way][FAULT_DOWN] += clear_flight(link);
		fault_lane_cut(&f->lanes[way], !is_up);
		arm_due(link, now_ps);
	}
	f->on_turn(f->arg, is_up, now_ps);
}

static void
fire_turn(struct event *e, uint64_t now_ps)
{
	struct link_faults *f = container_of(e, struct link_faults, turn);
	uint64_t now_ns = now_ps / PS_PER_NS, next_ns = fault_outage_next_ns(&f->down, now_ns);
	bool is_up = !fault_outage_is_on(&f->down, now_ns);

	if (next_ns < NEVER_PS / PS_PER_NS)
		event_arm(f->clock, e, next_ns * PS_PER_NS);
	if (is_up != f->ways[0]->is_up)
		set_link(f, is_up, now_ps);
}

int
link_faults_create(struct sim_link *const ways[2], const struct fault_params *params,
                   struct events *clock, struct pkt_pool *pool,
                   void (*on_turn)(void *arg, bool is_up, uint64_t now_ps), void *arg)
{
	struct link_faults *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	fault_lanes_init(&f->lanes[0], &f->lanes[1], params, pool, &f->stats);
	f->down = params->down;
	f->ways[0] = ways[0];
	f->ways[1] = ways[1];
	f->on_turn = on_turn;
	f->arg = arg;
	f->turn.fire = fire_turn;
	f->clock = clock;
	ways[0]->faults = ways[1]->faults = f;
	if (f->down.now || f->down.for_ns)
		event_arm(clock, &f->turn, clock->now_ps);
	return 0;
}

void
link_faults_destroy(struct sim_link *const ways[2])
{
	struct link_faults *f = ways[0]->faults;

	if (!f)
		return;
	event_cancel(f->clock, &f->turn);
	for (int way = 0; way < 2; way++) {
		sim_link_clear(ways[way]);
		ways[way]->faults = NULL;
	}
	free(f);
}

const struct fault_stats *
link_fault_stats(const struct sim_link *link)
{
	return link->faults ? &link->faults->stats : NULL;
}
