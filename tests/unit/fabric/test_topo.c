/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "prng.h"
#include "topo_rig.h"

/* ---- shapes ---- */

Test(topo, a_dumbbell_has_one_way)
{
	struct builder *b = builder(2);
	struct topo *t;

	for (uint32_t h = 0; h < 4; h++)
		attach(b, h, h / 2);
	join(b, 0, 1);
	t = topo_create(&b->map);
	cr_assert(t);
	cr_expect_eq(topo_ports_to(t, 0, 0), BIT(0));
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(1));
	cr_expect_eq(topo_ports_to(t, 0, 2), BIT(2));
	cr_expect_eq(topo_ports_to(t, 1, 0), BIT(2));
	cr_expect_eq(topo_flood_ports(t, 0), 7);
	cr_expect_eq(topo_flood_ports(t, 1), 7);
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

/* Leaves 0 and 1, spines 2 and 3; ports 0 and 1 of leaves are hosts'. */
static struct builder *
leaf_spine(void)
{
	struct builder *b = builder(4);

	for (uint32_t h = 0; h < 4; h++) {
		attach(b, h, h / 2);
		give(b, h, 10, 0, (uint8_t)(h / 2), (uint8_t)(h % 2), 32);
	}
	for (uint16_t leaf = 0; leaf < 2; leaf++) {
		join(b, leaf, 2);
		join(b, leaf, 3);
	}
	return b;
}

Test(topo, in_a_leaf_spine_all_spines_lead_and_one_floods)
{
	struct builder *b = leaf_spine();
	struct topo *t = topo_create(&b->map);

	cr_expect_eq(topo_ports_to(t, 0, 2), BIT(2) | BIT(3));
	cr_expect_eq(topo_ports_to(t, 1, 0), BIT(2) | BIT(3));
	cr_expect_eq(topo_ports_to(t, 2, 0), BIT(0));
	cr_expect_eq(topo_ports_to(t, 3, 3), BIT(1));
	/* Leaf 1 by way of spine 2, spine 3 as a leaf of the tree. */
	cr_expect_eq(topo_flood_ports(t, 0), BIT(0) | BIT(1) | BIT(2) | BIT(3));
	cr_expect_eq(topo_flood_ports(t, 1), BIT(0) | BIT(1) | BIT(2));
	cr_expect_eq(topo_flood_ports(t, 2), BIT(0) | BIT(1));
	cr_expect_eq(topo_flood_ports(t, 3), BIT(0));
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

Test(topo, a_link_goes_down_and_comes_up_again)
{
	struct builder *b = leaf_spine();
	struct topo *t = topo_create(&b->map);
	uint64_t before[4];

	for (uint32_t s = 0; s < 4; s++)
		before[s] = topo_flood_ports(t, s);
	b->links[2].up = false; /* leaf 1 to spine 2, of the tree */
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 2), BIT(3), "past spine 2");
	cr_expect_eq(topo_ports_to(t, 2, 2), BIT(0), "spine 2 by way of leaf 0");
	expect_sound(t, &b->map);

	b->links[3].up = false; /* leaf 1 to spine 3 */
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 2), 0);
	expect_sound(t, &b->map);

	b->links[2].up = b->links[3].up = true;
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 2), BIT(2) | BIT(3));
	for (uint32_t s = 0; s < 4; s++)
		cr_expect_eq(topo_flood_ports(t, s), before[s]);
	topo_destroy(t);
	free(b);
}

/* A change elsewhere must not move floods: MAC addresses are learned where they pass. */
Test(topo, the_tree_stays_when_a_link_outside_it_goes_down)
{
	struct builder *b = leaf_spine();
	struct topo *t = topo_create(&b->map);
	uint64_t before[4];

	for (uint32_t s = 0; s < 4; s++)
		before[s] = topo_flood_ports(t, s);
	b->links[3].up = false; /* leaf 1 to spine 3 */
	topo_compute(t);
	for (uint32_t s = 0; s < 4; s++)
		cr_expect_eq(topo_flood_ports(t, s), before[s], "switch %u", s);
	topo_destroy(t);
	free(b);
}

