/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "list.h"
#include "plan.h"

static uint64_t
ns(uint64_t ps)
{
	return ps / PS_PER_NS;
}

/* Ask a node for the next frame of a port whose link is free. */
static bool
pull(struct net_node *n, uint16_t port, uint64_t now_ps)
{
	const struct net_hooks *hooks = &n->net->hooks;
	struct pkt *p;

	if (n->node->ops->send(n->node, port, &p, 1, ns(now_ps)) == 0)
		return false;
	if (n->is_host)
		hooks->tx(hooks->arg, n, p, now_ps);
	if (hooks->tap)
		hooks->tap(hooks->arg, n, port, true, p, now_ps);
	sim_link_send(&n->out[port]->link, p, now_ps);
	/* Whoever gets it has not been there yet. */
	assert(n->out[port]->link.free_ps + n->out[port]->link.delay_ps >= n->net->window_end_ps);
	return true;
}

/* ---- hosts ---- */

/*
 * One event is enough for a host: whatever it wants while its link is taken can wait for the end of
 * the frame.
 */
static void
arm_host(struct net_node *n, uint64_t now_ps)
{
	uint64_t next_ns = n->node->ops->next_ns(n->node);
	uint64_t at_ps = next_ns < NEVER_PS / PS_PER_NS ? next_ns * PS_PER_NS : NEVER_PS;

	if (at_ps == NEVER_PS) {
		event_cancel(&n->events, &n->timer);
		return;
	}
	if (at_ps <= now_ps)
		at_ps = now_ps + 1; /* it has said 0, and there was nothing: again, but later */
	if (at_ps < n->out[0]->link.free_ps)
		at_ps = n->out[0]->link.free_ps;
	if (!n->timer.is_armed || n->timer.at_ps != at_ps)
		event_arm(&n->events, &n->timer, at_ps);
}

static void
turn_host(struct net_node *n, uint64_t now_ps)
{
	const struct net_hooks *hooks = &n->net->hooks;

	n->node->ops->tick(n->node, ns(now_ps));
	hooks->turn(hooks->arg, n, now_ps);
	if (sim_link_is_free(&n->out[0]->link, now_ps))
		pull(n, 0, now_ps);
	arm_host(n, now_ps);
}

/* ---- switches ---- */

static void
offer(struct net_node *n, uint16_t port, uint64_t now_ps)
{
	struct net_way *way = n->out[port];

	if (sim_link_is_free(&way->link, now_ps) && !pull(n, port, now_ps))
		return;
	if (!(n->node->ops->ready(n->node, 0) >> port & 1))
		return;
	/* What leaves at the time at which something comes has left before. */
	event_arm_ranked(&n->events, &way->free, way->link.free_ps, port);
	n->waiting |= UINT64_C(1) << port;
}

static void
arm_switch(struct net_node *n, uint64_t now_ps)
{
	uint64_t next_ns = n->node->ops->next_ns(n->node);

	/* 0: some port has frames, and its link is taken, or all that it has is paused */
	if (next_ns == 0 || next_ns >= NEVER_PS / PS_PER_NS)
		event_cancel(&n->events, &n->timer);
	else if (next_ns * PS_PER_NS > now_ps)
		event_arm(&n->events, &n->timer, next_ns * PS_PER_NS);
}

static void
turn_switch(struct net_node *n, uint64_t now_ps)
{
	uint64_t ready;

	if (n->has_deadlines)
		n->node->ops->tick(n->node, ns(now_ps));
	ready = n->node->ops->ready(n->node, 0) & ~n->waiting;
	for (; ready; ready &= ready - 1)
		offer(n, (uint16_t)__builtin_ctzll(ready), now_ps);
	if (n->has_deadlines)
		arm_switch(n, now_ps);
}

static void
turn(struct net_node *n, uint64_t now_ps)
{
	if (n->is_host)
		turn_host(n, now_ps);
	else
		turn_switch(n, now_ps);
}

/* ---- events ---- */

static void
fire_timer(struct event *e, uint64_t now_ps)
{
	turn(container_of(e, struct net_node, timer), now_ps);
}

/* What waits at other ports of such a switch may have become free to go meanwhile. */
static void
fire_free(struct event *e, uint64_t now_ps)
{
	struct net_way *way = container_of(e, struct net_way, free);

	way->from->waiting &= ~(UINT64_C(1) << way->from_port);
	if (way->from->has_deadlines)
		turn_switch(way->from, now_ps);
	else
		offer(way->from, way->from_port, now_ps);
}

static void
deliver(struct sim_link *link, struct pkt *p, uint64_t now_ps)
{
	struct net_way *way = container_of(link, struct net_way, link);
	struct net_node *n = way->to;
	const struct net_hooks *hooks = &n->net->hooks;

	way->nb_delivered++;
	if (hooks->tap)
		hooks->tap(hooks->arg, n, way->to_port, false, p, now_ps);
	if (n->is_host)
		hooks->rx(hooks->arg, n, p, now_ps);
	n->node->ops->receive(n->node, way->to_port, &p, 1, ns(now_ps));
	turn(n, now_ps);
}

/* ---- set-up ---- */

/* No frame ends before a BTH would; with what it takes of a link beside itself. */
#define FRAME_MIN_BYTES (14 + 20 + 8 + 12 + LINK_OVERHEAD_BYTES)

