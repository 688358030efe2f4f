/* SPDX-License-Identifier: BSD-3-Clause */
#include "wheel.h"

#include <assert.h>

#define SLOT_BITS 6
#define SLOT_MASK (WHEEL_SLOTS - 1)

static_assert(WHEEL_SLOTS == 1 << SLOT_BITS, "a slot per bit of a word");
static_assert(WHEEL_LEVELS * SLOT_BITS + WHEEL_TICK_SHIFT_MIN >= 64, "all times have a slot");

/** First tick at or after a time: what is due fires late, never early. */
static uint64_t
tick_after(const struct wheel *w, uint64_t ns)
{
	uint64_t tick = ns >> w->tick_shift;

	return tick + (tick << w->tick_shift != ns);
}

static void
unlink_timer(struct wheel *w, struct wheel_timer *t)
{
	uint32_t level = t->slot / WHEEL_SLOTS;

	list_del(&t->link);
	if (!list_is_empty(&w->slots[t->slot]))
		return; /* if it had come up, its slot is empty or others' by now: right, too */
	w->used[level] &= ~(UINT64_C(1) << (t->slot & SLOT_MASK));
	if (!w->used[level])
		w->levels_used &= ~(1u << level);
}

/**
 * Put a timer where its time belongs: on the level of the highest digit (of 6 bits) in which it
 * differs from the present. So all of a level lies before all of the next, within the same slot of
 * the next level as the present.
 */
static void
file_timer(struct wheel *w, struct wheel_timer *t)
{
	uint64_t tick = tick_after(w, t->due_ns);
	uint32_t level, digit;

	if (tick <= w->now_tick)
		tick = w->now_tick + 1;
	level = (63u - (uint32_t)__builtin_clzll(tick ^ w->now_tick)) / SLOT_BITS;
	digit = (tick >> (level * SLOT_BITS)) & SLOT_MASK;
	t->slot = (uint16_t)(level * WHEEL_SLOTS + digit);
	t->filed_ns = t->due_ns;
	w->used[level] |= UINT64_C(1) << digit;
	w->levels_used |= 1u << level;
	list_add_tail(&w->slots[t->slot], &t->link);
}

void
wheel_init(struct wheel *w, uint64_t now_ns, uint32_t tick_shift)
{
	assert(tick_shift >= WHEEL_TICK_SHIFT_MIN && tick_shift <= 20);
	w->now_tick = now_ns >> tick_shift;
	w->tick_shift = tick_shift;
	w->levels_used = 0;
	list_init(&w->up);
	for (uint32_t i = 0; i < WHEEL_LEVELS; i++)
		w->used[i] = 0;
	for (uint32_t i = 0; i < WHEEL_LEVELS * WHEEL_SLOTS; i++)
		list_init(&w->slots[i]);
}

void
wheel_timer_init(struct wheel_timer *t)
{
	list_init(&t->link);
	t->due_ns = WHEEL_NEVER_NS;
	t->filed_ns = WHEEL_NEVER_NS;
	t->slot = 0;
}

void
wheel_arm(struct wheel *w, struct wheel_timer *t, uint64_t due_ns)
{
	if (due_ns >= WHEEL_END_NS) {
		wheel_cancel(w, t);
		return;
	}
	t->due_ns = due_ns;
	if (wheel_is_armed(t)) {
		if (due_ns >= t->filed_ns)
			return;
		unlink_timer(w, t);
	}
	file_timer(w, t);
}

void
wheel_cancel(struct wheel *w, struct wheel_timer *t)
{
	if (wheel_is_armed(t))
		unlink_timer(w, t);
}

/** First used slot in time order. Only called if there is one. */
static uint32_t
first_slot(const struct wheel *w, uint64_t *tick)
{
	uint32_t level = (uint32_t)__builtin_ctz(w->levels_used);
	uint32_t digit = (uint32_t)__builtin_ctzll(w->used[level]);
	uint32_t shift = level * SLOT_BITS;
	uint64_t window = w->now_tick >> shift >> SLOT_BITS << SLOT_BITS;

	*tick = (window | digit) << shift;
	return level * WHEEL_SLOTS + digit;
}

/** Go on to the next used slot up to a tick: its timers came up, or go down to lower levels. */
static bool
turn(struct wheel *w, uint64_t until_tick)
{
	struct list came;
	uint64_t tick;
	uint32_t slot;

	if (!w->levels_used)
		return false;
	slot = first_slot(w, &tick);
	if (tick > until_tick)
		return false;
	assert(tick > w->now_tick);
	w->now_tick = tick;

	list_init(&came);
	list_splice_tail(&came, &w->slots[slot]);
	w->used[slot / WHEEL_SLOTS] &= ~(UINT64_C(1) << (slot & SLOT_MASK));
	if (!w->used[slot / WHEEL_SLOTS])
		w->levels_used &= ~(1u << (slot / WHEEL_SLOTS));
	for (struct list *l; (l = list_pop(&came));) {
		struct wheel_timer *t = container_of(l, struct wheel_timer, link);

		if (tick_after(w, t->due_ns) <= tick)
			list_add_tail(&w->up, &t->link);
		else
			file_timer(w, t);
	}
	return true;
}

struct wheel_timer *
wheel_expired(struct wheel *w, uint64_t now_ns)
{
	uint64_t until_tick = now_ns >> w->tick_shift;

	do {
		for (struct list *l; (l = list_pop(&w->up));) {
			struct wheel_timer *t = container_of(l, struct wheel_timer, link);

			if (t->due_ns <= now_ns)
				return t;
			file_timer(w, t); /* was re-armed after it came up */
		}
	} while (turn(w, until_tick));
	/* Nothing lies before until_tick: from here on distances count from there. */
	if (w->now_tick < until_tick)
		w->now_tick = until_tick;
	return NULL;
}

uint64_t
wheel_next_ns(const struct wheel *w)
{
	uint64_t tick;

	if (!list_is_empty(&w->up))
		return 0;
	if (!w->levels_used)
		return WHEEL_NEVER_NS;
	first_slot(w, &tick);
	return tick << w->tick_shift;
}
