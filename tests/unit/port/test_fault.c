/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "fault.h"
#include "fault_wire.h"
#include "mem.h"
#include "prng.h"

#define MILLION 1000000

Test(fault, without_faults_is_a_wire_both_ways)
{
	static const struct fault_params none;
	uint32_t numbers[100];

	for (int outwards = 0; outwards < 2; outwards++) {
		struct fault_wire w = fault_wire_open(&none, 64);

		cr_assert_eq(fault_wire_run(&w, outwards, 100, numbers, 100), 100);
		for (uint32_t i = 0; i < 100; i++)
			cr_expect_eq(numbers[i], i);
		cr_expect_eq(w.node->ops->next_ns(w.node), NEVER_NS);
		fault_wire_close(&w);
	}
}

Test(fault, each_direction_suffers_by_itself)
{
	static const struct fault_params rows[] = {
		{.tx = {.ppm[FAULT_LOSS] = MILLION}},
		{.rx = {.ppm[FAULT_LOSS] = MILLION}},
	};
	uint32_t numbers[10];

	for (int i = 0; i < 2; i++)
		for (int outwards = 0; outwards < 2; outwards++) {
			struct fault_wire w = fault_wire_open(&rows[i], 64);
			bool is_lossy = outwards == (i == 0);

			cr_expect_eq(fault_wire_run(&w, outwards, 10, numbers, 10),
			             is_lossy ? 0 : 10);
			cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_LOSS],
			             is_lossy && outwards ? 10 : 0);
			cr_expect_eq(port_fault_stats(w.node)->rx[FAULT_LOSS],
			             is_lossy && !outwards ? 10 : 0);
			fault_wire_close(&w);
		}
}

Test(fault, loses_the_asked_share_and_counts_it)
{
	static const struct fault_params params = {.seed = 7, .tx = {.ppm[FAULT_LOSS] = 100000}};
	struct fault_wire w = fault_wire_open(&params, 64);
	static uint32_t numbers[20000];
	uint32_t n = fault_wire_run(&w, true, 20000, numbers, 20000);

	cr_expect_eq(n + port_fault_stats(w.node)->tx[FAULT_LOSS], 20000);
	/* 2000 expected, standard deviation 42. */
	cr_expect(n > 18000 - 250 && n < 18000 + 250, "%u of 20000 arrived", n);
	for (uint32_t i = 1; i < n; i++)
		cr_assert_lt(numbers[i - 1], numbers[i]);
	fault_wire_close(&w);
}

Test(fault, duplicates_follow_their_original)
{
	static const struct fault_params params = {.rx = {.ppm[FAULT_DUPLICATE] = MILLION}};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint32_t numbers[200];

	cr_assert_eq(fault_wire_run(&w, false, 100, numbers, 200), 200);
	for (uint32_t i = 0; i < 200; i++)
		cr_expect_eq(numbers[i], i / 2);
	cr_expect_eq(port_fault_stats(w.node)->rx[FAULT_DUPLICATE], 100);
	fault_wire_close(&w);
}

Test(fault, an_empty_pool_costs_the_double_and_not_the_frame)
{
	static const struct fault_params params = {.tx = {.ppm[FAULT_DUPLICATE] = MILLION}};
	struct fault_wire w = fault_wire_open(&params, 64);
	static struct pkt *rest[8192];
	uint32_t number;

	cr_assert_eq(w.pool->alloc(w.pool, rest, w.nb_pkts - 1), w.nb_pkts - 1);
	fault_wire_send(&w, w.node, 5, 0);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 0), 1);
	cr_expect_eq(number, 5);
	cr_expect_eq(port_fault_stats(w.node)->no_copy, 1);
	pkt_free(rest, w.nb_pkts - 1);
	fault_wire_close(&w);
}

