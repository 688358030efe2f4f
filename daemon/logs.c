/* SPDX-License-Identifier: BSD-3-Clause */
#include "logs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "lines.h"
#include "log.h"
#include "worker.h"

/* A worker's lines: so many at once, and then one each so often. Source: our choice. */
#define BURST_LINES 100
#define LINE_NS 50000000

static _Thread_local struct {
	bool is_worker;
	uint64_t full_ns;   /* when the worker may write BURST_LINES again */
	uint64_t nb_missed; /* lines since the last that was written */
} own;

/* Whether a worker may write one more line now. */
static bool
is_due(void)
{
	return lines_allow(&own.full_ns, BURST_LINES, LINE_NS, worker_clock_ns());
}

/* A pipe or socket that is writable takes more than a line without blocking. */
static bool
has_room(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static void
write_line(enum log_level level, const char *line)
{
	static const char *const words[] = {
		[LOG_LEVEL_ERROR] = "error: ",
		[LOG_LEVEL_WARN] = "warning: ",
		[LOG_LEVEL_INFO] = "",
		[LOG_LEVEL_DEBUG] = "",
	};
	char text[LOG_LINE_MAX + 128];
	int len = 0;

	if ((own.is_worker && !is_due()) || !has_room()) {
		own.nb_missed++;
		return;
	}
	if (own.nb_missed > 0)
		len = snprintf(text, sizeof(text), "%s: %" PRIu64 " lines were left out\n",
		               program_invocation_short_name, own.nb_missed);
	own.nb_missed = 0;
	len += snprintf(text + len, sizeof(text) - (size_t)len, "%s: %s%s\n",
	                program_invocation_short_name, words[level], line);
	(void)!write(STDERR_FILENO, text, (size_t)len);
}

void
logs_start(bool verbose)
{
	log_level_max = verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	log_fn = write_line;
}

void
logs_of_worker(void)
{
	own.is_worker = true;
}
