/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "human.h"

/* Between two updates. */
#define BAR_NS UINT64_C(100000000)
#define LINE_NS UINT64_C(30000000000)
#define BAR_CELLS 24
#define BAR_CELLS_MIN 6
/* Beside its cells: "[] 100 %  ". */
#define BAR_EXTRA 10
/* Less than this tells nothing about the time left. */
#define SHARE_MIN 0.001
#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 160

uint64_t
progress_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

void
progress_begin(struct progress *p, FILE *out, uint64_t length_ps, uint64_t wall_ns)
{
	struct winsize size = {0};

	*p = (struct progress){
		.out = out,
		.is_terminal = isatty(fileno(out)),
		.columns = COLUMNS_DEFAULT,
		.length_ps = length_ps,
		.begin_ns = wall_ns,
	};
	if (p->is_terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		p->columns = size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
	/* Short runs show nothing. */
	p->next_ns = wall_ns + (p->is_terminal ? BAR_NS : LINE_NS);
}

/* 0 to 1, or less than 0 if nobody knows. */
static double
share_done(const struct progress *p, uint64_t virtual_ps, uint64_t nb_ended, uint64_t nb_known)
{
	double share = -1;

	if (p->length_ps)
		share = (double)virtual_ps / (double)p->length_ps;
	else if (nb_known)
		share = (double)nb_ended / (double)nb_known;
	return share > 1 ? 1 : share;
}

/* How much, and a bar in what is left of the line. */
static void
put_bar(char *text, size_t size, double share, int columns)
{
	int cells = columns < BAR_CELLS ? columns : BAR_CELLS;
	int percent = (int)(share * 100);
	char bar[BAR_CELLS + 1];

	if (cells < BAR_CELLS_MIN) {
		snprintf(text, size, "%3d %%  ", percent);
		return;
	}
	memset(bar, '.', (size_t)cells);
	memset(bar, '#', (size_t)(share * cells));
	bar[cells] = 0;
	snprintf(text, size, "[%s] %3d %%  ", bar, percent);
}

/* Seconds are enough. */
static const char *
put_seconds(char text[HUMAN_TEXT_MAX], double ns)
{
	uint64_t s = (uint64_t)(ns / 1e9 + 0.5);

	if (s < 60)
		snprintf(text, HUMAN_TEXT_MAX, "%u s", (unsigned)s);
	else if (s < 3600)
		snprintf(text, HUMAN_TEXT_MAX, "%u min %02u s", (unsigned)(s / 60),
		         (unsigned)(s % 60));
	else
		snprintf(text, HUMAN_TEXT_MAX, "%u h %02u min", (unsigned)(s / 3600),
		         (unsigned)(s / 60 % 60));
	return text;
}

static void
put_line(const struct progress *p, char *text, size_t size, uint64_t virtual_ps, uint64_t nb_ended,
         uint64_t nb_known, uint64_t wall_ns)
{
	const double share = share_done(p, virtual_ps, nb_ended, nb_known);
	const double elapsed_ns = (double)(wall_ns - p->begin_ns);
	char now[HUMAN_TEXT_MAX],
		of_all[HUMAN_TEXT_MAX + 4] = "", flows[64] = "", left[HUMAN_TEXT_MAX + 8] = "",
					bar[BAR_CELLS + 16] = "", figures[256], s[HUMAN_TEXT_MAX];
	int len;

	if (p->length_ps)
		snprintf(of_all, sizeof(of_all), " of %s",
		         human(value_real((double)p->length_ps / 1000), "ns", s));
	if (nb_known)
		snprintf(flows, sizeof(flows), ", %llu of %llu flows", (unsigned long long)nb_ended,
		         (unsigned long long)nb_known);
	if (share >= SHARE_MIN)
		snprintf(left, sizeof(left), ", %s left",
		         put_seconds(s, elapsed_ns / share - elapsed_ns));
	len = snprintf(figures, sizeof(figures), "%s%s%s; %s%s",
	               human(value_real((double)virtual_ps / 1000), "ns", now), of_all, flows,
	               put_seconds(s, elapsed_ns), left);
	if (share >= 0)
		put_bar(bar, sizeof(bar), share,
		        p->is_terminal ? p->columns - 1 - BAR_EXTRA - len : BAR_CELLS);
	snprintf(text, size, "%s%s", bar, figures);
}

void
progress_update(struct progress *p, uint64_t virtual_ps, uint64_t nb_ended, uint64_t nb_known,
                uint64_t wall_ns)
{
	char text[512];

	if (wall_ns < p->next_ns)
		return;
	put_line(p, text, sizeof(text), virtual_ps, nb_ended, nb_known, wall_ns);
	p->next_ns = wall_ns + (p->is_terminal ? BAR_NS : LINE_NS);
	if (p->is_terminal) {
		/* The last column is left free: a full line would make some terminals scroll. */
		fprintf(p->out, "\r%.*s\033[K", p->columns - 1, text);
		p->is_shown = true;
	} else {
		fprintf(p->out, "%s\n", text);
	}
	fflush(p->out);
}

void
progress_hide(struct progress *p)
{
	if (p->is_shown) {
		fputs("\r\033[K", p->out);
		fflush(p->out);
	}
	p->is_shown = false;
}
