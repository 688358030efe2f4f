/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TOPO_PARTS_H
#define WEFT_TOPO_PARTS_H

#include "topo.h"

/*
 * A destination is a set of attachments: those of one host, or of all hosts that share a prefix.
 * Its ports at all switches are a row of the table. Destinations that are attached to one switch,
 * nearly all of them, use that switch's row; where they are attached, their own ports stand in for
 * it.
 */

#define NO_ROW UINT32_MAX

/* What is at the other end of a port that has a link. */
struct peer {
	uint16_t sw;
	uint8_t port;
	bool off_tree;
};

/* Attachments of a destination: numbers in topo.dest_atts. */
struct dest {
	uint32_t first, nb;
	uint32_t own_row; /* NO_ROW if it never needs one */
	uint32_t row;     /* at present; NO_ROW: no attachment is up */
};

struct prefix_dest {
	struct ip_prefix prefix;
	uint32_t dest; /* the host, until the prefix's other hosts are known */
};

struct topo {
	const struct topo_map *map;
	struct peer (*peers)[TOPO_PORTS_MAX]; /* of each switch */
	struct dest *dests;                   /* hosts first, by number */
	uint32_t nb_dests;
	uint32_t *dest_atts;
	struct prefix_dest *routes;
	uint32_t nb_routes;
	uint32_t *switch_row; /* of each switch with attachments */

	/* What topo_compute fills. */
	uint64_t *linked; /* ports whose link to another switch is up */
	uint64_t *flood;
	uint32_t *part;  /* lowest switch whose floods reach each */
	uint32_t *hops;  /* of each switch to the destination at hand */
	uint32_t *queue; /* switches in the order in which they were reached */
	bool *is_done;   /* whether a row is computed */
	uint64_t *rows;
	uint32_t nb_rows;
};

#endif
