/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEIGH_MAP_H
#define WEFT_NEIGH_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "neigh.h"
#include "wheel.h"

/**
 * @file
 * The entries of a neighbour table, found by address and VLAN. Inside this folder: everyone else
 * calls neigh.h.
 */

struct neigh_entry {
	struct neigh n;
	struct neigh_entry *next;  /**< in its hash bucket */
	struct neigh_entry **link; /**< what points here; NULL = it is in none */
	struct list idle;          /**< among those without references, longest first */
	struct wheel_timer timer;  /**< when to ask... */
	struct list due;           /**< ...or among those to ask now */
	uint64_t wanted_ns;        /**< last neigh_want */
	bool is_own;               /**< an address of ours */
};

struct neigh_map {
	struct list idle; /**< to be given to other addresses; the user links and unlinks */
	uint32_t bucket_mask;
	struct neigh_entry **buckets;
	uint32_t max_entries, nb_entries; /**< those behind nb_entries were never used */
	struct neigh_entry *entries;
};

/** False without memory. Entries that are never used cost none. */
bool neigh_map_init(struct neigh_map *map, uint32_t max_entries);
void neigh_map_fini(struct neigh_map *map);

/** NULL if there is none. */
struct neigh_entry *neigh_map_find(const struct neigh_map *map, const struct ip_addr *ip,
                                   uint16_t vlan);

/**
 * Give an address that is not there an entry: one never used, else the one idle for longest, which
 * keeps its generation and stays in the idle list.
 *
 * @return NULL if all are referenced.
 */
struct neigh_entry *neigh_map_add(struct neigh_map *map, const struct ip_addr *ip, uint16_t vlan);

#endif
