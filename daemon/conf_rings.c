/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"
#include "hdr.h"

/* How ports are joined. */

/* One place where a ring or a link ends: a port of the node-th NIC or switch. */
struct ring_end {
	const struct conf_port *port;
	const char *kind, *owner; /* "nic", "weft0" */
	uint32_t node;
};

#define MAX_NODES (CONF_MAX_NICS + CONF_MAX_SWITCHES)
#define MAX_ENDS (CONF_MAX_NICS + CONF_MAX_SWITCHES * CONF_MAX_PORTS)

static uint32_t
collect_ends(const struct conf *conf, struct ring_end ends[MAX_ENDS])
{
	uint32_t n = 0, node = 0;

	for (uint32_t i = 0; i < conf->nb_nics; i++, node++) {
		const struct conf_nic *nic = &conf->nics[i];

		if (nic->port.line && conf_port_has_two_ends(&nic->port))
			ends[n++] = (struct ring_end){&nic->port, "nic", nic->name, node};
	}
	for (uint32_t i = 0; i < conf->nb_switches; i++, node++) {
		const struct conf_switch *sw = &conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			if (conf_port_has_two_ends(&sw->ports[p]))
				ends[n++] =
					(struct ring_end){&sw->ports[p], "switch", sw->name, node};
		}
	}
	return n;
}

/* Whether both ask for the same thing, of which there is one. */
static bool
same_thing(const struct conf_port *a, const struct conf_port *b)
{
	/* Either kind of port takes an interface; both ends of a memif may be here. */
	if (conf_port_is_interface(a) && conf_port_is_interface(b))
		return strcmp(a->arg, b->arg) == 0;
	return a->kind == PORT_MEMIF && conf_same_wire(a, b) && a->is_server == b->is_server;
}

static void
check_twice(struct conf_reader *r)
{
	static const enum port_kind kinds[] = {PORT_AF_PACKET, PORT_AF_XDP, PORT_MEMIF};
	const struct conf_port **ports = calloc(MAX_ENDS, sizeof(*ports));
	uint32_t n = 0;

	if (!ports) {
		conf_error(r, r->line, "out of memory");
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		n += conf_ports_of(r->conf, kinds[i], ports + n, MAX_ENDS - n);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < n; k++) {
			const struct conf_port *a = ports[k], *b = ports[i];

			if (!same_thing(a, b) || a->line > b->line ||
			    (a->line == b->line && k >= i))
				continue;
			conf_error(r, b->line,
			           "%s has the port of line %u already: one port per %s", b->arg,
			           a->line, b->kind == PORT_MEMIF ? "end of a memif" : "interface");
		}
	}
	free(ports);
}

/* The node that stands for all that are joined with this one. */
static uint32_t
root_of(const uint32_t *joined, uint32_t node)
{
	while (joined[node] != node)
		node = joined[node];
	return node;
}

/* NICs that reach each other, each against the first of them. */
static void
check_mtus(struct conf_reader *r, const uint32_t *joined)
{
	const struct conf *conf = r->conf;

	for (uint32_t i = 1; i < r->conf->nb_nics; i++) {
		const struct conf_nic *nic = &r->conf->nics[i], *first = NULL;

		for (uint32_t k = 0; k < i && !first; k++) {
			if (root_of(joined, k) == root_of(joined, i) &&
			    r->conf->nics[k].num.vlan == nic->num.vlan)
				first = &r->conf->nics[k];
		}
		if (first && conf_path_mtu(conf, first) != conf_path_mtu(conf, nic))
			conf_warning(r, nic->line,
			             "[nic %s] has path MTU %u (mtu %u), and [nic %s], which it "
			             "reaches, %u (mtu %u)",
			             nic->name, conf_path_mtu(conf, nic), nic->num.mtu, first->name,
			             conf_path_mtu(conf, first), first->num.mtu);
	}
}

/* The next end of the same wire; NULL = there is none. */
static const struct ring_end *
next_end(const struct ring_end *end, const struct ring_end *after_last)
{
	for (const struct ring_end *e = end + 1; e < after_last; e++)
		if (conf_same_wire(e->port, end->port))
			return e;
	return NULL;
}

static bool
is_first_end(const struct ring_end *ends, const struct ring_end *end)
{
	for (const struct ring_end *e = ends; e < end; e++)
		if (conf_same_wire(e->port, end->port))
			return false;
	return true;
}

/* A wire, from its first end. */
static void
check_wire(struct conf_reader *r, const struct ring_end *a, const struct ring_end *after_last,
           uint32_t *joined)
{
	const struct ring_end *b = next_end(a, after_last), *more = b;
	const char *kind = conf_port_kind(a->port), *name = a->port->arg;

	if (!b) {
		/* The other end of a link may be in another process. */
		if (a->port->kind == PORT_RING && !conf_is_partial(r))
			conf_error(r, a->port->line, "ring '%s' has only one end, [%s %s]", name,
			           a->kind, a->owner);
		return;
	}
	while ((more = next_end(more, after_last)))
		conf_error(r, more->port->line,
		           "%s '%s' has more than two ends: [%s %s], [%s %s], [%s %s]", kind, name,
		           a->kind, a->owner, b->kind, b->owner, more->kind, more->owner);
	if (a->node == b->node)
		conf_error(r, b->port->line, "%s '%s' joins [%s %s] with itself", kind, name,
		           a->kind, a->owner);
	else
		joined[root_of(joined, a->node)] = root_of(joined, b->node);
}

/*
 * Every ring has two ends, a link one or two here, and none joins a node with itself; of all else a
 * port is the only one.
 */
void
conf_check_rings(struct conf_reader *r)
{
	struct ring_end *ends = calloc(MAX_ENDS, sizeof(*ends));
	uint32_t joined[MAX_NODES];
	uint32_t n;

	check_twice(r);
	if (!ends) {
		conf_error(r, r->line, "out of memory");
		return;
	}
	n = collect_ends(r->conf, ends);
	for (uint32_t i = 0; i < MAX_NODES; i++)
		joined[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		if (is_first_end(ends, &ends[i]))
			check_wire(r, &ends[i], ends + n, joined);
	}
	free(ends);
	if (r->nb_errors == 0)
		check_mtus(r, joined);
}