Test(fault, corruption_flips_one_bit_anywhere)
{
	static const struct fault_params params = {.tx = {.ppm[FAULT_CORRUPT] = MILLION}};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint8_t seen[FAULT_WIRE_LEN] = {0};
	uint32_t nb_seen = 0;

	for (int i = 0; i < 5000; i++) {
		uint32_t nb_bits = 0;
		struct pkt *p;

		fault_wire_send(&w, w.node, 0, 0);
		cr_assert_eq(w.far->ops->rx_burst(w.far, &p, 1, 0), 1);
		cr_assert_eq(p->len, FAULT_WIRE_LEN);
		for (uint32_t at = 0; at < FAULT_WIRE_LEN; at++) {
			seen[at] |= p->data[at];
			nb_bits += (uint32_t)__builtin_popcount(p->data[at]);
		}
		cr_assert_eq(nb_bits, 1);
		pkt_free(&p, 1);
	}
	for (uint32_t at = 0; at < FAULT_WIRE_LEN; at++)
		nb_seen += (uint32_t)__builtin_popcount(seen[at]);
	/* 800 bits, each missed with probability (799/800)^5000 = 0.2 %. */
	cr_expect_gt(nb_seen, 780);
	fault_wire_close(&w);
}

Test(fault, a_reordered_frame_is_passed_by_at_most_so_many)
{
	static const uint32_t spans[] = {1, 4, FAULT_REORDER_MAX_PKTS};
	static uint32_t numbers[2000];

	for (size_t row = 0; row < sizeof(spans) / sizeof(spans[0]); row++) {
		struct fault_params params = {
			.seed = row,
			.tx = {.ppm[FAULT_REORDER] = 200000,
		               .reorder_pkts = spans[row],
		               .reorder_ns = 1000000},
		};
		struct fault_wire w = fault_wire_open(&params, 128);
		uint32_t worst = 0, nb_late = 0;

		cr_assert_eq(fault_wire_run(&w, true, 2000, numbers, 2000), 2000,
		             "none lost or doubled");
		for (uint32_t i = 0; i < 2000; i++) {
			uint32_t nb_passed = 0;

			for (uint32_t j = 0; j < i; j++)
				nb_passed += numbers[j] > numbers[i];
			worst = nb_passed > worst ? nb_passed : worst;
			nb_late += nb_passed > 0;
		}
		cr_expect_leq(worst, spans[row]);
		cr_expect_geq(worst, (spans[row] + 1) / 2, "row %zu: worst %u", row, worst);
		cr_expect_gt(nb_late, 200, "row %zu: %u late", row, nb_late);
		fault_wire_close(&w);
	}
}

Test(fault, everything_reordered_and_doubled_at_once_still_arrives)
{
	static const struct fault_dir dir = {
		.ppm = {[FAULT_DUPLICATE] = MILLION, [FAULT_REORDER] = MILLION},
		.reorder_pkts = FAULT_REORDER_MAX_PKTS,
		.reorder_ns = 1000000,
	};
	struct fault_params params = {.seed = 3, .tx = dir, .rx = dir};
	static uint32_t numbers[2000];
	uint8_t nb_times[1000];

	for (int outwards = 0; outwards < 2; outwards++) {
		struct fault_wire w = fault_wire_open(&params, 1024);

		memset(nb_times, 0, sizeof(nb_times));
		cr_assert_eq(fault_wire_run(&w, outwards, 1000, numbers, 2000), 2000);
		for (uint32_t i = 0; i < 2000; i++)
			nb_times[numbers[i]]++;
		for (uint32_t i = 0; i < 1000; i++)
			cr_expect_eq(nb_times[i], 2);
		fault_wire_close(&w);
	}
}

Test(fault, a_held_frame_goes_in_time_although_none_follows)
{
	static const struct fault_params params = {
		.tx = {.ppm[FAULT_REORDER] = MILLION, .reorder_pkts = 8, .reorder_ns = 5000}};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint32_t number;

	fault_wire_send(&w, w.node, 9, 1000);
	cr_expect_eq(w.node->ops->next_ns(w.node), 6000);
	w.node->ops->rx_burst(w.node, NULL, 0, 5999);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 5999), 0);
	w.node->ops->rx_burst(w.node, NULL, 0, 6000);
	cr_expect_eq(fault_wire_receive(w.far, &number, 1, 6000), 1);
	cr_expect_eq(number, 9);
	fault_wire_close(&w);
}

