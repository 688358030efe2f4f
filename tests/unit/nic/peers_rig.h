/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_PEERS_RIG_H
#define WEFT_TESTS_PEERS_RIG_H

#include "gid.h"
#include "peers.h"
#include "prng.h"

/*
 * Two NICs with nothing but their tables of peers, on a cable that loses, doubles and delays: for
 * tests of who a peer is.
 */

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define FLIGHT_MAX 1024

/** The NIC n, with 02:00:00:00:00:n and 10.0.0.n. */
struct host {
	uint8_t n;
	struct neigh_self self;
	struct gid_table gids;
	struct pkt_pool *pool;
	struct neigh_table *neigh;
	struct peers *peers;
	struct prng prng;
	bool is_mute;
	uint32_t nb_opens, nb_answers; /* entries heard */
	uint32_t nb_due;               /* QPs that want to open */
	uint32_t nb_decided, nb_restarted, nb_dead;
};

/** What joins two hosts, and what is on its way between them. */
struct cable {
	struct host *host[2];
	struct {
		uint64_t due_ns;
		uint32_t to;
		uint32_t len;
		uint8_t frame[1024];
	} flight[FLIGHT_MAX];
	uint32_t nb_flight;
	uint64_t now_ns;
	struct prng prng;
	uint32_t loss, dup; /* percent */
	uint64_t jitter_ns;
	uint64_t nb_sent;
};

/** 10.0.0.n, and on from there. */
struct ip_addr host_ip(uint32_t n);
/** An entry of an OPEN. */
struct hello_terms some_terms(uint32_t qpn);

void host_open(struct host *h, uint8_t n);
void host_close(struct host *h);
/** It starts anew, and knows nothing. */
void host_restart(struct host *h);
/** A frame of HELLO or OPEN comes. */
void host_hears(struct host *h, const uint8_t *frame, uint32_t len, uint64_t now_ns);

/** Hosts 1 and 2 on a good cable. */
struct cable *cable_open(struct host *a, struct host *b);
void cable_close(struct cable *c);
/** What is due arrives; what the hosts have to say is on its way. */
void cable_turn(struct cable *c);
void cable_run(struct cable *c, uint64_t ns);

/** A QP of the host at this side wants to know of the other one, whose MAC it knows. */
struct peer *host_wants(struct cable *c, uint32_t side);
/** The same, and it learns that it speaks weft. */
struct peer *host_meets(struct cable *c, uint32_t side);

#endif
