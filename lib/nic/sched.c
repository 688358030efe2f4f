/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched.h"

#include <assert.h>
#include <string.h>

#include "bitmap.h"

/** next_ns is kept in 2^-24 ns: at 400 Gb/s a rate is then true to 3e-6. */
#define FRAC_BITS 24
#define FRAC_MASK ((1u << FRAC_BITS) - 1)
/** A slot of the calendar is 2^this ns; an entity is late by that at most. */
#define SLOT_SHIFT 8

static_assert((8000000000u / SCHED_RATE_MIN_BPS << FRAC_BITS) <= UINT64_MAX / SCHED_BURST_BYTES,
              "the longest gap fits 64 bits");
static_assert(SCHED_PKT_BYTES_MAX <= SCHED_BURST_BYTES, "so does a packet's");
static_assert(SCHED_QUANTUM_BYTES + SCHED_PKT_BYTES_MAX <= INT32_MAX, "and a deficit 32");
static_assert(UINT64_C(2) * SCHED_QUANTUM_BYTES * SCHED_PKT_COST_BYTES <= INT32_MAX,
              "a group's too, also if packets had but a byte");

/** Bit n = slot of tick n. */
static struct bitmap
used_slots(struct sched *s)
{
	return bitmap_of(s->used, SCHED_SLOTS);
}

void
sched_init(struct sched *s, uint64_t now_ns)
{
	list_init(&s->groups);
	list_init(&s->shut);
	s->closed = 0;
	s->nb_activated = 0;
	s->now_tick = now_ns >> SLOT_SHIFT;
	s->first_tick = UINT64_MAX;
	memset(s->used, 0, sizeof(s->used));
	for (uint32_t i = 0; i < SCHED_SLOTS; i++)
		list_init(&s->slots[i]);
}

void
sched_group_init(struct sched_group *g)
{
	*g = (struct sched_group){.last = NULL};
	list_init(&g->link);
	for (int i = 0; i < SCHED_CLASSES; i++)
		list_init(&g->active[i]);
}

void
sched_ent_init(struct sched_ent *e, struct sched_group *group)
{
	*e = (struct sched_ent){.group = group, .state = SCHED_ENT_IDLE, .rate_bps = SCHED_UNPACED};
	list_init(&e->link);
}

/** First slot's tick at or after an entity's time: it may be late, never early. */
static uint64_t
tick_of(const struct sched_ent *e)
{
	return (e->next_ns + (1u << SLOT_SHIFT) - 1) >> SLOT_SHIFT;
}

static void
find_first(struct sched *s)
{
	struct bitmap used = used_slots(s);
	uint64_t begin = s->now_tick + 1, end = begin + SCHED_SLOTS;

	s->first_tick = bitmap_next(&used, begin, end, true);
	if (s->first_tick == end)
		s->first_tick = UINT64_MAX;
}

/* Of a new turn. A debt is carried over; what a turn left is not, or it could be saved up. */
static int32_t
turn_deficit(int32_t deficit, int32_t quantum)
{
	return (deficit < 0 ? deficit : 0) + quantum;
}

/* Without an active entity a group waits for no turn. */
static void
drop_if_idle(struct sched_group *g)
{
	if (!g->active_mask)
		list_del(&g->link);
}

/* Classes of a group that may have a turn. */
static uint32_t
open_classes(const struct sched *s, const struct sched_group *g)
{
	return g->active_mask & ~(uint32_t)s->closed;
}

/* To the groups that take turns, or to those that can't because their classes are closed. */
static void
line_up(struct sched *s, struct sched_group *g)
{
	list_del(&g->link);
	g->is_shut = !open_classes(s, g);
	if (!g->is_shut)
		g->deficit = turn_deficit(g->deficit, SCHED_GROUP_QUANTUM_BYTES);
	list_add_tail(g->is_shut ? &s->shut : &s->groups, &g->link);
}

