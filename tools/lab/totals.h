/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_TOTALS_H
#define WEFT_LAB_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "result.h"
#include "value.h"

/**
 * @file
 * Sums over everything that a run counted.
 */

/** Throughputs of a workload's flows, bytes per second of each. */
struct shares {
	uint32_t nb;
	double sum, squares;
};

struct totals {
	uint32_t flows_done, flows_failed;
	uint64_t qps, qps_failed;
	/** What switches lost for want of buffer, room or a link, and what they had no way for. */
	uint64_t drops_switch;
	uint64_t drops_link; /**< by faults and outages of links */
	/** By NICs: damaged, not expected (go-back-N drops what is behind a gap), or old. */
	uint64_t drops_nic;
	uint64_t trimmed, marked;
	uint64_t pauses;    /**< times that a switch told a class to pause */
	uint64_t paused_us; /**< of all classes at all senders, NICs and switches */
	uint64_t queue_max_bytes, buffer_max_bytes;
	uint64_t tx_data_pkts, retransmitted, spurious;
	uint64_t timeouts, naks, rnr_naks, cnps;
	bool *is_dst;          /**< plan->nb_hosts: some flow goes there */
	struct shares *shares; /**< nb_workloads */
};

/** @return 0 or -ENOMEM. */
int totals_create(struct totals *totals, const struct result *result);
void totals_free(struct totals *totals);

/** From the first flow's start to the last one's last byte, or the end of the run if some go on. */
uint64_t totals_active_ps(const struct result *result);

/**
 * Jain's index, 1/n (one has all) to 1 (all have the same).
 * Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984: (sum x)^2 / (n sum x^2).
 */
struct value totals_fairness(const struct shares *shares);

/**
 * What so many permille of all samples of queues do not exceed: the histogram has powers of two, so
 * this is the upper end of one, or what no queue exceeded if that is less.
 */
struct value totals_queue(const struct result *result, const struct totals *totals,
                          uint32_t permille);

/** Upper end of a bin of the histogram, bytes. */
static inline uint64_t
queue_bin_max(uint32_t bin)
{
	return (UINT64_C(1) << bin) - 1;
}

#endif
