/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_RESULT_H
#define WEFT_SIM_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"
#include "flow.h"
#include "nic.h"
#include "plan.h"
#include "switch.h"

/**
 * @file
 * All that a run of the laboratory found out, as plain data. Pointers belong to the run.
 */

/** What the laboratory counts of a host beside its NIC's own counters. */
struct host_result {
	const struct nic_stats *nic;
	const struct nic_engine_sums *engines;
	uint64_t tx_data_pkts;       /**< frames with payload, or that ask for some, sent */
	uint64_t tx_data_bytes;      /**< their payload */
	uint64_t rx_data_pkts;       /**< whole frames with payload that arrived at the NIC */
	uint64_t delivered_pkts;     /**< of these, those whose payload was placed */
	uint64_t delivered_bytes;    /**< payload placed for the first time */
	uint64_t retransmitted_pkts; /**< sent with a PSN that was sent before */
	uint64_t spurious_pkts; /**< arrived although a whole copy had arrived here before (counted
	                             at the receiver, whatever its engine did with that copy) */
	uint64_t nb_qps, nb_failed_qps;
	uint64_t inflight_max_pkts; /**< of one QP */
};

/** A switch. */
struct switch_result {
	struct switch_stats stats;
	const struct switch_port_stats *const *ports; /**< plan's nb_ports pointers */
};

/** One way of a link. */
struct link_result {
	uint64_t pkts, bytes; /**< that left; bytes with 24 of each frame's overhead */
	uint64_t busy_ps;     /**< time that it was taken, until end_ps */
	uint64_t lost_pkts;   /**< by faults and outages */
	uint64_t doubled_pkts;
	struct fault_stats faults; /**< both ways' hits, in the first of a link only */
};

/** Samples of one probe. */
struct series {
	char name[48];    /**< as the scenario names it */
	const char *unit; /**< "bps", "B" or "pkt" */
	uint32_t nb;
	double *values; /**< one per sample, the i-th at (i + 1) x sample_ps */
};

/** How often queues had which length, over all queues of all switch ports with traffic. */
#define QUEUE_BINS 64
struct queue_histogram {
	uint64_t count[QUEUE_BINS]; /**< bin 0: empty; i: 2^(i-1) to 2^i - 1 bytes */
	uint64_t nb;
};

struct workload_result {
	const char *name, *kind;
	uint64_t nb_flows, nb_done, nb_failed;
	uint64_t done_ps;   /**< collectives, and finite ones: when all was done; 0 = not */
	uint64_t nb_rounds; /**< of collectives */
};

/** A checker that was violated. */
struct violation {
	const char *rule; /**< NULL = none */
	char what[256];
	uint64_t at_ps;
	char *history; /**< the last events of that QP, lines; NULL = of no QP */
};

struct result {
	const char *scenario; /**< path */
	uint64_t seed;
	uint64_t end_ps;      /**< when the run ended */
	uint64_t nb_events;   /**< of the clock */
	double cpu_s, wall_s; /**< not in CSV and JSON, which are the same for the same seed */
	uint64_t data_pkts;   /**< payload packets delivered end to end */
	const struct plan *plan;
	uint32_t nb_flows;
	const struct flow
		*flows; /**< as they were handed out: in order of start but for a window */
	uint32_t nb_workloads;
	const struct workload_result *workloads;
	const struct host_result *hosts; /**< plan->nb_hosts */
	const struct stat_desc *const
		*engine_stats; /**< of hosts' engines, of which all have the same */
	uint32_t nb_engine_stats;
	const struct switch_result *switches; /**< plan->nb_switches */
	const struct link_result (*links)[2]; /**< plan->nb_links, [0] from end[0] */
	uint64_t sample_ps;
	uint32_t nb_series;
	const struct series *series;
	const struct queue_histogram *queues;
	struct violation violation;
};

#endif
