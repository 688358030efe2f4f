/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <assert.h>

#include "list.h"
#include "stack.h"

static_assert(NODE_BURST <= STACK_BURST, "what a node is given fits its stack");

static struct nic *
nic_of(const struct node *node)
{
	return container_of(node, struct host, node)->nic;
}

static void
receive(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	(void)port;
	stack_rx(nic_of(node), pkts, n, now_ns);
}

static uint32_t
send(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	(void)port;
	return stack_tx(nic_of(node), pkts, max, now_ns);
}

static void
tick(struct node *node, uint64_t now_ns)
{
	stack_tick(nic_of(node), now_ns);
}

static uint64_t
next_ns(const struct node *node)
{
	return stack_next_ns(nic_of(node));
}

static void
set_link(struct node *node, uint16_t port, bool is_up, uint64_t now_ns)
{
	(void)port;
	(void)now_ns;
	nic_set_link(nic_of(node), is_up);
}

static const struct node_ops host_ops = {
	.receive = receive,
	.send = send,
	.tick = tick,
	.next_ns = next_ns,
	.link = set_link,
};

void
host_init(struct host *host, struct nic *nic)
{
	*host = (struct host){
		.node = {.ops = &host_ops, .name = nic->conf.name, .nb_ports = 1},
		.nic = nic,
	};
}
