/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "progress.h"

#define SECOND UINT64_C(1000000000)

/* "1h02m", "2m03s", "4s". */
static const char *
span(uint64_t ns, char text[24])
{
	uint64_t s = ns / SECOND;

	if (s >= 3600)
		snprintf(text, 24, "%" PRIu64 "h%02um", s / 3600, (unsigned)(s / 60 % 60));
	else if (s >= 60)
		snprintf(text, 24, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		snprintf(text, 24, "%us", (unsigned)s);
	return text;
}

void
sweep_progress_begin(struct sweep_progress *p, const struct journal *journal, bool is_quiet)
{
	*p = (struct sweep_progress){
		.is_quiet = is_quiet,
		.is_terminal = isatty(STDERR_FILENO),
		.nb_before = journal->nb_done,
		.begin_ns = progress_clock_ns(),
	};
	p->told_ns = p->begin_ns;
}

void
sweep_progress_tell(struct sweep_progress *p, const struct journal *journal, uint32_t nb_running)
{
	uint64_t now = progress_clock_ns(), spent = now - p->begin_ns;
	uint32_t nb_new = journal->nb_done - p->nb_before;
	uint32_t nb_left = journal->nb_mine - journal->nb_done;
	char text[24];

	if (p->is_quiet || now - p->told_ns < (p->is_terminal ? SECOND / 2 : 10 * SECOND))
		return;
	p->told_ns = now;
	fprintf(stderr,
	        "%s%" PRIu32 " of %" PRIu32 " cells, %" PRIu32 " running, %" PRIu32 " failed, %s",
	        p->is_terminal ? "\r\033[K" : "", journal->nb_done, journal->nb_mine, nb_running,
	        journal->nb_failed, span(spent, text));
	if (nb_new > 0 && nb_left > 0)
		fprintf(stderr, ", about %s more",
		        span((uint64_t)((double)spent / nb_new * nb_left), text));
	if (!p->is_terminal)
		fputc('\n', stderr);
	p->has_line = p->is_terminal;
}

void
sweep_progress_end(struct sweep_progress *p)
{
	if (p->has_line)
		fputs("\r\033[K", stderr);
}
