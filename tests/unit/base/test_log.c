/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

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

Test(log, without_a_hook_nothing_is_written)
{
	char written[16];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_geq(dup2(fds[1], STDOUT_FILENO), 0);
	cr_assert_geq(dup2(fds[1], STDERR_FILENO), 0);
	cr_assert_eq(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	log_fn = NULL;
	log_error("to nobody %d", 1);
	fflush(NULL);
	cr_expect_eq(read(fds[0], written, sizeof(written)), -1);
	cr_expect_eq(errno, EAGAIN);
	log_fn = keep;
	log_error("to somebody");
	cr_expect_eq(nb_lines, 1);
	cr_expect_str_eq(last, "to somebody");
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
