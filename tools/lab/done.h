/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_DONE_H
#define WEFT_LAB_DONE_H

#include <stdint.h>

#include "result.h"

/**
 * @file
 * Completion times of the flows that are done, by size.
 *
 * The completion time (FCT) of a flow is from its hand-over to the QP until the completion of its
 * last work request; its slowdown is that time in parts of what it takes in an empty fabric.
 * Percentiles are by nearest rank: the least value that so many percent of all do not exceed.
 */

/** A class of sizes: up to so many bytes, and above the class before. */
struct size_class {
	const char *key;  /**< "to_10k": begins the names of its metrics */
	const char *text; /**< for people */
	uint64_t max_bytes;
};

/** Decades, so that runs of any workload compare. Source: our choice. */
#define SIZE_CLASSES 6
extern const struct size_class size_classes[SIZE_CLASSES];

struct done_flow {
	uint64_t bytes;
	uint64_t fct_ps;
	double slowdown; /**< 0 = not known */
};

struct done_flows {
	uint32_t nb;
	struct done_flow *flows; /**< by size, then completion time */
	double *sorted;          /**< nb of room, for percentiles */
};

/** @return 0 or -ENOMEM. */
int done_flows_create(struct done_flows *done, const struct result *result);
void done_flows_free(struct done_flows *done);

/** Index of the first flow beyond a class of sizes. */
uint32_t done_flows_end(const struct done_flows *done, uint32_t size_class);

/** How values are spread. nb = 0: the others are not defined. */
struct spread {
	uint32_t nb;
	double mean, p50, p95, p99, p999, max;
};

/** Completion times in ns of the flows first to end - 1. */
struct spread done_flows_fct(struct done_flows *done, uint32_t first, uint32_t end);
/** Their slowdowns, where known. */
struct spread done_flows_slowdown(struct done_flows *done, uint32_t first, uint32_t end);

/** Index, from 0 on, of the nearest rank of a share of n > 0 sorted values. permille 1 to 1000. */
static inline uint64_t
rank_of(uint64_t n, uint32_t permille)
{
	return (n * permille + 999) / 1000 - 1;
}

#endif
