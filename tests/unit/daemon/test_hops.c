/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "asks.h"
#include "hops.h"

static struct ip_addr
ip(uint32_t n)
{
	return (struct ip_addr){
		{[10] = 0xff, 0xff, 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
}

static uint32_t
nb_dests_of(const struct hop *hop)
{
	uint32_t nb = 0;

	LIST_FOREACH (l, &hop->dests)
		nb++;
	return nb;
}

Test(hops, a_gateway_is_the_next_hop_of_many_destinations)
{
	static struct hops h;
	struct ip_addr gateway = ip(1), at;
	struct hop_dest *dest[50];
	int nic;

	hops_init(&h);
	for (uint32_t i = 0; i < 50; i++) {
		at = ip(100 + i);
		dest[i] = hops_ask(&h, &nic, &at, 0, 0);
		cr_assert_not_null(hops_aim(&h, dest[i], 3, &gateway));
	}
	cr_expect_eq(nb_dests_of(hops_find(&h, 3, &gateway)), 50);
	cr_expect_null(hops_find(&h, 4, &gateway), "another interface");
	at = ip(100);
	cr_expect_eq(hops_ask(&h, &nic, &at, 0, 1), dest[0], "asked again");
	cr_expect_neq(hops_ask(&h, &nic, &at, 5, 1), dest[0], "another VLAN");
	cr_expect_neq(hops_ask(&h, &h, &at, 0, 1), dest[0], "another NIC");
	/* One is direct from now on, the others can't be reached. */
	cr_expect_not_null(hops_aim(&h, dest[0], 3, &at));
	cr_expect_eq(nb_dests_of(hops_find(&h, 3, &gateway)), 49);
	for (uint32_t i = 1; i < 50; i++)
		hops_aim_nowhere(dest[i]);
	cr_expect_null(hops_find(&h, 3, &gateway));
	cr_expect_eq(nb_dests_of(hops_find(&h, 3, &at)), 1);
	hops_fini(&h);
}

Test(hops, what_is_not_asked_for_any_more_is_forgotten)
{
	static struct hops h;
	struct ip_addr at;
	int nic;

	hops_init(&h);
	for (uint32_t i = 0; i < 5000; i++) {
		at = ip(i);
		hops_aim(&h, hops_ask(&h, &nic, &at, 0, 0), 3, &at);
	}
	cr_expect_eq(h.nb_dests, 5000);
	for (uint32_t i = 0; i < 2 * HOPS_BUCKETS; i++) {
		at = ip(100000 + i);
		hops_ask(&h, &nic, &at, 0, HOPS_AGE_NS + 1);
	}
	cr_expect_eq(h.nb_dests, 2 * HOPS_BUCKETS, "the old ones have gone meanwhile");
	at = ip(7);
	cr_expect_null(hops_find(&h, 3, &at));
	hops_fini(&h);
}

Test(hops, there_is_an_end_to_them)
{
	static struct hops h;
	struct ip_addr at;
	int nic;

	hops_init(&h);
	for (uint32_t i = 0; i < HOPS_DESTS_MAX; i++) {
		at = ip(i);
		cr_assert_not_null(hops_ask(&h, &nic, &at, 0, 0));
	}
	at = ip(HOPS_DESTS_MAX);
	cr_expect_null(hops_ask(&h, &nic, &at, 0, 0));
	hops_fini(&h);
}

Test(asks, what_finds_no_room_is_told_and_the_rest_comes_in_order)
{
	static struct asks a;
	struct ask ask = {0};
	uint32_t put = 0, taken = 0;

	for (int round = 0; round < 100; round++) {
		while (ask.ip = ip(put), asks_put(&a, &ask))
			put++;
		cr_assert_eq(put - taken, ASKS_MAX);
		for (int i = 0; i < 1 + round * 7 % ASKS_MAX; i++) {
			struct ip_addr want = ip(taken++);

			cr_assert(asks_take(&a, &ask));
			cr_assert_arr_eq(ask.ip.b, want.b, 16);
		}
	}
	while (asks_take(&a, &ask))
		taken++;
	cr_expect_eq(put, taken);
}
