/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "plot_data.h"
#include "result_rig.h"

static const char *const names[] = {"throughput", "buffer", "counts", "fct", "slowdown", "queue"};
#define NB_NAMES (sizeof(names) / sizeof(names[0]))

static bool
is_there(const char *name, const char *end, const char *first)
{
	char file[64], *text;
	size_t len;
	bool yes;

	snprintf(file, sizeof(file), "%s.%s", name, end);
	text = rig_read(file, &len);
	yes = text && len >= strlen(first) && memcmp(text, first, strlen(first)) == 0;
	free(text);
	return yes;
}

Test(plot, without_gnuplot_scripts_are_there_and_the_remedy_is_told)
{
	struct rig *rig = rig_create();
	const char *folder = rig_folder();
	char line[LOG_LINE_MAX];

	rig_listen();
	setenv("PATH", folder, 1);
	cr_expect_eq(plot_write(&rig->result, folder), -ENOENT);
	cr_expect_eq(rig_logged(line), 1);
	cr_expect(strstr(line, "apt-get install gnuplot-nox") && strstr(line, folder), "%s", line);
	for (size_t i = 0; i < NB_NAMES; i++) {
		cr_expect(is_there(names[i], "gp", "reset\n"), "%s", names[i]);
		cr_expect(is_there(names[i], "dat", ""), "%s", names[i]);
	}
	rig_remove_folder();
	rig_free(rig);
}

Test(plot, what_has_no_data_is_left_out_with_one_line)
{
	struct rig *rig = rig_create();
	const char *folder = rig_folder();
	char line[LOG_LINE_MAX];

	rig_listen();
	setenv("PATH", folder, 1);
	cr_expect_eq(plot_write(&rig->result, folder), -ENOENT);
	rig_logged(line);
	/* Files of the run before go. */
	rig->result.nb_series = 0;
	rig->result.nb_flows = 0;
	rig->queues.nb = 0;
	cr_expect_eq(plot_write(&rig->result, folder), 0, "there is nothing for gnuplot to do");
	cr_expect_eq(rig_logged(line), NB_NAMES);
	for (size_t i = 0; i < NB_NAMES; i++) {
		cr_expect_not(is_there(names[i], "gp", ""), "%s", names[i]);
		cr_expect_not(is_there(names[i], "dat", ""), "%s", names[i]);
	}
	rig_remove_folder();
	rig_free(rig);
}

Test(plot, gnuplot_draws_png_and_svg)
{
	struct rig *rig;
	const char *folder;

	if (system("gnuplot --version >/dev/null 2>&1") != 0)
		cr_skip("gnuplot is missing (Debian: gnuplot-nox)");
	rig = rig_create();
	folder = rig_folder();
	/* Names are no words of gnuplot's. */
	strcpy(rig->series[0].name, "a'b`touch x`_{$c}\\");
	rig->result.scenario = "it's_{1}.scenario";
	cr_expect_eq(plot_write(&rig->result, folder), 0);
	for (size_t i = 0; i < NB_NAMES; i++) {
		cr_expect(is_there(names[i], "png", "\x89PNG"), "%s", names[i]);
		cr_expect(is_there(names[i], "svg", "<?xml"), "%s", names[i]);
	}
	cr_expect_not(is_there("gnuplot", "log", ""));
	cr_expect_null(rig_read("x", NULL));
	rig_remove_folder();
	rig_free(rig);
}

Test(plot, gnuplot_draws_what_has_no_extent)
{
	struct rig *rig;

	if (system("gnuplot --version >/dev/null 2>&1") != 0)
		cr_skip("gnuplot is missing (Debian: gnuplot-nox)");
	rig = rig_create();
	/* One flow, without slowdown; one sample of nothing; queues that were always empty. */
	rig->result.nb_flows = 1;
	rig->flows[0].ideal_ps = rig->flows[0].end_ps - rig->flows[0].start_ps;
	for (int i = 0; i < 3; i++) {
		rig->series[i].nb = 1;
		rig->samples[i][0] = 0;
	}
	memset(&rig->queues, 0, sizeof(rig->queues));
	rig->queues.count[0] = rig->queues.nb = 1;
	cr_expect_eq(plot_write(&rig->result, rig_folder()), 0);
	for (size_t i = 0; i < NB_NAMES; i++)
		cr_expect(is_there(names[i], "svg", "<?xml"), "%s", names[i]);
	rig_remove_folder();
	rig_free(rig);
}

