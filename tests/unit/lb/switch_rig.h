/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_SWITCH_RIG_H
#define WEFT_TEST_SWITCH_RIG_H

#include <stdlib.h>
#include <string.h>

#include "bind.h"

/* A switch's engine with its state, and a group of hops that are all up, open and empty. */
struct switch_rig {
	const struct lb_ops *ops;
	_Alignas(8) uint8_t params[64];
	void *state;
	struct lb_hop hops[LB_GROUP_MAX];
	uint16_t nb_hops;
	uint64_t now_ns;
};

/** Parameters have their defaults; rig_start takes what was set since. */
static inline void
rig_init(struct switch_rig *rig, const char *engine, uint16_t nb_hops)
{
	*rig = (struct switch_rig){
		.ops = lb_find(engine, LB_SWITCH), .nb_hops = nb_hops, .now_ns = 1000000};
	param_defaults(rig->ops->info.params, rig->params);
	for (uint16_t i = 0; i < LB_GROUP_MAX; i++)
		rig->hops[i] = (struct lb_hop){.id = (uint16_t)(100 + i), .up = true};
}

static inline void
rig_set(struct switch_rig *rig, const char *name, const char *value)
{
	char why[200];

	if (param_set(rig->ops->info.params, rig->params, name, value, why, sizeof(why)))
		abort();
}

static inline void
rig_start(struct switch_rig *rig, uint64_t seed)
{
	const struct engine_env env = {.seed = seed, .nb_hops = LB_GROUP_MAX};
	size_t size = rig->ops->state_size(rig->params, &env);

	rig->state = realloc(rig->state, size);
	if (!rig->state)
		abort();
	memset(rig->state, 0xa5, size);
	rig->ops->init(rig->state, rig->params, &env);
}

static inline uint16_t
rig_select(struct switch_rig *rig, uint32_t flow_hash)
{
	const struct lb_pkt pkt = {.flow_hash = flow_hash, .len_bytes = 1082};
	struct lb_choice choice = {.hop = 0};

	rig->ops->select(rig->state, &pkt, rig->hops, rig->nb_hops, rig->now_ns, &choice);
	return choice.hop;
}

static inline void
rig_fini(struct switch_rig *rig)
{
	free(rig->state);
}

#endif
