/* SPDX-License-Identifier: BSD-3-Clause */
#include "event.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Widths: 8 ps, far below what a byte takes, to 1 us, where a year is 33 ms. Our choice. */
#define SHIFT_MIN 3
#define SHIFT_MAX 20
/* The width is looked at after so many events. Our choice. */
#define LOOK_EVENTS 4096

int
events_init(struct events *q, uint32_t log2_buckets)
{
	size_t nb = (size_t)1 << log2_buckets;

	assert(log2_buckets >= 6 && log2_buckets <= 20);
	*q = (struct events){.width_shift = 12, .mask = (uint32_t)nb - 1};
	q->used = calloc(nb / 64, sizeof(*q->used));
	q->buckets = calloc(nb, sizeof(*q->buckets));
	return q->used && q->buckets ? 0 : -ENOMEM;
}

void
events_fini(struct events *q)
{
	free(q->used);
	free(q->buckets);
	*q = (struct events){0};
}

static bool
is_before(const struct event *a, const struct event *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

/* Orders below are ranks. */
#define RANKS (UINT64_C(1) << 32)

/* Most come behind all others of their bucket. */
static void
insert(struct events *q, struct event *e)
{
	uint64_t bucket = e->at_ps >> q->width_shift;
	struct event_bucket *b = &q->buckets[bucket & q->mask];
	struct event *before = b->last;

	while (before && is_before(e, before))
		before = before->prev;
	e->prev = before;
	e->next = before ? before->next : b->first;
	if (e->next)
		e->next->prev = e;
	else
		b->last = e;
	if (before)
		before->next = e;
	else
		b->first = e;
	q->used[(bucket & q->mask) / 64] |= UINT64_C(1) << (bucket & 63);
	if (bucket < q->at)
		q->at = bucket;
}

static void
take_out(struct events *q, struct event *e)
{
	uint64_t bucket = e->at_ps >> q->width_shift & q->mask;
	struct event_bucket *b = &q->buckets[bucket];

	if (e->prev)
		e->prev->next = e->next;
	else
		b->first = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		b->last = e->prev;
	if (!b->first)
		q->used[bucket / 64] &= ~(UINT64_C(1) << (bucket & 63));
}

/* The same of the first of the present bucket. */
static void
take_first(struct events *q, struct event *e)
{
	struct event_bucket *b = &q->buckets[q->at & q->mask];

	b->first = e->next;
	if (e->next) {
		e->next->prev = NULL;
		return;
	}
	b->last = NULL;
	q->used[(q->at & q->mask) / 64] &= ~(UINT64_C(1) << (q->at & 63));
}

static void
arm(struct events *q, struct event *e, uint64_t at_ps, uint64_t order)
{
	assert(at_ps >= q->now_ps);
	assert(e->fire);
	if (e->is_armed)
		take_out(q, e);
	else
		q->nb_pending++;
	e->is_armed = true;
	e->at_ps = at_ps;
	e->order = order;
	if (q->soonest_ps && at_ps < *q->soonest_ps)
		*q->soonest_ps = at_ps;
	insert(q, e);
}

void
event_arm(struct events *q, struct event *e, uint64_t at_ps)
{
	arm(q, e, at_ps, RANKS + q->nb_armed++);
}

void
event_arm_ranked(struct events *q, struct event *e, uint64_t at_ps, uint32_t rank)
{
	arm(q, e, at_ps, rank);
}

void
event_cancel(struct events *q, struct event *e)
{
	if (!e->is_armed)
		return;
	take_out(q, e);
	e->is_armed = false;
	q->nb_pending--;
}

/* How far ahead of bucket i the next used one of the ring lies, i itself included; or the whole
 * ring. */
static uint64_t
used_ahead(const struct events *q, uint64_t i)
{
	uint64_t word = (i & q->mask) / 64, bits = q->used[word] >> (i & 63);

	if (bits)
		return (uint64_t)__builtin_ctzll(bits);
	for (uint64_t ahead = 64 - (i & 63); ahead <= q->mask; ahead += 64) {
		word = (word + 1) & q->mask / 64;
		if (q->used[word])
			return ahead + (uint64_t)__builtin_ctzll(q->used[word]);
	}
	return q->mask + 1;
}

/* No event of the present year: the first of all, wherever it is. */
static struct event *
first_of_all(struct events *q)
{
	struct event *first = NULL;

	for (uint32_t word = 0; word < (q->mask + 1) / 64; word++) {
		for (uint64_t bits = q->used[word]; bits; bits &= bits - 1) {
			struct event *e =
				q->buckets[word * 64 + (uint32_t)__builtin_ctzll(bits)].first;

			if (!first || is_before(e, first))
				first = e;
		}
	}
	q->at = first->at_ps >> q->width_shift;
	return first;
}

static struct event *
search(struct events *q)
{
	uint64_t at = q->at, end = at + q->mask + 1;

	if (q->nb_pending == 0)
		return NULL;
	for (at += used_ahead(q, at); at < end; at += 1 + used_ahead(q, at + 1)) {
		struct event *e = q->buckets[at & q->mask].first;

		if (e->at_ps >> q->width_shift == at) {
			q->at = at;
			return e;
		}
	}
	return first_of_all(q);
}

/* The next event, in the bucket that is the present one then; NULL if there is none. */
static inline struct event *
find_next(struct events *q)
{
	struct event *e = q->buckets[q->at & q->mask].first;

	return e && e->at_ps >> q->width_shift == q->at ? e : search(q);
}

uint64_t
events_next_ps(struct events *q)
{
	const struct event *e = find_next(q);

	return e ? e->at_ps : NEVER_PS;
}

/* File all events anew, in buckets of another width. */
static void
set_width(struct events *q, uint32_t shift)
{
	struct event *all = NULL;

	for (uint32_t i = 0; i <= q->mask; i++) {
		struct event *e = q->buckets[i].first, *next;

		for (; e; e = next) {
			next = e->next;
			e->next = all;
			all = e;
		}
		q->buckets[i] = (struct event_bucket){NULL, NULL};
	}
	memset(q->used, 0, (q->mask + 1) / 64 * sizeof(*q->used));
	q->width_shift = shift;
	q->at = q->now_ps >> shift;
	for (struct event *e = all, *next; e; e = next) {
		next = e->next;
		insert(q, e);
	}
}

/* About one event per bucket: a little more, and lists grow; a little less, and years get short. */
static void
look_at_width(struct events *q)
{
	uint64_t gap_ps = (q->now_ps - q->looked_ps) / LOOK_EVENTS;
	uint32_t shift = gap_ps > 1 ? 63 - (uint32_t)__builtin_clzll(gap_ps) : 0;

	q->looked_ps = q->now_ps;
	q->looked_fired = q->nb_fired;
	shift = shift < SHIFT_MIN ? SHIFT_MIN : shift > SHIFT_MAX ? SHIFT_MAX : shift;
	if (shift > q->width_shift + 1 || shift + 1 < q->width_shift)
		set_width(q, shift);
}

bool
events_step(struct events *q, uint64_t until_ps)
{
	struct event *e = find_next(q);

	if (!e || e->at_ps > until_ps)
		return false;
	take_first(q, e);
	e->is_armed = false;
	q->nb_pending--;
	q->now_ps = e->at_ps;
	q->nb_fired++;
	if (q->nb_fired - q->looked_fired == LOOK_EVENTS)
		look_at_width(q);
	e->fire(e, q->now_ps);
	return true;
}
