/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "plan.h"

static struct plan
make(enum plan_kind kind, uint64_t rate_bps, uint64_t delay_ns, uint64_t core_rate_bps,
     uint64_t core_delay_ns)
{
	const char *key;
	char why[256] = "";
	struct plan_params p;
	struct plan plan;

	param_defaults(plan_param_descs, &p);
	p.rate_bps = rate_bps;
	p.delay_ns = delay_ns;
	p.core_rate_bps = core_rate_bps;
	p.core_delay_ns = core_delay_ns;
	cr_assert_eq(plan_create(&plan, kind, &p, &key, why, sizeof(why)), 0, "%s", why);
	return plan;
}

/* A byte takes 80 ps at 100 Gb/s, 20 ps at 400 Gb/s. */
Test(plan_time, round_trips_are_those_of_a_sheet_of_paper)
{
	static const struct {
		enum plan_kind kind;
		uint64_t rate, delay_ns, core_rate, core_delay_ns;
		uint32_t a, b, data, ack;
		uint64_t want_ps;
	} rows[] = {
		/* 1106 x 80 + 86 x 80 + 2 us */
		{PLAN_BACK_TO_BACK, 100000000000, 1000, 0, 0, 0, 1, 1106, 86, 2095360},
		/* twice each, 4 us */
		{PLAN_STAR, 100000000000, 1000, 0, 0, 0, 7, 1106, 86, 4190720},
		/* same switch */
		{PLAN_DUMBBELL, 100000000000, 1000, 0, 0, 0, 3, 1106, 86, 4190720},
		/* 3 x 95,360 + 6 us */
		{PLAN_DUMBBELL, 100000000000, 1000, 0, 0, 0, 4, 1106, 86, 6286080},
		/* host links 2 x 95,360 + 4 us; core 1192 x 20 + 10 us */
		{PLAN_DUMBBELL, 100000000000, 1000, 400000000000, 5000, 0, 4, 1106, 86, 14214560},
		/* four: 2 x 95,360 + 2 x 23,840 + 8 us */
		{PLAN_LEAF_SPINE, 100000000000, 1000, 400000000000, 1000, 0, 15, 1106, 86, 8238400},
		{PLAN_LEAF_SPINE, 100000000000, 1000, 400000000000, 1000, 0, 3, 1106, 86, 4190720},
		/* six links: 6 x 95,360 + 12 us; in the pod four; at the switch two */
		{PLAN_FAT_TREE, 100000000000, 1000, 0, 0, 0, 15, 1106, 86, 12572160},
		{PLAN_FAT_TREE, 100000000000, 1000, 0, 0, 0, 3, 1106, 86, 8381440},
		{PLAN_FAT_TREE, 100000000000, 1000, 0, 0, 0, 1, 1106, 86, 4190720},
		/* a byte takes 8000/3 ps: 3 bytes x 2 links x 2 ways is whole, 1 is not */
		{PLAN_STAR, 3000000000, 0, 0, 0, 0, 1, 3, 3, 32000},
		{PLAN_STAR, 3000000000, 0, 0, 0, 0, 1, 1, 1, 10666},
		/* slow and far */
		{PLAN_BACK_TO_BACK, 1000000, 1000000000, 0, 0, 0, 1, 9000, 86, 2072688000000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plan plan = make(rows[i].kind, rows[i].rate, rows[i].delay_ns,
		                        rows[i].core_rate, rows[i].core_delay_ns);

		cr_expect_eq(plan_rtt_ps(&plan, rows[i].a, rows[i].b, rows[i].data, rows[i].ack),
		             rows[i].want_ps, "row %zu", i);
		plan_free(&plan);
	}
}

Test(plan_time, the_plans_own_round_trip_is_of_the_longest_path)
{
	struct plan plan = make(PLAN_FAT_TREE, 100000000000, 1000, 0, 0);

	cr_expect_eq(plan.rtt_ns, 12573, "12,572.16 ns");
	plan_free(&plan);
	plan = make(PLAN_BACK_TO_BACK, 100000000000, 1000, 0, 0);
	cr_expect_eq(plan.rtt_ns, 2096);
	plan_free(&plan);
}

Test(plan_time, of_two_paths_the_round_trip_is_the_longer_and_the_ideal_the_shorter)
{
	struct plan_params p;
	const char *key;
	char why[256];
	struct plan plan;

	param_defaults(plan_param_descs, &p);
	p.hosts = 2;
	p.delay2_ns = 9000;
	cr_assert_eq(plan_create(&plan, PLAN_TWO_PATHS, &p, &key, why, sizeof(why)), 0);
	cr_expect_eq(plan_rtt_ps(&plan, 0, 1, 1106, 86), 22286080, "3 x 95,360 + 22 us");
	cr_expect_eq(plan_ideal_ps(&plan, 0, 1, 0, 0, 1106), 3265440, "3 x 88,480 + 3 us");
	plan_free(&plan);
}

/* The same by the definition: a frame leaves when it is there and the one before has left. */
static uint64_t
by_hand(const uint64_t *ps_per_byte, const uint64_t *delay_ps, int nb_links, uint64_t nb_full,
        uint32_t full, uint32_t last)
{
	uint64_t free_ps[6] = {0}, t = 0;

	for (uint64_t f = 0; f <= nb_full; f++) {
		t = 0;
		for (int i = 0; i < nb_links; i++) {
			uint64_t begin = t > free_ps[i] ? t : free_ps[i];

			free_ps[i] = begin + ps_per_byte[i] * (f < nb_full ? full : last);
			t = free_ps[i] + delay_ps[i];
		}
	}
	return t;
}

Test(plan_time, the_ideal_time_is_that_of_frames_one_behind_the_other)
{
	static const struct {
		enum plan_kind kind;
		uint64_t rate, core_rate; /* Gb/s */
		int nb_links;
	} shapes[] = {
		{PLAN_BACK_TO_BACK, 100, 100, 1}, {PLAN_STAR, 100, 100, 2},
		{PLAN_DUMBBELL, 100, 100, 3},     {PLAN_DUMBBELL, 100, 10, 3},
		{PLAN_DUMBBELL, 10, 100, 3},      {PLAN_LEAF_SPINE, 100, 400, 4},
		{PLAN_FAT_TREE, 100, 40, 6},      {PLAN_FAT_TREE, 40, 100, 6},
	};
	static const struct {
		uint64_t nb_full;
		uint32_t last;
	} trains[] = {{0, 1106}, {0, 83}, {1, 1106}, {1, 83}, {7, 83}, {7, 600}, {1000, 1106}};

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		struct plan plan = make(shapes[s].kind, shapes[s].rate * 1000000000, 1000,
		                        shapes[s].core_rate * 1000000000, 700);
		uint64_t ps[6], delay_ps[6];
		int nb = shapes[s].nb_links;

		for (int i = 0; i < nb; i++) {
			bool is_core = i > 0 && i < nb - 1;

			ps[i] = 8000 / (is_core ? shapes[s].core_rate : shapes[s].rate);
			delay_ps[i] = is_core ? 700000 : 1000000;
		}
		for (size_t i = 0; i < sizeof(trains) / sizeof(trains[0]); i++)
			cr_expect_eq(
				plan_ideal_ps(&plan, 0, plan.nb_hosts - 1, trains[i].nb_full, 1106,
			                      trains[i].last),
				by_hand(ps, delay_ps, nb, trains[i].nb_full, 1106, trains[i].last),
				"shape %zu train %zu", s, i);
		plan_free(&plan);
	}
}

Test(plan_time, long_messages_do_not_add_up_errors_of_rounding)
{
	struct plan plan = make(PLAN_BACK_TO_BACK, 3000000000, 0, 0, 0);

	/* 3e9 bytes of 8000/3 ps in frames of 1000 */
	cr_expect_eq(plan_ideal_ps(&plan, 0, 1, 2999999, 1000, 1000), 8000000000000);
	plan_free(&plan);
}
