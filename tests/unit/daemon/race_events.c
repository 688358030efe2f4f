/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control thread and the capture's thread share with workers, under the thread sanitizer:
 * events from many threads, records from one. A program of its own, because that sanitizer does not
 * start inside Criterion. Exits with 0 if everything arrived whole and in order; the sanitizer
 * exits with 66 if it saw a race.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "ring_bytes.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { NB_THREADS = 4, NB_EVENTS = 10000, NB_RECORDS = 100000 };

static struct events events;
static struct ring_bytes ring;

static void *
put_events(void *arg)
{
	char text[32];

	for (int i = 0; i < NB_EVENTS; i++) {
		snprintf(text, sizeof(text), "%d %d", *(int *)arg, i);
		events_put(&events, EVENT_QP, "weft0", text);
	}
	return NULL;
}

/* Each thread's events in its order; those that found no room are counted. */
static void
race_events(void)
{
	int names[NB_THREADS], last[NB_THREADS], which, i;
	pthread_t threads[NB_THREADS];
	uint64_t number = 0, nb = 0, nb_rounds = 0;
	const struct event *e;

	CHECK(events_open(&events) == 0);
	for (int t = 0; t < NB_THREADS; t++) {
		names[t] = t;
		last[t] = -1;
		CHECK(pthread_create(&threads[t], NULL, put_events, &names[t]) == 0);
	}
	while (nb + atomic_load(&events.nb_lost) < (uint64_t)NB_THREADS * NB_EVENTS) {
		struct pollfd p = {.fd = events.fd, .events = POLLIN};

		/* Nobody rings for the last ones if they are lost. */
		CHECK(nb_rounds++ < 100000);
		poll(&p, 1, 10);
		nb += events_take(&events);
		while ((e = events_after(&events, number))) {
			number = e->number;
			CHECK(sscanf(e->text, "%d %d", &which, &i) == 2);
			CHECK(which >= 0 && which < NB_THREADS && i > last[which]);
			last[which] = i;
		}
	}
	for (int t = 0; t < NB_THREADS; t++)
		pthread_join(threads[t], NULL);
	CHECK(nb > 0);
	events_close(&events);
}

static void *
put_records(void *arg)
{
	uint8_t body[100];

	for (uint32_t i = 0; i < NB_RECORDS; i++) {
		memset(body, (int)i, sizeof(body));
		while (!ring_bytes_put(&ring, &i, sizeof(i), body, i % 100))
			sched_yield();
	}
	return arg;
}

static void
race_records(void)
{
	uint32_t i = 0, head = 0;
	uint8_t got[100];
	pthread_t thread;

	CHECK(ring_bytes_init(&ring, 1024));
	CHECK(pthread_create(&thread, NULL, put_records, NULL) == 0);
	while (i < NB_RECORDS) {
		if (!ring_bytes_get(&ring, &head, sizeof(head), got, sizeof(got))) {
			sched_yield();
			continue;
		}
		CHECK(head == i);
		CHECK(i % 100 == 0 || got[i % 100 - 1] == (uint8_t)i);
		i++;
	}
	pthread_join(thread, NULL);
	ring_bytes_fini(&ring);
}

int
main(void)
{
	race_events();
	race_records();
	return 0;
}
