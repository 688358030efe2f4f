/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_LAB_RESULT_RIG_H
#define WEFT_TEST_LAB_RESULT_RIG_H

#include <stdbool.h>

#include "log.h"
#include "result.h"

/**
 * @file
 * A run that never was: a star of three hosts, with what it found written by hand.
 */

#define RIG_HOSTS 3
#define RIG_FLOWS 5
#define RIG_SAMPLES 20

struct rig {
	struct plan plan;
	struct flow flows[RIG_FLOWS];
	struct workload_result workloads[2];
	struct nic_stats nics[RIG_HOSTS];
	struct nic_engine_sums engines[RIG_HOSTS];
	struct host_result hosts[RIG_HOSTS];
	struct switch_port_stats port_stats[RIG_HOSTS];
	const struct switch_port_stats *ports[RIG_HOSTS];
	struct switch_result switches[1];
	struct link_result links[RIG_HOSTS][2];
	double samples[3][RIG_SAMPLES];
	struct series series[3];
	struct queue_histogram queues;
	struct result result;
};

/** Everything filled in; h0 and h1 send to h2, and there are some small flows. */
struct rig *rig_create(void);
void rig_free(struct rig *rig);

/** A folder of the test's own, empty; good until the next call. */
const char *rig_folder(void);
/** It and what is in it goes. */
void rig_remove_folder(void);

/** Whole text of a file in that folder; NULL if there is none. The caller frees it. */
char *rig_read(const char *name, size_t *len);

/** From now on log lines are kept. */
void rig_listen(void);
/** How many there were since the last call, and the last of all. */
int rig_logged(char last[LOG_LINE_MAX]);

#endif
