/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pool.h"

#define ROOM 300
#define NB 5000

static struct pkt *pkts[NB];

Test(sim_pool, as_many_packets_as_are_asked_for_are_there_and_none_overlaps_another)
{
	struct pkt_pool *pool = sim_pool_create(ROOM);

	cr_assert(pool);
	cr_assert_eq(pool->room_bytes, ROOM);
	for (uint32_t i = 0; i < NB; i += 50)
		cr_assert_eq(pool->alloc(pool, &pkts[i], 50), 50);
	cr_expect_eq(sim_pool_nb_out(pool), NB);
	for (uint32_t i = 0; i < NB; i++) {
		cr_assert_eq(pkts[i]->pool, pool);
		cr_assert_eq(pkts[i]->room, ROOM);
		cr_assert_eq((uintptr_t)pkts[i]->data % 64, PKT_DATA_SHIFT);
		memset(pkts[i]->data, (int)i, ROOM);
		pkts[i]->len = i;
	}
	for (uint32_t i = 0; i < NB; i++) {
		cr_assert_eq(pkts[i]->len, i);
		cr_assert_eq(pkts[i]->data[0], (uint8_t)i);
		cr_assert_eq(pkts[i]->data[ROOM - 1], (uint8_t)i);
	}
	pkt_free(pkts, NB);
	cr_expect_eq(sim_pool_nb_out(pool), 0);
	sim_pool_destroy(pool);
}

Test(sim_pool, a_packet_comes_back_without_what_its_last_owner_said_of_it)
{
	struct pkt_pool *pool = sim_pool_create(ROOM);
	struct pkt *p, *again;

	cr_assert_eq(pool->alloc(pool, &p, 1), 1);
	p->len = 100;
	p->absent = 50;
	p->is_damaged = true;
	pkt_free(&p, 1);
	cr_assert_eq(pool->alloc(pool, &again, 1), 1);
	cr_expect_eq(again, p, "the last to go is the first to come");
	cr_expect(again->len == 0 && again->absent == 0 && !again->is_damaged);
	sim_pool_destroy(pool); /* and what is out */
	sim_pool_destroy(NULL);
}
