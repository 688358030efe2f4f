/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched.h"

#include <assert.h>

/** next_ns is kept in 2^-24 ns: at 400 Gb/s a rate is then true to 3e-6. */
#define FRAC_BITS 24
#define FRAC_MASK ((1u << FRAC_BITS) - 1)
/** Calendar slots of 1.024 us: later by that at most, and a turn's worth comes up together. */
#define CALENDAR_SHIFT 10

static_assert((8000000000u / SCHED_RATE_MIN_BPS << FRAC_BITS) <= UINT64_MAX / SCHED_BURST_BYTES,
              "the longest gap fits 64 bits");
static_assert(SCHED_PKT_BYTES_MAX <= SCHED_BURST_BYTES, "so does a packet's");

void
sched_init(struct sched *s, uint64_t now_ns)
{
	list_init(&s->active);
	wheel_init(&s->calendar, now_ns, CALENDAR_SHIFT);
}

void
sched_ent_init(struct sched_ent *e)
{
	*e = (struct sched_ent){.state = SCHED_IDLE, .rate_bps = SCHED_UNPACED};
	list_init(&e->link);
	wheel_timer_init(&e->timer);
}

static void
enqueue(struct sched *s, struct sched_ent *e, uint64_t now_ns)
{
	if (e->next_ns <= now_ns) {
		e->state = SCHED_ACTIVE;
		list_add_tail(&s->active, &e->link);
	} else {
		e->state = SCHED_PACED;
		wheel_arm(&s->calendar, &e->timer, e->next_ns);
	}
}

void
sched_wake(struct sched *s, struct sched_ent *e, uint64_t now_ns)
{
	if (e->state == SCHED_RUNNING)
		e->woken = true;
	if (e->state != SCHED_IDLE)
		return;
	if (e->next_ns < now_ns)
		e->next_ns = now_ns; /* time without work earns nothing */
	enqueue(s, e, now_ns);
}

struct sched_ent *
sched_next(struct sched *s, uint64_t now_ns)
{
	struct sched_ent *e;
	struct list *first;

	for (struct wheel_timer *t; (t = wheel_expired(&s->calendar, now_ns));) {
		e = container_of(t, struct sched_ent, timer);
		e->state = SCHED_ACTIVE;
		list_add_tail(&s->active, &e->link);
	}
	first = list_pop(&s->active);
	if (!first)
		return NULL;
	e = container_of(first, struct sched_ent, link);
	e->state = SCHED_RUNNING;
	/* A debt is carried over; what a turn left is not, or an idle entity could save it up. */
	e->deficit = (e->deficit < 0 ? e->deficit : 0) + SCHED_QUANTUM_BYTES;
	if (e->deficit <= 0)
		e->deficit = 1;
	return e;
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
	assert(e->state == SCHED_RUNNING);
	e->state = SCHED_IDLE;
	if (more || e->woken)
		enqueue(s, e, now_ns);
	e->woken = false;
}

void
sched_remove(struct sched *s, struct sched_ent *e)
{
	list_del(&e->link);
	wheel_cancel(&s->calendar, &e->timer);
	e->state = SCHED_IDLE;
	e->woken = false;
}

uint64_t
sched_next_ns(const struct sched *s)
{
	if (!list_is_empty(&s->active))
		return 0;
	return wheel_next_ns(&s->calendar);
}
