/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PEER_MAP_H
#define WEFT_PEER_MAP_H

#include "peers.h"
#include "wheel.h"

/**
 * @file
 * The entries of a table of peers, found by addresses and VLAN. Inside this folder: everyone else
 * calls peers.h.
 */

/** The exchange by which a peer is asked who it is. */
struct peer_ask {
	uint64_t nonce;
	uint64_t begun_ns; /**< first HELLO of the present round... */
	uint8_t nb_sent;   /**< ...and how many were sent; 0 = none yet */
	uint8_t nb_rounds; /**< a COOKIE begins another one */
	bool is_on;
	bool has_cookie; /**< it is there and speaks: never plain for lack of a WELCOME */
	uint8_t cookie[HELLO_COOKIE_LEN];
};

struct peer_entry {
	struct peer p;
	uint32_t nb_refs;
	struct neigh *neigh; /**< where it is; while referenced */

	uint8_t told_mac[6]; /**< PEER_WEFT: where the one was who said so */
	bool is_hearsay;     /**< ...while we did not know where it is: it may be somebody else */

	uint64_t boot_id, token; /**< PEER_WEFT: as it said */
	uint64_t old_boot_id; /**< before the present one; 0 = none. Late messages may have it... */
	uint64_t old_end_ns;  /**< ...until then */
	uint64_t open_nonce;  /**< of our OPENs to it; 0 = not drawn yet */

	struct peer_ask ask;
	uint64_t plain_end_ns; /**< PEER_PLAIN: believed until then */
	uint64_t stale_ns;     /**< last time that a STALE made us ask; 0 = never */
	uint64_t probe_ns;     /**< last time that it was probed; 0 = never */

	struct wheel_timer ask_timer, open_timer;
	struct list opens;        /**< among those whose OPEN is due */
	struct list deaths;       /**< among those with users in p.dead */
	struct list idle;         /**< among those without references, longest first */
	struct peer_entry *next;  /**< in its hash bucket */
	struct peer_entry **link; /**< what points here */
};

struct peer_map {
	struct list idle;
	uint8_t key[16]; /**< of the hash: nobody else can fill one bucket */
	struct peer_entry **buckets;
	struct peer_entry *entries;
	uint32_t max_peers, nb_peers; /**< those behind nb_peers were never used */
};

/** Nothing is allocated before the first peer_map_add. */
void peer_map_init(struct peer_map *map, uint32_t max_peers);
void peer_map_fini(struct peer_map *map);
/** Before the first peer_map_add. */
void peer_map_set_key(struct peer_map *map, uint64_t a, uint64_t b);

/** NULL if there is none. */
struct peer_entry *peer_map_find(const struct peer_map *map, const struct ip_addr *ip,
                                 const struct ip_addr *own_ip, uint16_t vlan);

/**
 * One that is not there: not known, unreferenced, idle for the shortest. The place may be that of
 * another one, which is forgotten.
 *
 * @param forget  called for that one before.
 * @return        NULL if all are referenced, or without memory.
 */
struct peer_entry *peer_map_add(struct peer_map *map, const struct ip_addr *ip,
                                const struct ip_addr *own_ip, uint16_t vlan,
                                void (*forget)(void *arg, struct peer_entry *old), void *arg);

/** It was of use: of those without references it is now the one idle for the shortest. */
void peer_map_touch(struct peer_map *map, struct peer_entry *e);
void peer_map_ref(struct peer_entry *e);
void peer_map_unref(struct peer_map *map, struct peer_entry *e);

#endif
