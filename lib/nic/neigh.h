/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEIGH_H
#define WEFT_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "pkt.h"
#include "wire.h"

/*
 * Neighbours of a NIC that resolves them itself: IP address -> MAC by ARP and by IPv6 neighbour
 * discovery. Sources: RFC 826, RFC 4861, RFC 5227 (probes are answered, never learned).
 */

/** One neighbour. Entries stay where they are while referenced; QPs keep the pointer. */
struct neigh {
	struct ip_addr ip;
	uint8_t mac[6];
	bool valid;          /**< mac is known */
	uint32_t generation; /**< grows with each change of mac or valid: cached paths are stale then */
	uint32_t nb_refs;
	uint64_t asked_ns;   /**< last question sent */
	uint64_t confirmed_ns; /**< last answer heard */
	uint8_t nb_asked;    /**< questions since the last answer */
};

struct neigh_table;

/** Who we are on the link: read whenever something is answered. Owned by the NIC. */
struct neigh_self {
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	const struct ip_addr *ips; /**< own addresses */
	uint32_t nb_ips;
};

struct neigh_table *neigh_create(const struct neigh_self *self, struct pkt_pool *pool,
				 uint32_t max_neighs);
void neigh_destroy(struct neigh_table *t);

/**
 * Find or make the entry of an address, and count a reference. An own address is valid at once
 * with the own MAC. A new entry is asked for at the next neigh_tx.
 *
 * @return NULL if the table is full of referenced entries.
 */
struct neigh *neigh_get(struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns);
void neigh_put(struct neigh_table *t, struct neigh *n);

/**
 * A sender needs the MAC and it is not valid: ask (at most once per 100 ms at first, then each
 * second, while somebody calls this).
 */
void neigh_want(struct neigh_table *t, struct neigh *n, uint64_t now_ns);

/** An ARP or ND frame that wire_parse recognised. Learns and queues answers; the frame stays the caller's. */
void neigh_rx(struct neigh_table *t, const uint8_t *frame, uint32_t len, uint64_t now_ns);

/** Questions and answers to send; up to max. The caller owns them. */
uint32_t neigh_tx(struct neigh_table *t, struct pkt **pkts, uint32_t max, uint64_t now_ns);

/** When neigh_tx has something by itself (0 = now, NEVER_NS = never). */
uint64_t neigh_next_ns(const struct neigh_table *t);

#endif
