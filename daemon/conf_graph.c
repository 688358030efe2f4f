/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "conf_read.h"
#include "graph.h"

/* What the links of all switches make together: the fabric. */

struct look {
	struct conf_reader *r;
	const struct conf *conf;
	const struct graph *graph;
	const struct topo *topo;
};

/* ---- hosts outside ---- */

/* A prefix may well be wider than what is behind the port. */
static void
check_address(const struct look *l, const struct conf_remote *remote, const char *port)
{
	for (uint32_t n = 0; remote->prefix.bits == 128 && n < l->conf->nb_nics; n++) {
		const struct conf_nic *nic = &l->conf->nics[n];

		for (uint32_t i = 0; i < nic->nb_ips; i++)
			if (memcmp(&nic->ips[i], &remote->prefix.ip, sizeof(nic->ips[i])) == 0)
				conf_error(l->r, remote->line,
				           "[port %s] has a host with an ip of [nic %s] at line %u",
				           port, nic->name, nic->ip_lines[i]);
	}
}

static void
check_remotes(const struct look *l)
{
	const struct conf *conf = l->conf;

	for (uint32_t i = 0; i < conf->nb_remotes; i++) {
		const struct conf_remote *remote = &conf->remotes[i];
		const struct conf_port *port = &conf->switches[remote->sw].ports[remote->port];
		const struct graph_host *host = NULL;
		char text[CONF_PORT_TEXT];

		conf_port_text(port, text);
		for (uint32_t h = 0; h < l->graph->map.nb_hosts; h++)
			if (l->graph->hosts[h].port == port)
				host = &l->graph->hosts[h];
		if (!host)
			conf_error(l->r, remote->line,
			           "[port %s] leads to another switch: hosts are known there",
			           text);
		else if (host->nic)
			conf_error(l->r, remote->line,
			           "[port %s] leads to [nic %s], whose ip says what is there", text,
			           host->nic->name);
		else
			check_address(l, remote, text);
	}
}

/* ---- hosts that cannot be reached ---- */

/* For each switch, whether something that it is joined with leads out of this process. */
static void
find_ways_out(const struct look *l, bool leads_out[CONF_MAX_SWITCHES])
{
	const struct topo_map *m = &l->graph->map;

	for (uint32_t s = 0; s < m->nb_switches; s++) {
		leads_out[s] = false;
		for (uint32_t h = 0; h < m->nb_hosts; h++)
			leads_out[s] |=
				!l->graph->hosts[h].nic && topo_ports_to(l->topo, s, h) != 0;
	}
}

/* What leads out may lead back in. */
static void
check_reach(const struct look *l)
{
	const struct topo_map *m = &l->graph->map;
	bool leads_out[CONF_MAX_SWITCHES];

	if (m->nb_links == 0)
		return;
	find_ways_out(l, leads_out);
	for (uint32_t h = 0; h < m->nb_hosts; h++) {
		const struct graph_host *host = &l->graph->hosts[h];
		const uint32_t home = m->attachments[h].sw;
		char text[CONF_PORT_TEXT];
		uint32_t s = 0;

		while (s < m->nb_switches &&
		       (topo_ports_to(l->topo, s, h) != 0 || (leads_out[s] && leads_out[home])))
			s++;
		if (s == m->nb_switches)
			continue;
		conf_port_text(host->port, text);
		conf_error(
			l->r, host->nic ? host->nic->line : host->port->line,
			"%s%s%s, at [switch %s], cannot be reached from [switch %s]: no link leads "
			"there",
			host->nic ? "[nic " : "", host->nic ? host->nic->name : text,
			host->nic ? "]" : "", l->conf->switches[home].name,
			l->conf->switches[s].name);
	}
}

/* ---- routes that run in a circle ---- */

/* How a switch sends what is under a prefix and under no longer one; 0 = by MAC, or not at all. */
static uint64_t
ports_to(const struct look *l, uint32_t s, const struct ip_prefix *to, const struct conf_route **by)
{
	const struct conf_switch *sw = &l->conf->switches[s];
	uint64_t ports = 0;
	uint32_t best = 0;

	*by = NULL;
	for (uint32_t i = 0; i < sw->nb_routes; i++) {
		const struct conf_route *route = &sw->routes[i];

		if (route->prefix.bits > to->bits || (*by && route->prefix.bits <= best) ||
		    !ip_prefix_covers(&route->prefix, &to->ip))
			continue;
		*by = route;
		best = route->prefix.bits;
		ports = route->ports;
	}
	for (uint32_t i = 0; sw->nb_routes == 0 && i < topo_nb_routes(l->topo); i++) {
		struct ip_prefix prefix;
		uint64_t there = topo_route(l->topo, s, i, &prefix);

		if (there && prefix.bits <= to->bits && prefix.bits >= best &&
		    ip_prefix_covers(&prefix, &to->ip)) {
			best = prefix.bits;
			ports = there;
		}
	}
	return ports;
}

/* The switch at the other end of a port; UINT32_MAX = none. */
static uint32_t
switch_behind(const struct topo_map *m, uint32_t s, uint32_t port)
{
	for (uint32_t i = 0; i < m->nb_links; i++) {
		for (int end = 0; end < 2; end++)
			if (m->links[i].sw[end] == s && m->links[i].port[end] == port)
				return m->links[i].sw[!end];
	}
	return UINT32_MAX;
}

