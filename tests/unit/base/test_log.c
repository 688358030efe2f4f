/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "log.h"

#include <string.h>

static char last[2 * LOG_LINE_MAX];
static enum log_level last_level;
static int nb_lines;

static void
keep(enum log_level level, const char *line)
{
	nb_lines++;
	last_level = level;
	strcpy(last, line);
}

Test(log, without_a_hook_nothing_happens)
{
	log_fn = NULL;
	log_error("to nobody %d", 1);
}

Test(log, a_line_reaches_the_hook_with_its_level)
{
	log_fn = keep;
	log_warn("qp %u: %s", 17, "retry exceeded");
	cr_expect_eq(nb_lines, 1);
	cr_expect_eq(last_level, LOG_LEVEL_WARN);
	cr_expect_str_eq(last, "qp 17: retry exceeded");
}

Test(log, lines_above_the_level_are_not_written)
{
	log_fn = keep;
	log_debug("no");
	cr_expect_eq(nb_lines, 0);
	log_level_max = LOG_LEVEL_DEBUG;
	log_debug("yes");
	cr_expect_eq(nb_lines, 1);
	log_level_max = LOG_LEVEL_ERROR;
	log_warn("no");
	cr_expect_eq(nb_lines, 1);
}

Test(log, a_long_line_is_cut)
{
	char text[LOG_LINE_MAX + 100];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	log_fn = keep;
	log_info("%s", text);
	cr_expect_eq(strlen(last), LOG_LINE_MAX - 1);
}