Test(fault, is_no_further_buffer_in_front_of_a_full_port)
{
	static const struct fault_params params = {.tx.ppm[FAULT_LOSS] = 1};
	struct fault_wire w = fault_wire_open(&params, 3);
	uint32_t numbers[3];

	for (uint32_t i = 0; i < 3; i++) {
		cr_expect_eq(w.node->ops->tx_room(w.node), 3 - i);
		fault_wire_send(&w, w.node, i, 0);
	}
	cr_expect_eq(w.node->ops->tx_room(w.node), 0);
	cr_expect_eq(fault_wire_receive(w.far, numbers, 3, 0), 3);
	cr_expect_eq(w.node->ops->tx_room(w.node), 3);
	fault_wire_close(&w);
}

Test(fault, holds_no_more_than_its_limit)
{
	static const struct fault_params params = {.tx.delay_ns = 1000, .rx.delay_ns = 1000};
	struct fault_wire w = fault_wire_open(&params, 4096);
	uint32_t numbers[64], nb_sent = 0;

	while (w.node->ops->tx_room(w.node) > 0)
		fault_wire_send(&w, w.node, nb_sent++, 0);
	cr_expect_eq(nb_sent, FAULT_HELD_MAX_PKTS);
	for (uint32_t i = 0; i < 4096; i++)
		fault_wire_send(&w, w.far, i, 0);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(fault_wire_receive(w.node, numbers, 64, 0), 0);
	cr_expect_eq(w.far->ops->tx_room(w.far), FAULT_HELD_MAX_PKTS, "the rest waits outside");
	fault_wire_close(&w);
}

Test(fault, one_seed_gives_one_run)
{
	static const struct fault_dir dir = {
		.ppm = {[FAULT_LOSS] = 50000,
	                [FAULT_DUPLICATE] = 50000,
	                [FAULT_CORRUPT] = 50000,
	                [FAULT_REORDER] = 50000},
		.reorder_pkts = 5,
		.reorder_ns = 20000,
	};
	static uint32_t numbers[3][2000];
	uint32_t n[3];

	for (int i = 0; i < 3; i++) {
		struct fault_params params = {.seed = i < 2 ? 42 : 43, .tx = dir, .rx = dir};
		struct fault_wire w = fault_wire_open(&params, 64);

		n[i] = fault_wire_run(&w, true, 1000, numbers[i], 2000);
		fault_wire_close(&w);
	}
	cr_expect_eq(n[0], n[1]);
	cr_expect_arr_eq(numbers[0], numbers[1], n[0] * sizeof(uint32_t));
	cr_expect(n[0] != n[2] || memcmp(numbers[0], numbers[2], n[0] * sizeof(uint32_t)) != 0);
}

Test(fault, the_kinds_have_dice_of_their_own)
{
	static const struct fault_params rows[] = {
		{.seed = 5, .tx = {.ppm[FAULT_LOSS] = 100000}},
		{.seed = 5, .tx = {.ppm = {[FAULT_LOSS] = 100000, [FAULT_CORRUPT] = 500000}}},
	};
	static uint32_t numbers[2][1000];
	uint32_t n[2];

	for (int i = 0; i < 2; i++) {
		struct fault_wire w = fault_wire_open(&rows[i], 64);

		n[i] = fault_wire_run(&w, true, 1000, numbers[i], 1000);
		fault_wire_close(&w);
	}
	cr_expect_eq(n[0], n[1]);
}

Test(fault, keys_have_a_default_in_range_and_a_place_of_their_own)
{
	const struct param_desc *d = fault_param_descs;

	for (; d->name; d++) {
		cr_expect(d->min <= d->def && d->def <= d->max, "%s", d->name);
		cr_expect_lt(d->offset, sizeof(struct fault_params), "%s", d->name);
		cr_expect_eq(strncmp(d->name, "fault_", 6), 0, "%s", d->name);
		for (const struct param_desc *e = fault_param_descs; e < d; e++) {
			cr_expect_neq(d->offset, e->offset, "%s and %s", d->name, e->name);
			cr_expect_str_neq(d->name, e->name);
		}
	}
	cr_expect_eq(d - fault_param_descs, 43);
}