/* A walk along a prefix, each switch once: one that it comes back to closes a circle. */
struct walk {
	const struct look *look;
	const struct ip_prefix *to;
	uint16_t done; /* bit s: switch s */
	uint32_t nb;   /* switches on the path */
	struct step {
		uint32_t sw;
		const struct conf_route *by; /* NULL = worked out */
	} path[CONF_MAX_SWITCHES];
};

static_assert(CONF_MAX_SWITCHES <= 16, "a set of switches fits");

/* What is worked out runs in no circle, so that somebody's route is part of it. */
static void
tell_circle(const struct walk *w, uint32_t first)
{
	const struct conf_switch *switches = w->look->conf->switches;
	char names[(CONF_MAX_SWITCHES + 1) * (WEFT_NAME_LEN + 4)];
	const struct conf_route *by = NULL;
	size_t len = 0;

	for (uint32_t i = first; i < w->nb; i++) {
		by = by ? by : w->path[i].by;
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s, ",
		                        switches[w->path[i].sw].name);
	}
	snprintf(names + len, sizeof(names) - len, "%s", switches[w->path[first].sw].name);
	conf_error(w->look->r, by ? by->line : 0, "this route runs in a circle: %s", names);
}

/* Returns whether a circle was found and told; as deep as there are switches. */
static bool
walk_from(struct walk *w, uint32_t s)
{
	struct step *step = &w->path[w->nb];
	uint64_t ports;

	for (uint32_t i = 0; i < w->nb; i++) {
		if (w->path[i].sw != s)
			continue;
		tell_circle(w, i);
		return true;
	}
	if (w->done >> s & 1)
		return false;
	step->sw = s;
	ports = ports_to(w->look, s, w->to, &step->by);
	w->nb++;
	for (; ports; ports &= ports - 1) {
		uint32_t next =
			switch_behind(&w->look->graph->map, s, (uint32_t)__builtin_ctzll(ports));

		if (next != UINT32_MAX && walk_from(w, next))
			return true;
	}
	w->nb--;
	w->done |= (uint16_t)(1u << s);
	return false;
}

/* Returns whether a circle was found and told, which is enough. */
static bool
is_circle(const struct look *l, uint32_t s, const struct ip_prefix *to)
{
	struct walk w = {.look = l, .to = to};

	return walk_from(&w, s);
}

/* Along all routes, and to what is worked out under them, whose prefixes are longer. */
static void
check_circles(const struct look *l)
{
	const struct conf_switch *switches = l->conf->switches;

	for (uint32_t s = 0; s < l->conf->nb_switches; s++)
		for (uint32_t i = 0; i < switches[s].nb_routes; i++)
			if (is_circle(l, s, &switches[s].routes[i].prefix))
				return;
	for (uint32_t s = 0; s < l->conf->nb_switches; s++) {
		for (uint32_t i = 0; switches[s].nb_routes > 0 && i < topo_nb_routes(l->topo);
		     i++) {
			struct ip_prefix to;

			topo_route(l->topo, s, i, &to);
			if (is_circle(l, s, &to))
				return;
		}
	}
}

/* ---- packets that overtake each other ---- */

static bool
has_choice(const struct look *l, uint32_t s)
{
	const struct conf_switch *sw = &l->conf->switches[s];
	struct ip_prefix to;

	for (uint32_t i = 0; i < sw->nb_routes; i++)
		if (__builtin_popcountll(sw->routes[i].ports) > 1)
			return true;
	for (uint32_t i = 0; sw->nb_routes == 0 && i < topo_nb_routes(l->topo); i++)
		if (__builtin_popcountll(topo_route(l->topo, s, i, &to)) > 1)
			return true;
	return false;
}

static void
check_order(const struct look *l)
{
	const struct conf_nic *nic = NULL;

	for (uint32_t i = 0; i < l->conf->nb_nics && !nic; i++)
		if (l->conf->nics[i].bind.set.rel == reliability_find("gbn"))
			nic = &l->conf->nics[i];
	for (uint32_t s = 0; s < l->conf->nb_switches && nic; s++) {
		const struct conf_switch *sw = &l->conf->switches[s];

		if (!conf_lb_mixes(sw->fabric.lb, conf_params(l->conf, &sw->fabric.lb->info)) ||
		    !has_choice(l, s))
			continue;
		conf_warning(l->r, sw->lb_line,
		             "[switch %s]: with lb = %s packets of a flow overtake each other, and "
		             "gbn, the reliability of [nic %s], repeats all behind a gap; flowlet, "
		             "or adaptive with a gap, keeps their order",
		             sw->name, sw->fabric.lb->info.name, nic->name);
	}
}

void
conf_check_graph(struct conf_reader *r)
{
	struct graph *graph;
	struct topo *topo = NULL;
	struct look l;

	graph = graph_create(r->conf);
	if (graph)
		topo = topo_create(&graph->map);
	if (topo) {
		l = (struct look){r, r->conf, graph, topo};
		check_remotes(&l);
		check_reach(&l);
		check_circles(&l);
		check_order(&l);
	} else {
		conf_error(r, r->line, "out of memory");
	}
	topo_destroy(topo);
	graph_destroy(graph);
}
