/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_COUNTERS_H
#define WEFT_COUNTERS_H

#include <stdint.h>
#include <stdio.h>

#include "nodes.h"

/**
 * @file
 * All that a daemon counts, in one walk: what SIGUSR1 logs, weftctl shows and DPDK telemetry
 * carries.
 */

/** One counter of a node, of a port of a switch, or of the worker. */
struct counter {
	const char *node; /**< of its section in the conf; "worker", "control" */
	int port;         /**< of a switch; -1 = of the node itself */
	const char *name; /**< as in weftd(8) */
	uint64_t value;
};

/** Text that is long enough for counter_owner. */
#define COUNTER_OWNER_MAX 64

/**
 * Read them between two turns of the worker, so that they fit each other.
 *
 * From any thread but the worker; the worker runs. Some microseconds of it, and 100 ns for each QP.
 *
 * @param node  of this node only; NULL = of all.
 * @param[out] nb  how many.
 * @return      to be freed; those of one owner stand together. NULL without memory.
 */
struct counter *counters_read(const struct nodes *nodes, const char *node, uint32_t *nb);

/** "weft0" or "sw0/1". @return text. */
const char *counter_owner(const struct counter *counter, char text[COUNTER_OWNER_MAX]);

/** Write those that are not 0, a line each. */
void counters_print(const struct nodes *nodes, FILE *out);
/** Log them. */
void counters_log(const struct nodes *nodes);

#endif
