/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "event.h"
#include "log.h"

static char last_line[LOG_LINE_MAX], last_node[64], last_text[EVENT_TEXT_MAX + 1];
static enum log_level last_level;
static enum event_kind last_kind;
static int nb_events;

static void
keep_line(enum log_level level, const char *line)
{
	last_level = level;
	strcpy(last_line, line);
}

static void
keep_event(enum event_kind kind, const char *node, const char *text)
{
	nb_events++;
	last_kind = kind;
	strcpy(last_node, node);
	strcpy(last_text, text);
}

Test(event, one_call_makes_a_line_and_an_event)
{
	log_fn = keep_line;
	event_fn = keep_event;
	event_tell(EVENT_QP, "weft0", "QP %d failed", 7);
	cr_expect_str_eq(last_line, "weft0: QP 7 failed");
	cr_expect_eq(last_level, LOG_LEVEL_WARN);
	cr_expect_eq(last_kind, EVENT_QP);
	cr_expect_str_eq(last_node, "weft0");
	cr_expect_str_eq(last_text, "QP 7 failed");
}

Test(event, what_the_log_leaves_out_is_an_event_all_the_same)
{
	log_fn = keep_line;
	event_fn = keep_event;
	event_tell(EVENT_CLIENT, "weft0", "opened");
	cr_expect_str_empty(last_line);
	cr_expect_eq(nb_events, 1);
	event_fn = NULL;
	event_tell(EVENT_LINK, "weft0", "link down");
	cr_expect_str_eq(last_line, "weft0: link down");
	cr_expect_eq(nb_events, 1);
}

Test(event, a_long_text_is_cut)
{
	char text[2 * EVENT_TEXT_MAX] = "";

	memset(text, 'x', sizeof(text) - 1);
	event_fn = keep_event;
	event_tell(EVENT_GID, "weft0", "%s", text);
	cr_expect_eq(strlen(last_text), EVENT_TEXT_MAX - 1);
}

Test(event, every_kind_has_a_name)
{
	for (enum event_kind kind = 0; kind < EVENT_NB; kind++)
		cr_expect_not_null(event_kind_text(kind));
}
