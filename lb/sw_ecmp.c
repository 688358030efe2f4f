/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ECMP: a flow stays on one path, which the hash of its five-tuple chooses.
 *
 * Source: RFC 2992 (hashing and what a change of the group disturbs); the salt, which keeps the
 * switches of a path from choosing alike, from the seed of the switch.
 *
 * A flow has a sequence of pseudo-random hops and takes the first that is up. So a hop that goes
 * down moves its own flows and no others, spreads them evenly, and has them back when it comes up
 * again. After PROBES hops, when most of a group is down, the flow takes the hop that has the
 * highest hash of flow and hop (rendezvous hashing: Thaler and Ravishankar, IEEE/ACM ToN 6(1),
 * 1998) among those that are up, which disturbs as little.
 *
 * PFC is not looked at: a flow waits on its path.
 */
#include "lb.h"
#include "prng.h"

/* Our choice: with half of the hops down, one flow in 256 needs the scan. */
#define PROBES 8

struct sw_ecmp {
	struct lb_head head;
	uint64_t salt;
};

static uint16_t
highest(uint64_t flow, const struct lb_hop *hops, uint16_t nb_hops, uint16_t if_none)
{
	uint64_t best = 0;
	uint16_t hop = if_none;

	for (uint16_t i = 0; i < nb_hops; i++) {
		uint64_t x = flow ^ (uint64_t)(i + 1) << 32;
		uint64_t weight = prng_splitmix(&x) | 1;

		if (hops[i].up && weight > best) {
			best = weight;
			hop = i;
		}
	}
	return hop;
}

static void
sw_ecmp_select(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops, uint16_t nb_hops,
               uint64_t now_ns, struct lb_choice *out)
{
	const struct sw_ecmp *s = state;
	uint64_t flow = s->salt ^ pkt->flow_hash, x = flow;
	uint16_t first = 0;

	(void)now_ns;
	for (int i = 0; i < PROBES; i++) {
		uint16_t hop = (uint16_t)((prng_splitmix(&x) >> 32) * nb_hops >> 32);

		if (hops[hop].up) {
			out->hop = hop;
			return;
		}
		if (i == 0)
			first = hop;
	}
	out->hop = highest(flow, hops, nb_hops, first);
}

static size_t
sw_ecmp_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct sw_ecmp);
}

static void
sw_ecmp_init(void *state, const void *params, const struct engine_env *env)
{
	struct sw_ecmp *s = state;
	uint64_t seed = env->seed;

	(void)params;
	*s = (struct sw_ecmp){.head = {.deadline_ns = NEVER_NS}, .salt = prng_splitmix(&seed)};
}

const struct lb_ops sw_ecmp_ops = {
	.info =
		{
			.name = "ecmp",
			.source = "RFC 2992",
			.offers = TRAIT_FLOW_ECMP,
		},
	.where = LB_SWITCH,
	.select = sw_ecmp_select,
	.state_size = sw_ecmp_state_size,
	.init = sw_ecmp_init,
};
