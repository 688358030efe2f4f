/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_PLOT_DATA_H
#define WEFT_LAB_PLOT_DATA_H

#include <stdbool.h>
#include <stdio.h>

#include "done.h"
#include "result.h"

/**
 * @file
 * Curves of figures, as gnuplot reads them: blocks of lines "X Y ...", with two empty lines between
 * blocks, so that block i is "index i".
 */

/** Points of a curve at most; more look the same on paper. Source: our choice. */
#define CURVE_POINTS_MAX 2000

/** Curves of a figure at most: what one can tell apart. Source: our choice. */
#define CURVES_MAX 14

struct curves {
	uint32_t nb;
	char names[CURVES_MAX][48];
	double x_min, x_max, y_max; /**< of all points; not defined if there are none */
	uint32_t nb_points;         /**< of all */
	uint32_t nb_merged;         /**< samples that a point stands for */
	uint32_t nb_left_out;       /**< curves beyond CURVES_MAX */
};

/** A kind of series. */
struct series_kind {
	const char *unit; /**< of the series that are drawn */
	bool is_level;    /**< where samples are merged the highest stands for them, not the mean */
};

/** Time (ns) and value of all series of a kind. */
void curves_series(FILE *f, const struct result *r, const struct series_kind *kind,
                   struct curves *curves);

/** Completion time (ns) and the share of flows that were done by then: of all, and by size. */
void curves_fct(FILE *f, struct done_flows *done, struct curves *curves);

/**
 * Size (B), median, 95 % and 99 % slowdown of the flows up to it and above the line before, and the
 * size in words: of tenths of all flows, as the papers draw it (Y. Li et al., HPCC, SIGCOMM 2019,
 * figure 11), and larger ones where a tenth would divide flows of one size.
 */
void curves_slowdown(FILE *f, struct done_flows *done, struct curves *curves);

/** Bin of the histogram of queues and the share of samples up to it; x_min is the least above 0. */
void curves_queue(FILE *f, const struct queue_histogram *queues, struct curves *curves);

#endif
