/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peers_rig.h"
#include "wheel.h"

/* Whatever strangers say: it makes no peers, costs little, and is not believed. */

/* A HELLO that somebody at address n sends to host 2. */
static uint32_t
forge(uint8_t *frame, uint32_t n, const struct hello_msg *msg)
{
	struct wire_addr addr = {.dst = host_ip(2),
	                         .src = host_ip(n),
	                         .dmac = {2, 0, 0, 0, 0, 2},
	                         .smac = {2, 0, 0, 0, 0, 9},
	                         .ttl = 64};

	return hello_frame(frame, &addr, msg);
}

static struct hello_msg
forged_hello(uint64_t nonce)
{
	struct hello_msg msg = {.type = HELLO_ASK, .version = 1, .nonce = nonce};

	msg.who.version_min = 1;
	msg.who.token = msg.who.boot_id = nonce;
	strcpy(msg.who.engine, "gbn");
	return msg;
}

Test(peers_forged, a_flood_of_forged_messages_makes_no_peer_and_few_answers)
{
	struct host b;
	uint64_t now_ns = 5 * S, nb_answers = 0;
	struct prng prng;

	prng_seed(&prng, 1);
	host_open(&b, 2);
	for (uint32_t i = 0; i < 100000; i++, now_ns += 10000) {
		struct hello_msg msg = forged_hello(prng_next(&prng));
		uint8_t frame[1024];
		struct pkt *pkts[4];
		uint32_t n, len;

		msg.type = (uint8_t)(1 + i % 6);
		if (i & 8)
			memset(msg.cookie, 0x55, sizeof(msg.cookie));
		msg.nb_qps = 1;
		msg.qp[0] = some_terms(7);
		len = forge(frame, 0x1000 + prng_below(&prng, 60000), &msg);
		host_hears(&b, frame, len, now_ns);
		n = peers_tx(b.peers, pkts, 4, now_ns);
		for (uint32_t j = 0; j < n; j++)
			cr_expect_leq(pkts[j]->len, len, "no answer larger than its question");
		pkt_free(pkts, n);
		nb_answers += n;
	}
	cr_expect_eq(peers_nb(b.peers), 0);
	cr_expect_gt(nb_answers, 9000);
	cr_expect_leq(nb_answers, 10000);
	cr_expect_eq(b.nb_opens + b.nb_answers, 0);
	host_close(&b);
}

/* Nothing is answered and nothing counted but that. */
Test(peers_forged, who_cannot_be_answered_is_not_heard)
{
	static const struct {
		struct ip_addr src, dst;
		bool ipv6;
	} rows[] = {
		/* 10.0.0.9 in an IPv6 packet, to either of ours */
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{0xfd, [15] = 2}}, true},
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, true},
		{{{0xfd, [15] = 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, true},
		{{{0}}, {{0xfd, [15] = 2}}, true},                 /* :: */
		{{{0xff, 2, [15] = 1}}, {{0xfd, [15] = 2}}, true}, /* multicast */
		{{{0xfd, [15] = 2}}, {{0xfd, [15] = 2}}, true},    /* ourselves */
		{{{0xfd, [15] = 9}}, {{0xfd, [15] = 3}}, true},    /* to somebody else */
		{{{[10] = 0xff, 0xff, 224, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, false},
		{{{[10] = 0xff, 0xff, 0, 0, 0, 0}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, false},
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 3}}, false},
	};
	const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9};
	struct hello_msg msg = forged_hello(1);
	uint8_t payload[HELLO_MSG_MAX];
	uint32_t len = hello_build(payload, &msg);
	struct pkt *pkts[4];
	struct host b;

	host_open(&b, 2);
	b.gids.entry[1].ip = (struct ip_addr){{0xfd, [15] = 2}};
	b.gids.len = b.gids.nb_used = 2;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_pkt w = {.src = rows[i].src,
		                     .dst = rows[i].dst,
		                     .ipv6 = rows[i].ipv6,
		                     .payload = payload,
		                     .payload_len = len};

		peers_rx(b.peers, macs, &w, S);
		cr_expect_eq(peers_tx(b.peers, pkts, 4, S), 0, "row %u", i);
		cr_expect_eq(peers_stats(b.peers)->rx_bad, i + 1, "row %u", i);
	}
	host_close(&b);
}

/* The one frame that a host has to send is an answer of this type. */
static struct hello_msg
expect_answer(struct host *h, enum hello_type type, uint64_t now_ns)
{
	struct hello_msg msg;
	struct wire_pkt w;
	enum wire_bad bad;
	struct pkt *p;

	cr_assert_eq(peers_tx(h->peers, &p, 1, now_ns), 1);
	cr_assert_eq(wire_parse(p->data, p->len, &w, &bad), WIRE_HELLO);
	cr_assert(hello_parse(w.payload, w.payload_len, &msg) && msg.type == type);
	pkt_free(&p, 1);
	return msg;
}

/* Somebody who does receive what is sent to the address n says HELLO to host 2. */
static void
say_hello(struct host *b, uint32_t n, uint64_t now_ns)
{
	struct hello_msg msg = forged_hello(n), answer;
	uint8_t frame[1024];

	host_hears(b, frame, forge(frame, n, &msg), now_ns);
	answer = expect_answer(b, HELLO_COOKIE, now_ns);
	memcpy(msg.cookie, answer.cookie, sizeof(msg.cookie));
	host_hears(b, frame, forge(frame, n, &msg), now_ns);
	expect_answer(b, HELLO_WELCOME, now_ns);
}

Test(peers_forged, peers_are_at_most_so_many_and_those_in_use_stay)
{
	struct host b;
	uint64_t now_ns = S;
	struct ip_addr own = host_ip(2), ip = host_ip(0x10000);
	struct peer *held;

	host_open(&b, 2);
	say_hello(&b, 0x10000, now_ns);
	held = peers_get(b.peers, &own, &ip, 0, now_ns);
	for (uint32_t i = 1; i < 70000; i++)
		say_hello(&b, 0x10000 + i, now_ns += MS);
	cr_expect_eq(peers_nb(b.peers), PEERS_MAX);
	cr_expect_eq(held->state, PEER_WEFT);
	peers_put(b.peers, held, now_ns);
	host_close(&b);
}

Test(peers_forged, forged_answers_and_openings_do_nothing)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1);
	static const uint8_t types[] = {HELLO_COOKIE, HELLO_WELCOME, HELLO_ANSWER, HELLO_STALE};

	for (uint32_t i = 0; i < 400; i++) {
		struct hello_msg msg = forged_hello(i);
		uint8_t frame[1024];

		msg.type = types[i % 4];
		msg.nb_qps = 1;
		msg.qp[0] = some_terms(7);
		host_hears(&b, frame, forge(frame, 1, &msg), c->now_ns);
	}
	cr_expect_eq(peers_stats(b.peers)->rx_forged, 400);
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	cr_expect_eq(b.nb_answers, 0);
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}
