/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_PLOT_H
#define WEFT_LAB_PLOT_H

#include "result.h"

/**
 * Draw the standard figures of a run into a folder, which is made if it is not there: throughput,
 * buffer and counts over time, CDF of completion times, slowdown by size of flow, CDF of queues.
 *
 * Each is NAME.png and NAME.svg, drawn by gnuplot from NAME.gp, which reads NAME.dat; "gnuplot
 * NAME.gp" in the folder draws it again, for whoever wants to change it. A figure for which there
 * is no data is left out, and one line of the log says why.
 *
 * @return 0 or -errno, which is logged; data and scripts are there even if gnuplot is missing.
 */
int plot_write(const struct result *result, const char *folder);

#endif
