/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds.h"
#include "switch.h"

Test(bounds, the_weight_of_headers_is_that_of_the_paper)
{
	static const struct {
		uint32_t data_bytes, nb_ports;
		double want; /* 0 = none is enough */
	} rows[] = {
		{1024, 1, 0.000001}, {1024, 8, 0.638}, {1024, 16, 5.059}, {1024, 18, 17.618},
		{1024, 19, 0},       {1024, 22, 0},    {2048, 32, 6.288}, {4096, 64, 7.111},
		{4096, 72, 82.592},  {4096, 73, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double w = trim_weight(rows[i].nb_ports, rows[i].data_bytes, 57);

		cr_expect_eq(isinf(w), rows[i].want == 0, "row %zu: %f", i, w);
		if (rows[i].want > 0)
			cr_expect(fabs(w - rows[i].want) < 0.0005, "row %zu: %f", i, w);
	}
}

Test(bounds, an_overhead_of_the_link_asks_for_more_weight)
{
	cr_expect(fabs(trim_weight(8, 1024 + 24, 57 + 24) - 7 / (1048.0 / 81 - 7)) < 1e-9);
	cr_expect(isinf(trim_weight(16, 1024 + 24, 57 + 24)), "5.059 without it");
}

Test(bounds, headroom_is_two_delays_and_two_frames)
{
	cr_expect_eq(headroom_need_bytes(0, 5000, 1518), 3036);
	cr_expect_eq(headroom_need_bytes(100000000000, 1000, 0), 25000, "one-way: 12,500");
	/* 10 km of fibre at 100 Gb/s: 1.25 MB. */
	cr_expect_eq(headroom_need_bytes(100000000000, 50000, 1518), 1253036);
	cr_expect_eq(headroom_need_bytes(1600000000000, 1000000000, 0), 400000000000);
}

Test(bounds, marks_come_before_pauses_below_the_threshold_of_the_paper)
{
	/* 32 ports, 12,000 KB, eight classes with 22.4 KB of headroom, beta 8: published as 21.75
	 * KB. */
	uint64_t shared = 12000000 - 8 * 32 * 22400;

	cr_expect_eq(mark_before_pause_bytes(shared, 32, 8, 1), 21755);
	/* One class has the buffer for itself. */
	cr_expect_eq(mark_before_pause_bytes(900000, 2, 1, 8), 50000);
}

Test(bounds, pauses_end_the_growth_of_a_queue)
{
	/* 128 senders, 82 MB, divisor 8: 602.9 KB each. */
	cr_expect_eq(pause_reach_bytes(82000000, 0, 129, 8) / 128, 602941);
	cr_expect_eq(pause_reach_bytes(900000, 4096, 2, 8), 104096);
	cr_expect_eq(pause_reach_bytes(900000, 4096, 1, 8), 0);
}

Test(bounds, marks_of_a_lossless_class_are_doubted_where_pauses_come_before)
{
	static const struct {
		uint64_t kmin_bytes, kmax_bytes;
		uint8_t lossless;
		enum mark_doubt want;
		uint64_t from_bytes;
	} rows[] = {
		{50000, 100000, 1, MARKS_FIRST, 0},
		{50001, 100000, 1, MARKS_LATE, 50000},
		{50000, 100001, 1, MARKS_IN_PART, 100000},
		{50001, 100001, 0, MARKS_FIRST, 0}, /* lossy */
		{0, 0, 1, MARKS_FIRST, 0},          /* never marks */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* The largest divisor counts. */
		struct switch_port_params ports[] = {{.beta_dt = 8}, {.beta_dt = 2}};
		struct switch_conf conf = {.nb_ports = 2, .ports = ports};
		uint64_t from_bytes = 1;

		conf.params.buffer_bytes = 900000;
		conf.lossless = rows[i].lossless;
		conf.queues[0].kmin_bytes = rows[i].kmin_bytes;
		conf.queues[0].kmax_bytes = rows[i].kmax_bytes;
		cr_expect_eq(mark_doubt(&conf, 0, &from_bytes), rows[i].want, "row %zu", i);
		cr_expect_eq(from_bytes, rows[i].from_bytes, "row %zu", i);
	}
}
