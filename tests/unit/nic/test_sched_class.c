/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "prng.h"
#include "sched.h"

/* Classes that are closed for a while: priority flow control's. */

#define SEC UINT64_C(1000000000)
#define NB_GROUPS 4
#define NB_ENTS 64

static struct sched sched;
static struct sched_group groups[NB_GROUPS];
static struct sched_ent ents[NB_ENTS];

static void
begin(void)
{
	sched_init(&sched, 0);
	for (int i = 0; i < NB_GROUPS; i++)
		sched_group_init(&groups[i]);
}

static struct sched_ent *
add(uint32_t i, uint32_t group, uint8_t cls)
{
	sched_ent_init(&ents[i], &groups[group]);
	sched_set_class(&sched, &ents[i], cls, 0);
	sched_wake(&sched, &ents[i], 0);
	return &ents[i];
}

/* Who has the next turn; it sends one packet, and has more. NULL = nobody. */
static struct sched_ent *
turn(uint64_t now_ns)
{
	struct sched_ent *e = sched_next(&sched, now_ns);

	if (!e)
		return NULL;
	sched_sent(e, 4096, SCHED_UNPACED, now_ns);
	sched_done(&sched, e, true, now_ns);
	return e;
}

Test(sched_class, a_closed_class_waits_while_the_others_go_on)
{
	begin();
	add(0, 0, 3);
	add(1, 0, 4);
	add(2, 0, 3);
	sched_close(&sched, 1 << 3);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(turn(0), &ents[1]);
	sched_close(&sched, 0);
	/* In the order in which they came: those of the class have waited longest. */
	cr_expect_eq(turn(0), &ents[0]);
	cr_expect_eq(turn(0), &ents[2]);
	cr_expect_eq(turn(0), &ents[1]);
	cr_expect_eq(turn(0), &ents[0]);
}

Test(sched_class, nothing_is_to_be_done_while_all_that_waits_is_closed)
{
	begin();
	for (uint32_t i = 0; i < NB_ENTS; i++)
		add(i, i % NB_GROUPS, 3 + i % 2);
	sched_close(&sched, 1 << 3 | 1 << 4);
	cr_expect_null(turn(0));
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
	sched_close(&sched, 1 << 3 | 1 << 5); /* class 4 opens */
	cr_expect_eq(sched_next_ns(&sched), 0);
	cr_expect_eq(turn(0)->cls, 4);
}

Test(sched_class, who_wakes_up_in_a_closed_class_waits_too)
{
	begin();
	sched_close(&sched, 1 << 3);
	add(0, 0, 3);
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
	cr_expect_null(turn(0));
	add(1, 0, 0); /* of the same group: it is no longer shut */
	cr_expect_eq(sched_next_ns(&sched), 0);
	cr_expect_eq(turn(0), &ents[1]);
	sched_remove(&sched, &ents[1]);
	cr_expect_null(turn(0));
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
	sched_remove(&sched, &ents[0]); /* shut, and the last of its group */
	sched_close(&sched, 0);
	cr_expect_null(turn(0));
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
}

Test(sched_class, time_that_a_class_was_closed_is_not_caught_up)
{
	struct sched_ent *e;
	uint64_t sent = 0;

	begin();
	add(0, 0, 3);
	/* A packet of 1000 bytes at 8 Mb/s: one each millisecond. */
	e = sched_next(&sched, 0);
	sched_sent(e, 1000, 8000000, 0);
	sched_done(&sched, e, true, 0);
	sched_close(&sched, 1 << 3);
	for (uint64_t now = 0; now < SEC; now += SEC / 1000)
		cr_assert_null(sched_next(&sched, now));
	sched_close(&sched, 0);
	while ((e = sched_next(&sched, SEC))) {
		for (; sched_may_send(e, SEC); sent += 1000)
			sched_sent(e, 1000, 8000000, SEC);
		sched_done(&sched, e, true, SEC);
	}
	cr_expect_leq(sent, SCHED_BURST_BYTES + 1000, "what any stall is allowed: %lu", sent);
}