static void
init_link(struct net *net, uint32_t i, const struct plan_link *link)
{
	for (int w = 0; w < 2; w++) {
		struct net_way *way = &net->links[i][w];
		const struct plan_end *from = &link->end[w], *to = &link->end[!w];
		uint64_t least_ps;

		way->link.clock = &net->nodes[to->node].events;
		way->link.deliver = deliver;
		way->link.way = (uint8_t)w;
		way->link.rank = PLAN_PORTS_MAX + to->port;
		sim_link_init(&way->link, link->rate_bps, link->delay_ns * PS_PER_NS);
		way->free.fire = fire_free;
		way->from = &net->nodes[from->node];
		way->from_port = from->port;
		way->to = &net->nodes[to->node];
		way->to_port = to->port;
		way->from->out[from->port] = way;
		least_ps = sim_link_ps(&way->link, FRAME_MIN_BYTES) + way->link.delay_ps;
		if (least_ps < net->lookahead_ps)
			net->lookahead_ps = least_ps;
	}
}

static int
init_node(struct net *net, uint32_t i, struct net_way **out)
{
	struct net_node *n = &net->nodes[i];

	n->net = net;
	n->idx = i;
	n->is_host = i < net->nb_hosts;
	n->timer.fire = fire_timer;
	n->out = out;
	net->soonest_ps[i] = NEVER_PS;
	if (events_init(&n->events, EVENTS_FEW_LOG2) != 0)
		return -ENOMEM;
	n->events.soonest_ps = &net->soonest_ps[i];
	return 0;
}

static int
alloc(struct net *net, size_t nb_ports)
{
	net->nodes = calloc(net->nb_nodes, sizeof(*net->nodes));
	net->links = aligned_alloc(64, net->nb_links * sizeof(*net->links));
	net->outs = calloc(nb_ports, sizeof(*net->outs));
	net->soonest_ps = calloc(net->nb_nodes, sizeof(*net->soonest_ps));
	if (net->links) /* at once: net_fini looks at them whatever else there is */
		memset(net->links, 0, net->nb_links * sizeof(*net->links));
	if (!net->nodes || !net->links || !net->outs || !net->soonest_ps)
		return -ENOMEM;
	return events_init(&net->clock, EVENTS_MANY_LOG2);
}

int
net_init(struct net *net, const struct plan *plan)
{
	size_t nb_ports = plan->nb_hosts, port = 0;

	for (uint32_t i = 0; i < plan->nb_switches; i++) {
		assert(plan->switches[i].nb_ports <= PLAN_PORTS_MAX);
		nb_ports += plan->switches[i].nb_ports;
	}
	net->nb_hosts = plan->nb_hosts;
	net->nb_nodes = plan->nb_hosts + plan->nb_switches;
	net->nb_links = plan->nb_links;
	net->lookahead_ps = NEVER_PS;
	if (alloc(net, nb_ports) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < net->nb_nodes; i++) {
		if (init_node(net, i, &net->outs[port]) != 0)
			return -ENOMEM;
		port += i < plan->nb_hosts ? 1 : plan->switches[i - plan->nb_hosts].nb_ports;
	}
	for (uint32_t i = 0; i < plan->nb_links; i++)
		init_link(net, i, &plan->links[i]);
	return 0;
}

void
net_fini(struct net *net)
{
	for (uint32_t i = 0; net->links && i < net->nb_links; i++) {
		struct sim_link *const ways[] = {&net->links[i][0].link, &net->links[i][1].link};

		if (!ways[0]->clock)
			break; /* set-up came to an end before it */
		link_faults_destroy(ways);
		sim_link_clear(ways[0]);
		sim_link_clear(ways[1]);
	}
	for (uint32_t i = 0; net->nodes && i < net->nb_nodes; i++)
		events_fini(&net->nodes[i].events);
	events_fini(&net->clock);
	free(net->nodes);
	free(net->links);
	free(net->outs);
	free(net->soonest_ps);
}

void
net_set_node(struct net *net, uint32_t idx, struct node *node, bool has_deadlines)
{
	net->nodes[idx].node = node;
	net->nodes[idx].has_deadlines = has_deadlines;
}

void
net_wake(struct net *net, uint32_t idx)
{
	struct net_node *n = &net->nodes[idx];
	uint64_t now_ps = net_now_ps(net);

	assert(!net->running || net->running == n);
	if (!n->timer.is_armed || n->timer.at_ps > now_ps)
		event_arm(&n->events, &n->timer, now_ps);
}

void
net_set_link(struct net *net, uint32_t link, bool is_up)
{
	assert(!net->running);
	for (int w = 0; w < 2; w++) {
		struct net_way *way = &net->links[link][w];
		struct net_node *n = way->from;

		n->node->ops->link(n->node, way->from_port, is_up, ns(net->clock.now_ps));
		net_wake(net, n->idx);
	}
}

/* ---- time ---- */

/* Everything of one node before the end of the window. */
static void
run(struct net_node *n, uint64_t end_ps)
{
	struct net *net = n->net;
	uint64_t before = n->events.nb_fired;

	net->running = n;
	while (!net->stop && events_step(&n->events, end_ps - 1))
		;
	net->running = NULL;
	net->soonest_ps[n->idx] = events_next_ps(&n->events);
	net->nb_fired += n->events.nb_fired - before;
}

bool
net_step(struct net *net)
{
	uint64_t first_ps = NEVER_PS, clock_ps = events_next_ps(&net->clock), end_ps;

	for (uint32_t i = 0; i < net->nb_nodes; i++)
		first_ps = net->soonest_ps[i] < first_ps ? net->soonest_ps[i] : first_ps;
	if (clock_ps <= first_ps) {
		net->nb_fired++;
		return events_step(&net->clock, NEVER_PS - 1);
	}
	end_ps = first_ps + net->lookahead_ps;
	net->window_end_ps = end_ps = end_ps < clock_ps ? end_ps : clock_ps;
	for (uint32_t i = 0; i < net->nb_nodes && !net->stop; i++) {
		if (net->soonest_ps[i] < end_ps)
			run(&net->nodes[i], end_ps);
	}
	return true;
}
