/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "dpdk.h"
#include "engine.h"
#include "mem.h"

/* Rings are plain memory: no EAL here. */

static struct port *
open_end(const char *name, uint32_t depth_pkts)
{
	struct port *port;

	cr_assert_eq(port_ring_open(name, depth_pkts, &port), 0);
	return port;
}

static void
take(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	cr_assert_eq(pool->alloc(pool, pkts, n), n);
	for (uint32_t i = 0; i < n; i++)
		pkts[i]->len = 60 + i;
}

Test(dpdk_ring, a_name_has_two_ends_and_no_third)
{
	struct port *a = open_end("x", 8), *b = open_end("x", 8), *other = open_end("y", 8), *c;

	cr_expect_neq(a, b);
	cr_expect_eq(port_ring_open("x", 8, &c), -EBUSY);
	a->ops->close(a);
	a = open_end("x", 8);
	cr_expect_eq(port_ring_open("x", 8, &c), -EBUSY);
	a->ops->close(a);
	b->ops->close(b);
	other->ops->close(other);
}

Test(dpdk_ring, carries_frames_both_ways_in_order_without_a_copy)
{
	struct pkt_pool *pool = pkt_pool_mem_create(8, 64);
	struct port *end[] = {open_end("x", 8), open_end("x", 8)};
	struct pkt *out[5], *in[8];

	for (int way = 0; way < 2; way++) {
		struct port *from = end[way], *to = end[!way];

		take(pool, out, 5);
		cr_expect_eq(to->ops->next_ns(to), NEVER_NS);
		cr_assert_eq(from->ops->tx_burst(from, out, 5, 0), 5);
		cr_expect_eq(to->ops->next_ns(to), 0);
		cr_assert_eq(to->ops->rx_burst(to, in, 2, 0), 2);
		cr_assert_eq(to->ops->rx_burst(to, &in[2], 8, 0), 3);
		for (int i = 0; i < 5; i++)
			cr_expect_eq(in[i], out[i], "frame %d", i);
		pkt_free(in, 5);
		cr_expect_eq(from->stats.tx_bytes, 60 + 61 + 62 + 63 + 64);
		cr_expect_eq(to->stats.rx_packets, 5);
	}
	end[0]->ops->close(end[0]);
	end[1]->ops->close(end[1]);
	pkt_pool_mem_destroy(pool);
}

Test(dpdk_ring, takes_exactly_its_depth)
{
	static const uint32_t depths[] = {1, 2, 3, 8, 31};
	struct pkt_pool *pool = pkt_pool_mem_create(64, 64);
	struct pkt *pkts[40];

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct port *a = open_end("x", depths[i]), *b = open_end("x", 999);

		take(pool, pkts, 40);
		cr_expect_eq(a->ops->tx_room(a), depths[i]);
		cr_expect_eq(a->ops->tx_burst(a, pkts, 40, 0), depths[i]);
		cr_expect_eq(a->ops->tx_room(a), 0);
		cr_expect_eq(a->ops->tx_burst(a, &pkts[depths[i]], 1, 0), 0);
		cr_expect_eq(a->stats.tx_packets, depths[i]);
		cr_expect_eq(b->ops->tx_room(b), depths[i], "the first open sets the depth");
		pkt_free(&pkts[depths[i]], 40 - depths[i]);
		a->ops->close(a);
		b->ops->close(b);
		cr_expect_eq(pkt_pool_mem_nb_free(pool), 64);
	}
	pkt_pool_mem_destroy(pool);
}

Test(dpdk_ring, drops_what_is_sent_to_a_closed_end_and_works_again_when_it_opens)
{
	struct pkt_pool *pool = pkt_pool_mem_create(8, 64);
	struct port *a = open_end("x", 2), *b;
	struct pkt *pkts[4], *in[4];

	take(pool, pkts, 4);
	cr_expect_eq(a->ops->tx_room(a), 2);
	cr_expect_eq(a->ops->tx_burst(a, pkts, 4, 0), 4);
	cr_expect_eq(a->stats.tx_dropped, 4);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 8);

	b = open_end("x", 2);
	take(pool, pkts, 2);
	cr_expect_eq(a->ops->tx_burst(a, pkts, 2, 0), 2);
	b->ops->close(b);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 8, "a closed end keeps nothing");

	b = open_end("x", 2);
	take(pool, pkts, 2);
	cr_expect_eq(a->ops->tx_burst(a, pkts, 2, 0), 2);
	a->ops->close(a);
	cr_expect_eq(b->ops->rx_burst(b, in, 4, 0), 2, "sent before the close");
	pkt_free(in, 2);
	b->ops->close(b);
	pkt_pool_mem_destroy(pool);
}