static void
activate(struct sched *s, struct sched_ent *e)
{
	struct sched_group *g = e->group;

	e->order = s->nb_activated++;
	list_add_tail(&g->active[e->cls], &e->link);
	g->active_mask |= (uint8_t)(1u << e->cls);
	if (!list_is_linked(&g->link) || (g->is_shut && !sched_is_closed(s, e)))
		line_up(s, g);
}

/* Take an entity out of the list that it is in, if any. */
static void
unlink_ent(struct sched_ent *e)
{
	struct sched_group *g = e->group;

	list_del(&e->link);
	if (list_is_empty(&g->active[e->cls]))
		g->active_mask &= (uint8_t) ~(1u << e->cls);
}

void
sched_close(struct sched *s, uint8_t closed)
{
	struct list was_shut;

	if (closed == s->closed)
		return;
	s->closed = closed;
	/* Groups of classes that are closed now are found when their turn comes. */
	list_init(&was_shut);
	list_splice_tail(&was_shut, &s->shut);
	while (!list_is_empty(&was_shut))
		line_up(s, container_of(was_shut.next, struct sched_group, link));
}

static void
enqueue(struct sched *s, struct sched_ent *e, uint64_t now_ns)
{
	struct bitmap used = used_slots(s);
	uint64_t tick;

	e->state = SCHED_ENT_QUEUED;
	if (e->next_ns <= now_ns) {
		activate(s, e);
		return;
	}
	tick = tick_of(e);
	if (tick <= s->now_tick)
		tick = s->now_tick + 1;
	if (tick < s->first_tick)
		s->first_tick = tick;
	bitmap_set(&used, tick);
	list_add_tail(&s->slots[tick % SCHED_SLOTS], &e->link);
}

static void
empty_slot(struct sched *s, uint64_t tick)
{
	struct list *slot = &s->slots[tick % SCHED_SLOTS];

	for (struct list *l = slot->next, *next; l != slot; l = next) {
		next = l->next;
		activate(s, container_of(l, struct sched_ent, link));
	}
	list_init(slot);
}

/** Move what is in slots that are due to the active lists. */
static void
turn_calendar(struct sched *s, uint64_t now_ns)
{
	struct bitmap used = used_slots(s);
	uint64_t tick = s->now_tick + 1, end = (now_ns >> SLOT_SHIFT) + 1;

	if (s->first_tick >= end)
		return;
	/* After a round or more all slots are due, the oldest first. */
	if (end - tick > SCHED_SLOTS)
		tick = end - SCHED_SLOTS;
	while ((tick = bitmap_next(&used, tick, end, true)) < end) {
		bitmap_clear(&used, tick);
		empty_slot(s, tick);
	}
	s->now_tick = end - 1;
	find_first(s);
}

void
sched_wake(struct sched *s, struct sched_ent *e, uint64_t now_ns)
{
	if (e->state == SCHED_ENT_RUNNING)
		e->woken = true;
	if (e->state != SCHED_ENT_IDLE)
		return;
	if (e->next_ns < now_ns)
		e->next_ns = now_ns; /* time without work earns nothing */
	enqueue(s, e, now_ns);
}

/* Who has the turn; NULL = nobody is active. A debt of more than a quantum costs whole turns. */
static struct sched_group *
group_in_turn(struct sched *s)
{
	for (struct list *first; (first = s->groups.next) != &s->groups;) {
		struct sched_group *g = container_of(first, struct sched_group, link);

		if (!g->active_mask) {
			list_del(&g->link);
			continue;
		}
		if (!open_classes(s, g)) {
			line_up(s, g);
			continue;
		}
		if (g->deficit > 0)
			return g;
		g->deficit = turn_deficit(g->deficit, SCHED_GROUP_QUANTUM_BYTES);
		if (g->link.next != &s->groups) {
			list_del(&g->link);
			list_add_tail(&s->groups, &g->link);
		}
	}
	return NULL;
}

