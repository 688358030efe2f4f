/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gnuplot.h"
#include "log.h"
#include "outfile.h"
#include "plot_data.h"
#include "summary.h"

/* What figures are drawn from. */
struct source {
	const struct result *result;
	struct done_flows *done;
};

struct unit;
struct figure {
	const char *name;
	const char *title;
	const char *y_label;
	void (*write_data)(FILE *f, const struct source *src, const struct figure *figure,
	                   struct curves *curves);
	void (*write_plot)(FILE *f, const struct figure *figure, const struct curves *curves);
	const char *lacks; /* what there is none of, and the remedy */
	struct series_kind kind;
	const struct unit *units; /* of kind */
};

/* ---- data ---- */

static void
series_data(FILE *f, const struct source *src, const struct figure *figure, struct curves *curves)
{
	curves_series(f, src->result, &figure->kind, curves);
}

static void
fct_data(FILE *f, const struct source *src, const struct figure *figure, struct curves *curves)
{
	(void)figure;
	curves_fct(f, src->done, curves);
}

static void
slowdown_data(FILE *f, const struct source *src, const struct figure *figure, struct curves *curves)
{
	(void)figure;
	curves_slowdown(f, src->done, curves);
}

static void
queue_data(FILE *f, const struct source *src, const struct figure *figure, struct curves *curves)
{
	(void)figure;
	curves_queue(f, src->result->queues, curves);
}

/* ---- gnuplot's words ---- */

/* A string as gnuplot reads it and does nothing with it. */
static void
quote(FILE *f, const char *text)
{
	putc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', f);
		putc((unsigned char)*text < ' ' ? ' ' : *text, f);
	}
	putc('\'', f);
}

/* A unit, and how many of the first of its kind it is. */
struct unit {
	const char *name;
	double size;
};

static const struct unit times[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL}};
static const struct unit rates[] = {{"b/s", 1},    {"kb/s", 1e3},  {"Mb/s", 1e6},
                                    {"Gb/s", 1e9}, {"Tb/s", 1e12}, {NULL}};
static const struct unit sizes[] = {{"B", 1},    {"kB", 1e3},  {"MB", 1e6},
                                    {"GB", 1e9}, {"TB", 1e12}, {NULL}};
static const struct unit packets[] = {{"packets", 1}, {NULL}};

/* The one in which a value is a number of two digits or more. */
static struct unit
fitting(const struct unit *units, double value)
{
	while (units[1].name && value >= 10 * units[1].size)
		units++;
	return *units;
}

/* plot 'NAME.dat' index 0 using ... WITH title ..., index 1 ... */
static void
plot_curves(FILE *f, const struct figure *figure, const struct curves *curves, double x_size,
            double y_size, const char *with)
{
	for (uint32_t i = 0; i < curves->nb; i++) {
		fprintf(f, "%s '%s.dat' index %u using ($1/%g):($2/%g) with %s title ",
		        i == 0 ? "plot" : ", \\\n    ", figure->name, i, x_size, y_size, with);
		quote(f, curves->names[i]);
	}
	putc('\n', f);
}

static void
series_plot(FILE *f, const struct figure *figure, const struct curves *curves)
{
	const struct unit x = fitting(times, curves->x_max);
	const struct unit y = fitting(figure->units, curves->y_max);
	const double y_max = curves->y_max > 0 ? curves->y_max / y.size : 1;

	fprintf(f, "set xlabel 'time (%s)'\n", x.name);
	fprintf(f, "set ylabel '%s (%s)'\n", figure->y_label, y.name);
	fprintf(f, "set xrange [0:%.6g]\n", curves->x_max / x.size);
	fprintf(f, "set yrange [0:%.6g]\n", 1.05 * y_max);
	plot_curves(f, figure, curves, x.size, y.size, "lines");
}

static void
fct_plot(FILE *f, const struct figure *figure, const struct curves *curves)
{
	const bool is_wide = curves->x_min > 0 && curves->x_max >= 10 * curves->x_min;
	const struct unit x =
		fitting(times, is_wide ? sqrt(curves->x_min * curves->x_max) : curves->x_max);

	fprintf(f, "set xlabel 'flow completion time (%s)'\n", x.name);
	fprintf(f, "set ylabel '%s'\n", figure->y_label);
	fputs("set yrange [0:1.02]\n", f);
	if (is_wide)
		fprintf(f, "set logscale x\nset xrange [%.6g:%.6g]\n", curves->x_min / x.size / 1.2,
		        curves->x_max / x.size * 1.2);
	plot_curves(f, figure, curves, x.size, 1, "steps");
}

