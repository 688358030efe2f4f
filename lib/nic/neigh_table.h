/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEIGH_TABLE_H
#define WEFT_NEIGH_TABLE_H

#include "neigh.h"
#include "neigh_map.h"
#include "neigh_msg.h"

/**
 * @file
 * A neighbour table from inside: neigh.c knows what is in it and when to ask, neigh_link.c speaks
 * ARP and ND. Everyone else calls neigh.h.
 */

struct neigh_table {
	const struct neigh_self *self;
	struct pkt_pool *pool;
	struct neigh_stats stats;
	struct wheel wheel;
	struct neigh_map map;
	struct list due;
	struct pkt_queue answers;
	uint64_t answers_since_ns; /**< begin of the interval that nb_answers counts */
	uint32_t nb_answers;
};

/** An address of the table is at mac. @return false if a weak message changes nothing. */
bool neigh_entry_learn(struct neigh_table *t, struct neigh_entry *e, const uint8_t mac[6],
                       bool is_weak, uint64_t now_ns);

/** A frame that asks for a neighbour, where it is known to be or everywhere; NULL: no packet. */
struct pkt *neigh_link_question(struct neigh_table *t, const struct neigh *n, bool everywhere);

#endif
