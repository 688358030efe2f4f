/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_EVENTS_H
#define WEFT_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/**
 * @file
 * The events of late, from every thread to those who watch on one: a queue that any thread puts
 * into without waiting, and a history behind it. Both are bounded: what finds no room in the queue
 * is counted and lost, and the history forgets the oldest.
 */

/** A power of two. Source: our choice. */
#define EVENTS_QUEUE 256
#define EVENTS_HISTORY 1024

struct event {
	uint64_t time_ns; /**< since 1970 */
	uint64_t number;  /**< of all events of this daemon, from 1 on; lost ones are left out */
	enum event_kind kind;
	char node[64];
	char text[EVENT_TEXT_MAX];
};

struct event_slot {
	_Atomic uint64_t turn; /**< whose it is next: see events.c */
	struct event event;
};

struct events {
	struct event_slot queue[EVENTS_QUEUE];
	_Atomic uint64_t tail; /**< where the next is put */
	uint64_t head;         /**< the reader's */
	_Atomic uint64_t nb_lost;
	atomic_bool rung;
	int fd; /**< readable when events_take has something */

	/* the reader's */
	struct event history[EVENTS_HISTORY];
	uint64_t nb_taken; /**< number of the newest; it lies at nb_taken % EVENTS_HISTORY */
};

/** @return 0 or a negative errno. */
int events_open(struct events *events);
/** No thread puts any more. */
void events_close(struct events *events);

/** Before any other thread: what event_tell is told goes here, until events_close. */
void events_collect(struct events *events);

/** From any thread; never waits. */
void events_put(struct events *events, enum event_kind kind, const char *node, const char *text);

/** On the reader's thread: move what came to the history. @return how many. */
uint32_t events_take(struct events *events);

/** The oldest event behind a number, 0 = of all that are remembered; NULL = none. */
const struct event *events_after(const struct events *events, uint64_t number);

#endif