/* A logarithmic axis from 1 on, with 1, 2 and 5 of each decade. */
static void
log_axis(FILE *f, const char *axis, double max)
{
	fprintf(f, "set logscale %s\nset %stics (1", axis, axis);
	for (double ten = 1; ten <= max; ten *= 10)
		fprintf(f, ", %g, %g, %g", 2 * ten, 5 * ten, 10 * ten);
	fputs(")\n", f);
}

static void
slowdown_plot(FILE *f, const struct figure *figure, const struct curves *curves)
{
	static const char *const names[] = {"median", "95 %", "99 %"};

	fputs("set xlabel 'size of flow, up to (each step about a tenth of all flows)'\n", f);
	fprintf(f, "set ylabel '%s'\n", figure->y_label);
	fprintf(f, "set xrange [-0.5:%g]\n", curves->nb_points - 0.5);
	fprintf(f, "set yrange [1:%.6g]\n", 1.1 * (curves->y_max > 1 ? curves->y_max : 1));
	if (curves->y_max >= 20)
		log_axis(f, "y", curves->y_max);
	fputs("set xtics font ',14'\n", f);
	for (int i = 0; i < 3; i++)
		fprintf(f, "%s '%s.dat' using 0:%d:xtic(5) with linespoints title '%s'",
		        i == 0 ? "plot" : ", \\\n    ", figure->name, i + 2, names[i]);
	putc('\n', f);
}

/* The bins are powers of two: their numbers are a logarithmic axis, which also has room for 0. */
static void
queue_plot(FILE *f, const struct figure *figure, const struct curves *curves)
{
	static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	const uint32_t last = (uint32_t)curves->x_max, first = (uint32_t)curves->x_min;
	const uint32_t zero = first > 0 ? first - 1 : 0, step = (last - zero) / 10 + 1;

	fputs("set xlabel 'queue length, up to'\n", f);
	fprintf(f, "set ylabel '%s'\n", figure->y_label);
	fputs("set key inside bottom right\nset yrange [0:1.02]\n", f);
	fprintf(f, "set xrange [%g:%g]\n", zero - 0.3, last + 0.3);
	fprintf(f, "set xtics ('empty' %u", zero);
	for (uint32_t b = zero + step; b <= last; b += step)
		fprintf(f, ", '%u %sB' %u", 1u << b % 10, prefixes[b / 10], b);
	fprintf(f,
	        ")\nplot '%s.dat' using ($1 < %u ? %u : $1):2 with linespoints "
	        "title 'all ports of all switches'\n",
	        figure->name, first, zero);
}

/* Okabe and Ito's colours, which the colour-blind can tell apart; the second seven are dashed. */
static void
write_style(FILE *f)
{
	static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
	                                      "#E69F00", "#56B4E9", "#000000"};
	static const int points[] = {7, 5, 9, 13, 11, 6, 4};

	for (int i = 0; i < CURVES_MAX; i++)
		fprintf(f, "set linetype %d lc rgb '%s' lw 2 dt %d pt %d ps 1\n", i + 1,
		        colours[i % 7], i < 7 ? 1 : 2, points[i % 7]);
	fputs("set border 3 lw 1 lc rgb '#404040'\n"
	      "set grid lt 1 lw 1 lc rgb '#dddddd'\n"
	      "set tics nomirror out\n"
	      "set key outside right top Left reverse samplen 2 spacing 1.2\n",
	      f);
}

