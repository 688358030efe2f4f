/* SPDX-License-Identifier: BSD-3-Clause */
#include "reroute.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

struct reroute {
	const struct conf *conf;
	struct switch_node *nodes;
	struct graph *graph;
	struct topo *topo;
	uint64_t down[CONF_MAX_SWITCHES]; /* bit p: the switch was told that port p is */
	bool has_routes_by_hand;
	uint64_t *all_up; /* ports of each switch to each prefix of topo_route with all links up */
};

static_assert(CONF_MAX_ROUTES <= SWITCH_ROUTES_MAX &&
                      CONF_MAX_NICS * CONF_MAX_IPS + CONF_MAX_REMOTES <= SWITCH_ROUTES_MAX,
              "a switch has room for all that a conf can say");

/* @param away  of the ports, those that keep their place only. */
static void
set_route(struct routes *routes, struct ip_prefix prefix, uint64_t ports, uint64_t away)
{
	struct route route = {.prefix = prefix};
	int err;

	for (; ports; ports &= ports - 1) {
		uint64_t port = (uint64_t)__builtin_ctzll(ports);

		route.away |= (away >> port & 1) << route.nb_ports;
		route.ports[route.nb_ports++] = (uint16_t)port;
	}
	err = routes_set(routes, &route);
	assert(err == 0);
}

static void
set_conf_routes(const struct conf_switch *c, struct routes *routes)
{
	for (uint32_t i = 0; i < c->nb_routes; i++)
		set_route(routes, c->routes[i].prefix, c->routes[i].ports, 0);
}

static void
set_routes(struct reroute *rr, uint32_t s)
{
	const uint32_t nb_routes = topo_nb_routes(rr->topo);
	struct routes *routes = switch_routes(rr->nodes[s].sw);

	if (rr->conf->switches[s].nb_routes > 0)
		return;
	routes_clear(routes);
	for (uint32_t i = 0; i < nb_routes; i++) {
		struct ip_prefix prefix;
		uint64_t ports = topo_route(rr->topo, s, i, &prefix);
		uint64_t all = ports | rr->all_up[(size_t)s * nb_routes + i];

		if (ports)
			set_route(routes, prefix, all, all & ~ports);
	}
}

static void
set_flood(struct reroute *rr, uint32_t s)
{
	uint64_t ports = topo_flood_ports(rr->topo, s);

	for (uint16_t p = 0; p < switch_nb_ports(rr->nodes[s].sw); p++)
		switch_set_flood(rr->nodes[s].sw, p, ports >> p & 1);
}

/* Whether it is a link between switches, which is up if both ends were told so. */
static bool
set_link(struct reroute *rr, uint32_t sw, uint32_t port)
{
	const struct topo_map *m = &rr->graph->map;

	for (uint32_t i = 0; i < m->nb_links; i++) {
		struct topo_link *l = &m->links[i];

		if ((l->sw[0] != sw || l->port[0] != port) &&
		    (l->sw[1] != sw || l->port[1] != port))
			continue;
		l->up = !(rr->down[l->sw[0]] >> l->port[0] & 1) &&
		        !(rr->down[l->sw[1]] >> l->port[1] & 1);
		return true;
	}
	return false;
}

/*
 * On the worker: bounded, and without memory of its own. A host whose link is down keeps its
 * prefixes; there is no other way to it.
 */
static void
on_link(struct switch_node *node, uint16_t port, bool is_up, void *arg)
{
	struct reroute *rr = arg;
	uint32_t sw = (uint32_t)(node - rr->nodes);
	uint64_t bit = UINT64_C(1) << port;

	if (is_up)
		rr->down[sw] &= ~bit;
	else
		rr->down[sw] |= bit;
	if (!set_link(rr, sw, port))
		return;
	topo_compute(rr->topo);
	for (uint32_t s = 0; s < rr->conf->nb_switches; s++) {
		if (!rr->has_routes_by_hand)
			set_routes(rr, s);
		set_flood(rr, s);
	}
}

static int
begin(struct reroute *rr)
{
	uint32_t nb_routes, nb_switches = rr->conf->nb_switches;

	rr->topo = topo_create(&rr->graph->map);
	if (!rr->topo)
		return -ENOMEM;
	nb_routes = topo_nb_routes(rr->topo);
	rr->all_up = calloc((size_t)nb_switches * nb_routes + 1, sizeof(*rr->all_up));
	if (!rr->all_up)
		return -ENOMEM;
	for (uint32_t s = 0; s < nb_switches; s++) {
		for (uint32_t i = 0; i < nb_routes; i++) {
			struct ip_prefix prefix;

			rr->all_up[(size_t)s * nb_routes + i] = topo_route(rr->topo, s, i, &prefix);
		}
	}
	for (uint32_t s = 0; s < nb_switches; s++) {
		set_routes(rr, s);
		set_flood(rr, s);
		rr->has_routes_by_hand |= rr->conf->switches[s].nb_routes > 0;
		rr->nodes[s].on_link = on_link;
		rr->nodes[s].on_link_arg = rr;
	}
	return 0;
}

int
reroute_create(const struct conf *conf, struct switch_node *nodes, struct reroute **reroute)
{
	struct reroute *rr = calloc(1, sizeof(*rr));

	*reroute = NULL;
	if (!rr)
		return -ENOMEM;
	rr->conf = conf;
	rr->nodes = nodes;
	for (uint32_t s = 0; s < conf->nb_switches; s++)
		set_conf_routes(&conf->switches[s], switch_routes(nodes[s].sw));
	rr->graph = graph_create(conf);
	if (rr->graph && !rr->graph->is_routed) {
		reroute_destroy(rr);
		return 0;
	}
	if (!rr->graph || begin(rr) != 0) {
		reroute_destroy(rr);
		return -ENOMEM;
	}
	*reroute = rr;
	return 0;
}

void
reroute_destroy(struct reroute *reroute)
{
	if (!reroute)
		return;
	topo_destroy(reroute->topo);
	graph_destroy(reroute->graph);
	free(reroute->all_up);
	free(reroute);
}
