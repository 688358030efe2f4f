/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NEIGH_H
#define WEFT_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "gid.h"
#include "pkt.h"
#include "stat.h"

/**
 * @file
 * Neighbours of a NIC: IP address and VLAN -> MAC. The table asks by ARP and by IPv6 neighbour
 * discovery, and answers for the own addresses, or a resolver does both: that is the kernel, on an
 * interface of its own. Sources: RFC 826, RFC 4861, RFC 5227 (probes are answered, never learned).
 *
 * Only addresses that neigh_get was asked for are ever in the table; frames change what is there
 * and add nothing, so that no stranger can fill it. An address is asked for as long as somebody
 * wants it and it is not known; while it is referenced, it is asked for again every
 * NEIGH_REFRESH_NS, stays valid meanwhile, and is given up after NEIGH_REFRESH_ASKS questions
 * without an answer. A resolver says itself what is gone: one that is late changes nothing.
 */

/** A question is repeated so often at first... */
#define NEIGH_ASK_NS UINT64_C(100000000)
/** ...as many times... */
#define NEIGH_ASK_FAST 5
/** ...and then so often (RFC 4861, section 10: RETRANS_TIMER), which is also the pace of refresh.
 */
#define NEIGH_ASK_SLOW_NS UINT64_C(1000000000)
/** It is repeated without further neigh_want for so long. Our choice. */
#define NEIGH_WANTED_NS UINT64_C(3000000000)
/** A known MAC is asked for again after this (RFC 4861, section 10: REACHABLE_TIME). */
#define NEIGH_REFRESH_NS UINT64_C(30000000000)
/** Questions about a known MAC before it is taken for gone: the first ones to the MAC itself. */
#define NEIGH_REFRESH_ASKS 5
#define NEIGH_REFRESH_UNICAST 2
/** Class of its frames: untagged or of priority 0, as the kernel's own are. */
#define NEIGH_CLASS 0
/** Answers that wait for neigh_tx, and answers per NEIGH_ANSWER_NS; more are dropped. Our choice.
 */
#define NEIGH_ANSWERS_MAX 64
#define NEIGH_ANSWER_NS UINT64_C(10000000)

/** One neighbour. Entries stay where they are while referenced; QPs keep the pointer. */
struct neigh {
	struct ip_addr ip;
	uint16_t vlan; /**< VLAN ID; 0 = untagged */
	uint8_t mac[6];
	bool valid;          /**< mac is known */
	uint32_t generation; /**< grows with each change of mac or valid: cached paths are stale
	                        then */
	uint32_t nb_refs;
	uint64_t asked_ns;     /**< last question sent */
	uint64_t confirmed_ns; /**< last answer heard */
	uint8_t nb_asked;      /**< questions since the last answer; stays at 255 */
};

struct neigh_table;

/** Who knows neighbours in the table's place. */
struct neigh_resolver {
	/**
	 * Find out where an address is, or whether it still is where it was; neigh_set tells, at
	 * any time. Called on the table's thread; must not block.
	 *
	 * @return false if this can't be asked now: it is asked again.
	 */
	bool (*ask)(void *arg, const struct ip_addr *ip, uint16_t vlan);
	void *arg;
};

/** Who we are on the link: read whenever something is asked or answered. Owned by the NIC. */
struct neigh_self {
	const char *name; /**< of the NIC, for people */
	uint8_t mac[6];
	const struct gid_table *gids;          /**< own addresses */
	const struct neigh_resolver *resolver; /**< NULL = the table asks and answers itself */
};

struct neigh_stats {
	uint64_t rx_questions; /**< for an own address */
	uint64_t
		rx_answers; /**< and other frames that told of an address in the table; neigh_set */
	uint64_t rx_bad;    /**< broke a rule of ARP or ND */
	uint64_t rx_conflicts; /**< somebody else claims an own address */
	uint64_t tx_questions, tx_answers;
	uint64_t tx_limited;  /**< not said: too many answers, no packet, a resolver too busy */
	uint64_t mac_changes; /**< of known neighbours */
	uint64_t lost;        /**< known neighbours that no longer answer */
};

extern const struct stat_desc neigh_stat_descs[];

/**
 * @param self        must live as long as the table.
 * @param pool        for questions and answers: room of at least 90 bytes.
 * @param max_neighs  1 to 2^20; memory of those that are never used is not touched.
 * @return            NULL without memory.
 */
struct neigh_table *neigh_create(const struct neigh_self *self, struct pkt_pool *pool,
                                 uint32_t max_neighs);

/** Entries may still be referenced; their pointers are dead then. NULL does nothing. */
void neigh_destroy(struct neigh_table *t);

/**
 * Find or make the entry of an address, and count a reference. An own address is valid at once
 * with the own MAC. A new entry is asked for at the next neigh_tx.
 *
 * @return NULL if the table is full of referenced entries.
 */
struct neigh *neigh_get(struct neigh_table *t, const struct ip_addr *ip, uint16_t vlan,
                        uint64_t now_ns);

/** Give a reference back. Without any the entry stays until another address needs its place. */
void neigh_put(struct neigh_table *t, struct neigh *n);

/**
 * A sender needs the MAC and it is not valid: ask, now and for NEIGH_WANTED_NS from now. Cheap
 * enough for every packet that cannot go.
 */
void neigh_want(struct neigh_table *t, struct neigh *n, uint64_t now_ns);

/**
 * Tell the link where the own addresses are, unasked: after start, or when they changed. Those who
 * have an older MAC of ours in use take the new one (RFC 5227, section 2.3; RFC 4861, 7.2.6).
 */
void neigh_announce(struct neigh_table *t, uint64_t now_ns);

/** Addresses or MAC of self are others now: look at all entries again, announce. */
void neigh_self_changed(struct neigh_table *t, uint64_t now_ns);
/** Frames pass again: whoever is wanted is asked for at once, as often and as fast as at first. */
void neigh_link_up(struct neigh_table *t, uint64_t now_ns);

/**
 * A resolver tells where an address is; NULL = nowhere, it does not answer. One that is not in the
 * table is passed over.
 */
void neigh_set(struct neigh_table *t, const struct ip_addr *ip, uint16_t vlan, const uint8_t *mac,
               uint64_t now_ns);

/**
 * An ARP or ND frame that wire_parse recognised. Learns and queues answers; the frame stays the
 * caller's. With a resolver it is passed over.
 */
void neigh_rx(struct neigh_table *t, const uint8_t *frame, uint32_t len, uint64_t now_ns);

/** Questions and answers to send; up to max. The caller owns them. */
uint32_t neigh_tx(struct neigh_table *t, struct pkt **pkts, uint32_t max, uint64_t now_ns);

/** When neigh_tx has something by itself: 0 = now, WHEEL_NEVER_NS = never. */
uint64_t neigh_next_ns(const struct neigh_table *t);

const struct neigh_stats *neigh_stats(const struct neigh_table *t);

#endif
