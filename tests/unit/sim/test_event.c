/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "list.h"
#include "net.h" /* and with it the event.h of its folder: lib/base has another */
#include "prng.h"

/*
 * The calendar queue against a binary heap that knows nothing of buckets: the same events in the
 * same order, whatever their times and however often they move.
 */

#define NB_EVENTS 4096
#define NB_OPS 1000000

struct item {
	struct event event;
	uint64_t at_ps, order; /* as the heap has it */
	bool is_armed;
};

/* An arming; void once its item has another order, or is not armed. */
struct entry {
	uint64_t at_ps, order;
	uint32_t item;
};

static struct events clock;
static struct item items[NB_EVENTS];
static struct entry *heap;
static size_t nb_heap, max_heap;
static uint64_t nb_armed, nb_fired;
static struct prng dice;

/* ---- reference ---- */

static bool
is_before(const struct entry *a, const struct entry *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

static void
heap_push(struct entry e)
{
	size_t i = nb_heap++;

	if (nb_heap > max_heap) {
		max_heap = 2 * nb_heap;
		heap = realloc(heap, max_heap * sizeof(*heap));
		cr_assert(heap);
	}
	for (; i > 0 && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static void
heap_pop(void)
{
	struct entry e = heap[--nb_heap];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < nb_heap; i = child) {
		if (child + 1 < nb_heap && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &e))
			break;
		heap[i] = heap[child];
	}
	if (nb_heap > 0)
		heap[i] = e;
}

/* The next that is still meant; NULL = none. */
static const struct entry *
heap_next(void)
{
	for (; nb_heap > 0; heap_pop()) {
		const struct item *item = &items[heap[0].item];

		if (item->is_armed && item->order == heap[0].order)
			return &heap[0];
	}
	return NULL;
}

/* ---- both ---- */

static void
arm(uint32_t i, uint64_t at_ps)
{
	event_arm(&clock, &items[i].event, at_ps);
	items[i].at_ps = at_ps;
	items[i].order = nb_armed++;
	items[i].is_armed = true;
	heap_push((struct entry){at_ps, items[i].order, i});
}

static void
cancel(uint32_t i)
{
	event_cancel(&clock, &items[i].event);
	items[i].is_armed = false;
}

static uint32_t
nb_pending(void)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < NB_EVENTS; i++)
		nb += items[i].is_armed;
	return nb;
}

/* How far ahead: ties, what frames take, timeouts, and now and then what no year reaches. */
static uint64_t
some_gap(uint64_t scale_ps)
{
	switch (prng_below(&dice, 16)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return scale_ps;
	case 3:
		return scale_ps * 1000 + prng_below(&dice, 1000);
	case 4:
		return prng_next(&dice) >> (prng_below(&dice, 50) + 14);
	}
	return (uint64_t)(prng_unit(&dice) * 4 * (double)scale_ps);
}

/* What an event does now and then: arm others, itself, and not fire. */
static uint64_t scale_ps;

static void
fire(struct event *e, uint64_t now_ps)
{
	const struct item *item = container_of(e, struct item, event);
	const struct entry *want = heap_next();
	uint32_t i = (uint32_t)(item - items);

	cr_assert(want, "event %u fired, and none was due", i);
	cr_assert(want->item == i, "event %u fired at %lu where %u was due at %lu", i, now_ps,
	          want->item, want->at_ps);
	cr_assert_eq(now_ps, want->at_ps);
	cr_assert_eq(clock.now_ps, now_ps);
	cr_assert(!e->is_armed);
	items[i].is_armed = false;
	heap_pop();
	nb_fired++;
	if (prng_below(&dice, 2))
		arm(i, now_ps + some_gap(scale_ps));
	if (prng_below(&dice, 8) == 0)
		cancel(prng_below(&dice, NB_EVENTS));
	if (prng_below(&dice, 8) == 0)
		arm(prng_below(&dice, NB_EVENTS), now_ps + some_gap(scale_ps));
}

static void
init(uint64_t seed)
{
	cr_assert_eq(events_init(&clock, EVENTS_MANY_LOG2), 0);
	for (uint32_t i = 0; i < NB_EVENTS; i++)
		items[i] = (struct item){.event.fire = fire};
	nb_heap = nb_armed = nb_fired = 0;
	prng_seed(&dice, seed);
}

/* One operation on both. */
static void
do_one(void)
{
	uint32_t i = prng_below(&dice, NB_EVENTS), what = prng_below(&dice, 16);
	const struct entry *next;
	bool has_fired;
	uint64_t until_ps;

	if (what < 5) {
		arm(i, clock.now_ps + some_gap(scale_ps));
	} else if (what == 5) {
		cancel(i);
	} else if (what == 6) {
		next = heap_next();
		cr_assert_eq(events_next_ps(&clock), next ? next->at_ps : NEVER_PS);
	} else { /* mostly without a limit, and sometimes up to one that may come before the next */
		next = heap_next();
		until_ps = what < 15 ? NEVER_PS : clock.now_ps + some_gap(scale_ps);
		if (next && next->at_ps > until_ps)
			next = NULL;
		has_fired = events_step(&clock, until_ps);
		cr_assert_eq(has_fired, next != NULL);
	}
	cr_assert_eq(clock.nb_armed, nb_armed);
	cr_assert_eq(clock.nb_fired, nb_fired);
}

