/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_LAB_H
#define WEFT_SIM_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "bind.h"
#include "fault.h"
#include "plan.h"
#include "result.h"
#include "switch.h"
#include "workload.h"

/**
 * @file
 * One run of the laboratory: hosts with the real stack, real switches and links between them, under
 * a virtual clock. Nothing of it is global, so that many can run in one process, one after the
 * other or each in its own thread.
 */

/** Numbers of section [host]; all hosts are alike. */
struct lab_host_params {
	uint32_t ip_mtu_bytes;
	uint32_t path_mtu_bytes; /**< 256, 512, 1024, 2048 or 4096 */
	uint32_t window_pkts;
	uint64_t base_rtt_ns; /**< 0 = of the longest path when empty */
	uint32_t traffic_class;
	uint32_t timeout;       /**< code: 4.096 us x 2^this; 0 = never */
	uint32_t retry_cnt;     /**< 0 to 7 */
	uint32_t rnr_retry;     /**< 0 to 7; 7 = for ever */
	uint32_t min_rnr_timer; /**< code, 0 to 31 */
	uint32_t depth;         /**< work requests that a QP's queue holds */
	uint32_t rd_atomic;     /**< READs outstanding on a QP */
	bool obeys_pfc;
	uint64_t pfc_watchdog_ns;
};
extern const struct param_desc lab_host_param_descs[];

/** Engines of all hosts, with parameters that live as long as the run. */
struct lab_engines {
	enum framing_wish framing;
	struct engine_set set;
	struct engine_set_params params;
	struct engine_set plain; /**< as of nic_conf */
	struct engine_set_params plain_params;
	const struct reliability_ops *rel_dgram; /**< "none", which has no parameters */
};

/** First PSNs from the seed. */
#define LAB_PSN_RANDOM UINT32_MAX

/** All about a run. What pointers lead to must live as long as it does, and does not change. */
struct lab_conf {
	const char *scenario; /**< path, for messages; may be NULL */
	uint64_t seed;
	uint64_t duration_ns; /**< 0 = until every workload is finite and done */
	uint64_t sample_ns;   /**< 0 = no series, no histogram */
	bool real_payload;
	uint32_t first_psn; /**< of every QP; LAB_PSN_RANDOM */
	const struct plan *plan;
	struct lab_host_params host;
	struct lab_engines engines;
	/** Of all switches; nb_ports, ports, seed, id and mac are filled in for each. */
	struct switch_conf sw;
	struct switch_port_params port; /**< of all of their ports; rate and delay are the links' */
	const struct fault_params *faults; /**< one per link of the plan; NULL = none anywhere */
	uint32_t nb_workloads;
	struct workload *workloads;
	uint32_t nb_probes;
	const char *const *probes; /**< names that lab_probe_check takes */
};

/**
 * Whether there is such a probe: goodput, goodput:NODE, buffer, buffer:NODE, queue:NODE:PORT,
 * rate:NODE, drops, inflight, paused, paused:NODE.
 *
 * @return 0 or -EINVAL, with why in one line.
 */
int lab_probe_check(const struct plan *plan, const char *probe, char *why, size_t size);

/**
 * Ports of a switch of a run as they will be: what all have, and rate and delay of their links.
 *
 * @param sw          of the plan's switches, from 0 on.
 * @param[out] ports  as many as it has.
 */
void lab_switch_ports(const struct lab_conf *conf, uint32_t sw,
                      struct switch_port_params ports[PLAN_PORTS_MAX]);

struct lab;

/** @return NULL without memory. */
struct lab *lab_create(const struct lab_conf *conf);
/** NULL does nothing. */
void lab_destroy(struct lab *lab);

/** See every frame that a node sends or receives; NULL = nobody looks. */
struct lab_tap {
	void (*frame)(void *arg, uint32_t node, uint16_t port, bool is_out, uint64_t at_ps,
	              const struct pkt *pkt);
	void *arg;
	uint32_t node;
};
void lab_set_tap(struct lab *lab, const struct lab_tap *tap);

/**
 * Go on for at most so many events of the clock.
 *
 * @return whether there is more to do: false when the run is over, by its end or by a violation.
 */
bool lab_run(struct lab *lab, uint64_t nb_events);

uint64_t lab_now_ps(const struct lab *lab);
/** Flows that ended, and how many there will be, 0 = nobody knows; for progress. */
void lab_progress(const struct lab *lab, uint64_t *nb_ended, uint64_t *nb_all);

/** What it found so far; scenario, cpu_s and wall_s are the caller's. Good until the next call. */
const struct result *lab_result(struct lab *lab);

#endif
