/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TIMING_H
#define WEFT_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define TIMING_RUNS 5

/** CPU time of this thread: what others run on the machine between two calls doesn't count. */
static inline uint64_t
timing_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/** Time on the wall: a tenth of what the other costs (a system call), for what is timed often. */
static inline uint64_t
timing_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline int
timing_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/** The middle one of five runs; puts them in order. */
static inline double
timing_median(double ns[TIMING_RUNS])
{
	qsort(ns, TIMING_RUNS, sizeof(ns[0]), timing_order);
	return ns[TIMING_RUNS / 2];
}

/** ns per unit of a step that does nb_units, the median of five runs of run_ns or somewhat more. */
static inline double
timing_step(void (*step)(void), uint32_t nb_units, uint64_t run_ns)
{
	double ns[TIMING_RUNS];

	for (uint32_t r = 0; r < TIMING_RUNS; r++) {
		uint64_t start = timing_now_ns(), now, nb = 0;

		do {
			for (uint32_t i = 0; i < 64; i++)
				step();
			nb += 64 * (uint64_t)nb_units;
			now = timing_now_ns();
		} while (now - start < run_ns);
		ns[r] = (double)(now - start) / (double)nb;
	}
	return timing_median(ns);
}

#endif
