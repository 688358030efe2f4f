/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine.h"
#include "fault.h"
#include "fault_wire.h"
#include "mem.h"

/* Frames that are late: by a delay, by jitter, by the rate of a link. */

Test(fault_time, delays_every_frame_by_the_same_time)
{
	static const struct fault_params params = {.tx.delay_ns = 700, .rx.delay_ns = 300};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint32_t number;

	fault_wire_send(&w, w.node, 1, 1000);
	fault_wire_send(&w, w.far, 2, 1000);
	cr_expect_eq(fault_wire_receive(w.node, &number, 1, 1100), 0,
	             "the delay starts at the rx_burst");
	cr_expect_eq(w.node->ops->next_ns(w.node), 1400);
	cr_expect_eq(fault_wire_receive(w.node, &number, 1, 1399), 0);
	cr_expect_eq(fault_wire_receive(w.node, &number, 1, 1400), 1);
	cr_expect_eq(number, 2);
	cr_expect_eq(w.node->ops->next_ns(w.node), 1700);
	fault_wire_receive(w.node, &number, 1, 1699);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 1699), 0);
	fault_wire_receive(w.node, &number, 1, 1700);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 1700), 1);
	cr_expect_eq(number, 1);
	fault_wire_close(&w);
}

Test(fault_time, a_frame_is_later_by_its_delay_give_or_take_the_jitter)
{
	static const struct {
		uint64_t delay_ns, jitter_ns, min_ns, max_ns;
	} rows[] = {
		{5000, 1000, 4000, 6000},
		{1000, 1000, 0, 2000},
		{300, 1000, 0, 1300}, /* not before it came */
		{2000000000, 1000000000, 1000000000, 3000000000},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		const struct fault_params params = {
			.seed = 3,
			.tx = {.delay_ns = rows[row].delay_ns,
		               .jitter_ns = (uint32_t)rows[row].jitter_ns},
		};
		struct fault_wire w = fault_wire_open(&params, 64);
		uint64_t span_ns = rows[row].max_ns - rows[row].min_ns;
		uint64_t least_ns = UINT64_MAX, most_ns = 0;

		for (uint64_t i = 0; i < 500; i++) {
			uint64_t now_ns = i * 4000000000, late_ns;
			uint32_t number;

			fault_wire_send(&w, w.node, 0, now_ns);
			if (fault_wire_receive(w.far, &number, 1, now_ns) == 1) {
				least_ns = 0; /* it had none at all */
				continue;
			}
			late_ns = w.node->ops->next_ns(w.node) - now_ns;
			least_ns = late_ns < least_ns ? late_ns : least_ns;
			most_ns = late_ns > most_ns ? late_ns : most_ns;
			fault_wire_receive(w.node, &number, 1, now_ns + late_ns);
			cr_assert_eq(fault_wire_receive(w.far, &number, 1, now_ns + late_ns), 1);
		}
		cr_expect(least_ns >= rows[row].min_ns &&
		                  least_ns < rows[row].min_ns + span_ns / 20,
		          "row %zu: least %lu", row, least_ns);
		cr_expect(most_ns <= rows[row].max_ns && most_ns > rows[row].max_ns - span_ns / 20,
		          "row %zu: most %lu", row, most_ns);
		fault_wire_close(&w);
	}
}

Test(fault_time, jitter_overtakes_nobody)
{
	static const struct fault_dir dir = {.delay_ns = 20000, .jitter_ns = 20000};
	static const struct fault_params params = {.seed = 8, .tx = dir, .rx = dir};
	static uint32_t numbers[1000];

	for (int outwards = 0; outwards < 2; outwards++) {
		struct fault_wire w = fault_wire_open(&params, 64);

		cr_assert_eq(fault_wire_run(&w, outwards, 1000, numbers, 1000), 1000);
		for (uint32_t i = 0; i < 1000; i++)
			cr_assert_eq(numbers[i], i);
		fault_wire_close(&w);
	}
}

/* ---- rate ---- */

#define RATE UINT64_C(1000000000)
/* 100 and 24 bytes at 1 Gb/s. */
#define FRAME_NS 992

/* For so long, a turn in each step: a sender that has always more, or never. Frames that arrived.
 */
static uint32_t
press(struct fault_wire *w, bool outwards, bool always, uint64_t from_ns, uint64_t for_ns,
      uint64_t step_ns)
{
	struct port *from = outwards ? w->node : w->far, *to = outwards ? w->far : w->node;
	struct pkt *pkts[64];
	uint32_t nb = 0;

	for (uint64_t now_ns = from_ns; now_ns < from_ns + for_ns; now_ns += step_ns) {
		uint32_t n = to->ops->rx_burst(to, pkts, 64, now_ns), room;

		nb += n;
		pkt_free(pkts, n);
		if (outwards) /* its own turn, as a driver has it */
			w->node->ops->rx_burst(w->node, pkts, 64, now_ns);
		room = from->ops->tx_room(from);
		n = always ? (room < 32 ? room : 32) : 0;
		if (n == 0)
			continue;
		cr_assert_eq(w->pool->alloc(w->pool, pkts, n), n);
		for (uint32_t i = 0; i < n; i++)
			pkts[i]->len = FAULT_WIRE_LEN;
		cr_assert_eq(from->ops->tx_burst(from, pkts, n, now_ns), n);
	}
	return nb;
}

Test(fault_time, a_rate_is_kept_both_ways_by_fast_and_by_late_drivers)
{
	static const struct fault_params rows[] = {{.tx.rate_bps = RATE}, {.rx.rate_bps = RATE}};
	static const uint64_t steps_ns[] = {100, 1000, 30000};

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++) {
			struct fault_wire w = fault_wire_open(&rows[i], 64);
			uint32_t nb = press(&w, i == 0, true, 1000000, 20000000, steps_ns[k]);
			uint32_t want = 20000000 / FRAME_NS;

			cr_expect(nb <= want + 2 && nb >= want - want / 50,
			          "row %d step %d: %u of %u", i, k, nb, want);
			fault_wire_close(&w);
		}
}

Test(fault_time, a_link_that_nobody_used_lets_nothing_through_faster_later)
{
	static const struct fault_params params = {.tx.rate_bps = RATE, .tx.delay_ns = 5000};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint32_t nb;

	press(&w, true, false, 1000, 5000000, 1000);
	nb = press(&w, true, true, 5001000, 100000, 1000);
	/* The first arrives after its own time and the delay. */
	cr_expect(nb <= (100000 - 5000) / FRAME_NS + 1 && nb >= (100000 - 7000) / FRAME_NS - 3,
	          "%u", nb);
	fault_wire_close(&w);
}

Test(fault_time, an_idle_link_of_some_rate_asks_for_no_turns)
{
	static const struct fault_params params = {.tx.rate_bps = RATE};
	struct fault_wire w = fault_wire_open(&params, 64);

	press(&w, true, true, 1000, 100000, 1000);
	press(&w, true, false, 101000, 200000, 1000);
	cr_expect_eq(w.node->ops->next_ns(w.node), NEVER_NS);
	fault_wire_close(&w);
}
