/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "prng.h"
#include "switch_rig.h"

Test(lb_sw_adaptive, the_open_hop_with_the_shortest_queue_wins)
{
	static const struct {
		struct lb_hop hops[4];
		uint16_t want;
	} rows[] = {
		{{{.up = true, .queue_bytes = 50},
	          {.up = true, .queue_bytes = 30},
	          {.up = true, .queue_bytes = 40},
	          {.up = true, .queue_bytes = 32}},
	         1},
		{{{.up = true, .queue_bytes = UINT32_MAX},
	          {.up = true, .paused = true},
	          {.up = false},
	          {.up = false, .paused = true}},
	         0},
		{{{.up = false},
	          {.up = true, .paused = true, .queue_bytes = 90},
	          {.up = true, .paused = true, .queue_bytes = 80},
	          {.up = false}},
	         2},
		{{{.up = false}, {.up = false}, {.up = false}, {.up = true, .queue_bytes = 10}}, 3},
	};
	struct switch_rig rig;

	rig_init(&rig, "adaptive", 4);
	rig_start(&rig, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(rig.hops, rows[i].hops, sizeof(rows[i].hops));
		for (uint32_t n = 0; n < 20; n++)
			cr_expect_eq(rig_select(&rig, n), rows[i].want, "row %zu", i);
	}
	rig_fini(&rig);
}

Test(lb_sw_adaptive, ties_are_broken_evenly)
{
	static const uint64_t ties[] = {3, 0x8000000000000001, 0x7, UINT64_MAX, 0x00ff00000000f0f0};
	struct switch_rig rig;

	rig_init(&rig, "adaptive", 64);
	rig_start(&rig, 4);
	for (size_t row = 0; row < sizeof(ties) / sizeof(ties[0]); row++) {
		uint32_t nb_ties = (uint32_t)__builtin_popcountll(ties[row]), nb[64] = {0};

		for (uint32_t i = 0; i < 64; i++)
			rig.hops[i].queue_bytes = ties[row] >> i & 1 ? 1000 : 2000 + i;
		for (uint32_t i = 0; i < nb_ties * 1000; i++)
			nb[rig_select(&rig, 1)]++;
		for (uint32_t i = 0; i < 64; i++)
			cr_expect(ties[row] >> i & 1 ? nb[i] > 850 && nb[i] < 1150 : nb[i] == 0,
			          "row %zu: %u on hop %u", row, nb[i], i);
	}
	rig_fini(&rig);
}

/* Queues that drain by themselves: of hops with rates 1 to 4, each gets its share of the load. */
Test(lb_sw_adaptive, follows_the_rates_of_unequal_paths)
{
	struct switch_rig rig;
	uint32_t nb[4] = {0};

	rig_init(&rig, "adaptive", 4);
	rig_start(&rig, 8);
	for (uint32_t i = 0; i < 100000; i++) {
		uint16_t hop = rig_select(&rig, 1);

		nb[hop]++;
		rig.hops[hop].queue_bytes += 1000;
		for (uint32_t h = 0; h < 4; h++)
			rig.hops[h].queue_bytes -= rig.hops[h].queue_bytes < (h + 1) * 100
			                                   ? rig.hops[h].queue_bytes
			                                   : (h + 1) * 100;
	}
	for (uint32_t h = 0; h < 4; h++)
		cr_expect(nb[h] > (h + 1) * 9700 && nb[h] < (h + 1) * 10300, "%u on hop %u", nb[h],
		          h);
	rig_fini(&rig);
}

Test(lb_sw_adaptive, with_a_gap_a_flow_stays_until_it_pauses_or_its_hop_is_down)
{
	struct switch_rig rig;
	uint16_t hop;

	rig_init(&rig, "adaptive", 4);
	rig_set(&rig, "gap", "100us");
	rig_start(&rig, 1);
	for (uint32_t i = 0; i < 4; i++)
		rig.hops[i].queue_bytes = 1000 * (i + 1);
	hop = rig_select(&rig, 5);
	cr_expect_eq(hop, 0);

	rig.hops[0].queue_bytes = 100000;
	rig.hops[0].paused = true;
	rig.now_ns += 99900;
	cr_expect_eq(rig_select(&rig, 5), 0, "its packets wait there already");
	cr_expect_eq(rig_select(&rig, 6), 1, "another flow's do not");

	rig.now_ns += 100100;
	cr_expect_eq(rig_select(&rig, 5), 1);

	rig.hops[1].up = false;
	cr_expect_eq(rig_select(&rig, 5), 2);
	rig.hops[1].up = true;
	cr_expect_eq(rig_select(&rig, 5), 2);
	rig_fini(&rig);
}

Test(lb_sw_adaptive, needs_a_table_only_for_flowlets)
{
	const struct engine_env env = {.nb_hops = 64};
	struct switch_rig rig;
	size_t size;

	rig_init(&rig, "adaptive", 4);
	size = rig.ops->state_size(rig.params, &env);
	cr_expect_lt(size, 200);
	rig_set(&rig, "gap", "1us");
	rig_set(&rig, "flowlets", "1000");
	cr_expect_eq(rig.ops->state_size(rig.params, &env), size + 8000);
}
