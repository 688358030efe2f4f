/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peers_rig.h"

/*
 * A third host of the same link speaks to host B as if it were A. It does not see what is sent to
 * the MAC of A; what is sent to its own it gets.
 */

#define LIE UINT64_C(0x1111)

static const uint8_t spoofer_mac[6] = {2, 0, 0, 0, 0, 9};

/* It says this to B. Whether it gets an answer. */
static bool
spoof(struct cable *c, const struct hello_msg *msg, struct hello_msg *answer)
{
	struct wire_addr addr = {.dst = host_ip(2), .src = host_ip(1), .ttl = 64};
	struct host *a = c->host[0], *b = c->host[1];
	uint8_t frame[1024];
	bool is_answered = false;
	struct pkt *pkts[8];
	uint32_t n;

	memcpy(addr.dmac, b->self.mac, 6);
	memcpy(addr.smac, spoofer_mac, 6);
	host_hears(b, frame, hello_frame(frame, &addr, msg), c->now_ns);
	n = peers_tx(b->peers, pkts, 8, c->now_ns);
	for (uint32_t i = 0; i < n; i++) {
		struct wire_pkt w;
		enum wire_bad bad;

		if (memcmp(pkts[i]->data, spoofer_mac, 6) != 0) {
			host_hears(a, pkts[i]->data, pkts[i]->len, c->now_ns);
			continue;
		}
		cr_assert_eq(wire_parse(pkts[i]->data, pkts[i]->len, &w, &bad), WIRE_HELLO);
		cr_assert(hello_parse(w.payload, w.payload_len, answer));
		is_answered = true;
	}
	pkt_free(pkts, n);
	return is_answered;
}

static struct hello_msg
hello_of(uint8_t version_min)
{
	struct hello_msg msg = {.type = HELLO_ASK, .version = version_min, .nonce = LIE};

	msg.who.version_min = version_min;
	msg.who.boot_id = LIE;
	strcpy(msg.who.engine, "gbn");
	return msg;
}

/* An exchange, as far as it gets. Whether it is welcome; welcome has the token that it is told. */
static bool
lie(struct cable *c, uint8_t version_min, struct hello_msg *welcome)
{
	struct hello_msg msg = hello_of(version_min), cookie;

	if (!spoof(c, &msg, &cookie))
		return false;
	cr_assert_eq(cookie.type, HELLO_COOKIE);
	memcpy(msg.cookie, cookie.cookie, sizeof(msg.cookie));
	msg.who.token = LIE;
	return spoof(c, &msg, welcome) && welcome->type == HELLO_WELCOME;
}

static struct hello_msg
open_with(uint64_t token)
{
	struct hello_msg msg = {.type = HELLO_OPEN, .version = 1, .nonce = LIE, .token = token};

	msg.nb_qps = 1;
	msg.qp[0] = some_terms(7);
	return msg;
}

/* A QP of this host asks, and has its answer. */
static void
expect_opens(struct cable *c, uint32_t side, struct peer *p)
{
	struct host *h = c->host[side];

	h->nb_due = 1;
	h->nb_answers = 0;
	peers_want_open(h->peers, p, c->now_ns);
	cable_run(c, 5 * MS);
	cr_expect_eq(h->nb_answers, 1);
}

