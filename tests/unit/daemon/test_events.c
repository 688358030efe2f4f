/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>

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
