/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine.h"
#include "fault_lane.h"
#include "fault_wire.h"

Test(fault_outage, the_link_is_down_at_its_times)
{
	static const struct {
		struct fault_outage outage;
		uint64_t since_ns;
		bool is_on;
		uint64_t next_ns;
	} rows[] = {
		{{0}, 0, false, NEVER_NS},
		{{.at_ns = 5, .every_ns = 7}, 5, false, NEVER_NS}, /* for no time */
		{{.now = true}, 0, true, NEVER_NS},
		{{.now = true, .at_ns = 10, .for_ns = 5}, 3, true, NEVER_NS},
		/* once */
		{{.for_ns = 5}, 0, true, 5},
		{{.at_ns = 10, .for_ns = 5}, 0, false, 10},
		{{.at_ns = 10, .for_ns = 5}, 9, false, 10},
		{{.at_ns = 10, .for_ns = 5}, 10, true, 15},
		{{.at_ns = 10, .for_ns = 5}, 14, true, 15},
		{{.at_ns = 10, .for_ns = 5}, 15, false, NEVER_NS},
		/* again and again */
		{{.at_ns = 10, .for_ns = 5, .every_ns = 20}, 14, true, 15},
		{{.at_ns = 10, .for_ns = 5, .every_ns = 20}, 15, false, 30},
		{{.at_ns = 10, .for_ns = 5, .every_ns = 20}, 29, false, 30},
		{{.at_ns = 10, .for_ns = 5, .every_ns = 20}, 30, true, 35},
		{{.at_ns = 10, .for_ns = 5, .every_ns = 20}, 2000035, false, 2000050},
		/* longer than until the next time */
		{{.at_ns = 10, .for_ns = 20, .every_ns = 20}, 9, false, 10},
		{{.at_ns = 10, .for_ns = 20, .every_ns = 20}, 10, true, NEVER_NS},
		{{.at_ns = 10, .for_ns = 30, .every_ns = 20}, 1000, true, NEVER_NS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(fault_outage_is_on(&rows[i].outage, rows[i].since_ns), rows[i].is_on,
		             "row %zu", i);
		cr_expect_eq(fault_outage_next_ns(&rows[i].outage, rows[i].since_ns),
		             rows[i].next_ns, "row %zu", i);
	}
}

/* One frame each way. @return those that arrived: 1 outwards, 2 inwards, 3 both. */
static int
try_both_ways(struct fault_wire *w, uint64_t now_ns)
{
	uint32_t numbers[4];
	int arrived = 0;

	fault_wire_send(w, w->far, 0, now_ns);
	arrived += 2 * (int)fault_wire_receive(w->node, numbers, 4, now_ns);
	fault_wire_send(w, w->node, 0, now_ns);
	arrived += (int)fault_wire_receive(w->far, numbers, 4, now_ns);
	return arrived;
}

Test(fault_outage, a_link_that_is_down_loses_frames_both_ways_and_comes_back)
{
	/* The clock of the ports began long ago; that of the times begins with the first turn. */
	const uint64_t start_ns = 1000000;
	static const struct fault_params params = {
		.down = {.at_ns = 100, .for_ns = 50, .every_ns = 1000}};
	struct fault_wire w = fault_wire_open(&params, 8);
	const struct fault_stats *stats = port_fault_stats(w.node);

	cr_expect_eq(w.node->ops->next_ns(w.node), 0, "its clock must begin");
	for (uint32_t round = 0; round < 3; round++) {
		uint64_t begin_ns = start_ns + round * 1000;

		cr_expect_eq(try_both_ways(&w, begin_ns), 3);
		cr_expect_eq(try_both_ways(&w, begin_ns + 99), 3);
		cr_expect_not(w.node->is_down);
		cr_expect_eq(w.node->ops->next_ns(w.node), begin_ns + 100);
		cr_expect_eq(try_both_ways(&w, begin_ns + 100), 0);
		cr_expect(w.node->is_down);
		cr_expect_eq(try_both_ways(&w, begin_ns + 149), 0);
		cr_expect_eq(w.node->ops->next_ns(w.node), begin_ns + 150);
		cr_expect_eq(try_both_ways(&w, begin_ns + 150), 3);
		cr_expect_not(w.node->is_down);
	}
	cr_expect_eq(stats->tx[FAULT_DOWN], 6);
	cr_expect_eq(stats->rx[FAULT_DOWN], 6);
	fault_wire_close(&w);
}

Test(fault_outage, by_hand_it_goes_down_and_up)
{
	struct fault_params params = {.seed = 1};
	struct fault_wire w = fault_wire_open(&params, 2);

	cr_expect_eq(try_both_ways(&w, 0), 3);
	params.down.now = true;
	port_fault_set(w.node, &params);
	cr_expect_eq(w.node->ops->next_ns(w.node), 0, "at once");
	for (int i = 0; i < 5; i++)
		cr_expect_eq(try_both_ways(&w, 10), 0);
	cr_expect_eq(w.node->ops->next_ns(w.node), NEVER_NS);
	params.down.now = false;
	port_fault_set(w.node, &params);
	cr_expect_eq(try_both_ways(&w, 20), 3);
	cr_expect_not(w.node->is_down);
	fault_wire_close(&w);
}

Test(fault_outage, what_was_on_its_way_is_lost)
{
	struct fault_params params = {
		.tx = {.delay_ns = 1000},
		.rx = {.ppm[FAULT_REORDER] = 1000000, .reorder_pkts = 5, .reorder_ns = 1000},
	};
	struct fault_wire w = fault_wire_open(&params, 8);
	uint32_t number;

	fault_wire_send(&w, w.node, 0, 0);
	fault_wire_send(&w, w.far, 0, 0);
	cr_expect_eq(fault_wire_receive(w.node, &number, 1, 0), 0);
	params.down.now = true;
	port_fault_set(w.node, &params);
	cr_expect_eq(fault_wire_receive(w.node, &number, 1, 2000), 0);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 2000), 0);
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_DOWN], 1);
	cr_expect_eq(port_fault_stats(w.node)->rx[FAULT_DOWN], 1);
	fault_wire_close(&w);
}

Test(fault_outage, a_full_peer_is_no_obstacle_to_what_gets_lost_anyway)
{
	struct fault_params params = {.seed = 1};
	struct fault_wire w = fault_wire_open(&params, 1);
	uint32_t number;

	fault_wire_send(&w, w.node, 0, 0);
	cr_expect_eq(w.node->ops->tx_room(w.node), 0);
	params.down.now = true;
	port_fault_set(w.node, &params);
	fault_wire_receive(w.node, &number, 1, 0);
	cr_expect_gt(w.node->ops->tx_room(w.node), 0);
	fault_wire_send(&w, w.node, 0, 0);
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_DOWN], 1);
	fault_wire_close(&w);
}

Test(fault_outage, times_count_from_their_last_change_and_no_other)
{
	struct fault_params params = {.down = {.at_ns = 100, .for_ns = 50}};
	struct fault_wire w = fault_wire_open(&params, 8);

	cr_expect_eq(try_both_ways(&w, 1000), 3);
	params.tx.ppm[FAULT_LOSS] = 1;
	port_fault_set(w.node, &params);
	cr_expect_eq(try_both_ways(&w, 1050), 3);
	cr_expect_eq(try_both_ways(&w, 1100), 0);
	params.down.for_ns = 60;
	port_fault_set(w.node, &params);
	cr_expect_eq(try_both_ways(&w, 1110), 3);
	cr_expect_eq(try_both_ways(&w, 1210), 0);
	cr_expect_eq(try_both_ways(&w, 1270), 3);
	fault_wire_close(&w);
}
