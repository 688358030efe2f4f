/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "prng.h"
#include "wheel.h"

#define SHIFT 6
#define TICK_NS (1u << SHIFT)
#define SEC UINT64_C(1000000000)

static struct wheel wheel;

Test(wheel, an_empty_wheel_never_fires)
{
	wheel_init(&wheel, 123, SHIFT);
	cr_expect_eq(wheel_next_ns(&wheel), WHEEL_NEVER_NS);
	cr_expect_null(wheel_expired(&wheel, 0));
	cr_expect_null(wheel_expired(&wheel, 1u << 31));
	cr_expect_null(wheel_expired(&wheel, WHEEL_END_NS - 1));
}

/* Distances from a tick to the far end, from starts on both sides of slot borders. */
Test(wheel, each_timer_fires_within_a_tick_after_its_time_at_any_distance)
{
	static const uint64_t starts[] = {0, 63, 64, 4095 * 64, 4096 * 64 - 1, SEC, 77 * SEC + 1};
	static const uint64_t waits[] = {
		0,
		1,
		63,
		64,
		65,
		4095,
		4096,
		4097,
		262143,
		262144,
		262145,
		16777215,
		16777216,
		SEC,
		67 * SEC,
		3600 * SEC,
		86400 * 365 * SEC,
		WHEEL_END_NS / 2,
	};

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
			uint64_t due = starts[s] + waits[i], now = starts[s];
			struct wheel_timer t;
			int wakes = 0;

			wheel_init(&wheel, starts[s], SHIFT);
			wheel_timer_init(&t);
			wheel_arm(&wheel, &t, due);
			cr_assert(wheel_is_armed(&t));
			while (!wheel_expired(&wheel, now)) {
				uint64_t next = wheel_next_ns(&wheel);

				cr_assert_gt(next, now, "start %zu wait %zu", s, i);
				/* One ns before it must be silent. */
				cr_assert_null(wheel_expired(&wheel, next - 1));
				now = next;
				wakes++;
			}
			cr_expect(now >= due && now <= due + TICK_NS, "%lu for %lu", now, due);
			cr_expect_leq(wakes, WHEEL_LEVELS + 1);
			cr_expect_not(wheel_is_armed(&t));
			cr_expect_eq(wheel_next_ns(&wheel), WHEEL_NEVER_NS);
		}
	}
}

Test(wheel, times_of_never_and_beyond_the_end_cancel)
{
	static const uint64_t never[] = {WHEEL_NEVER_NS, WHEEL_NEVER_NS - 1, WHEEL_END_NS};
	struct wheel_timer t;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&t);
	for (size_t i = 0; i < 3; i++) {
		wheel_arm(&wheel, &t, 1000);
		wheel_arm(&wheel, &t, never[i]);
		cr_expect_not(wheel_is_armed(&t));
		cr_expect_eq(wheel_next_ns(&wheel), WHEEL_NEVER_NS);
	}
	wheel_cancel(&wheel, &t); /* harmless when not armed */
	wheel_arm(&wheel, &t, WHEEL_END_NS - 1);
	cr_expect(wheel_is_armed(&t));
	cr_expect_null(wheel_expired(&wheel, WHEEL_END_NS - TICK_NS - 1));
	cr_expect_eq(wheel_expired(&wheel, WHEEL_END_NS), &t);
}

Test(wheel, a_timer_put_off_again_and_again_fires_once_at_the_last_time)
{
	struct wheel_timer t;
	uint64_t now = 0, due = 0;
	int wakes = 0;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&t);
	for (; now < SEC; now += 1000) {
		due = now + 4000000;
		wheel_arm(&wheel, &t, due);
		if (wheel_next_ns(&wheel) <= now) {
			wakes++;
			cr_assert_null(wheel_expired(&wheel, now));
		}
	}
	/* Put off a million times, moved a few times per 4 ms. */
	cr_expect_leq(wakes, 4 * 250);
	cr_expect_null(wheel_expired(&wheel, due - 1));
	cr_expect_eq(wheel_expired(&wheel, due + TICK_NS), &t);
	cr_expect_null(wheel_expired(&wheel, 2 * SEC));
}

Test(wheel, putting_off_moves_nothing_until_the_old_time_comes)
{
	struct wheel_timer t;
	uint64_t next;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&t);
	wheel_arm(&wheel, &t, 100000);
	next = wheel_next_ns(&wheel);
	wheel_arm(&wheel, &t, SEC);
	cr_expect_eq(wheel_next_ns(&wheel), next);
	cr_expect_eq(t.due_ns, SEC);
	cr_expect_null(wheel_expired(&wheel, 200000));
	cr_expect_gt(wheel_next_ns(&wheel), SEC / 2);
}

