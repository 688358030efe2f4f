/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "logs.h"

/* Standard error while a test runs; Criterion's own is kept. */
static int kept_fd, pipe_fds[2];

static void
begin(void)
{
	static char name[] = "weftd";

	cr_assert_eq(pipe(pipe_fds), 0);
	kept_fd = dup(STDERR_FILENO);
	dup2(pipe_fds[1], STDERR_FILENO);
	program_invocation_short_name = name;
	logs_start(false);
}

/* All that was written. */
static const char *
end(void)
{
	static char text[1 << 20];
	ssize_t n, len = 0;

	dup2(kept_fd, STDERR_FILENO);
	close(pipe_fds[1]);
	while ((n = read(pipe_fds[0], text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	text[len] = '\0';
	return text;
}

static uint32_t
count(const char *text, const char *what)
{
	uint32_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

Test(logs, a_line_says_who_and_how_bad)
{
	begin();
	log_info("one");
	log_warn("two");
	log_error("three");
	log_debug("not asked for");
	cr_expect_str_eq(end(), "weftd: one\nweftd: warning: two\nweftd: error: three\n");
}

Test(logs, nobody_waits_for_a_reader_that_does_not_read, .timeout = 10)
{
	char all[1 << 16];
	const char *text;

	begin();
	for (int i = 0; i < 10000; i++)
		log_info("a line that is longer than most of them are, to fill the pipe sooner");
	cr_assert_gt(read(pipe_fds[0], all, sizeof(all)), 0);
	log_info("last");
	text = end();
	cr_expect_eq(count(text, "lines were left out\nweftd: last\n"), 1, "%s", text);
}

Test(logs, a_worker_may_write_so_many_lines_at_once)
{
	const char *text;

	logs_of_worker();
	begin();
	for (int i = 0; i < 1000; i++)
		log_warn("again");
	usleep(200000);
	log_warn("later");
	text = end();
	cr_expect_geq(count(text, "again"), 100);
	cr_expect_leq(count(text, "again"), 200, "on a slow machine some more are due meanwhile");
	cr_expect_eq(count(text, "lines were left out\nweftd: warning: later\n"), 1);
}
