/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TOPO_H
#define WEFT_TOPO_H

#include <stdbool.h>
#include <stdint.h>

#include "ip_prefix.h"

/**
 * @file
 * A fabric as a graph: which ports of each switch lead to a host, and which carry floods.
 *
 * The caller describes switches, links and hosts once; topo_compute works out the rest, again
 * whenever a link went down or came up. All of it is control: nothing here is on a packet's way.
 *
 * - To a prefix, a switch uses all ports that lie on a shortest path, counted in links, to one of
 *   the hosts that have it. So packets come nearer with each hop whatever the switches choose, and
 *   none goes in circles. A host at two switches is reached over the nearer one, or over both.
 * - Floods (broadcast, unknown unicast) follow a spanning tree over the links that are up, in each
 *   part of the fabric its own, and end at hosts: one that is attached twice to the same part gets
 *   them over the first of its attachments only. The tree grows breadth first from the switch of
 *   the lowest number, over ports in order, and so depends on nothing but the map.
 */

/** Most ports of a switch, and bits in a set of ports (bit p = port p). */
#define TOPO_PORTS_MAX 64
#define TOPO_SWITCHES_MAX 16384

/** A link between two switches; several may join the same two. */
struct topo_link {
	uint16_t sw[2];  /**< not the same */
	uint8_t port[2]; /**< of sw[0] and sw[1] */
	bool up;
	bool off_tree; /**< no floods go along it, whatever else there is */
};

/** A link between a switch and a host. */
struct topo_attachment {
	uint32_t host;
	uint16_t sw;
	uint8_t port;
	bool up;
};

/** Addresses of a host. A host may have several, and a prefix several hosts. */
struct topo_prefix {
	struct ip_prefix prefix;
	uint32_t host;
};

/** All that there is. Switches and hosts are numbers from 0 on; no two links share a port. */
struct topo_map {
	uint32_t nb_switches; /**< up to TOPO_SWITCHES_MAX */
	uint32_t nb_hosts;
	uint32_t nb_links, nb_attachments, nb_prefixes;
	struct topo_link *links;
	struct topo_attachment *attachments;
	struct topo_prefix *prefixes;
};

struct topo;

/**
 * Make room for the answers about a map, and compute them.
 *
 * @param map  stays the caller's and must live as long; later only `up` may change in it.
 * @return     NULL without memory.
 */
struct topo *topo_create(const struct topo_map *map);

/** NULL does nothing. */
void topo_destroy(struct topo *topo);

/** Work out everything again from the map; needs no memory. */
void topo_compute(struct topo *topo);

/** Ports of a switch on shortest paths to a host; 0 if there is no path. */
uint64_t topo_ports_to(const struct topo *topo, uint32_t sw, uint32_t host);

/** How many different prefixes there are. */
uint32_t topo_nb_routes(const struct topo *topo);

/**
 * One row of a switch's table of routes.
 *
 * @param i            0 to topo_nb_routes - 1; prefixes come in order of their bytes and bits.
 * @param[out] prefix  zeros behind its bits.
 * @return             its ports; 0 if none of its hosts can be reached: no route.
 */
uint64_t topo_route(const struct topo *topo, uint32_t sw, uint32_t i, struct ip_prefix *prefix);

/** Ports of a switch that floods leave by, except the one that they came in on. */
uint64_t topo_flood_ports(const struct topo *topo, uint32_t sw);

#endif
