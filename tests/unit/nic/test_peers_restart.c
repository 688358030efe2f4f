/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peers_rig.h"
#include "wheel.h"

/* A peer that is started anew, and what looks like it. */

/* Trace 7 of the worked examples, as far as it is about peers. */
Test(peers_restart, a_restarted_peer_is_found_out_by_a_probe)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1);
	struct list qps[5];

	for (uint32_t i = 0; i < 5; i++) {
		list_init(&qps[i]);
		list_add_tail(&p->open, &qps[i]);
	}
	host_restart(&a);
	b.nb_due = 1;
	cr_expect(peers_may_probe(b.peers, p, c->now_ns));
	cr_expect_not(peers_may_probe(b.peers, p, c->now_ns + 999 * MS));
	cr_expect(peers_may_probe(b.peers, p, c->now_ns + 1000 * MS));
	peers_want_open(b.peers, p, c->now_ns);
	cable_run(c, 5 * MS);
	cr_expect_eq(a.nb_opens, 0);
	cr_expect_eq(peers_stats(b.peers)->tx_opens, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_stale, 1);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect(list_is_empty(&p->open));
	cr_expect_eq(b.nb_dead, 5);
	cr_expect_eq(b.nb_restarted, 3, "two at a time");
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "idle");
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers_restart, a_stale_alone_changes_nothing)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p = host_meets(c, 1);

	host_restart(&a);
	b.nb_due = 1;
	peers_want_open(b.peers, p, c->now_ns);
	while (!peers_stats(b.peers)->rx_stale)
		cable_run(c, 50000);
	c->loss = 100;
	cable_run(c, S);
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect_eq(b.nb_decided, 1);
	cr_expect_eq(b.nb_restarted, 0);
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "it was asked in vain");
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}

Test(peers_restart, a_late_word_of_before_the_restart_is_none)
{
	struct host a, b;
	struct cable *c = cable_open(&a, &b);
	struct peer *p, *q = host_wants(c, 0);
	struct pkt *pkts[8];
	uint8_t late[1024];
	uint32_t n = 0, late_len;

	/* The second HELLO of A is kept. */
	while (!peers_stats(b.peers)->tx_answers)
		cable_run(c, 50000);
	for (uint32_t i = 0; i < c->nb_flight; i++)
		host_hears(&a, c->flight[i].frame, c->flight[i].len, c->now_ns);
	c->nb_flight = 0;
	while (!n)
		n = peers_tx(a.peers, pkts, 8, c->now_ns += 50000);
	late_len = pkts[0]->len;
	memcpy(late, pkts[0]->data, late_len);
	pkt_free(pkts, n);
	p = host_wants(c, 1);
	cable_run(c, 10 * MS);
	cr_assert_eq(p->state, PEER_WEFT);
	peers_put(a.peers, q, c->now_ns);

	host_restart(&a);
	q = host_wants(c, 0);
	cable_run(c, 10 * MS);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	host_hears(&b, late, late_len, c->now_ns);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_forged, 1);

	/* Later it is news, false here; what the peer answers when it is asked is true at once. */
	c->now_ns += PEERS_LATE_NS;
	host_hears(&b, late, late_len, c->now_ns);
	cr_expect_eq(peers_stats(b.peers)->restarted, 2);
	b.nb_due = 1;
	peers_want_open(b.peers, p, c->now_ns);
	cable_run(c, 10 * MS);
	cr_expect_eq(peers_stats(b.peers)->rx_stale, 1);
	cr_expect_eq(peers_stats(b.peers)->restarted, 3);
	peers_put(a.peers, q, c->now_ns);
	peers_put(b.peers, p, c->now_ns);
	cable_close(c);
}
