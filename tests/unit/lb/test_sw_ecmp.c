/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "prng.h"
#include "switch_rig.h"

#define NB_FLOWS 1000

/* Random five-tuples have random hashes. */
static void
make_flows(uint32_t *flows, uint32_t n, uint64_t seed)
{
	struct prng prng;

	prng_seed(&prng, seed);
	for (uint32_t i = 0; i < n; i++)
		flows[i] = (uint32_t)prng_next(&prng);
}

static void
place(struct switch_rig *rig, const uint32_t *flows, uint16_t *hop)
{
	for (uint32_t i = 0; i < NB_FLOWS; i++)
		hop[i] = rig_select(rig, flows[i]);
}

Test(lb_sw_ecmp, a_flow_never_leaves_its_path)
{
	struct switch_rig rig;
	uint32_t flows[NB_FLOWS];
	uint16_t first[NB_FLOWS], hop[NB_FLOWS];

	rig_init(&rig, "ecmp", 8);
	rig_start(&rig, 1);
	make_flows(flows, NB_FLOWS, 1);
	place(&rig, flows, first);
	for (uint32_t round = 0; round < 100; round++) {
		rig.now_ns += 1000000000;
		rig.hops[round % 8].queue_bytes = 1000 * round;
		rig.hops[round % 8].paused = round % 2;
		place(&rig, flows, hop);
		cr_assert_arr_eq(first, hop, sizeof(hop));
	}
	rig_fini(&rig);
}

/*
 * 125 flows on each of 8 paths, standard deviation 10.5: 25 more or fewer are 2.4 of it, and one
 * random seed in nine has a path that is so far off.
 */
Test(lb_sw_ecmp, spreads_1000_flows_over_8_paths_within_a_fifth_of_even)
{
	const uint32_t nb_runs = 1000;
	uint32_t nb_within = 0;
	double squares = 0;
	struct switch_rig rig;

	rig_init(&rig, "ecmp", 8);
	for (uint32_t run = 0; run < nb_runs; run++) {
		uint32_t flows[NB_FLOWS], nb[8] = {0}, nb_off = 0;

		rig_start(&rig, run % 10);
		make_flows(flows, NB_FLOWS, run);
		for (uint32_t i = 0; i < NB_FLOWS; i++)
			nb[rig_select(&rig, flows[i])]++;
		for (uint32_t h = 0; h < 8; h++) {
			squares += ((double)nb[h] - 125) * ((double)nb[h] - 125) / 125;
			nb_off += nb[h] < 100 || nb[h] > 150;
		}
		nb_within += nb_off == 0;
	}
	/* Chi-squared with 7 degrees of freedom has mean 7, its mean of 1,000 a deviation of 0.12.
	 */
	cr_expect_float_eq(squares / nb_runs, 7, 0.5, "%f", squares / nb_runs);
	cr_expect_geq(nb_within, nb_runs * 85 / 100, "%u of %u", nb_within, nb_runs);
	rig_fini(&rig);
}

/* 1 - 15/16 x 14/16 x 13/16 = 0.3335; of 20,000 trials, the deviation is 0.0033. */
Test(lb_sw_ecmp, four_flows_on_sixteen_uplinks_collide_in_a_third_of_all_cases)
{
	const uint32_t nb_trials = 20000;
	uint32_t nb_collided = 0;
	struct switch_rig rig;

	rig_init(&rig, "ecmp", 16);
	rig_start(&rig, 7);
	for (uint32_t t = 0; t < nb_trials; t++) {
		uint32_t flows[4], used = 0;

		make_flows(flows, 4, t);
		for (int i = 0; i < 4; i++)
			used |= 1u << rig_select(&rig, flows[i]);
		nb_collided += __builtin_popcount(used) < 4;
	}
	cr_expect_float_eq((double)nb_collided / nb_trials, 0.3335, 0.012, "%u", nb_collided);
	rig_fini(&rig);
}

/* Also flows whose hashes are numbers in a row. */
Test(lb_sw_ecmp, a_poor_hash_spreads_as_well)
{
	static const uint32_t strides[] = {1, 2, 256, 65536, 1u << 20};
	struct switch_rig rig;

	rig_init(&rig, "ecmp", 8);
	rig_start(&rig, 3);
	for (size_t row = 0; row < sizeof(strides) / sizeof(strides[0]); row++) {
		uint32_t nb[8] = {0};

		for (uint32_t i = 0; i < 4096; i++)
			nb[rig_select(&rig, i * strides[row])]++;
		for (uint32_t h = 0; h < 8; h++)
			cr_expect(nb[h] > 512 - 110 && nb[h] < 512 + 110, "stride %u: %u on hop %u",
			          strides[row], nb[h], h);
	}
	rig_fini(&rig);
}