Test(sched_class, moving_takes_an_entity_along_wherever_it_is)
{
	struct sched_ent *e;

	begin();
	sched_close(&sched, 1 << 3);
	add(0, 0, 0);
	sched_set_class(&sched, &ents[0], 3, 0); /* active */
	cr_expect_null(turn(0));
	sched_set_class(&sched, &ents[0], 1, 0); /* active and shut */
	cr_expect_eq(turn(0), &ents[0]);

	e = sched_next(&sched, 0); /* within its turn */
	cr_assert_eq(e, &ents[0]);
	sched_set_class(&sched, e, 3, 0);
	cr_expect(sched_is_closed(&sched, e));
	sched_sent(e, 1000, 8000000, 0);
	sched_done(&sched, e, true, 0);
	sched_set_class(&sched, e, 2, 0); /* paced */
	cr_expect_null(sched_next(&sched, SEC / 2000));
	sched_set_class(&sched, e, 3, SEC / 2000);
	cr_expect_null(sched_next(&sched, SEC / 500));
	sched_close(&sched, 0);
	cr_expect_eq(sched_next(&sched, SEC / 500), e);
}

/* A client that spreads over all classes has no larger share than one that has all in one. */
Test(sched_class, classes_give_a_group_no_larger_share)
{
	uint64_t sent[2] = {0};

	begin();
	add(0, 0, 3);
	for (uint32_t i = 0; i < 8; i++)
		add(1 + i, 1, (uint8_t)i);
	for (int i = 0; i < 100000; i++) {
		struct sched_ent *e = sched_next(&sched, 0);
		uint32_t g = (uint32_t)(e->group - groups);

		for (; sched_may_send(e, 0); sent[g] += 4096 + SCHED_PKT_COST_BYTES)
			sched_sent(e, 4096, SCHED_UNPACED, 0);
		sent[g] += g ? SCHED_TURN_COST_BYTES : 0; /* its turns are another entity's each */
		sched_done(&sched, e, true, 0);
	}
	cr_expect(sent[0] > sent[1] / 100 * 98 && sent[0] < sent[1] / 98 * 100, "%lu and %lu",
	          sent[0], sent[1]);
}

/* Whatever is closed, opened, moved, woken and removed: who may send does, and nobody else. */
Test(sched_class, no_order_of_events_loses_or_frees_anybody)
{
	struct prng rng;
	bool has_work[NB_ENTS] = {false};

	prng_seed(&rng, 1);
	begin();
	for (uint32_t i = 0; i < NB_ENTS; i++) {
		add(i, i % NB_GROUPS, (uint8_t)(i % 8));
		sched_remove(&sched, &ents[i]);
	}
	for (int step = 0; step < 100000; step++) {
		uint32_t i = prng_below(&rng, NB_ENTS);
		bool seen[NB_ENTS] = {false};
		struct sched_ent *e;

		switch (prng_below(&rng, 5)) {
		case 0:
			sched_close(&sched, (uint8_t)prng_next(&rng));
			break;
		case 1:
			sched_wake(&sched, &ents[i], 0);
			has_work[i] = true;
			break;
		case 2:
			sched_remove(&sched, &ents[i]);
			has_work[i] = false;
			break;
		case 3:
			sched_set_class(&sched, &ents[i], (uint8_t)prng_below(&rng, 8), 0);
			break;
		default:
			/* All of them, once each; then they are idle. */
			while ((e = sched_next(&sched, 0))) {
				cr_assert_not(sched_is_closed(&sched, e));
				cr_assert(has_work[e - ents] && !seen[e - ents]);
				seen[e - ents] = true;
				has_work[e - ents] = false;
				sched_done(&sched, e, false, 0);
			}
			cr_assert_eq(sched_next_ns(&sched), UINT64_MAX);
			for (uint32_t k = 0; k < NB_ENTS; k++)
				cr_assert(!has_work[k] || sched_is_closed(&sched, &ents[k]),
				          "step %d: %u", step, k);
		}
	}
}
