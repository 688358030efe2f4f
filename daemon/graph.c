/* SPDX-License-Identifier: BSD-3-Clause */
#include "graph.h"

#include <stdlib.h>

/* One port of a switch. */
struct spot {
	uint32_t sw, port;
};

static const struct conf_nic *
nic_at(const struct conf *conf, const struct conf_port *port)
{
	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		if (conf_same_wire(&conf->nics[i].port, port))
			return &conf->nics[i];
	}
	return NULL;
}

/* The other end of a port, if it is a switch's. */
static bool
peer_of(const struct conf *conf, struct spot spot, struct spot *peer)
{
	const struct conf_port *port = &conf->switches[spot.sw].ports[spot.port];

	for (uint32_t s = 0; s < conf->nb_switches; s++) {
		const struct conf_switch *sw = &conf->switches[s];

		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			if (&sw->ports[p] == port || !conf_same_wire(&sw->ports[p], port))
				continue;
			*peer = (struct spot){s, p};
			return true;
		}
	}
	return false;
}

static bool
floods(const struct conf *conf, struct spot spot)
{
	return conf->switches[spot.sw].settings[spot.port].link.floods;
}

static void
add_host(struct graph *g, struct spot spot, const struct conf_nic *nic,
         const struct conf_port *port)
{
	struct topo_map *m = &g->map;

	g->hosts[m->nb_hosts] = (struct graph_host){nic, port};
	m->attachments[m->nb_attachments++] = (struct topo_attachment){
		.host = m->nb_hosts++,
		.sw = (uint16_t)spot.sw,
		.port = (uint8_t)spot.port,
		.up = true,
	};
}

/* Of a wire between two switches the first end speaks. */
static void
add_port(struct graph *g, const struct conf *conf, struct spot spot)
{
	const struct conf_port *port = &conf->switches[spot.sw].ports[spot.port];
	bool is_wire = conf_port_has_two_ends(port);
	const struct conf_nic *nic = is_wire ? nic_at(conf, port) : NULL;
	struct spot peer;

	if (nic || !is_wire || !peer_of(conf, spot, &peer)) {
		add_host(g, spot, nic, port);
	} else if (spot.sw < peer.sw) {
		g->map.links[g->map.nb_links++] = (struct topo_link){
			.sw = {(uint16_t)spot.sw, (uint16_t)peer.sw},
			.port = {(uint8_t)spot.port, (uint8_t)peer.port},
			.up = true,
			.off_tree = !floods(conf, spot) || !floods(conf, peer),
		};
	}
}

static void
add_prefix(struct graph *g, struct ip_prefix prefix, uint32_t host)
{
	g->map.prefixes[g->map.nb_prefixes++] = (struct topo_prefix){prefix, host};
}

static void
add_prefixes(struct graph *g, const struct conf *conf)
{
	for (uint32_t h = 0; h < g->map.nb_hosts; h++) {
		const struct graph_host *host = &g->hosts[h];

		for (uint32_t i = 0; host->nic && i < host->nic->nb_ips; i++)
			add_prefix(g, (struct ip_prefix){host->nic->ips[i], 128}, h);
		for (uint32_t i = 0; i < conf->nb_remotes; i++) {
			const struct conf_remote *r = &conf->remotes[i];

			if (&conf->switches[r->sw].ports[r->port] == host->port)
				add_prefix(g, r->prefix, h);
		}
	}
}

struct graph *
graph_create(const struct conf *conf)
{
	const size_t nb_ports = (size_t)conf->nb_switches * CONF_MAX_PORTS;
	const size_t nb_prefixes = (size_t)conf->nb_nics * CONF_MAX_IPS + conf->nb_remotes;
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->map.nb_switches = conf->nb_switches;
	g->map.links = calloc(nb_ports + 1, sizeof(*g->map.links));
	g->map.attachments = calloc(nb_ports + 1, sizeof(*g->map.attachments));
	g->map.prefixes = calloc(nb_prefixes + 1, sizeof(*g->map.prefixes));
	g->hosts = calloc(nb_ports + 1, sizeof(*g->hosts));
	if (!g->map.links || !g->map.attachments || !g->map.prefixes || !g->hosts) {
		graph_destroy(g);
		return NULL;
	}
	for (uint32_t s = 0; s < conf->nb_switches; s++)
		for (uint32_t p = 0; p < conf->switches[s].nb_ports; p++)
			add_port(g, conf, (struct spot){s, p});
	add_prefixes(g, conf);
	g->is_routed = g->map.nb_links > 0 || conf->nb_remotes > 0;
	return g;
}

void
graph_destroy(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->map.links);
	free(graph->map.attachments);
	free(graph->map.prefixes);
	free(graph->hosts);
	free(graph);
}