Test(event, a_million_operations_are_in_the_order_of_a_heap)
{
	/* Of the typical gap: buckets become narrow, wide and narrow again. */
	static const uint64_t scales_ps[] = {1, 4096, 1000000, 50, 300000000, 7, 20000, 1000000000};
	uint32_t shift_min = 64, shift_max = 0;

	init(1);
	for (uint32_t op = 0; op < NB_OPS; op++) {
		scale_ps = scales_ps[op / (NB_OPS / 8)];
		do_one();
		if (clock.width_shift < shift_min)
			shift_min = clock.width_shift;
		if (clock.width_shift > shift_max)
			shift_max = clock.width_shift;
		if (op % 65536 == 0)
			cr_assert_eq(clock.nb_pending, nb_pending());
	}
	scale_ps = 0;
	cr_assert_gt(nb_fired, NB_OPS / 2);
	cr_assert_gt(shift_max, shift_min + 3, "widths from 2^%u to 2^%u ps only", shift_min,
	             shift_max);
	for (uint32_t i = 0; i < NB_EVENTS; i++)
		cancel(i);
	cr_assert_eq(clock.nb_pending, 0);
	cr_assert_eq(events_next_ps(&clock), NEVER_PS);
	cr_assert(!events_step(&clock, NEVER_PS));
	free(heap);
}

/* ---- by hand ---- */

static uint32_t order[16], nb_order;

static void
note(struct event *e, uint64_t now_ps)
{
	(void)now_ps;
	order[nb_order++] = (uint32_t)(container_of(e, struct item, event) - items);
}

static void
init_notes(void)
{
	init(1);
	nb_order = 0;
	for (uint32_t i = 0; i < 16; i++)
		items[i].event.fire = note;
}

static void
step_all(void)
{
	while (events_step(&clock, NEVER_PS))
		;
}

static void
expect_order(const uint32_t *want, uint32_t nb)
{
	cr_assert_eq(nb_order, nb, "%u events fired", nb_order);
	for (uint32_t i = 0; i < nb; i++)
		cr_expect_eq(order[i], want[i], "place %u: event %u, not %u", i, order[i], want[i]);
}

Test(event, those_of_one_time_fire_as_they_were_armed_and_a_new_arming_is_the_last)
{
	static const uint32_t want[] = {3, 0, 2, 1};

	init_notes();
	for (uint32_t i = 0; i < 3; i++)
		event_arm(&clock, &items[i].event, 500);
	event_arm(&clock, &items[3].event, 499);
	event_arm(&clock, &items[1].event, 500); /* at the same time, anew */
	step_all();
	expect_order(want, 4);
}

Test(event, a_later_year_waits_behind_this_one_in_its_bucket)
{
	static const uint32_t want[] = {2, 1, 0, 3};
	uint64_t year_ps;

	init_notes();
	year_ps = (uint64_t)(UINT64_C(1) << EVENTS_MANY_LOG2) << clock.width_shift;
	event_arm(&clock, &items[0].event, 100 + 2 * year_ps);
	event_arm(&clock, &items[1].event, 100 + year_ps);
	event_arm(&clock, &items[2].event, 100);
	event_arm(&clock, &items[3].event, UINT64_C(1) << 62); /* 53 days */
	step_all();
	expect_order(want, 4);
	cr_expect_eq(clock.now_ps, UINT64_C(1) << 62);
}

Test(event, none_fires_behind_a_limit_and_an_earlier_one_may_still_come)
{
	static const uint32_t want[] = {1, 0};

	init_notes();
	event_arm(&clock, &items[0].event, 1000000000);
	cr_expect(!events_step(&clock, 999999999));
	cr_expect_eq(clock.now_ps, 0);
	event_arm(&clock, &items[1].event, 5); /* in a bucket before the one that was found */
	cr_expect(events_step(&clock, 5));
	cr_expect_eq(clock.now_ps, 5);
	cr_expect(events_step(&clock, 1000000000));
	expect_order(want, 2);
}

Test(event, one_that_is_cancelled_never_fires_and_may_be_armed_again)
{
	static const uint32_t want[] = {0, 1};

	init_notes();
	for (uint32_t i = 0; i < 3; i++)
		event_arm(&clock, &items[i].event, 10 + i);
	event_cancel(&clock, &items[1].event);
	event_cancel(&clock, &items[1].event);
	event_cancel(&clock, &items[2].event);
	event_cancel(&clock, &items[15].event);
	event_arm(&clock, &items[1].event, 20);
	cr_expect_eq(clock.nb_pending, 2);
	step_all();
	expect_order(want, 2);
}

/* ---- ranks ---- */

static uint32_t fired[4], nb_seen;

static void
see(struct event *e, uint64_t now_ps)
{
	(void)now_ps;
	fired[nb_seen++] = (uint32_t)(container_of(e, struct item, event) - items);
}

Test(event, of_one_time_those_with_a_rank_come_first_by_it)
{
	struct events q = {0};

	cr_assert_eq(events_init(&q, EVENTS_FEW_LOG2), 0);
	for (int i = 0; i < 4; i++)
		items[i].event.fire = see;
	event_arm(&q, &items[0].event, 1000);
	event_arm_ranked(&q, &items[1].event, 1000, 7);
	event_arm(&q, &items[2].event, 1000);
	event_arm_ranked(&q, &items[3].event, 1000, UINT32_MAX);
	event_arm_ranked(&q, &items[0].event, 1000, 0);
	while (events_step(&q, 1000))
		;
	cr_assert_eq(nb_seen, 4);
	cr_expect(fired[0] == 0 && fired[1] == 1 && fired[2] == 3 && fired[3] == 2);
	events_fini(&q);
}
