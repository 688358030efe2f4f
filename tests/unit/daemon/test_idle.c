/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine.h"
#include "idle.h"

#define MS UINT64_C(1000000)
#define BUSY_NS (UINT64_C(1000) * MS)

/* Idle turns, 1 us each, until the first that is no pause. */
static enum idle_act
after_pauses(struct idle *idle, uint64_t since_ns)
{
	enum idle_act act = IDLE_PAUSE;

	for (uint64_t t = 1; t <= 1000 && act == IDLE_PAUSE; t++)
		act = idle_next(idle, since_ns + t * 1000, NEVER_NS);
	return act;
}

Test(idle, pauses_then_yields_then_sleeps)
{
	struct idle idle;

	idle_init(&idle, false);
	idle_busy(&idle, BUSY_NS);
	cr_expect_eq(idle_next(&idle, BUSY_NS, NEVER_NS), IDLE_PAUSE);
	cr_expect_eq(after_pauses(&idle, BUSY_NS), IDLE_YIELD);
	cr_expect_not(idle_yielded(&idle, MS / 10), "a partner's turn is none that is lost");
	cr_expect_eq(idle_next(&idle, BUSY_NS + MS / 2, NEVER_NS), IDLE_YIELD);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 2 * MS, NEVER_NS), IDLE_SLEEP);
	idle_busy(&idle, BUSY_NS + 3 * MS);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 3 * MS, NEVER_NS), IDLE_PAUSE, "from the start");
}

Test(idle, a_deadline_that_is_near_is_not_slept_for)
{
	struct idle idle;

	idle_init(&idle, false);
	idle_busy(&idle, BUSY_NS);
	cr_assert_eq(after_pauses(&idle, BUSY_NS), IDLE_YIELD);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 2 * MS, BUSY_NS + 2 * MS + 1000), IDLE_PAUSE);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 2 * MS, BUSY_NS + 3 * MS), IDLE_SLEEP);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 2 * MS, BUSY_NS + 2 * MS), IDLE_STEP_ASIDE);
	cr_expect_eq(idle_next(&idle, BUSY_NS + 2 * MS, 0), IDLE_STEP_ASIDE);
}

Test(idle, whoever_takes_the_core_for_long_is_given_it_by_sleeping)
{
	struct idle idle;

	idle_init(&idle, false);
	idle_busy(&idle, BUSY_NS);
	cr_assert_eq(after_pauses(&idle, BUSY_NS), IDLE_YIELD);
	cr_expect(idle_yielded(&idle, 4 * MS));
	idle_busy(&idle, BUSY_NS);
	cr_expect_eq(after_pauses(&idle, BUSY_NS), IDLE_SLEEP);
}

/* Idle turns from a slow yield to the next yield, in a silence that just began. */
static uint32_t
turns_without_yield(struct idle *idle)
{
	uint32_t n = 0;

	cr_assert(idle_yielded(idle, 4 * MS));
	while (idle_next(idle, BUSY_NS, NEVER_NS) != IDLE_YIELD && n < 1000000)
		n++;
	return n;
}

Test(idle, each_slow_yield_costs_twice_the_one_before_up_to_a_limit)
{
	uint32_t before, now;
	struct idle idle;

	idle_init(&idle, false);
	idle_busy(&idle, BUSY_NS);
	before = turns_without_yield(&idle);
	now = turns_without_yield(&idle);
	cr_expect_gt(now, before);
	for (int i = 0; i < 20; i++) {
		before = now;
		now = turns_without_yield(&idle);
	}
	cr_expect_eq(now, before, "it does not grow for ever");
	for (int i = 0; i < 40; i++)
		cr_assert_not(idle_yielded(&idle, 1000));
	cr_expect_lt(turns_without_yield(&idle), now, "quick ones are remembered as well");
}

Test(idle, a_worker_with_a_core_of_its_own_only_pauses)
{
	struct idle idle;

	idle_init(&idle, true);
	for (uint64_t t = 0; t < 100; t++)
		cr_assert_eq(idle_next(&idle, t * MS, t % 2 ? NEVER_NS : 0), IDLE_PAUSE);
}
