/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_node.h"

static struct fabric_switch *
switch_of(const struct node *node)
{
	return ((const struct switch_node *)node)->sw;
}

static void
switch_node_receive(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n,
                    uint64_t now_ns)
{
	switch_receive(switch_of(node), port, pkts, n, now_ns);
}

static uint32_t
switch_node_send(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	return switch_send(switch_of(node), port, pkts, max, now_ns);
}

static uint64_t
switch_node_ready(const struct node *node, uint16_t word)
{
	return switch_ready(switch_of(node), word);
}

static void
switch_node_tick(struct node *node, uint64_t now_ns)
{
	switch_tick(switch_of(node), now_ns);
}

static void
switch_node_link(struct node *node, uint16_t port, bool is_up, uint64_t now_ns)
{
	struct switch_node *sn = (struct switch_node *)node;

	switch_set_link(sn->sw, port, is_up, now_ns);
	if (sn->on_link)
		sn->on_link(sn, port, is_up, sn->on_link_arg);
}

static uint64_t
switch_node_next_ns(const struct node *node)
{
	return switch_next_ns(switch_of(node));
}

static const struct node_ops switch_node_ops = {
	.receive = switch_node_receive,
	.send = switch_node_send,
	.ready = switch_node_ready,
	.tick = switch_node_tick,
	.next_ns = switch_node_next_ns,
	.link = switch_node_link,
};

void
switch_node_init(struct switch_node *node, struct fabric_switch *sw)
{
	*node = (struct switch_node){
		.node = {.ops = &switch_node_ops, .nb_ports = switch_nb_ports(sw)},
		.sw = sw,
	};
}
