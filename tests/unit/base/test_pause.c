/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pause.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define WATCHDOG (100 * MS)

static struct pause p;
static struct pause_stats stats;

static void
begin(uint64_t watchdog_ns)
{
	memset(&stats, 0, sizeof(stats));
	pause_init(&p, &stats, watchdog_ns);
}

Test(pause, nothing_is_paused_at_first)
{
	begin(WATCHDOG);
	cr_expect_eq(pause_mask(&p, 0), 0);
	cr_expect_eq(pause_mask(&p, SEC), 0);
	cr_expect_eq(pause_next_ns(&p), UINT64_MAX);
}

/* IEEE 802.1Qbb: 0xFFFF quanta of 512 bit times. */
Test(pause, quanta_last_as_long_as_the_link_is_slow)
{
	static const struct {
		uint16_t quanta;
		uint64_t rate_bps, want_ns;
	} rows[] = {
		{0xffff, 100000000000, 335540}, /* 335,539.2 */
		{0xffff, 400000000000, 83885},
		{0xffff, 10000000000, 3355392},
		{1, 1000000000, 512},
		{1, 100000000000, 6}, /* 5.12 */
		{1, UINT64_C(1600000000000), 1},
		{0, 100000000000, 0},
		{0xffff, 1000000, UINT64_C(33553920000)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(pause_quanta_ns(rows[i].quanta, rows[i].rate_bps), rows[i].want_ns,
		             "row %zu", i);
}

Test(pause, each_class_has_its_own_time)
{
	begin(WATCHDOG);
	pause_receive(&p, 3, 10 * US, SEC);
	pause_receive(&p, 0, 30 * US, SEC);
	cr_expect_eq(pause_mask(&p, SEC), 1 << 3 | 1 << 0);
	cr_expect_eq(pause_next_ns(&p), SEC + 10 * US);
	cr_expect_eq(pause_mask(&p, SEC + 10 * US - 1), 1 << 3 | 1 << 0);
	cr_expect_eq(pause_mask(&p, SEC + 10 * US), 1 << 0);
	cr_expect_eq(pause_next_ns(&p), SEC + 30 * US);
	cr_expect_eq(pause_mask(&p, SEC + 30 * US), 0);
	cr_expect_eq(pause_next_ns(&p), UINT64_MAX);
}

Test(pause, the_last_frame_counts)
{
	begin(WATCHDOG);
	pause_receive(&p, 3, 10 * MS, SEC);
	pause_receive(&p, 3, 10 * US, SEC + 1 * US);
	cr_expect_eq(pause_next_ns(&p), SEC + 11 * US);
	pause_receive(&p, 3, 20 * US, SEC + 2 * US);
	cr_expect_eq(pause_mask(&p, SEC + 21 * US), 1 << 3);
	pause_receive(&p, 3, 0, SEC + 21 * US);
	cr_expect_eq(pause_mask(&p, SEC + 21 * US), 0);
	cr_expect_eq(stats.pauses[3], 3);
	cr_expect_eq(stats.resumes[3], 1);
	pause_receive(&p, 3, 0, SEC + 22 * US); /* a resume of what is open */
	cr_expect_eq(stats.resumes[3], 2);
	cr_expect_eq(pause_next_ns(&p), UINT64_MAX);
	cr_expect_eq(stats.duration_us[3], 21);
}

/* However often it is asked, and by however many frames it is said. */
Test(pause, paused_time_is_counted_once_and_open_time_not)
{
	begin(0);
	pause_receive(&p, 5, 10 * US, 0);
	for (uint64_t t = 0; t < 9 * US; t += 100)
		pause_mask(&p, t);
	pause_receive(&p, 5, 10 * US, 9 * US + 500); /* until 19.5 */
	pause_receive(&p, 5, 10 * US, 25 * US);      /* nobody has asked between; until 35 */
	cr_expect_eq(stats.duration_us[5], 19);
	pause_mask(&p, 100 * US);
	cr_expect_eq(stats.duration_us[5], 29); /* 29.5 */
	pause_receive(&p, 5, 500, 200 * US);
	pause_mask(&p, 300 * US);
	cr_expect_eq(stats.duration_us[5], 30);
}

Test(pause, a_class_held_for_a_watchdog_period_is_broken)
{
	begin(WATCHDOG);
	pause_receive(&p, 3, 10 * SEC, SEC);
	cr_expect_eq(pause_next_ns(&p), SEC + WATCHDOG);
	cr_expect_eq(pause_mask(&p, SEC + WATCHDOG - 1), 1 << 3);
	cr_expect_eq(stats.storms[3], 0);
	cr_expect_eq(pause_mask(&p, SEC + WATCHDOG), 0);
	cr_expect_eq(stats.storms[3], 1);
	cr_expect_eq(stats.duration_us[3], WATCHDOG / 1000);
	cr_expect_eq(pause_next_ns(&p), UINT64_MAX);
}

/* What a forger can do at most: frames of each kind in any order, all the time. */
Test(pause, no_mixture_of_frames_holds_a_class_for_two_watchdog_periods)
{
	srand(1);
	for (uint32_t run = 0; run < 200; run++) {
		uint64_t open_ns = 0, now = 0;
		/* Odd runs: it always pauses again before the sender looks. */
		bool back_to_back = run & 1;

		begin(WATCHDOG);
		while (now < 2 * SEC) {
			for (uint32_t n = (uint32_t)rand() % 4; n > 0; n--)
				pause_receive(&p, 3, rand() % 3 ? (uint64_t)rand() % (50 * MS) : 0,
				              now);
			if (back_to_back)
				pause_receive(&p, 3, 40 * MS, now);
			if (!(pause_mask(&p, now) & 1 << 3))
				open_ns = now;
			cr_assert_leq(now - open_ns, 2 * WATCHDOG, "run %u", run);
			now += (uint64_t)rand() % (30 * MS);
		}
		cr_expect(!back_to_back || stats.storms[3] > 0);
	}
}

Test(pause, a_broken_class_stays_open_while_pauses_keep_coming)
{
	uint64_t now = 0;

	begin(WATCHDOG);
	for (; now < 10 * SEC; now += 50 * MS) {
		pause_receive(&p, 3, SEC, now);
		pause_receive(&p, 3, 0, now);
		pause_receive(&p, 3, SEC, now);
		cr_expect_eq(pause_mask(&p, now), now < WATCHDOG ? 1 << 3 : 0);
	}
	cr_expect_eq(stats.storms[3], 1);
	cr_expect_eq(stats.ignored[3], 2 * (10 * SEC - WATCHDOG - 50 * MS) / (50 * MS));
	/* They stop for a period: the next is obeyed. */
	now += WATCHDOG;
	pause_receive(&p, 3, MS, now);
	cr_expect_eq(pause_mask(&p, now), 1 << 3);
	cr_expect_eq(pause_mask(&p, now + MS), 0);
	cr_expect_eq(stats.storms[3], 1);
}

Test(pause, a_storm_of_one_class_leaves_the_others_as_they_are)
{
	begin(WATCHDOG);
	pause_receive(&p, 3, 10 * SEC, 0);
	pause_mask(&p, WATCHDOG);
	pause_receive(&p, 3, 10 * SEC, WATCHDOG);
	pause_receive(&p, 4, MS, WATCHDOG);
	cr_expect_eq(pause_mask(&p, WATCHDOG), 1 << 4);
	cr_expect_eq(stats.ignored[4], 0);
	cr_expect_eq(stats.storms[4], 0);
}

/* A switch that refreshes its pause for long, but lets the sender find the class open now and then.
 */
Test(pause, a_class_that_was_found_open_is_no_storm)
{
	begin(WATCHDOG);
	for (uint64_t now = 0; now < 5 * SEC; now += 80 * MS) {
		pause_receive(&p, 3, 79 * MS, now);
		cr_assert_eq(pause_mask(&p, now), 1 << 3);
		cr_assert_eq(pause_mask(&p, now + 79 * MS), 0);
	}
	cr_expect_eq(stats.storms[3], 0);
}

Test(pause, without_a_watchdog_a_pause_lasts)
{
	begin(0);
	for (uint64_t now = 0; now < 100 * SEC; now += SEC) {
		pause_receive(&p, 3, 2 * SEC, now);
		cr_assert_eq(pause_mask(&p, now), 1 << 3);
	}
	cr_expect_eq(stats.storms[3], 0);
}

Test(pause, clearing_opens_all)
{
	begin(WATCHDOG);
	pause_receive(&p, 0, SEC, 0);
	pause_receive(&p, 7, SEC, 0);
	pause_clear(&p, 5 * US);
	cr_expect_eq(pause_mask(&p, 5 * US), 0);
	cr_expect_eq(stats.duration_us[0], 5);
	cr_expect_eq(stats.duration_us[7], 5);
	pause_receive(&p, 7, SEC, 6 * US);
	cr_expect_eq(pause_mask(&p, 6 * US), 1 << 7);
}

Test(pause, the_longest_time_does_not_come_round)
{
	begin(0);
	pause_receive(&p, 1, UINT64_MAX, SEC);
	cr_expect_eq(pause_mask(&p, SEC), 1 << 1);
	cr_expect_eq(pause_next_ns(&p), UINT64_MAX);
	cr_expect_eq(pause_mask(&p, 1000 * SEC), 1 << 1);
}