struct sched_ent *
sched_next(struct sched *s, uint64_t now_ns)
{
	struct sched_group *g;

	turn_calendar(s, now_ns);
	while ((g = group_in_turn(s))) {
		struct sched_ent *e = sched_first(g, open_classes(s, g));

		unlink_ent(e);
		if (e->next_ns > now_ns) {
			enqueue(s, e, now_ns); /* in a later round */
			continue;
		}
		e->deficit = turn_deficit(e->deficit, SCHED_QUANTUM_BYTES);
		if (e->deficit <= 0)
			e->deficit = 1;
		if (e != g->last)
			g->deficit -= SCHED_TURN_COST_BYTES;
		g->last = e;
		e->state = SCHED_ENT_RUNNING;
		return e;
	}
	return NULL;
}

static void
set_rate(struct sched_ent *e, uint64_t rate_bps)
{
	uint64_t burst_ns;

	e->rate_bps = rate_bps;
	if (rate_bps == SCHED_UNPACED)
		return;
	if (rate_bps < SCHED_RATE_MIN_BPS)
		rate_bps = SCHED_RATE_MIN_BPS;
	e->ns_per_byte = ((UINT64_C(8000000000) << FRAC_BITS) + rate_bps / 2) / rate_bps;
	burst_ns = e->ns_per_byte * SCHED_BURST_BYTES >> FRAC_BITS;
	e->burst_ns = burst_ns > SCHED_BURST_NS ? burst_ns : SCHED_BURST_NS;
}

void
sched_sent(struct sched_ent *e, uint32_t bytes, uint64_t rate_bps, uint64_t now_ns)
{
	uint64_t gap;

	assert(bytes <= SCHED_PKT_BYTES_MAX);
	e->deficit -= (int32_t)bytes;
	e->group->deficit -= (int32_t)(bytes + SCHED_PKT_COST_BYTES);
	if (rate_bps != e->rate_bps)
		set_rate(e, rate_bps);
	if (rate_bps == SCHED_UNPACED) {
		e->next_ns = now_ns;
		return;
	}
	if (e->next_ns + e->burst_ns < now_ns)
		e->next_ns = now_ns - e->burst_ns;
	gap = bytes * e->ns_per_byte + e->next_frac;
	e->next_ns += gap >> FRAC_BITS;
	e->next_frac = gap & FRAC_MASK;
}

void
sched_done(struct sched *s, struct sched_ent *e, bool more, uint64_t now_ns)
{
	assert(e->state == SCHED_ENT_RUNNING);
	e->state = SCHED_ENT_IDLE;
	if (more || e->woken)
		enqueue(s, e, now_ns);
	e->woken = false;
	drop_if_idle(e->group);
}

void
sched_remove(struct sched *s, struct sched_ent *e)
{
	struct bitmap used = used_slots(s);

	unlink_ent(e);
	drop_if_idle(e->group);
	if (list_is_empty(&s->slots[tick_of(e) % SCHED_SLOTS])) { /* it may have been alone there */
		bitmap_clear(&used, tick_of(e));
		find_first(s);
	}
	e->state = SCHED_ENT_IDLE;
	e->woken = false;
}

void
sched_set_class(struct sched *s, struct sched_ent *e, uint8_t cls, uint64_t now_ns)
{
	bool is_queued = e->state == SCHED_ENT_QUEUED;

	assert(cls < SCHED_CLASSES);
	if (cls == e->cls)
		return;
	if (is_queued)
		sched_remove(s, e);
	e->cls = cls;
	if (is_queued)
		enqueue(s, e, now_ns);
}

uint64_t
sched_next_ns(const struct sched *s)
{
	if (!list_is_empty(&s->groups))
		return 0;
	return s->first_tick == UINT64_MAX ? UINT64_MAX : s->first_tick << SLOT_SHIFT;
}