static void
write_script(FILE *f, const struct source *src, const struct figure *figure,
             const struct curves *curves)
{
	const struct result *r = src->result;
	const double merged_ns = (double)r->sample_ps / PS_PER_NS * curves->nb_merged;
	char title[512], merged[64] = "";

	if (curves->nb_merged > 1)
		snprintf(merged, sizeof(merged), " (%s of each %g µs)",
		         figure->kind.is_level ? "highest" : "mean", merged_ns / 1000);
	snprintf(title, sizeof(title), "%s%s: %s, seed %llu", figure->title, merged,
	         summary_scenario(r), (unsigned long long)r->seed);
	fputs("reset\nset encoding utf8\n", f);
	write_style(f);
	fputs("set title ", f);
	quote(f, title);
	fprintf(f, "\nset terminal pngcairo noenhanced size 1200,700 font 'sans,16'\n");
	fprintf(f, "set output '%s.png'\n", figure->name);
	figure->write_plot(f, figure, curves);
	fprintf(f, "set terminal svg noenhanced size 1200,700 font 'sans-serif,16' "
	           "background rgb 'white'\n");
	fprintf(f, "set output '%s.svg'\nreplot\nunset output\n", figure->name);
}

/* ---- the figures ---- */

#define IN_LAB " was sampled ('probes' and 'sample' in [lab])"

static const struct figure figures[] = {
	{"throughput",
         "Throughput",
         "throughput",
         series_data,
         series_plot,
         "no throughput" IN_LAB,
         {"bps", false},
         rates},
	{"buffer",
         "Buffer",
         "buffer in use",
         series_data,
         series_plot,
         "no buffer and no queue" IN_LAB,
         {"B", true},
         sizes},
	{"counts",
         "Packets",
         "number",
         series_data,
         series_plot,
         "no drops and no packets in flight" IN_LAB,
         {"pkt", true},
         packets},
	{"fct",
         "Completion times",
         "share of flows",
         fct_data,
         fct_plot,
         "no flow is done",
         {0},
         NULL},
	{"slowdown",
         "Slowdown by size",
         "slowdown",
         slowdown_data,
         slowdown_plot,
         "no flow is done, or none has an ideal time",
         {0},
         NULL},
	{"queue",
         "Queue lengths",
         "share of samples",
         queue_data,
         queue_plot,
         "no queue was sampled ('sample' in [lab] is 0, or there is no switch)",
         {0},
         NULL},
};
#define NB_FIGURES (sizeof(figures) / sizeof(figures[0]))

/* What is left of another run would look as if it were of this one. */
static void
remove_old(const char *folder, const struct figure *figure)
{
	static const char *const ends[] = {"dat", "gp", "png", "svg"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int len = snprintf(path, sizeof(path), "%s/%s.%s", folder, figure->name, ends[i]);

		if (len < (int)sizeof(path))
			unlink(path);
	}
}

/* Data and script of one figure. @return 0 or -errno. */
static int
write_figure(const char *folder, const struct source *src, const struct figure *figure,
             bool *is_there)
{
	struct curves curves = {.nb_merged = 1};
	struct outfile out;
	char name[64];
	int err;

	*is_there = false;
	remove_old(folder, figure);
	snprintf(name, sizeof(name), "%s.dat", figure->name);
	err = outfile_open(&out, folder, name);
	if (err)
		return err;
	figure->write_data(out.f, src, figure, &curves);
	err = outfile_close(&out);
	if (err)
		return err;
	if (curves.nb_points == 0) {
		remove_old(folder, figure);
		log_info("no figure '%s': %s", figure->name, figure->lacks);
		return 0;
	}
	if (curves.nb_left_out)
		log_info("figure '%s' has the first %d curves; %u more are in the CSV",
		         figure->name, CURVES_MAX, curves.nb_left_out);
	snprintf(name, sizeof(name), "%s.gp", figure->name);
	err = outfile_open(&out, folder, name);
	if (err)
		return err;
	write_script(out.f, src, figure, &curves);
	*is_there = true;
	return outfile_close(&out);
}

/* ---- all of them ---- */

int
plot_write(const struct result *result, const char *folder)
{
	const char *names[NB_FIGURES];
	struct done_flows done;
	struct source src = {result, &done};
	size_t nb = 0;
	int err;

	err = outfile_folder(folder);
	if (err)
		return err;
	err = done_flows_create(&done, result);
	if (err) {
		log_error("no figures: out of memory");
		return err;
	}
	for (size_t i = 0; !err && i < NB_FIGURES; i++) {
		bool is_there;

		err = write_figure(folder, &src, &figures[i], &is_there);
		if (is_there)
			names[nb++] = figures[i].name;
	}
	if (!err && nb > 0)
		err = gnuplot_draw(names, nb, folder);
	done_flows_free(&done);
	return err;
}