Test(peers_spoofed, while_the_neighbour_is_known_the_spoofer_gets_and_changes_nothing)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1);
	struct hello_msg got;
	struct list qp;

	list_init(&qp);
	list_add_tail(&p->open, &qp);
	for (uint8_t version = 1; version <= 2; version++) {
		cr_expect_not(lie(c, version, &got));
		cable_run(c, 5 * MS);
		cr_expect_eq(p->state, PEER_WEFT);
	}
	cr_expect_eq(peers_stats(a.peers)->rx_forged, 2, "the cookies went there");
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	cr_expect(list_is_linked(&qp));
	expect_opens(c, 1, p);
	list_del(&qp);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers_spoofed, a_cookie_and_a_token_of_before_the_neighbour_was_known_are_void)
{
	struct hello_msg hello = hello_of(1), cookie, welcome = {0}, open, got;
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p;

	cr_assert(spoof(c, &hello, &cookie));
	memcpy(hello.cookie, cookie.cookie, sizeof(hello.cookie));
	hello.who.token = LIE;
	cr_assert(lie(c, 1, &welcome));
	open = open_with(welcome.who.token);
	cr_expect(spoof(c, &open, &got) && got.type == HELLO_ANSWER, "of no use to anybody yet");
	cr_expect_eq(b.nb_opens, 1);

	p = host_wants(c, 1);
	peers_want_open(b.peers, p, c->now_ns);
	cable_run(c, 5 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	expect_opens(c, 1, p);
	cr_expect_not(spoof(c, &hello, &got));
	cr_expect_not(spoof(c, &open, &got));
	cr_expect_eq(b.nb_opens, 1);
	expect_opens(c, 1, p);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}

/* Before anybody holds the peer the spoofer is believed; then the neighbour is found elsewhere. */
Test(peers_spoofed, a_lie_ends_with_the_first_open)
{
	static const struct {
		bool was_known;
		uint8_t version;
		bool is_plain; /* the true peer */
		enum peer_state first, last;
	} rows[] = {
		{false, 1, false, PEER_WEFT, PEER_WEFT},
		{true, 1, false, PEER_WEFT, PEER_WEFT},
		{false, 2, false, PEER_ASKING, PEER_WEFT},
		{true, 2, false, PEER_WEFT, PEER_WEFT},
		{false, 1, true, PEER_WEFT, PEER_PLAIN},
		{false, 2, true, PEER_ASKING, PEER_PLAIN},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hello_msg got;
		struct host a, b;
		struct cable *c = cable_open(&a, &b);
		struct peer *p;

		if (rows[i].was_known)
			peers_put(b.peers, host_meets(c, 1), c->now_ns);
		a.is_mute = rows[i].is_plain;
		cr_expect(lie(c, rows[i].version, &got), "row %u", i);
		p = host_wants(c, 1);
		cr_expect_eq(p->state, rows[i].first, "row %u", i);
		b.nb_due = 1;
		peers_want_open(b.peers, p, c->now_ns);
		cable_run(c, rows[i].is_plain ? 305 * MS : 5 * MS);
		cr_expect_eq(p->state, rows[i].last, "row %u", i);
		if (!rows[i].is_plain)
			expect_opens(c, 1, p);
		peers_put(b.peers, p, c->now_ns);
		cable_close(c);
	}
}

Test(peers_spoofed, after_a_lie_the_true_peer_is_heard_again_within_a_second)
{
	struct hello_msg got;
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_wants(c, 0);
	uint8_t frame[1024];
	uint32_t len = 0;

	/* Its HELLO with the cookie is the last that A sends. */
	for (uint32_t i = 0; i < 100; i++) {
		if (c->nb_flight && c->flight[0].to == 1)
			memcpy(frame, c->flight[0].frame, len = c->flight[0].len);
		cable_run(c, 50000);
	}
	cr_assert_eq(p->state, PEER_WEFT);
	cr_expect(lie(c, 1, &got));
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	host_hears(&b, frame, len, c->now_ns + S - 1);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1, "it may be late");
	host_hears(&b, frame, len, c->now_ns + S);
	cr_expect_eq(peers_stats(b.peers)->restarted, 2);
	cable_run(c, 5 * MS);
	expect_opens(c, 0, p);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers_spoofed, while_a_held_peer_is_looked_for_nobody_speaks_for_it)
{
	struct ip_addr ip = host_ip(1);
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1), *q;
	struct hello_msg got, open;
	struct list qp;

	list_init(&qp);
	list_add_tail(&p->open, &qp);
	neigh_set(b.neigh, &ip, 0, NULL, c->now_ns);
	for (uint8_t version = 1; version <= 2; version++)
		cr_expect_not(lie(c, version, &got), "it gets a cookie, and that is all");
	open = open_with(LIE);
	cr_expect_not(spoof(c, &open, &got));
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	cr_expect(list_is_linked(&qp));

	/* The true one was started anew, and says so until it is found. */
	host_restart(&a);
	q = host_wants(c, 0);
	cable_run(c, 20 * MS);
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	neigh_set(b.neigh, &ip, 0, a.self.mac, c->now_ns);
	cable_run(c, 20 * MS);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	cr_expect_eq(q->state, PEER_WEFT);
	cr_expect_eq(b.nb_dead, 1);
	peers_put(a.peers, q, c->now_ns);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers_spoofed, a_peer_that_moves_is_reached_and_fails_no_qp)
{
	struct ip_addr ip = host_ip(1);
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1), *q = host_meets(c, 0);
	struct list qp;

	list_init(&qp);
	list_add_tail(&p->open, &qp);
	expect_opens(c, 1, p);
	expect_opens(c, 0, q);
	a.self.mac[5] = 0x11;
	neigh_set(b.neigh, &ip, 0, a.self.mac, c->now_ns);
	b.nb_due = 1;
	peers_want_open(b.peers, p, c->now_ns); /* its answer may have the token of before */
	cable_run(c, 5 * MS);
	expect_opens(c, 1, p);
	expect_opens(c, 0, q);
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	cr_expect(list_is_linked(&qp));
	list_del(&qp);
	peers_put(a.peers, q, c->now_ns);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}
