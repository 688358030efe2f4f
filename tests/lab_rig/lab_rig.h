/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_LAB_RIG_H
#define WEFT_TESTS_LAB_RIG_H

#include "lab.h"

/*
 * A run of the laboratory made by hand, for tests and benchmarks: defaults, then what the caller
 * changes, then lab_rig_run. All of it asserts.
 */

#define LAB_RIG_WORKLOADS 4

struct lab_rig {
	struct lab_conf conf;
	struct plan plan;
	struct plan_params topology;
	struct workload workloads[LAB_RIG_WORKLOADS];
	struct fault_params *faults; /* of lab_rig_faults */
	struct lab *lab;
};

/** Hosts with gbn and fixed, switches with ecmp; the plan is made of defaults and these numbers. */
void lab_rig_init(struct lab_rig *r, enum plan_kind kind, const struct plan_params *topology);
/** One more workload, with defaults; its own numbers by lab_rig_set. */
struct workload *lab_rig_workload(struct lab_rig *r, const char *kind, enum flow_verb verb);
/** A number of its own, or of all workloads, as a scenario has it. */
void lab_rig_set(struct workload *w, const char *key, const char *value);
/** A number of an engine. */
void lab_rig_set_engine(const struct engine_info *info, const void *params, const char *key,
                        const char *value);
/** Faults of a link of the plan, at first none; to be changed before lab_rig_run. */
struct fault_params *lab_rig_faults(struct lab_rig *r, uint32_t link);
/** Default parameters of the topology, to be changed before lab_rig_init. */
struct plan_params lab_rig_topology(void);
/** To the end. */
const struct result *lab_rig_run(struct lab_rig *r);
void lab_rig_fini(struct lab_rig *r);

#endif
