/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PEERS_H
#define WEFT_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "hello.h"
#include "list.h"
#include "neigh.h"
#include "pkt.h"
#include "stat.h"

/**
 * @file
 * Who the NICs at the other ends are: whether they speak the weft framing, and since when they run.
 * HELLO finds out, docs/wire.md. A peer is a pair of addresses in a VLAN, and is known as long as
 * somebody holds it, and a while longer.
 *
 * HELLO without a cookie -> COOKIE -> HELLO with it -> WELCOME. Who answers remembers nothing
 * before the second HELLO, which shows that the asker receives what is sent to his address; until
 * then he gets no answer larger than his question, and all such askers together at most
 * PEERS_ANSWERS in PEERS_ANSWER_NS. Each side says who it is, so one exchange is enough for both. A
 * peer that does not answer is taken for one of plain RoCEv2, for a while.
 *
 * Answers go to the MAC of the neighbour as soon as that is known, and cookies and tokens are of
 * that MAC: whoever else in the link writes a peer's address into his frames gets neither. Before,
 * they go where the question came from, and what is said so is hearsay: it changes nothing of a
 * peer that is held, and is thrown away when the neighbour is found at another MAC.
 *
 * One object per NIC; frames and the time come in, frames go out. No clock, no EAL.
 */

/** Peers at a time; the one unused for longest makes room. Our choice. */
#define PEERS_MAX 65536
/** A HELLO is sent at these times of a round, ns; with no answer the round ends at
 * PEERS_SILENCE_NS. Our choice. */
#define PEERS_TRIES 5
extern const uint64_t peers_try_ns[PEERS_TRIES];
#define PEERS_SILENCE_NS UINT64_C(300000000)
/** A peer that gave a cookie is there: it is asked on, so often, while somebody holds it. */
#define PEERS_SLOW_NS UINT64_C(1000000000)
/** A silent peer is believed to be a plain one for so long. Our choice. */
#define PEERS_PLAIN_NS UINT64_C(60000000000)
/** Rounds that COOKIEs may begin in one exchange. */
#define PEERS_ROUNDS 8
/** STALE makes us ask again, so often at most; a user may ask so often whether its peer is there.
 */
#define PEERS_STALE_NS UINT64_C(1000000000)
#define PEERS_PROBE_NS UINT64_C(1000000000)
/** After a peer was started anew, a HELLO of before is late for so long; then it is news. Were
 * there no end, one false word of a new start would silence the true peer for ever. Our choice. */
#define PEERS_LATE_NS UINT64_C(1000000000)
/** Answers to those who have shown nothing yet: 10,000 a second. */
#define PEERS_ANSWERS 100
#define PEERS_ANSWER_NS UINT64_C(10000000)
/** Answers that wait for peers_tx; more are dropped. Our choice. */
#define PEERS_QUEUE_MAX 256
/** Class of its frames, as of neighbours'. */
#define PEERS_CLASS 0
/** Least room of a packet: an OPEN of one QP. */
#define PEERS_ROOM_MIN HELLO_FRAME_MAX(HELLO_OPEN_LEN(1))

enum peer_state {
	PEER_ASKING, /**< HELLO was sent, or waits to be; of one that nobody holds: not known */
	PEER_WEFT,   /**< it speaks weft; its token is known */
	PEER_PLAIN,  /**< it did not answer: RoCEv2 only, as far as one can know */
};

/** A peer. Its users keep what they hold it for in its lists. */
struct peer {
	struct ip_addr own_ip, ip;
	uint16_t vlan;
	uint8_t state;     /**< enum peer_state */
	uint64_t since_ns; /**< when it got into it */
	/** Reliability that its conf names for us; "" = unknown. */
	char engine[HELLO_NAME_MAX + 1];
	struct list asking; /**< users that wait for a decision, or for an answer to OPEN */
	struct list open;   /**< users that fail if it is started anew... */
	struct list dead;   /**< ...and those that shall, as it was */
};

struct peers;

