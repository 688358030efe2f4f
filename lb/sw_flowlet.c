/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LetFlow: after a pause that is longer than paths differ in delay, a flow can change its path
 * without overtaking itself. So each burst of a flow, a flowlet, takes a random hop; flowlets on
 * slow paths are short, as their senders hear late, and the load finds its balance.
 *
 * Source: Vanini et al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching",
 * NSDI'17. The gap is that of the public implementation beside ConWeave (SIGCOMM'23).
 *
 * A packet that comes gap after the last, or earlier, stays; one that comes later may move. A hop
 * that went down is left at once. Flows that share a slot of the table count as one flow: they
 * pause more rarely, so they move more rarely (flowlets.h).
 */
#include "flowlets.h"
#include "hops.h"
#include "lb.h"
#include "prng.h"

struct flowlet_params {
	uint64_t gap_ns;
	uint32_t flowlets;
};

struct sw_flowlet {
	struct lb_head head;
	struct prng prng;
	struct flowlets flowlets;
	uint64_t slots[];
};

static void
sw_flowlet_select(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops,
                  uint16_t nb_hops, uint64_t now_ns, struct lb_choice *out)
{
	struct sw_flowlet *s = state;
	uint64_t *slot = flowlets_slot(&s->flowlets, pkt->flow_hash);

	out->hop = flowlets_goes_on(&s->flowlets, *slot, hops, nb_hops, now_ns)
	                   ? (uint16_t)*slot
	                   : hops_random(hops, nb_hops, &s->prng);
	*slot = flowlets_pack(out->hop, now_ns);
}

static size_t
sw_flowlet_state_size(const void *params, const struct engine_env *env)
{
	const struct flowlet_params *p = params;

	(void)env;
	return sizeof(struct sw_flowlet) + p->flowlets * sizeof(uint64_t);
}

static void
sw_flowlet_init(void *state, const void *params, const struct engine_env *env)
{
	const struct flowlet_params *p = params;
	struct sw_flowlet *s = state;

	*s = (struct sw_flowlet){.head = {.deadline_ns = NEVER_NS}};
	prng_seed(&s->prng, env->seed);
	s->flowlets = flowlets_of(s->slots, p->flowlets, p->gap_ns);
}

static const struct param_desc flowlet_params[] = {
	{
		.name = "gap",
		.type = PARAM_U64,
		.offset = offsetof(struct flowlet_params, gap_ns),
		.def = 100e3,
		.min = 1,
		.max = 10e9,
		.unit = "ns",
		.source = "LetFlow beside ConWeave SIGCOMM'23, 100 us",
	},
	{
		.name = "flowlets",
		.type = PARAM_U32,
		.offset = offsetof(struct flowlet_params, flowlets),
		.def = 65536,
		.min = 1,
		.max = 1 << 24,
		.unit = "1",
		.source = "our choice: 512 KB; of 1,000 flows 15 share a slot",
	},
	{.name = NULL},
};

const struct lb_ops sw_flowlet_ops = {
	.info =
		{
			.name = "flowlet",
			.source = "LetFlow, NSDI'17",
			.params_size = sizeof(struct flowlet_params),
			.params = flowlet_params,
		},
	.where = LB_SWITCH,
	.select = sw_flowlet_select,
	.state_size = sw_flowlet_state_size,
	.init = sw_flowlet_init,
};