Test(topo, of_two_unequal_paths_the_shorter_one_is_taken_until_it_breaks)
{
	struct builder *b = builder(4);
	struct topo_link *shorter;
	struct topo *t;

	attach(b, 0, 0);
	attach(b, 1, 1);
	shorter = join(b, 0, 1);
	join(b, 0, 2);
	join(b, 2, 3);
	join(b, 3, 1);
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(1));
	expect_sound(t, &b->map);
	shorter->up = false;
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(2));
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

Test(topo, links_in_parallel_share_the_load_and_one_floods)
{
	struct builder *b = builder(2);
	struct topo *t;

	attach(b, 0, 0);
	attach(b, 1, 1);
	for (int i = 0; i < 3; i++)
		join(b, 0, 1);
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(1) | BIT(2) | BIT(3));
	cr_expect_eq(topo_flood_ports(t, 0), BIT(0) | BIT(1));
	b->links[0].up = false;
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(2) | BIT(3));
	cr_expect_eq(topo_flood_ports(t, 1), BIT(0) | BIT(2));
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

Test(topo, a_ring_of_switches_is_cut_once)
{
	for (uint16_t n = 3; n < 9; n++) {
		struct builder *b = builder(n);
		struct topo *t;
		int nb_ends = 0;

		for (uint16_t s = 0; s < n; s++) {
			attach(b, s, s);
			join(b, s, (uint16_t)((s + 1) % n));
		}
		t = topo_create(&b->map);
		for (uint32_t s = 0; s < n; s++)
			nb_ends += __builtin_popcountll(topo_flood_ports(t, s));
		cr_expect_eq(nb_ends, n + 2 * (n - 1), "hosts, and both ends of all links but one");
		cr_expect_eq(__builtin_popcountll(topo_ports_to(t, 0, n / 2)), n % 2 ? 1 : 2);
		expect_sound(t, &b->map);
		topo_destroy(t);
		free(b);
	}
}

/* Edge 0..7, aggregation 8..15, core 16..19: two of each a pod, two hosts an edge. */
Test(topo, a_fat_tree_of_radix_4_has_four_ways_between_pods)
{
	struct builder *b = builder(20);
	struct topo *t;

	for (uint16_t edge = 0; edge < 8; edge++) {
		attach(b, 2u * edge, edge);
		attach(b, 2u * edge + 1, edge);
		for (uint16_t k = 0; k < 2; k++)
			join(b, edge, (uint16_t)(8 + edge / 2 * 2 + k));
	}
	for (uint16_t agg = 0; agg < 8; agg++) {
		for (uint16_t k = 0; k < 2; k++)
			join(b, (uint16_t)(8 + agg), (uint16_t)(16 + agg % 2 * 2 + k));
	}
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 1), BIT(1), "the neighbour's port");
	cr_expect_eq(topo_ports_to(t, 0, 2), BIT(2) | BIT(3), "in the pod, both aggregations");
	cr_expect_eq(topo_ports_to(t, 0, 15), BIT(2) | BIT(3));
	cr_expect_eq(topo_ports_to(t, 8, 15), BIT(2) | BIT(3), "both cores of an aggregation");
	cr_expect_eq(__builtin_popcountll(topo_ports_to(t, 16, 15)), 1, "one way down");
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

Test(topo, parts_that_are_not_connected_flood_by_themselves)
{
	struct builder *b = builder(5);
	struct topo *t;

	attach(b, 0, 0);
	attach(b, 1, 1);
	join(b, 0, 1);
	attach(b, 2, 2);
	attach(b, 3, 3);
	join(b, 2, 3);
	join(b, 2, 3);
	b->map.nb_hosts = 5; /* the last is nowhere */
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 2), 0);
	cr_expect_eq(topo_ports_to(t, 4, 4), 0);
	cr_expect_eq(topo_flood_ports(t, 4), 0);
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