/** Whoever opens QPs: lib/qp/open_peers.c. */
struct peers_ops {
	/** The state has become PEER_WEFT or PEER_PLAIN. */
	void (*decided)(void *arg, struct peer *p, uint64_t now_ns);
	/** It has another boot id than before: the users in its list dead are to fail, some of them
	 * now; it is called again while there are any. */
	void (*restarted)(void *arg, struct peer *p, uint64_t now_ns);
	/** An OPEN or ANSWER with the token that we gave came. */
	void (*opened)(void *arg, struct peer *p, const struct hello_msg *msg, uint64_t now_ns);
	/** It is the time that peers_want_open named: fill in msg->qp and nb_qps, or leave it 0. */
	uint32_t (*next_open)(void *arg, struct peer *p, struct hello_msg *msg, uint64_t now_ns);
};

/** Of whom, for whom. */
struct peers_conf {
	const struct neigh_self *self; /**< these three must live as long as the object */
	struct neigh_table *neigh;
	struct pkt_pool *pool; /**< with room for PEERS_ROOM_MIN */
	/** Called with arg. */
	const struct peers_ops *ops;
	/**
	 * What to say of ourselves to a peer: engine, slots, lanes, features.
	 *
	 * @return false: nothing is said to it and nothing heard; plain RoCEv2 is wanted with it.
	 */
	bool (*offer)(void *arg, const struct ip_addr *peer, struct hello_who *who);
	/** Numbers that nobody can guess. */
	uint64_t (*random)(void *arg);
	void *arg;
};

struct peers_stats {
	uint64_t rx_msgs;    /**< whole messages of HELLO and OPEN */
	uint64_t rx_bad;     /**< not whole, or not for an address of ours */
	uint64_t rx_forged;  /**< cookie, nonce or token that we did not give, or may not have
	                        given to the peer; late ones too */
	uint64_t rx_unheard; /**< from peers with which plain RoCEv2 is wanted */
	uint64_t rx_stale;
	uint64_t tx_hellos, tx_opens, tx_answers;
	uint64_t tx_limited;             /**< not said: too many answers, or no packet */
	uint64_t weft, plain, restarted; /**< peers, as they were found out */
};

extern const struct stat_desc peers_stat_descs[];

/** NULL without memory. */
struct peers *peers_create(const struct peers_conf *conf);
/** Nobody holds a peer any more. NULL does nothing. */
void peers_destroy(struct peers *ps);

/**
 * Hold a peer; the first who does lets it be asked, unless the answer is known.
 *
 * @return NULL if the table is full of held ones, or that of neighbours, or without memory.
 */
struct peer *peers_get(struct peers *ps, const struct ip_addr *own_ip, const struct ip_addr *ip,
                       uint16_t vlan, uint64_t now_ns);
/** The user is in none of its lists. */
void peers_put(struct peers *ps, struct peer *p, uint64_t now_ns);

/** Call next_open at this time; the earliest counts. */
void peers_want_open(struct peers *ps, struct peer *p, uint64_t at_ns);

/** Send an ANSWER, while opened is told of its OPEN: nb_qps and qp are filled in. */
void peers_answer(struct peers *ps, struct peer *p, const struct hello_msg *answer, uint64_t nonce,
                  uint64_t now_ns);

/** Whether a peer that says nothing may be asked whether it was started anew: once a second. */
bool peers_may_probe(struct peers *ps, struct peer *p, uint64_t now_ns);

/** A frame that wire_parse calls WIRE_HELLO; it stays the caller's. */
void peers_rx(struct peers *ps, const uint8_t *frame, const struct wire_pkt *w, uint64_t now_ns);

/** Frames to be sent, up to max, on a link that is up; the caller's then. */
uint32_t peers_tx(struct peers *ps, struct pkt **pkts, uint32_t max, uint64_t now_ns);

/** Frames pass again: what was asked and not answered is asked anew, as at first. */
void peers_link_up(struct peers *ps, uint64_t now_ns);

/** When peers_tx wants to be called: 0 = now, WHEEL_NEVER_NS = not at all. */
uint64_t peers_next_ns(const struct peers *ps);

/** In its table, held or not; at most PEERS_MAX. */
uint32_t peers_nb(const struct peers *ps);
const struct peers_stats *peers_stats(const struct peers *ps);

#endif
