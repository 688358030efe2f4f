/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "engine.h"
#include "mem.h"

static struct pkt *
pkt_of(struct pkt_pool *pool, uint8_t tag, uint32_t len)
{
	struct pkt *p;

	cr_assert_eq(pool->alloc(pool, &p, 1), 1);
	memset(p->data, tag, len);
	p->len = len;
	return p;
}

Test(mem_pool, gives_all_or_nothing)
{
	struct pkt_pool *pool = pkt_pool_mem_create(3, 100);
	struct pkt *pkts[4];

	cr_expect_eq(pool->room_bytes, 100);
	cr_expect_eq(pool->alloc(pool, pkts, 4), 0);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 3);
	cr_assert_eq(pool->alloc(pool, pkts, 3), 3);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(pkts[i]->len, 0);
		cr_expect_eq(pkts[i]->room, 100);
		cr_expect_eq(pkts[i]->pool, pool);
		memset(pkts[i]->data, i, pkts[i]->room);
	}
	cr_expect_eq(pool->alloc(pool, &pkts[3], 1), 0);
	pkt_free(pkts, 3);
	cr_expect_eq(pkt_pool_mem_nb_free(pool), 3);
	pkt_pool_mem_destroy(pool);
}

Test(mem_pool, packets_of_two_pools_go_home_in_one_call)
{
	struct pkt_pool *a = pkt_pool_mem_create(2, 64), *b = pkt_pool_mem_create(2, 64);
	struct pkt *pkts[] = {pkt_of(a, 1, 1), pkt_of(b, 2, 1), pkt_of(b, 3, 1), pkt_of(a, 4, 1)};

	pkt_free(pkts, 4);
	cr_expect_eq(pkt_pool_mem_nb_free(a), 2);
	cr_expect_eq(pkt_pool_mem_nb_free(b), 2);
	pkt_pool_mem_destroy(a);
	pkt_pool_mem_destroy(b);
}

Test(mem_pool, notices_a_leak, .signal = SIGABRT)
{
	struct pkt_pool *pool = pkt_pool_mem_create(2, 64);

	pkt_of(pool, 1, 1);
	pkt_pool_mem_destroy(pool);
}

Test(mem_pool, notices_a_packet_freed_twice, .signal = SIGABRT)
{
	struct pkt_pool *pool = pkt_pool_mem_create(2, 64);
	struct pkt *p = pkt_of(pool, 1, 1);

	pkt_free(&p, 1);
	pkt_free(&p, 1);
}

struct pair {
	struct pkt_pool *pool;
	struct port *end[2];
};

static struct pair
pair_open(uint32_t depth_pkts)
{
	struct pair pair = {.pool = pkt_pool_mem_create(16, 128)};

	cr_assert_eq(port_mem_create_pair(depth_pkts, pair.end), 0);
	return pair;
}

static uint32_t
tx(struct port *port, struct pkt **pkts, uint32_t n)
{
	return port->ops->tx_burst(port, pkts, n, 0);
}

static uint32_t
rx(struct port *port, struct pkt **pkts, uint32_t max)
{
	return port->ops->rx_burst(port, pkts, max, 0);
}

Test(mem_port, carries_frames_both_ways_in_order_without_a_copy)
{
	struct pair pair = pair_open(8);
	struct pkt *out[8], *in[8];

	for (int way = 0; way < 2; way++) {
		struct port *from = pair.end[way], *to = pair.end[!way];

		for (int i = 0; i < 5; i++)
			out[i] = pkt_of(pair.pool, (uint8_t)i, 60 + i);
		cr_expect_eq(to->ops->next_ns(to), NEVER_NS);
		cr_assert_eq(tx(from, out, 5), 5);
		cr_expect_eq(to->ops->next_ns(to), 0);
		cr_assert_eq(rx(to, in, 2), 2);
		cr_assert_eq(rx(to, &in[2], 8), 3);
		for (int i = 0; i < 5; i++)
			cr_expect_eq(in[i], out[i], "frame %d", i);
		pkt_free(in, 5);
		cr_expect_eq(from->stats.tx_packets, 5);
		cr_expect_eq(from->stats.tx_bytes, 60 + 61 + 62 + 63 + 64);
		cr_expect_eq(to->stats.rx_packets, 5);
		cr_expect_eq(to->stats.rx_bytes, 60 + 61 + 62 + 63 + 64);
	}
	pair.end[0]->ops->close(pair.end[0]);
	pair.end[1]->ops->close(pair.end[1]);
	pkt_pool_mem_destroy(pair.pool);
}

Test(mem_port, takes_no_more_than_its_depth_and_leaves_the_rest_to_the_sender)
{
	struct pair pair = pair_open(3);
	struct pkt *out[5];

	for (int i = 0; i < 5; i++)
		out[i] = pkt_of(pair.pool, (uint8_t)i, 60);
	cr_expect_eq(pair.end[0]->ops->tx_room(pair.end[0]), 3);
	cr_expect_eq(tx(pair.end[0], out, 5), 3);
	cr_expect_eq(pair.end[0]->ops->tx_room(pair.end[0]), 0);
	cr_expect_eq(tx(pair.end[0], &out[3], 2), 0);
	cr_expect_eq(pair.end[1]->ops->tx_room(pair.end[1]), 3);
	pkt_free(&out[3], 2);
	pair.end[0]->ops->close(pair.end[0]);
	pair.end[1]->ops->close(pair.end[1]);
	pkt_pool_mem_destroy(pair.pool);
}

Test(mem_port, outlives_its_peer)
{
	struct pair pair = pair_open(8);
	struct pkt *out[3], *in[3];

	for (int i = 0; i < 3; i++)
		out[i] = pkt_of(pair.pool, (uint8_t)i, 60);
	tx(pair.end[0], &out[0], 1);
	tx(pair.end[1], &out[1], 1);
	pair.end[0]->ops->close(pair.end[0]);

	cr_expect_eq(rx(pair.end[1], in, 3), 1, "sent before the close");
	cr_expect_eq(in[0], out[0]);
	pkt_free(in, 1);
	cr_expect_eq(tx(pair.end[1], &out[2], 1), 1);
	cr_expect_eq(pair.end[1]->stats.tx_dropped, 1);
	pair.end[1]->ops->close(pair.end[1]);
	pkt_pool_mem_destroy(pair.pool);
}
