/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "peers_rig.h"
#include "wheel.h"

/* Two NICs find out about each other, or one that the other is not there. */

/* Of the timers. */
#define TICK (MS / 4)

/* What a host has in its table of the other one; NULL. */
static struct peer *
peer_at(struct cable *c, uint32_t side)
{
	struct peer *p = host_wants(c, side);
	bool is_new = p->state == PEER_ASKING;

	peers_put(c->host[side]->peers, p, c->now_ns);
	return is_new ? NULL : p;
}

Test(peers, one_exchange_makes_both_known)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 0), *q;

	cr_expect_str_eq(p->engine, "gbn");
	cr_expect_eq(c->nb_sent, 4, "HELLO, COOKIE, HELLO, WELCOME");
	cr_expect_eq(a.nb_decided, 1);
	q = peer_at(c, 1);
	cr_assert_not_null(q);
	cr_expect_eq(q->state, PEER_WEFT);
	cr_expect_eq(peers_next_ns(a.peers), WHEEL_NEVER_NS, "idle");
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "idle");
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers, a_silent_peer_is_asked_five_times_and_is_plain_for_a_minute)
{
	static const uint64_t at_ms[] = {0, 2, 8, 32, 128};
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p;
	uint32_t nb = 0;

	b.is_mute = true;
	p = host_wants(c, 0);
	for (uint64_t begin = c->now_ns; c->now_ns < begin + 299 * MS; c->now_ns += 50000) {
		uint64_t before = c->nb_sent;

		cable_turn(c);
		if (c->nb_sent == before)
			continue;
		cr_assert_lt(nb, 5u);
		cr_expect_geq(c->now_ns - begin, at_ms[nb] * MS);
		cr_expect_leq(c->now_ns - begin, at_ms[nb] * MS + 2 * TICK, "try %u", nb);
		nb++;
	}
	cr_expect_eq(nb, 5);
	cr_expect_eq(p->state, PEER_ASKING);
	cable_run(c, 3 * MS);
	cr_expect_eq(p->state, PEER_PLAIN);
	cr_expect_eq(a.nb_decided, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_unheard, 5);
	cr_expect_eq(peers_next_ns(a.peers), WHEEL_NEVER_NS, "idle");

	peers_put(a.peers, host_wants(c, 0), c->now_ns); /* another QP soon after */
	cable_run(c, 50 * MS);
	cr_expect_eq(c->nb_sent, 5, "not asked again");
	c->now_ns += 60 * S;
	peers_put(a.peers, host_wants(c, 0), c->now_ns);
	b.is_mute = false;
	cable_run(c, 5 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers, a_peer_without_a_mac_is_not_silent)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct ip_addr own = host_ip(1), ip = host_ip(2);
	struct peer *p = peers_get(a.peers, &own, &ip, 0, c->now_ns);

	cable_run(c, S);
	cr_expect_eq(p->state, PEER_ASKING);
	cr_expect_eq(c->nb_sent, 0);
	neigh_set(a.neigh, &ip, 0, b.self.mac, c->now_ns);
	cable_run(c, 60 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers, who_gave_a_cookie_is_asked_on)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_wants(c, 0);

	while (!peers_stats(b.peers)->tx_answers)
		cable_run(c, 50000);
	cable_run(c, 30000);
	c->loss = 100;
	cable_run(c, 3 * S);
	cr_expect_eq(p->state, PEER_ASKING);
	c->loss = 0;
	cable_run(c, 1100 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers, opens_of_many_qps_share_messages)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 0);

	a.nb_due = 40;
	peers_want_open(a.peers, p, c->now_ns + MS);
	peers_want_open(a.peers, p, c->now_ns + 2 * MS);
	cable_run(c, MS);
	cr_expect_eq(peers_stats(a.peers)->tx_opens, 0);
	cable_run(c, MS);
	cr_expect_eq(peers_stats(a.peers)->tx_opens, 3, "of 16, 16 and 8");
	cr_expect_eq(b.nb_opens, 40);
	cr_expect_eq(a.nb_answers, 40);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}

/* Half of all is lost, some comes twice, some late; forgers beside: who is believed is right. */
Test(peers, bad_links_end_in_what_is_true)
{
	uint32_t nb_weft = 0;

	for (uint32_t seed = 0; seed < 200; seed++) {
		struct host a, b;
		struct cable *c = cable_open(&a, &b);
		struct peer *p, *q;

		prng_seed(&c->prng, seed);
		c->loss = 50;
		c->dup = 20;
		c->jitter_ns = 5 * MS;
		p = host_wants(c, 0);
		q = host_wants(c, 1);
		cable_run(c, 400 * MS);
		c->loss = 0;
		cable_run(c, 1200 * MS);
		cr_expect(p->state != PEER_ASKING && q->state != PEER_ASKING, "seed %u", seed);
		nb_weft += (p->state == PEER_WEFT) + (q->state == PEER_WEFT);
		peers_put(a.peers, p, c->now_ns);
		peers_put(b.peers, q, c->now_ns);
		cable_close(c);
	}
	cr_expect_gt(nb_weft, 320, "of 400");
}

Test(peers, a_link_that_comes_up_begins_anew)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p;

	c->loss = 100;
	p = host_wants(c, 0);
	cable_run(c, 200 * MS);
	c->now_ns += 10 * S; /* nothing was sent, as the link was down */
	c->loss = 0;
	peers_link_up(a.peers, c->now_ns);
	cable_run(c, 5 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, c->now_ns);
	cable_close(c);
}
