/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_PLAN_IMPL_H
#define WEFT_SIM_PLAN_IMPL_H

#include "plan.h"

/**
 * @file
 * How a plan is made, for plan*.c only. There are three shapes: two hosts alone, two switches with
 * some links between them, and a tree of one to three stages, which is all the others.
 */

/** Links between the longest way's ends at most: host, leaf, mid, core and back. */
#define PLAN_PATH_MAX 6

/**
 * A tree. Each pod is a leaf-spine of its own: every leaf joined to every mid. Mid m of each pod is
 * joined to the cores m x cores_per_mid and following. No mids: one leaf and nothing else. No
 * cores: one pod, and mids are its spines.
 */
struct plan_tree {
	uint32_t pods;
	uint32_t leaves, mids; /**< of a pod */
	uint32_t hosts_per_leaf;
	uint32_t parallel;      /**< links between a leaf and a mid */
	uint32_t cores_per_mid; /**< = ports of a mid to cores */
};

/** Numbers with what 0 stands for filled in. */
struct plan_builder {
	struct plan *plan;
	struct plan_params params;
	uint32_t nb_hosts, nb_links; /**< made so far */
	uint32_t nb_switches;
};

/** Room for all; the counts say how much. @return 0 or -ENOMEM. */
int plan_alloc(struct plan *plan);

/** Build two switches, or a tree: counts are filled in, and arrays made. @return as plan_alloc. */
int plan_build_hosts_alone(struct plan *plan, const struct plan_params *params);
int plan_build_pair(struct plan *plan, const struct plan_params *params, uint32_t nb_between);
int plan_build_tree(struct plan *plan, const struct plan_params *params,
                    const struct plan_tree *tree);

#endif
