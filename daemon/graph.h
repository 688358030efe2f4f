/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H

#include "conf.h"
#include "topo.h"

/**
 * @file
 * The fabric that a conf describes, as a map: its switches, the links that join two of them, and
 * the hosts. A host is a NIC on a port of a switch, or whatever is behind a port that leads out of
 * the process: nobody knows how many there are and, unless the conf says, their addresses.
 */

struct graph_host {
	const struct conf_nic *nic;   /**< NULL: outside */
	const struct conf_port *port; /**< of the switch */
};

struct graph {
	struct topo_map map; /**< switches as in the conf, all links up; order of links: by sw[0] */
	struct graph_host *hosts; /**< map.nb_hosts, each with one attachment of its number */
	/** Whether prefixes are worked out: switches are joined, or hosts outside have addresses.
	 */
	bool is_routed;
};

/**
 * @param conf  without mistakes; must live as long.
 * @return      NULL without memory.
 */
struct graph *graph_create(const struct conf *conf);

/** NULL does nothing. */
void graph_destroy(struct graph *graph);

#endif
