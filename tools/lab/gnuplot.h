/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_GNUPLOT_H
#define WEFT_LAB_GNUPLOT_H

#include <stddef.h>

/** Scripts at most. */
#define GNUPLOT_SCRIPTS_MAX 16

/**
 * Run gnuplot in a folder, over the scripts NAME.gp, each of which draws NAME.png and NAME.svg, and
 * see that these are whole: gnuplot does not tell when a disk is full.
 *
 * @return 0 or -errno, which is logged with the remedy.
 */
int gnuplot_draw(const char *const *names, size_t nb, const char *folder);

#endif
