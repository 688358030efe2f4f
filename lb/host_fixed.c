/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No load balancing: one UDP source port, and so one path through fabrics that hash flows, for the
 * life of the QP. The port itself, which tells QPs apart, is the host's to choose (RoCEv2 annex
 * A17).
 */
#include "lb.h"

struct host_fixed {
	struct lb_head head;
	uint16_t sport;
};

static void
host_fixed_select(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops,
                  uint16_t nb_hops, uint64_t now_ns, struct lb_choice *out)
{
	const struct host_fixed *s = state;

	(void)pkt;
	(void)hops;
	(void)nb_hops;
	(void)now_ns;
	out->hop = 0;
	out->udp_sport = s->sport;
}

static size_t
host_fixed_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct host_fixed);
}

static void
host_fixed_init(void *state, const void *params, const struct engine_env *env)
{
	struct host_fixed *s = state;

	(void)params;
	*s = (struct host_fixed){.head = {.deadline_ns = NEVER_NS}, .sport = env->base_sport};
}

const struct lb_ops host_fixed_ops = {
	.info =
		{
			.name = "fixed",
			.source = "RoCEv2, IBA annex A17",
		},
	.where = LB_HOST,
	.select = host_fixed_select,
	.state_size = host_fixed_state_size,
	.init = host_fixed_init,
};
