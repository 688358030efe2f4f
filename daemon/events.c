/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/*
 * A slot's turn says whose it is: i = writer i may fill it; i + 1 = the reader may take event i.
 * Writers take numbers from tail only if the slot is free, so nobody waits for anybody.
 * Source: D. Vyukov, "Bounded MPMC queue".
 */

int
events_open(struct events *events)
{
	memset(events, 0, sizeof(*events));
	for (uint64_t i = 0; i < EVENTS_QUEUE; i++)
		atomic_init(&events->queue[i].turn, i);
	events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return events->fd < 0 ? -errno : 0;
}

static struct events *collector;

static void
collect(enum event_kind kind, const char *node, const char *text)
{
	events_put(collector, kind, node, text);
}

void
events_collect(struct events *events)
{
	collector = events;
	event_fn = collect;
}

void
events_close(struct events *events)
{
	if (collector == events) {
		event_fn = NULL;
		collector = NULL;
	}
	if (events->fd >= 0)
		close(events->fd);
	events->fd = -1;
}

/* NULL if the queue is full. */
static struct event_slot *
claim_slot(struct events *events, uint64_t *index)
{
	uint64_t i = atomic_load_explicit(&events->tail, memory_order_relaxed);

	for (;;) {
		struct event_slot *slot = &events->queue[i % EVENTS_QUEUE];
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn < i)
			return NULL;
		if (turn == i && atomic_compare_exchange_weak_explicit(&events->tail, &i, i + 1,
		                                                       memory_order_relaxed,
		                                                       memory_order_relaxed)) {
			*index = i;
			return slot;
		}
		if (turn > i)
			i = atomic_load_explicit(&events->tail, memory_order_relaxed);
	}
}

static uint64_t
wall_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
events_put(struct events *events, enum event_kind kind, const char *node, const char *text)
{
	static const uint64_t one = 1;
	uint64_t i;
	struct event_slot *slot = claim_slot(events, &i);

	if (!slot) {
		atomic_fetch_add_explicit(&events->nb_lost, 1, memory_order_relaxed);
		return;
	}
	slot->event.time_ns = wall_clock_ns();
	slot->event.kind = kind;
	snprintf(slot->event.node, sizeof(slot->event.node), "%s", node);
	snprintf(slot->event.text, sizeof(slot->event.text), "%s", text);
	atomic_store_explicit(&slot->turn, i + 1, memory_order_release);
	if (!atomic_exchange(&events->rung, true))
		(void)!write(events->fd, &one, sizeof(one));
}

uint32_t
events_take(struct events *events)
{
	uint32_t n = 0;
	uint64_t count;

	(void)!read(events->fd, &count, sizeof(count));
	/* Read, too: so what was put before somebody found it true is seen below. */
	atomic_exchange(&events->rung, false);
	for (;;) {
		struct event_slot *slot = &events->queue[events->head % EVENTS_QUEUE];
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
		struct event *event;

		if (turn != events->head + 1)
			return n;
		event = &events->history[++events->nb_taken % EVENTS_HISTORY];
		*event = slot->event;
		event->number = events->nb_taken;
		atomic_store_explicit(&slot->turn, events->head + EVENTS_QUEUE,
		                      memory_order_release);
		events->head++;
		n++;
	}
}

const struct event *
events_after(const struct events *events, uint64_t number)
{
	uint64_t oldest =
		events->nb_taken < EVENTS_HISTORY ? 1 : events->nb_taken - EVENTS_HISTORY + 1;

	if (number < oldest)
		number = oldest - 1;
	return number < events->nb_taken ? &events->history[(number + 1) % EVENTS_HISTORY] : NULL;
}
