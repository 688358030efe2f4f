/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static char *text;
static size_t size;
static FILE *out;
static struct progress progress;

/* A file is no terminal; the bar is told that it is one. */
static void
begin(bool is_terminal, uint64_t length_ps)
{
	out = open_memstream(&text, &size);
	cr_assert(out);
	progress_begin(&progress, out, length_ps, 5 * S);
	cr_expect_not(progress.is_terminal);
	if (is_terminal) {
		progress.is_terminal = true;
		progress.columns = 120;
		progress.next_ns = 0;
	}
}

static void
end(void)
{
	fclose(out);
	free(text);
}

Test(progress, a_bar_says_how_far_it_is_and_what_is_left)
{
	begin(true, UINT64_C(4000000000)); /* 4 ms */
	progress_update(&progress, 1000000000, 3, 8, 15 * S);
	cr_expect_str_eq(text, "\r[######..................]  25 %  1 ms of 4 ms, 3 of 8 flows; "
	                       "10 s, 30 s left\033[K");
	end();
}

Test(progress, without_a_length_flows_tell)
{
	begin(true, 0);
	progress_update(&progress, 1000000, 4, 8, 65 * S);
	cr_expect_str_eq(text, "\r[############............]  50 %  1 us, 4 of 8 flows; "
	                       "1 min 00 s, 1 min 00 s left\033[K");
	end();
}

Test(progress, nobody_knows_is_no_bar)
{
	begin(true, 0);
	progress_update(&progress, 1000000, 0, 0, 65 * S);
	cr_expect_str_eq(text, "\r1 us; 1 min 00 s\033[K");
	end();
}

Test(progress, a_bar_stays_on_its_line_and_goes_before_figures_do)
{
	static const struct {
		int columns;
		const char *want;
	} rows[] = {
		{80, "[############............]  50 %  500 ns of 1 us, 4 of 8 flows; 10 s, 10 s "
	             "left"},
		{70, "[#######.......]  50 %  500 ns of 1 us, 4 of 8 flows; 10 s, 10 s left"},
		{60, " 50 %  500 ns of 1 us, 4 of 8 flows; 10 s, 10 s left"},
		{30, " 50 %  500 ns of 1 us, 4 of 8"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char want[128];

		snprintf(want, sizeof(want), "\r%s\033[K", rows[i].want);
		begin(true, 1000000);
		progress.columns = rows[i].columns;
		progress_update(&progress, 500000, 4, 8, 15 * S);
		cr_expect_str_eq(text, want);
		cr_expect_lt(strlen(rows[i].want), (size_t)rows[i].columns);
		end();
	}
}

Test(progress, is_shown_ten_times_a_second_at_most)
{
	size_t nb = 0;

	begin(true, 1000000);
	for (uint64_t ms = 0; ms < 1000; ms++)
		progress_update(&progress, ms * 1000, 0, 0, 5 * S + ms * MS);
	for (const char *c = text; (c = strchr(c, '\r')); c++)
		nb++;
	cr_expect_eq(nb, 10, "%zu", nb);
	end();
}

Test(progress, a_bar_is_erased)
{
	begin(true, 1000000);
	progress_hide(&progress);
	fflush(out);
	cr_expect_str_eq(text, "", "there was none");
	progress_update(&progress, 1000, 0, 0, 5 * S);
	progress_hide(&progress);
	cr_expect_str_eq(text + strlen(text) - 4, "\r\033[K");
	end();
}

Test(progress, without_a_terminal_there_is_a_line_now_and_then)
{
	static const char first[] = "[#######.................]  30 %  30 us of 100 us; 30 s, "
				    "1 min 10 s left\n";
	size_t nb = 0;

	begin(false, UINT64_C(100000000));
	for (uint64_t s = 0; s < 100; s++)
		progress_update(&progress, s * 1000000, 0, 0, (5 + s) * S);
	for (const char *c = text; (c = strchr(c, '\n')); c++)
		nb++;
	cr_expect_eq(nb, 3, "%zu", nb);
	cr_expect_null(strpbrk(text, "\r\033"));
	cr_expect(strncmp(text, first, strlen(first)) == 0, "%s", text);
	end();
}
