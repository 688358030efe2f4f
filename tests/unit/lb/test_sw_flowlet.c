/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "switch_rig.h"

static uint32_t
nb_moves(struct switch_rig *rig, uint64_t gap_ns, uint32_t nb_packets)
{
	uint16_t last = rig_select(rig, 77);
	uint32_t nb = 0;

	for (uint32_t i = 0; i < nb_packets; i++) {
		uint16_t hop;

		rig->now_ns += gap_ns;
		hop = rig_select(rig, 77);
		nb += hop != last;
		last = hop;
	}
	return nb;
}

Test(lb_sw_flowlet, a_flow_stays_up_to_the_gap_and_may_move_after_it)
{
	static const struct {
		const char *gap;
		uint64_t pause_ns;
		bool moves;
	} rows[] = {
		{NULL, 99900, false},        {NULL, 100000, false},
		{NULL, 100100, true},        {NULL, 100001, true},
		{NULL, 3600000000000, true}, {"500us", 499900, false},
		{"500us", 500100, true},     {"1ns", 2, true},
	};
	struct switch_rig rig;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t nb;

		rig_init(&rig, "flowlet", 8);
		if (rows[i].gap)
			rig_set(&rig, "gap", rows[i].gap);
		rig_start(&rig, i);
		nb = nb_moves(&rig, rows[i].pause_ns, 800);
		/* Seven of eight choices are another hop; deviation 9. */
		cr_expect(rows[i].moves ? nb > 650 && nb < 750 : nb == 0, "row %zu: %u moves", i,
		          nb);
		rig_fini(&rig);
	}
}

Test(lb_sw_flowlet, the_first_packets_of_flows_spread_at_any_time)
{
	static const uint64_t starts_ns[] = {0, 1, 99999, 281474976710655, UINT64_MAX / 2};
	struct switch_rig rig;

	for (size_t row = 0; row < sizeof(starts_ns) / sizeof(starts_ns[0]); row++) {
		uint32_t nb[8] = {0};

		rig_init(&rig, "flowlet", 8);
		rig_start(&rig, row);
		rig.now_ns = starts_ns[row];
		for (uint32_t i = 0; i < 8000; i++)
			nb[rig_select(&rig, i * 0x01000193u)]++;
		for (uint32_t i = 0; i < 8; i++)
			cr_expect(nb[i] > 850 && nb[i] < 1150, "from %llu ns: %u on hop %u",
			          (unsigned long long)starts_ns[row], nb[i], i);
		rig_fini(&rig);
	}
}

Test(lb_sw_flowlet, a_hop_that_went_down_is_left_at_once_and_not_taken_again_when_it_is_back)
{
	struct switch_rig rig;
	uint32_t nb_back = 0;

	rig_init(&rig, "flowlet", 4);
	rig_start(&rig, 5);
	for (uint32_t flow = 0; flow < 400; flow++) {
		uint16_t dead = rig_select(&rig, flow * 7919), now;

		rig.hops[dead].up = false;
		rig.now_ns += 10;
		now = rig_select(&rig, flow * 7919);
		cr_expect_neq(now, dead);
		rig.hops[dead].up = true;
		rig.now_ns += 10;
		nb_back += rig_select(&rig, flow * 7919) != now;
	}
	cr_expect_eq(nb_back, 0, "in the middle of a flowlet");
	rig_fini(&rig);
}

Test(lb_sw_flowlet, flows_in_one_slot_count_as_one_flow)
{
	struct switch_rig rig;
	uint16_t hop;

	rig_init(&rig, "flowlet", 8);
	rig_set(&rig, "flowlets", "1");
	rig_start(&rig, 5);
	hop = rig_select(&rig, 0);
	/* Each of the ten pauses for 600 us, and the ten for 60. */
	for (uint32_t i = 0; i < 1000; i++) {
		rig.now_ns += 60000;
		cr_assert_eq(rig_select(&rig, i % 10), hop);
	}
	rig_fini(&rig);
}

/* Or the flow of the smaller group would move the other, packet by packet. */
Test(lb_sw_flowlet, flows_of_two_groups_in_one_slot_settle)
{
	struct switch_rig rig;
	uint32_t nb = 0;
	uint16_t last[2] = {0, 0};

	rig_init(&rig, "flowlet", 8);
	rig_set(&rig, "flowlets", "1");
	rig_start(&rig, 6);
	for (uint32_t i = 0; i < 2000; i++) {
		uint16_t hop;

		rig.now_ns += 1000;
		rig.nb_hops = i % 2 ? 2 : 8;
		hop = rig_select(&rig, i % 2);
		cr_assert_lt(hop, rig.nb_hops);
		nb += hop != last[i % 2];
		last[i % 2] = hop;
	}
	cr_expect_leq(nb, 4);
	rig_fini(&rig);
}