/* ---- hosts and prefixes ---- */

Test(topo, a_host_at_two_switches_is_reached_the_nearer_way_and_flooded_once)
{
	struct builder *b = builder(4);
	struct topo_attachment *first;
	struct topo *t;

	/* A chain; the host hangs at both ends, and another in the middle. */
	for (uint16_t s = 0; s < 3; s++)
		join(b, s, (uint16_t)(s + 1));
	first = attach(b, 0, 0);
	attach(b, 0, 3);
	attach(b, 1, 1);
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 0), BIT(1), "its own port there");
	cr_expect_eq(topo_ports_to(t, 1, 0), BIT(0));
	cr_expect_eq(topo_ports_to(t, 2, 0), BIT(1));
	cr_expect_eq(topo_ports_to(t, 3, 0), BIT(1));
	cr_expect(topo_flood_ports(t, 0) & BIT(1));
	cr_expect_not(topo_flood_ports(t, 3) & BIT(1), "it has the flood already");
	expect_sound(t, &b->map);

	first->up = false;
	topo_compute(t);
	cr_expect_eq(topo_ports_to(t, 0, 0), BIT(0));
	cr_expect(topo_flood_ports(t, 3) & BIT(1));
	expect_sound(t, &b->map);
	first->up = true;

	/* In two parts now, it gets the floods of both. */
	b->links[1].up = false;
	topo_compute(t);
	cr_expect(topo_flood_ports(t, 0) & BIT(1));
	cr_expect(topo_flood_ports(t, 3) & BIT(1));
	expect_sound(t, &b->map);
	topo_destroy(t);
	free(b);
}

Test(topo, prefixes_that_overlap_are_routes_of_their_own)
{
	struct builder *b = builder(3);
	struct topo *t;
	static const struct {
		uint8_t ip[4];
		uint8_t bits;
	} want[] = {
		{{0, 0, 0, 0}, 0},
		{{10, 0, 0, 0}, 8},
		{{10, 1, 0, 0}, 16},
		{{10, 1, 2, 0}, 24},
	};

	/* A triangle with a host at each switch. */
	attach(b, 0, 0);
	attach(b, 1, 1);
	join(b, 0, 1);
	attach(b, 2, 2);
	join(b, 0, 2);
	join(b, 1, 2);
	give(b, 1, 10, 1, 77, 7, 16);
	give(b, 0, 0, 0, 0, 0, 0);
	give(b, 2, 10, 1, 2, 3, 24);
	give(b, 0, 10, 0, 0, 0, 8);
	t = topo_create(&b->map);
	cr_assert_eq(topo_nb_routes(t), 4);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t host_of[] = {0, 0, 1, 2};
		struct ip_addr ip;

		ip_addr_from_ipv4(&ip, want[i].ip);
		for (uint32_t s = 0; s < 3; s++) {
			struct ip_prefix prefix;
			uint64_t ports = topo_route(t, s, i, &prefix);

			cr_expect_arr_eq(prefix.ip.b, ip.b, sizeof(ip.b), "row %u", i);
			cr_expect_eq(prefix.bits, 96 + want[i].bits, "row %u", i);
			cr_expect_eq(ports, topo_ports_to(t, s, host_of[i]), "row %u, switch %u", i,
			             s);
		}
	}
	topo_destroy(t);
	free(b);
}