Test(fault, what_happens_can_be_changed_and_what_is_held_still_leaves)
{
	struct fault_params params = {.seed = 1, .tx.delay_ns = 5000};
	struct fault_wire w = fault_wire_open(&params, 64);
	uint32_t numbers[8];

	fault_wire_send(&w, w.node, 0, 0);
	params.tx.delay_ns = 0;
	params.tx.ppm[FAULT_LOSS] = MILLION;
	port_fault_set(w.node, &params);
	fault_wire_send(&w, w.node, 1, 1000);
	params.tx.ppm[FAULT_LOSS] = 0;
	port_fault_set(w.node, &params);
	fault_wire_send(&w, w.node, 2, 2000);
	/* The far end sees what the near one lets go when it is driven. */
	w.node->ops->rx_burst(w.node, (struct pkt *[1]){NULL}, 1, 6000);
	cr_assert_eq(fault_wire_receive(w.far, numbers, 8, 6000), 2);
	cr_expect_eq(numbers[0], 0, "delayed as when it was sent");
	cr_expect_eq(numbers[1], 2, "in order behind it; 1 is lost");
	cr_expect_eq(port_fault_stats(w.node)->tx[FAULT_LOSS], 1);
	fault_wire_close(&w);
}

Test(fault, a_seed_means_today_what_it_meant_before_there_were_more_kinds)
{
	static const struct fault_params params = {
		.seed = 42, .tx.ppm[FAULT_LOSS] = 300000, .rx.ppm[FAULT_LOSS] = 300000};
	static uint32_t numbers[1000];

	for (int outwards = 0; outwards < 2; outwards++) {
		struct fault_wire w = fault_wire_open(&params, 64);
		uint32_t n = fault_wire_run(&w, outwards, 1000, numbers, 1000), at = 0;
		uint64_t seeds = 42;
		struct prng dice;

		/* The first seed is that of losses outwards, the fifth that of those inwards. */
		for (int i = 0; i < (outwards ? 1 : 5); i++)
			prng_seed(&dice, prng_splitmix(&seeds));
		for (uint32_t i = 0; i < 1000; i++) {
			if (prng_below(&dice, MILLION) < 300000)
				continue;
			cr_assert_lt(at, n);
			cr_assert_eq(numbers[at++], i);
		}
		cr_expect_eq(at, n);
		fault_wire_close(&w);
	}
}

Test(fault, a_port_in_use_goes_on_when_it_is_wrapped)
{
	struct fault_params params = {.seed = 1};
	struct pkt_pool *pool = pkt_pool_mem_create(64, 128);
	struct fault_wire w = {.pool = pool, .nb_pkts = 64};
	struct port *ends[2], *wrapped;
	uint32_t numbers[4];

	cr_assert_eq(port_mem_create_pair(8, ends), 0);
	ends[0]->name = "x";
	ends[0]->told_down = true;
	fault_wire_send(&w, ends[0], 1, 0);
	fault_wire_send(&w, ends[1], 2, 0);
	cr_expect_not(port_is_fault(ends[0]));
	cr_assert_eq(port_fault_wrap(ends[0], &params, pool, &wrapped), 0);
	cr_expect(port_is_fault(wrapped));
	cr_expect_str_eq(wrapped->name, "x");
	cr_expect(wrapped->told_down);
	cr_expect_eq(wrapped->ops->next_ns(wrapped), ends[0]->ops->next_ns(ends[0]));
	cr_expect_eq(wrapped->stats.tx_packets, 1);
	cr_expect_eq(wrapped->stats.tx_bytes, FAULT_WIRE_LEN);
	cr_expect_eq(fault_wire_receive(wrapped, numbers, 4, 0), 1);
	cr_expect_eq(numbers[0], 2, "what waited in it");
	fault_wire_send(&w, wrapped, 3, 0);
	cr_expect_eq(wrapped->stats.tx_packets, 2);
	cr_expect_eq(fault_wire_receive(ends[1], numbers, 4, 0), 2);
	w.node = wrapped;
	w.far = ends[1];
	fault_wire_close(&w);
}
