/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PEERS_IMPL_H
#define WEFT_PEERS_IMPL_H

#include "cookie.h"
#include "gid.h"
#include "peer_map.h"

/**
 * @file
 * Peers from inside: peers.c knows them, peers_ask.c when to ask who they are, peers_rx.c what
 * comes and whom to believe, peers_tx.c what goes out. Everyone else calls peers.h.
 */

struct peers {
	struct peers_conf conf;
	struct peers_stats stats;
	struct peer_map map;
	struct cookie_jar jar;
	struct cookie_random random;
	uint64_t boot_id; /**< 0 = not drawn yet: nobody spoke to us, or we to anybody */
	struct wheel ask_wheel, open_wheel;
	struct list opens, deaths;
	struct pkt_queue out;
	const struct cookie_pair *asker; /**< whose message is heard; else NULL */
	uint64_t answers_since_ns;       /**< begin of the interval that nb_answers counts */
	uint32_t nb_answers;
};

static inline struct peer_entry *
peer_entry_of(struct peer *p)
{
	return container_of(p, struct peer_entry, p);
}

/** A number that nobody can guess. */
uint64_t peers_draw(struct peers *ps);
/** Draw boot id and secrets, unless that was done. */
void peers_wake(struct peers *ps, uint64_t now_ns);

/** The addresses of a peer that is held, and whose neighbour is valid. */
struct cookie_pair peers_pair(const struct peer_entry *e);
/** A message to an address in a packet; NULL: no packet. */
struct pkt *peers_pkt(struct peers *ps, const struct cookie_pair *pair,
                      const struct hello_msg *msg);
/** QPs whose entries fit into a packet. */
uint32_t peers_entries_max(const struct peers *ps);

/** Begin an exchange, unless one is going on. */
void peers_ask(struct peers *ps, struct peer_entry *e, uint64_t now_ns);
/** It gave a cookie: say HELLO again, with it. */
void peers_ask_again(struct peers *ps, struct peer_entry *e, const uint8_t cookie[HELLO_COOKIE_LEN],
                     uint64_t now_ns);
/** The exchange is over, or no longer wanted. */
void peers_stop_asking(struct peers *ps, struct peer_entry *e);
/** Its ask_timer came up: the HELLO to send, if any. */
struct pkt *peers_ask_due(struct peers *ps, struct peer_entry *e, uint64_t now_ns);

/** It is found out what it is, PEER_WEFT or PEER_PLAIN: its users are told. */
void peers_decide(struct peers *ps, struct peer_entry *e, enum peer_state state, uint64_t now_ns);
/** It said who it is, and has shown that it is at its address. */
void peers_learn(struct peers *ps, struct peer_entry *e, const struct hello_msg *msg,
                 uint64_t now_ns);
/** The entry of who has shown that; NULL: no room. */
struct peer_entry *peers_meet(struct peers *ps, const struct cookie_pair *pair);

#endif
