/* SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

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
		event_cancel(&n->net->clock, &n->timer);
		return;
	}
	if (at_ps <= now_ps)
		at_ps = now_ps + 1; /* it has said 0, and there was nothing: again, but later */
	if (at_ps < n->out[0]->link.free_ps)
		at_ps = n->out[0]->link.free_ps;
	if (!n->timer.is_armed || n->timer.at_ps != at_ps)
		event_arm(&n->net->clock, &n->timer, at_ps);
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
	event_arm(&n->net->clock, &way->free, way->link.free_ps);
	n->waiting |= UINT64_C(1) << port;
}

static void
arm_switch(struct net_node *n, uint64_t now_ps)
{
	uint64_t next_ns = n->node->ops->next_ns(n->node);

	/* 0: some port has frames, and its link is taken, or all that it has is paused */
	if (next_ns == 0 || next_ns >= NEVER_PS / PS_PER_NS)
		event_cancel(&n->net->clock, &n->timer);
	else if (next_ns * PS_PER_NS > now_ps)
		event_arm(&n->net->clock, &n->timer, next_ns * PS_PER_NS);
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

static void
init_link(struct net *net, uint32_t i, const struct plan_link *link)
{
	for (int w = 0; w < 2; w++) {
		struct net_way *way = &net->links[i][w];
		const struct plan_end *from = &link->end[w], *to = &link->end[!w];

		way->link.clock = &net->clock;
		way->link.deliver = deliver;
		way->link.way = (uint8_t)w;
		sim_link_init(&way->link, link->rate_bps, link->delay_ns * PS_PER_NS);
		way->free.fire = fire_free;
		way->from = &net->nodes[from->node];
		way->from_port = from->port;
		way->to = &net->nodes[to->node];
		way->to_port = to->port;
		way->from->out[from->port] = way;
	}
}

int
net_init(struct net *net, const struct plan *plan, struct pkt_pool *pool)
{
	struct net_way **outs;
	size_t nb_ports = plan->nb_hosts;

	for (uint32_t i = 0; i < plan->nb_switches; i++) {
		assert(plan->switches[i].nb_ports <= PLAN_PORTS_MAX);
		nb_ports += plan->switches[i].nb_ports;
	}
	events_init(&net->clock);
	net->pool = pool;
	net->nb_hosts = plan->nb_hosts;
	net->nb_nodes = plan->nb_hosts + plan->nb_switches;
	net->nb_links = plan->nb_links;
	net->nodes = calloc(net->nb_nodes, sizeof(*net->nodes));
	net->links = calloc(net->nb_links, sizeof(*net->links));
	net->outs = outs = calloc(nb_ports, sizeof(*outs));
	if (!net->nodes || !net->links || !outs)
		return -ENOMEM;
	for (uint32_t i = 0; i < net->nb_nodes; i++) {
		struct net_node *n = &net->nodes[i];

		n->net = net;
		n->idx = i;
		n->is_host = i < plan->nb_hosts;
		n->timer.fire = fire_timer;
		n->out = outs;
		outs += n->is_host ? 1 : plan->switches[i - plan->nb_hosts].nb_ports;
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

		link_faults_destroy(ways);
		sim_link_clear(ways[0]);
		sim_link_clear(ways[1]);
	}
	free(net->nodes);
	free(net->links);
	free(net->outs);
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
	uint64_t now_ps = net->clock.now_ps;

	if (!n->timer.is_armed || n->timer.at_ps > now_ps)
		event_arm(&net->clock, &n->timer, now_ps);
}

void
net_set_link(struct net *net, uint32_t link, bool is_up)
{
	for (int w = 0; w < 2; w++) {
		struct net_way *way = &net->links[link][w];
		struct net_node *n = way->from;

		n->node->ops->link(n->node, way->from_port, is_up, ns(net->clock.now_ps));
		net_wake(net, n->idx);
	}
}
