/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "link_clock.h"

#define MS UINT64_C(1000000)

Test(link_clock, a_frame_takes_its_time_and_a_link_of_no_rate_none)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t bytes;
		uint64_t want_ns;
	} rows[] = {
		{UINT64_C(10000000000), 1250, 1000},
		{UINT64_C(100000000000), 1250, 100},
		{LINK_RATE_MIN_BPS, 9300, 74400000},
		{UINT64_C(1600000000000), 64, 0},
		{0, 1250, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct link_clock c = {0};

		link_clock_set_rate(&c, rows[i].rate_bps);
		cr_expect_eq(link_clock_begin(&c, MS, 0), MS, "row %zu: time that nobody used", i);
		link_clock_take(&c, rows[i].bytes);
		cr_expect_eq(c.free_ns, MS + rows[i].want_ns, "row %zu: %lu", i,
		             (unsigned long)(c.free_ns - MS));
	}
}

/* Of a byte at 400 Gb/s 0.02 ns: what is rounded would be half of the rate. */
Test(link_clock, parts_of_a_nanosecond_add_up)
{
	static const uint64_t rates[] = {UINT64_C(400000000000), 7777777777, 25000000000};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		const double want_ns = 1e6 * 64 * 8e9 / (double)rates[i];
		struct link_clock c = {0};

		link_clock_set_rate(&c, rates[i]);
		for (uint32_t n = 0; n < 1000000; n++)
			link_clock_take(&c, 64);
		cr_expect_geq((double)c.free_ns, want_ns - 1, "never faster than %lu", rates[i]);
		cr_expect_leq((double)c.free_ns, want_ns + 1, "%lu bit/s: %lu", rates[i],
		              c.free_ns);
	}
}

/* Frames of 1 us at times; the driver comes 10 us late. */
Test(link_clock, who_is_late_sends_what_it_missed_up_to_a_bound_and_the_rest_is_lost)
{
	static const struct {
		uint64_t late_ns, want_free_ns, want_lost_ns;
	} rows[] = {
		{0, MS + 10000, 9000},   /* had nothing to send */
		{4000, MS + 6000, 5000}, /* may catch up 4 us */
		{100000, MS + 1000, 0},  /* may catch up all */
		{2 * MS, MS + 1000, 0},  /* more than there ever was */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct link_clock c = {.free_ns = MS};

		link_clock_set_rate(&c, UINT64_C(10000000000));
		link_clock_take(&c, 1250);
		cr_expect_eq(link_clock_begin(&c, MS + 10000, rows[i].late_ns),
		             rows[i].want_lost_ns, "row %zu", i);
		cr_expect_eq(c.free_ns, rows[i].want_free_ns, "row %zu", i);
	}
}

Test(link_clock, a_link_that_is_taken_stays_so)
{
	struct link_clock c = {.free_ns = MS};

	link_clock_set_rate(&c, UINT64_C(10000000000));
	link_clock_take(&c, 1250);
	cr_expect_eq(link_clock_begin(&c, MS + 500, 0), 0);
	cr_expect_eq(c.free_ns, MS + 1000);
	link_clock_set_rate(&c, 0);
	cr_expect_eq(link_clock_begin(&c, MS + 2000, MS), 1000, "a link of no rate misses nothing");
	cr_expect_eq(c.free_ns, MS + 2000);
}
