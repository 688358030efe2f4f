/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "done.h"

Test(done, ranks_are_the_nearest)
{
	static const struct {
		uint64_t n;
		uint32_t permille;
		uint64_t want;
	} rows[] = {
		{1, 1, 0},      {1, 500, 0},     {1, 1000, 0},     {2, 500, 0},      {2, 501, 1},
		{3, 500, 1},    {4, 500, 1},     {5, 500, 2},      {100, 990, 98},   {100, 991, 99},
		{101, 990, 99}, {999, 999, 998}, {1000, 999, 998}, {1001, 999, 999}, {10, 1000, 9},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(rank_of(rows[i].n, rows[i].permille), rows[i].want, "row %zu", i);
}

/* Flow i of 1000 takes 1000 - i ns and has 2i + 1 bytes; each tenth is not done. */
static struct flow flows[1000];

static struct result
make(void)
{
	for (uint32_t i = 0; i < 1000; i++)
		flows[i] = (struct flow){
			.conf.bytes = 2 * i + 1,
			.start_ps = 5,
			.end_ps = 5 + (1000 - i) * PS_PER_NS,
			.ideal_ps = i % 2 ? PS_PER_NS : 0,
			.status = i % 10 == 0 ? FLOW_RUNS : FLOW_DONE,
		};
	return (struct result){.nb_flows = 1000, .flows = flows};
}

Test(done, flows_that_are_not_done_do_not_count)
{
	struct result r = make();
	struct done_flows d;
	struct spread s;

	cr_assert_eq(done_flows_create(&d, &r), 0);
	cr_expect_eq(d.nb, 900);
	s = done_flows_fct(&d, 0, d.nb);
	cr_expect_eq(s.nb, 900);
	cr_expect_eq(s.max, 999);
	/* The 450th of 1, 2, ... without the tens. */
	cr_expect_eq(s.p50, 499);
	cr_expect_eq(s.mean, 500);
	done_flows_free(&d);
}

Test(done, classes_are_bounded_by_their_largest)
{
	struct result r = make();
	struct done_flows d;

	cr_assert_eq(done_flows_create(&d, &r), 0);
	cr_expect_eq(d.flows[done_flows_end(&d, 0) - 1].bytes, 999);
	cr_expect_eq(d.flows[done_flows_end(&d, 0)].bytes, 1003, "that of 1001 is not done");
	for (uint32_t c = 1; c < SIZE_CLASSES; c++)
		cr_expect_eq(done_flows_end(&d, c), 900);
	done_flows_free(&d);
}

Test(done, a_slowdown_needs_an_ideal_time)
{
	struct result r = make();
	struct done_flows d;
	struct spread s;

	cr_assert_eq(done_flows_create(&d, &r), 0);
	s = done_flows_slowdown(&d, 0, d.nb);
	cr_expect_eq(s.nb, 500);
	cr_expect_eq(s.max, 999);
	s = done_flows_slowdown(&d, 7, 7);
	cr_expect_eq(s.nb, 0);
	done_flows_free(&d);
}

Test(done, no_flow_is_no_mistake)
{
	struct result r = {0};
	struct done_flows d;

	cr_assert_eq(done_flows_create(&d, &r), 0);
	cr_expect_eq(done_flows_fct(&d, 0, 0).nb, 0);
	cr_expect_eq(done_flows_end(&d, 3), 0);
	done_flows_free(&d);
}
