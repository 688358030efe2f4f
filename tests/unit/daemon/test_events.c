/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"

static struct events events;

static void
setup(void)
{
	cr_assert_eq(events_open(&events), 0);
}

static void
teardown(void)
{
	events_close(&events);
}

TestSuite(events, .init = setup, .fini = teardown);

static bool
is_readable(void)
{
	struct pollfd p = {.fd = events.fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

Test(events, come_in_order_and_once)
{
	const struct event *e;

	cr_expect_null(events_after(&events, 0));
	cr_expect_not(is_readable());
	events_put(&events, EVENT_QP, "weft0", "first");
	events_put(&events, EVENT_LINK, "weft1", "second");
	cr_expect(is_readable());
	cr_expect_eq(events_take(&events), 2);
	cr_expect_not(is_readable());
	e = events_after(&events, 0);
	cr_assert_not_null(e);
	cr_expect_eq(e->number, 1);
	cr_expect_eq(e->kind, EVENT_QP);
	cr_expect_str_eq(e->node, "weft0");
	cr_expect_str_eq(e->text, "first");
	cr_expect_gt(e->time_ns, 0);
	e = events_after(&events, e->number);
	cr_assert_not_null(e);
	cr_expect_str_eq(e->text, "second");
	cr_expect_null(events_after(&events, e->number));
	cr_expect_eq(events_take(&events), 0);
}

Test(events, a_full_queue_counts_what_it_loses)
{
	for (int i = 0; i < EVENTS_QUEUE + 10; i++)
		events_put(&events, EVENT_QP, "weft0", "x");
	cr_expect_eq(events.nb_lost, 10);
	cr_expect_eq(events_take(&events), EVENTS_QUEUE);
	events_put(&events, EVENT_QP, "weft0", "y");
	cr_expect_eq(events_take(&events), 1);
	cr_expect_str_eq(events_after(&events, EVENTS_QUEUE)->text, "y");
}

Test(events, the_history_forgets_the_oldest)
{
	char text[16];

	for (int i = 1; i <= EVENTS_HISTORY + 5; i++) {
		snprintf(text, sizeof(text), "%d", i);
		events_put(&events, EVENT_QP, "weft0", text);
		events_take(&events);
	}
	cr_expect_str_eq(events_after(&events, 0)->text, "6");
	cr_expect_eq(events_after(&events, 0)->number, 6);
	cr_expect_str_eq(events_after(&events, EVENTS_HISTORY + 4)->text, "1029");
	cr_expect_null(events_after(&events, EVENTS_HISTORY + 5));
}

enum { NB_THREADS = 4, NB_EACH = 20000 };

static void *
put_many(void *arg)
{
	char text[32];

	for (int i = 0; i < NB_EACH; i++) {
		snprintf(text, sizeof(text), "%d %d", *(int *)arg, i);
		events_put(&events, EVENT_QP, "weft0", text);
	}
	return NULL;
}

Test(events, of_many_threads_arrive_whole_and_in_each_ones_order)
{
	int names[NB_THREADS], last[NB_THREADS], which, i;
	pthread_t threads[NB_THREADS];
	uint64_t number = 0, nb = 0, tries = 0;
	const struct event *e;

	for (int t = 0; t < NB_THREADS; t++) {
		names[t] = t;
		last[t] = -1;
		cr_assert_eq(pthread_create(&threads[t], NULL, put_many, &names[t]), 0);
	}
	while (nb + atomic_load(&events.nb_lost) < (uint64_t)NB_THREADS * NB_EACH) {
		struct pollfd p = {.fd = events.fd, .events = POLLIN};

		cr_assert_lt(tries++, 10000);
		/* Nobody rings for the last ones if they are lost. */
		poll(&p, 1, 10);
		nb += events_take(&events);
		while ((e = events_after(&events, number))) {
			number = e->number;
			cr_assert_eq(sscanf(e->text, "%d %d", &which, &i), 2);
			cr_assert(which >= 0 && which < NB_THREADS);
			cr_assert_gt(i, last[which]);
			last[which] = i;
		}
	}
	for (int t = 0; t < NB_THREADS; t++)
		pthread_join(threads[t], NULL);
	cr_expect_gt(nb, 0);
}