/* Each hop goes down in turn, and more while it is down: see the comment of the engine. */
Test(lb_sw_ecmp, a_hop_that_goes_down_moves_its_flows_alone_and_has_them_back)
{
	static const uint16_t sizes[] = {2, 3, 8, 64};
	struct prng prng;
	struct switch_rig rig;
	uint32_t flows[NB_FLOWS];
	uint16_t before[NB_FLOWS], after[NB_FLOWS], all_up[NB_FLOWS];

	prng_seed(&prng, 11);
	make_flows(flows, NB_FLOWS, 2);
	for (size_t row = 0; row < sizeof(sizes) / sizeof(sizes[0]); row++) {
		uint16_t n = sizes[row], nb_up = n;

		rig_init(&rig, "ecmp", n);
		rig_start(&rig, row);
		place(&rig, flows, all_up);
		memcpy(before, all_up, sizeof(before));
		for (uint32_t step = 0; step < 20u * n; step++) {
			uint16_t h = (uint16_t)prng_below(&prng, n);

			if (rig.hops[h].up && nb_up == 1)
				continue;
			rig.hops[h].up = !rig.hops[h].up;
			nb_up = (uint16_t)(rig.hops[h].up ? nb_up + 1 : nb_up - 1);
			place(&rig, flows, after);
			for (uint32_t i = 0; i < NB_FLOWS; i++) {
				cr_assert(rig.hops[after[i]].up);
				if (before[i] == after[i])
					continue;
				cr_assert_eq(
					rig.hops[h].up ? after[i] : before[i], h,
					"of %u hops, %u changed, and a flow went from %u to %u", n,
					h, before[i], after[i]);
			}
			memcpy(before, after, sizeof(before));
		}
		for (uint16_t i = 0; i < n; i++)
			rig.hops[i].up = true;
		place(&rig, flows, after);
		cr_expect_arr_eq(after, all_up, sizeof(after));
		rig_fini(&rig);
	}
}

Test(lb_sw_ecmp, the_flows_of_a_dead_hop_spread_over_all_others)
{
	struct switch_rig rig;

	for (uint16_t nb_down = 1; nb_down < 64; nb_down += 6) {
		uint32_t flows[NB_FLOWS], nb[64] = {0};
		uint16_t nb_up = (uint16_t)(64 - nb_down);
		uint32_t even = NB_FLOWS / nb_up;

		rig_init(&rig, "ecmp", 64);
		rig_start(&rig, nb_down);
		make_flows(flows, NB_FLOWS, nb_down);
		for (uint16_t i = 0; i < nb_down; i++)
			rig.hops[i].up = false;
		for (uint32_t i = 0; i < NB_FLOWS; i++)
			nb[rig_select(&rig, flows[i])]++;
		for (uint16_t i = 0; i < 64; i++)
			cr_expect(rig.hops[i].up ? nb[i] > 0 && nb[i] < 2 * even + 12 : nb[i] == 0,
			          "%u down: %u flows on hop %u", nb_down, nb[i], i);
		rig_fini(&rig);
	}
}

/* A second switch that chose as the first did would use one of its hops only. */
Test(lb_sw_ecmp, switches_with_other_seeds_choose_independently)
{
	struct switch_rig leaf, spine;
	uint32_t nb[8] = {0}, nb_flows = 0;

	rig_init(&leaf, "ecmp", 8);
	rig_init(&spine, "ecmp", 8);
	rig_start(&leaf, 1);
	rig_start(&spine, 2);
	for (uint32_t flow = 0; flow < 32768; flow++) {
		if (rig_select(&leaf, flow * 0x01000193u) != 5)
			continue;
		nb[rig_select(&spine, flow * 0x01000193u)]++;
		nb_flows++;
	}
	for (uint32_t h = 0; h < 8; h++)
		cr_expect(nb[h] > nb_flows / 10 && nb[h] < nb_flows * 3 / 20, "%u of %u on hop %u",
		          nb[h], nb_flows, h);
	rig_fini(&leaf);
	rig_fini(&spine);
}
