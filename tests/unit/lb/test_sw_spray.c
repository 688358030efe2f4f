/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "switch_rig.h"

Test(lb_sw_spray, random_is_even_over_what_is_up)
{
	static const uint16_t downs[] = {0, 1, 4, 7};
	struct switch_rig rig;

	for (size_t row = 0; row < sizeof(downs) / sizeof(downs[0]); row++) {
		uint32_t nb[8] = {0}, even = 80000u / (8u - downs[row]);

		rig_init(&rig, "spray", 8);
		rig_start(&rig, row);
		/* The ones in the middle: hops before and after are not favoured. */
		for (uint16_t i = 0; i < downs[row]; i++)
			rig.hops[(2 + i) % 8].up = false;
		for (uint32_t i = 0; i < 80000; i++)
			nb[rig_select(&rig, 42)]++;
		/* Of 10,000 or more, 4 deviations are below 4 %. */
		for (uint16_t i = 0; i < 8; i++)
			cr_expect(rig.hops[i].up
			                  ? nb[i] > even * 96 / 100 && nb[i] < even * 104 / 100
			                  : nb[i] == 0,
			          "%u down: %u packets on hop %u", downs[row], nb[i], i);
		rig_fini(&rig);
	}
}

Test(lb_sw_spray, in_turn_each_hop_that_is_up_gets_exactly_its_share)
{
	struct switch_rig rig;

	rig_init(&rig, "spray", 5);
	rig_set(&rig, "round_robin", "yes");
	rig_start(&rig, 9);
	for (uint32_t mask = 1; mask < 32; mask++) {
		uint32_t nb_up = (uint32_t)__builtin_popcount(mask), nb[5] = {0};

		for (uint32_t i = 0; i < 5; i++)
			rig.hops[i].up = mask >> i & 1;
		for (uint32_t i = 0; i < nb_up * 7; i++)
			nb[rig_select(&rig, i)]++;
		for (uint32_t i = 0; i < 5; i++)
			cr_expect_eq(nb[i], rig.hops[i].up ? 7 : 0, "mask %x: %u on hop %u", mask,
			             nb[i], i);
	}
	rig_fini(&rig);
}

Test(lb_sw_spray, groups_whose_packets_alternate_take_turns_of_their_own)
{
	struct switch_rig rig;
	uint32_t nb[2] = {0};

	rig_init(&rig, "spray", 2);
	rig_set(&rig, "round_robin", "yes");
	rig_start(&rig, 1);
	for (uint32_t i = 0; i < 100; i++) {
		rig.nb_hops = 3;
		rig_select(&rig, i);
		rig.nb_hops = 2;
		nb[rig_select(&rig, i)]++;
	}
	cr_expect_eq(nb[0], 50);
	cr_expect_eq(nb[1], 50);
	rig_fini(&rig);
}

Test(lb_sw_spray, switches_do_not_go_round_in_step)
{
	uint32_t nb[8] = {0};
	struct switch_rig rig;

	rig_init(&rig, "spray", 8);
	rig_set(&rig, "round_robin", "yes");
	for (uint64_t seed = 0; seed < 800; seed++) {
		rig_start(&rig, seed);
		nb[rig_select(&rig, 0)]++;
	}
	for (uint32_t i = 0; i < 8; i++)
		cr_expect(nb[i] > 60 && nb[i] < 140, "%u begin at hop %u", nb[i], i);
	rig_fini(&rig);
}
