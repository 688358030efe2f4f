/* SPDX-License-Identifier: BSD-3-Clause */
#include "driven.h"

#include <assert.h>

#include "engine.h"
#include "event.h"

static void
tell_link(const struct driven *d, uint16_t p, uint64_t now_ns)
{
	struct node *node = d->node;
	struct port *port = d->ports[p];
	const char *name = port->name ? port->name : "no name";
	enum event_kind kind = port->is_down ? EVENT_LINK : EVENT_UP;
	const char *how = port->is_down ? "down" : "up";

	port->told_down = port->is_down;
	if (node->nb_ports == 1)
		event_tell(kind, node->name, "link %s (%s)", how, name);
	else
		event_tell(kind, node->name, "link of port %u %s (%s)", p, how, name);
	if (node->ops->link)
		node->ops->link(node, p, !port->is_down, now_ns);
}

static uint32_t
take_in(const struct driven *d, uint16_t p, uint64_t now_ns)
{
	struct port *port = d->ports[p];
	struct pkt *pkts[NODE_BURST];
	uint32_t n = port->ops->rx_burst(port, pkts, NODE_BURST, now_ns);

	if (port->is_down != port->told_down)
		tell_link(d, p, now_ns);
	if (n == 0)
		return 0;
	if (d->tap)
		d->tap->frames(d->tap, p, false, pkts, n, now_ns);
	d->node->ops->receive(d->node, p, pkts, n, now_ns);
	return n;
}

static uint32_t
send_out(const struct driven *d, uint16_t p, bool *is_blocked, uint64_t now_ns)
{
	struct port *port = d->ports[p];
	struct pkt *pkts[NODE_BURST];
	uint32_t room = port->ops->tx_room(port);
	uint32_t n, taken;

	if (room == 0) {
		*is_blocked = true;
		return 0;
	}
	n = d->node->ops->send(d->node, p, pkts, room < NODE_BURST ? room : NODE_BURST, now_ns);
	if (n == 0)
		return 0;
	if (d->tap)
		d->tap->frames(d->tap, p, true, pkts, n, now_ns);
	taken = port->ops->tx_burst(port, pkts, n, now_ns);
	assert(taken == n);
	return n;
}

uint32_t
driven_turn(const struct driven *d, bool *is_blocked, uint64_t now_ns)
{
	uint32_t nb_moved = 0;

	for (uint16_t p = 0; p < d->node->nb_ports; p++)
		nb_moved += take_in(d, p, now_ns);
	d->node->ops->tick(d->node, now_ns);
	for (uint16_t p = 0; p < d->node->nb_ports; p++)
		nb_moved += send_out(d, p, is_blocked, now_ns);
	return nb_moved;
}

uint64_t
driven_next_ns(const struct driven *d, bool is_blocked, uint64_t now_ns)
{
	uint64_t next = d->node->ops->next_ns(d->node);

	if (is_blocked && next <= now_ns)
		next = NEVER_NS;
	for (uint16_t p = 0; p < d->node->nb_ports; p++) {
		struct port *port = d->ports[p];
		uint64_t t = port->ops->next_ns ? port->ops->next_ns(port) : NEVER_NS;

		if (t < next)
			next = t;
	}
	return next;
}

bool
driven_doze(const struct driven *d, bool dozing)
{
	bool waiting = false;

	for (uint16_t p = 0; p < d->node->nb_ports; p++) {
		struct port *port = d->ports[p];

		if (port->ops->doze)
			waiting |= port->ops->doze(port, dozing);
	}
	return waiting;
}
