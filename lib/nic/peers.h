/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PEERS_H
#define WEFT_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hello.h"
#include "list.h"
#include "pkt.h"

/**
 * @file
 * Who the NICs at the other ends are: whether they speak the weft framing, and since when they run.
 * HELLO finds out, docs/wire.md. A peer is a pair of addresses in a VLAN, and is known as long as
 * somebody holds it, and a while longer.
 *
 * One object per NIC; frames and the time come in, frames go out. No clock, no EAL.
 */

enum peer_state {
	PEER_ASKING, /**< HELLO was sent, or waits to be */
	PEER_WEFT,   /**< it speaks weft; its token is known */
	PEER_PLAIN,  /**< it did not answer: RoCEv2 only, as far as one can know */
};

/** A peer. Its users keep what they hold it for in its lists. */
struct peer {
	struct ip_addr own_ip, ip;
	uint16_t vlan;
	uint8_t state;     /**< enum peer_state */
	uint64_t since_ns; /**< when it got into it */
	char engine[HELLO_NAME_MAX +
	            1];     /**< reliability that its conf names for us; "" = unknown */
	struct list asking; /**< users that wait for a decision, or for an answer to OPEN */
	struct list open;   /**< users that fail if it is started anew */
};

struct peers;

/** Whoever opens QPs: lib/qp/open.c. */
struct peers_ops {
	/** The state has become PEER_WEFT or PEER_PLAIN. */
	void (*decided)(void *arg, struct peer *p, uint64_t now_ns);
	/** It has another boot id than before: its QPs of then are gone. */
	void (*restarted)(void *arg, struct peer *p, uint64_t now_ns);
	/** An OPEN or ANSWER with the token that we gave came. */
	void (*opened)(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns);
	/** It is the time that peers_want_open named: fill in msg->qp and nb_qps, or leave it 0. */
	uint32_t (*next_open)(void *arg, struct peer *p, struct hello_msg *msg, uint64_t now_ns);
};

/**
 * Hold a peer; the first who does lets it be asked.
 *
 * @return NULL without memory.
 */
struct peer *peers_get(struct peers *ps, const struct ip_addr *own_ip, const struct ip_addr *ip,
                       uint16_t vlan, uint64_t now_ns);
void peers_put(struct peers *ps, struct peer *p, uint64_t now_ns);

/** Call next_open at this time; the earliest counts. */
void peers_want_open(struct peers *ps, struct peer *p, uint64_t at_ns);

/** Send an ANSWER: type, nb_qps and qp are filled in. */
void peers_answer(struct peers *ps, struct peer *p, const struct hello_msg *answer, uint64_t nonce,
                  uint64_t now_ns);

/** Whether a peer that says nothing may be asked whether it was started anew: once a second. */
bool peers_may_probe(struct peers *ps, struct peer *p, uint64_t now_ns);

/** A frame that wire_parse calls WIRE_HELLO. */
void peers_rx(struct peers *ps, const uint8_t *frame, uint32_t len, uint64_t now_ns);
/** Frames to be sent, up to max; the caller's then. */
uint32_t peers_tx(struct peers *ps, struct pkt **pkts, uint32_t max, uint64_t now_ns);
/** When peers_tx wants to be called; NEVER_NS = not at all. */
uint64_t peers_next_ns(const struct peers *ps);

#endif