Test(topo, a_prefix_of_several_hosts_leads_to_the_nearest)
{
	struct builder *b = builder(3);
	struct ip_prefix prefix;
	struct topo *t;

	/* A chain 0 - 1 - 2 with a host at each end, and two at the last. */
	attach(b, 0, 0);
	join(b, 0, 1);
	join(b, 1, 2);
	attach(b, 1, 2);
	attach(b, 2, 2);
	for (uint32_t h = 0; h < 3; h++)
		give(b, h, 10, 9, 9, (uint8_t)h, 24);
	give(b, 2, 10, 9, 9, 9, 24);
	t = topo_create(&b->map);
	cr_assert_eq(topo_nb_routes(t), 1);
	cr_expect_eq(topo_route(t, 0, 0, &prefix), BIT(0));
	cr_expect_eq(topo_route(t, 1, 0, &prefix), BIT(0) | BIT(1), "both are one link away");
	cr_expect_eq(topo_route(t, 2, 0, &prefix), BIT(1) | BIT(2));
	b->links[1].up = false;
	topo_compute(t);
	cr_expect_eq(topo_route(t, 1, 0, &prefix), BIT(0));
	b->atts[0].up = false;
	topo_compute(t);
	cr_expect_eq(topo_route(t, 1, 0, &prefix), 0);
	topo_destroy(t);
	free(b);
}

Test(topo, nothing_at_all_and_a_lonely_switch_are_fabrics_too)
{
	struct builder *b = builder(0);
	struct topo *t = topo_create(&b->map);

	cr_assert(t);
	cr_expect_eq(topo_nb_routes(t), 0);
	topo_destroy(t);
	free(b);
	topo_destroy(NULL);

	b = builder(1);
	attach(b, 0, 0);
	t = topo_create(&b->map);
	cr_expect_eq(topo_ports_to(t, 0, 0), BIT(0));
	cr_expect_eq(topo_flood_ports(t, 0), BIT(0));
	topo_destroy(t);
	free(b);
}

/* ---- any graph ---- */

static void
some_graph(struct builder *b, struct prng *prng)
{
	uint32_t nb_links = prng_below(prng, 3 * b->map.nb_switches);
	uint32_t nb_atts = prng_below(prng, 2 * b->map.nb_switches + 1);

	for (uint32_t i = 0; i < nb_links && b->map.nb_switches > 1; i++) {
		uint16_t x = (uint16_t)prng_below(prng, b->map.nb_switches);
		uint16_t y = (uint16_t)prng_below(prng, b->map.nb_switches);

		if (x != y && b->next_port[x] < TOPO_PORTS_MAX && b->next_port[y] < TOPO_PORTS_MAX)
			join(b, x, y)->up = prng_below(prng, 8) > 0;
	}
	for (uint32_t i = 0; i < nb_atts; i++) {
		uint16_t s = (uint16_t)prng_below(prng, b->map.nb_switches);
		/* Three of four have one attachment. */
		uint32_t host = prng_below(prng, 4) ? b->map.nb_hosts
		                                    : prng_below(prng, b->map.nb_hosts + 1);

		if (b->next_port[s] < TOPO_PORTS_MAX)
			attach(b, host, s)->up = prng_below(prng, 8) > 0;
	}
}

Test(topo, in_any_graph_paths_are_shortest_and_a_flood_reaches_each_host_once)
{
	uint64_t nb_seeds = getenv("WEFT_TEST_LONG") ? 5000 : 300;

	for (uint64_t seed = 1; seed <= nb_seeds; seed++) {
		struct prng prng;
		struct builder *b;
		struct topo *t;

		prng_seed(&prng, seed);
		b = builder(1 + prng_below(&prng, 24));
		some_graph(b, &prng);
		t = topo_create(&b->map);
		cr_assert(t);
		for (int change = 0; change < 4; change++) {
			expect_sound(t, &b->map);
			for (uint32_t i = 0; i < b->map.nb_links; i++)
				b->links[i].up ^= prng_below(&prng, 4) == 0;
			for (uint32_t i = 0; i < b->map.nb_attachments; i++)
				b->atts[i].up ^= prng_below(&prng, 8) == 0;
			topo_compute(t);
		}
		topo_destroy(t);
		free(b);
	}
}