Test(wheel, an_earlier_time_takes_effect)
{
	struct wheel_timer t;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&t);
	wheel_arm(&wheel, &t, SEC);
	wheel_arm(&wheel, &t, 2 * SEC);
	wheel_arm(&wheel, &t, 1000);
	cr_expect_leq(wheel_next_ns(&wheel), 1000 + TICK_NS);
	cr_expect_eq(wheel_expired(&wheel, 1000 + TICK_NS), &t);
	cr_expect_null(wheel_expired(&wheel, 3 * SEC));
}

Test(wheel, timers_that_came_up_can_be_cancelled_or_moved_before_they_are_taken)
{
	struct wheel_timer a, b, c;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&a);
	wheel_timer_init(&b);
	wheel_timer_init(&c);
	wheel_arm(&wheel, &a, 640);
	wheel_arm(&wheel, &b, 640);
	wheel_arm(&wheel, &c, 640);
	cr_assert_eq(wheel_expired(&wheel, 640), &a);
	cr_expect_eq(wheel_next_ns(&wheel), 0);
	wheel_cancel(&wheel, &b);
	wheel_arm(&wheel, &c, 6400); /* later */
	wheel_arm(&wheel, &a, 1280); /* the one taken, again */
	cr_expect_null(wheel_expired(&wheel, 640));
	cr_expect_eq(wheel_expired(&wheel, 1280), &a);
	wheel_arm(&wheel, &c, 1300); /* earlier */
	cr_expect_eq(wheel_expired(&wheel, 1344), &c);
	cr_expect_null(wheel_expired(&wheel, SEC));
}

Test(wheel, a_handler_that_always_asks_for_the_past_does_not_hang_the_loop)
{
	struct wheel_timer t;
	int nb = 0;

	wheel_init(&wheel, 0, SHIFT);
	wheel_timer_init(&t);
	wheel_arm(&wheel, &t, 100);
	while (wheel_expired(&wheel, 10000)) {
		nb++;
		wheel_arm(&wheel, &t, 100);
	}
	cr_expect_leq(nb, 10000 / TICK_NS);
	cr_expect_eq(wheel_expired(&wheel, 10000 + TICK_NS), &t);
}

Test(wheel, timers_fire_in_the_order_of_their_ticks_after_a_long_stall)
{
	static struct wheel_timer timers[1000];
	struct prng p;
	uint64_t last = 0;
	int nb = 0;

	prng_seed(&p, 5);
	wheel_init(&wheel, 0, SHIFT);
	for (int i = 0; i < 1000; i++) {
		wheel_timer_init(&timers[i]);
		wheel_arm(&wheel, &timers[i], 1 + (prng_next(&p) >> (20 + prng_below(&p, 40))));
	}
	for (struct wheel_timer *t; (t = wheel_expired(&wheel, WHEEL_END_NS - 1)); nb++) {
		uint64_t tick = (t->due_ns + TICK_NS - 1) >> SHIFT;

		cr_assert_geq(tick, last);
		last = tick;
	}
	cr_expect_eq(nb, 1000);
}

/* The model is an array of due times; time goes on in steps of all sizes. */
Test(wheel, agrees_with_a_plain_array_through_random_use)
{
	enum { NB = 200 };
	static struct wheel_timer timers[NB];
	static uint64_t due[NB];
	struct prng p;
	uint64_t now = 12345;

	prng_seed(&p, 99);
	wheel_init(&wheel, now, SHIFT);
	for (int i = 0; i < NB; i++) {
		wheel_timer_init(&timers[i]);
		due[i] = WHEEL_NEVER_NS;
	}
	for (int step = 0; step < 100000; step++) {
		uint32_t i = prng_below(&p, NB);
		uint64_t next, first = WHEEL_NEVER_NS;

		if (prng_below(&p, 4) == 0) {
			due[i] = WHEEL_NEVER_NS;
			wheel_cancel(&wheel, &timers[i]);
		} else {
			due[i] = now + (prng_next(&p) >> (24 + prng_below(&p, 40)));
			wheel_arm(&wheel, &timers[i], due[i]);
		}
		for (int k = 0; k < NB; k++)
			first = due[k] < first ? due[k] : first;
		next = wheel_next_ns(&wheel);
		cr_assert(first == WHEEL_NEVER_NS ? next == first : next <= first + TICK_NS);

		now += prng_next(&p) >> (28 + prng_below(&p, 36));
		for (struct wheel_timer *t; (t = wheel_expired(&wheel, now));) {
			long k = t - timers;

			cr_assert_eq(t->due_ns, due[k]);
			cr_assert_leq(due[k], now);
			due[k] = WHEEL_NEVER_NS;
		}
		for (int k = 0; k < NB; k++)
			cr_assert(due[k] == WHEEL_NEVER_NS || due[k] + TICK_NS > now);
	}
}