/* ---- data ---- */

static char *text;
static size_t size;

static FILE *
begin(void)
{
	FILE *f = open_memstream(&text, &size);

	cr_assert(f);
	return f;
}

Test(plot, the_curve_of_drops_says_what_it_counts)
{
	const struct series_kind kind = {"pkt", true};
	struct rig *rig = rig_create();
	struct curves curves = {0};
	FILE *f = begin();

	curves_series(f, &rig->result, &kind, &curves);
	fclose(f);
	cr_assert_eq(curves.nb, 1);
	cr_expect_str_eq(curves.names[0], "drops so far (switches)");
	free(text);
	rig_free(rig);
}

Test(plot, a_cdf_ends_at_one_and_has_a_curve_for_each_size)
{
	struct rig *rig = rig_create();
	struct curves curves = {0};
	struct done_flows done;
	FILE *f = begin();

	cr_assert_eq(done_flows_create(&done, &rig->result), 0);
	curves_fct(f, &done, &curves);
	fclose(f);
	cr_expect_eq(curves.nb, 3);
	cr_expect_str_eq(curves.names[1], "up to 1 kB");
	cr_expect_str_eq(text, "6000 0\n6000 0.333333333\n164000 0.666666667\n168000 1\n\n\n"
	                       "6000 0\n6000 1\n\n\n"
	                       "164000 0\n164000 0.5\n168000 1\n");
	cr_expect_eq(curves.x_min, 6000);
	cr_expect_eq(curves.x_max, 168000);
	free(text);
	done_flows_free(&done);
	rig_free(rig);
}

/* Five flows of each size from 1 to 20 bytes, and a hundred more of 7. */
Test(plot, tenths_do_not_divide_flows_of_one_size)
{
	static struct flow flows[200];
	struct result r = {.nb_flows = 200, .flows = flows};
	struct curves curves = {0};
	struct done_flows done;
	FILE *f = begin();

	for (uint32_t i = 0; i < 200; i++)
		flows[i] = (struct flow){
			.conf.bytes = i < 100 ? i / 5 + 1 : 7,
			.end_ps = 1000,
			.ideal_ps = 500,
			.status = FLOW_DONE,
		};
	cr_assert_eq(done_flows_create(&done, &r), 0);
	curves_slowdown(f, &done, &curves);
	fclose(f);
	cr_expect_str_eq(text,
	                 "4 2 2 2 \"4 B\"\n7 2 2 2 \"7 B\"\n11 2 2 2 \"11 B\"\n15 2 2 2 \"15 "
	                 "B\"\n19 2 2 2 \"19 B\"\n20 2 2 2 \"20 B\"\n",
	                 "%s", text);
	free(text);
	done_flows_free(&done);
}

Test(plot, long_series_are_merged_by_mean_or_highest)
{
	static double values[2 * CURVE_POINTS_MAX];
	static const struct series_kind kinds[] = {{"B", true}, {"B", false}};
	/* Of 3999 alone, because threes leave it over. */
	static const char *const last[] = {"\n3999 3998\n4000 3999\n", "\n3999 3997\n4000 3999\n"};
	struct series series = {
		.name = "x", .unit = "B", .nb = 2 * CURVE_POINTS_MAX, .values = values};
	struct result r = {.nb_series = 1, .series = &series, .sample_ps = 1000};

	for (uint32_t i = 0; i < series.nb; i++)
		values[i] = i;
	for (int k = 0; k < 2; k++) {
		struct curves curves = {0};
		FILE *f = begin();

		curves_series(f, &r, &kinds[k], &curves);
		fclose(f);
		cr_expect_leq(curves.nb_points, CURVE_POINTS_MAX);
		cr_expect_eq(curves.nb_merged, 3);
		cr_expect(strstr(text, last[k]), "%s", text + size - 20);
		free(text);
	}
}

Test(plot, an_empty_queue_is_a_point_too)
{
	static const char last[] = "11 0.99\n12 0.99\n13 1\n";
	struct rig *rig = rig_create();
	struct curves curves = {0};
	FILE *f = begin();

	curves_queue(f, &rig->queues, &curves);
	fclose(f);
	cr_expect(strncmp(text, "0 0.9\n", 6) == 0);
	cr_expect_str_eq(text + size - strlen(last), last);
	cr_expect_eq(curves.x_min, 11);
	cr_expect_eq(curves.x_max, 13);
	free(text);
	rig_free(rig);
}
