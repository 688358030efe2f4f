/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "lab_impl.h"

/* Switches of a run, and their routes: one prefix for the hosts of each switch. */

/* A switch's hosts: 10.E.E.0/24, lab_host.c. */
#define EDGE_BITS (96 + 24)

/* ---- the graph ---- */

static int
make_map(struct lab *lab)
{
	const struct plan *plan = lab->conf.plan;
	struct topo_map *m = &lab->map;

	m->nb_switches = plan->nb_switches;
	m->nb_hosts = plan->nb_hosts;
	m->links = calloc(plan->nb_links + 1, sizeof(*m->links));
	m->attachments = calloc(plan->nb_hosts, sizeof(*m->attachments));
	m->prefixes = calloc(plan->nb_hosts, sizeof(*m->prefixes));
	if (!m->links || !m->attachments || !m->prefixes)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->nb_links; i++) {
		const struct plan_end *a = &plan->links[i].end[0], *b = &plan->links[i].end[1];
		uint16_t sw = (uint16_t)(b->node - plan->nb_hosts);

		if (plan->links[i].is_core) {
			m->links[m->nb_links++] = (struct topo_link){
				.sw = {(uint16_t)(a->node - plan->nb_hosts), sw},
				.port = {(uint8_t)a->port, (uint8_t)b->port},
				.up = true,
			};
			continue;
		}
		m->attachments[m->nb_attachments++] = (struct topo_attachment){
			.host = a->node, .sw = sw, .port = (uint8_t)b->port, .up = true};
		m->prefixes[m->nb_prefixes++] = (struct topo_prefix){
			.prefix = {ip_addr_trim(&lab->hosts[a->node].ip, EDGE_BITS), EDGE_BITS},
			.host = a->node,
		};
	}
	return 0;
}

/* ---- routes ---- */

/* Ports that once led there and do not now keep their places: other flows stay where they are. */
static void
set_route(struct routes *routes, const struct ip_prefix *prefix, uint64_t all, uint64_t now)
{
	struct route route = {.prefix = *prefix};
	int err;

	for (; all; all &= all - 1) {
		uint16_t port = (uint16_t)__builtin_ctzll(all);

		if (!(now >> port & 1))
			route.away |= UINT64_C(1) << route.nb_ports;
		route.ports[route.nb_ports++] = port;
	}
	err = routes_set(routes, &route);
	assert(err == 0);
}

static void
set_routes(struct lab *lab, uint32_t sw)
{
	struct routes *routes = switch_routes(lab->switches[sw].sw);
	uint32_t nb_routes = topo_nb_routes(lab->topo);

	for (uint32_t i = 0; i < nb_routes; i++) {
		struct ip_prefix prefix;
		uint64_t now = topo_route(lab->topo, sw, i, &prefix);
		uint64_t all = lab->all_up[(size_t)sw * nb_routes + i];

		if (now && get_be16(prefix.ip.b + 13) != sw)
			set_route(routes, &prefix, all | now, now);
	}
}

/* Each of a switch's own hosts has a route of its own. */
static void
set_own_routes(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->map.nb_attachments; i++) {
		const struct topo_attachment *a = &lab->map.attachments[i];
		const struct ip_prefix prefix = {lab->hosts[a->host].ip, 128};

		set_route(switch_routes(lab->switches[a->sw].sw), &prefix, UINT64_C(1) << a->port,
		          UINT64_C(1) << a->port);
	}
}

static int
make_routes(struct lab *lab)
{
	uint32_t nb_routes, nb_switches = lab->map.nb_switches;
	struct ip_prefix prefix;

	lab->topo = topo_create(&lab->map);
	if (!lab->topo)
		return -ENOMEM;
	nb_routes = topo_nb_routes(lab->topo);
	lab->all_up = calloc((size_t)nb_switches * nb_routes + 1, sizeof(*lab->all_up));
	if (!lab->all_up)
		return -ENOMEM;
	for (uint32_t s = 0; s < nb_switches; s++) {
		for (uint32_t i = 0; i < nb_routes; i++)
			lab->all_up[(size_t)s * nb_routes + i] =
				topo_route(lab->topo, s, i, &prefix);
		set_routes(lab, s);
	}
	set_own_routes(lab);
	return 0;
}

void
lab_reroute(struct lab *lab, uint32_t link, bool is_up)
{
	const struct plan_link *l = &lab->conf.plan->links[link];

	if (!l->is_core)
		return; /* a host has no other way */
	for (uint32_t i = 0; i < lab->map.nb_links; i++) {
		struct topo_link *t = &lab->map.links[i];

		if (t->sw[0] + lab->net.nb_hosts == l->end[0].node && t->port[0] == l->end[0].port)
			t->up = is_up;
	}
	topo_compute(lab->topo);
	for (uint32_t s = 0; s < lab->map.nb_switches; s++)
		set_routes(lab, s);
}

/* ---- switches ---- */

void
lab_switch_ports(const struct lab_conf *conf, uint32_t sw,
                 struct switch_port_params ports[PLAN_PORTS_MAX])
{
	const struct plan *plan = conf->plan;

	for (uint32_t i = 0; i < plan->nb_links; i++) {
		const struct plan_link *l = &plan->links[i];

		for (int e = 0; e < 2; e++) {
			struct switch_port_params *port = &ports[l->end[e].port];

			if (l->end[e].node != plan->nb_hosts + sw)
				continue;
			*port = conf->port;
			port->rate_bps = l->rate_bps;
			port->delay_ns = l->delay_ns;
			port->floods = false; /* everybody knows everybody: lab_host.c */
		}
	}
}

static int
create_switch(struct lab *lab, uint32_t idx)
{
	const struct plan *plan = lab->conf.plan;
	struct lab_switch *s = &lab->switches[idx];
	struct switch_conf conf = lab->conf.sw;
	struct net_node *node = &lab->net.nodes[plan->nb_hosts + idx];
	struct switch_port_params ports[PLAN_PORTS_MAX];
	uint64_t seed = ~lab->conf.seed - idx;

	conf.nb_ports = plan->switches[idx].nb_ports;
	conf.ports = ports;
	conf.params.seed = prng_splitmix(&seed);
	conf.driver_has_links = true;
	conf.id = (uint16_t)(idx + 1);
	conf.mac[0] = 2;
	put_be32(conf.mac + 2, node->idx);
	lab_switch_ports(&lab->conf, idx, ports);
	s->sw = switch_create(&conf, lab->pool);
	s->ports = calloc(conf.nb_ports, sizeof(*s->ports));
	if (!s->sw || !s->ports)
		return -ENOMEM;
	for (uint16_t i = 0; i < conf.nb_ports; i++)
		s->ports[i] = switch_port_stats(s->sw, i);
	switch_node_init(&s->node, s->sw);
	s->node.node.name = plan->switches[idx].name;
	net_set_node(&lab->net, node->idx, &s->node.node, conf.lossless != 0 || conf.lb->on_timer);
	return 0;
}

int
lab_switches_create(struct lab *lab)
{
	uint32_t nb = lab->conf.plan->nb_switches;

	lab->switches = calloc(nb + 1, sizeof(*lab->switches));
	lab->switch_results = calloc(nb + 1, sizeof(*lab->switch_results));
	if (!lab->switches || !lab->switch_results)
		return -ENOMEM;
	for (uint32_t i = 0; i < nb; i++) {
		if (create_switch(lab, i) != 0)
			return -ENOMEM;
	}
	if (nb == 0)
		return 0;
	return make_map(lab) != 0 || make_routes(lab) != 0 ? -ENOMEM : 0;
}

void
lab_switches_destroy(struct lab *lab)
{
	for (uint32_t i = 0; lab->switches && i < lab->conf.plan->nb_switches; i++) {
		switch_destroy(lab->switches[i].sw);
		free(lab->switches[i].ports);
	}
	free(lab->switches);
	free(lab->switch_results);
	topo_destroy(lab->topo);
	free(lab->all_up);
	free(lab->map.links);
	free(lab->map.attachments);
	free(lab->map.prefixes);
}
