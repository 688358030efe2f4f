/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet spraying: each packet takes another hop of those that are up, at random or in turn.
 *
 * Source: Dixit et al., "On the Impact of Packet Spraying in Data Center Networks", INFOCOM'13.
 *
 * In turn means per group, or two groups whose packets alternate would each see every other turn
 * only. A group is known by its first and last hop and its length, of which a hash chooses one of
 * NB_TURNS counters; groups that share one take turns together. Counters begin at random places, so
 * that the switches of a fabric do not go round in step.
 */
#include "hops.h"
#include "lb.h"
#include "prng.h"

/* A power of two. Our choice: a switch has a few groups per level of the fabric. */
#define NB_TURNS_LOG2 8
#define NB_TURNS (1 << NB_TURNS_LOG2)

struct spray_params {
	bool round_robin;
};

struct sw_spray {
	struct lb_head head;
	struct prng prng;
	bool round_robin;
	uint16_t turns[NB_TURNS]; /* the next hop of a group; may be past its end */
};

static uint16_t *
turn_of(struct sw_spray *s, const struct lb_hop *hops, uint16_t nb_hops)
{
	uint64_t group =
		(uint64_t)nb_hops << 32 | (uint32_t)hops[nb_hops - 1].id << 16 | hops[0].id;

	return &s->turns[group * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NB_TURNS_LOG2)];
}

static uint16_t
next_hop(struct sw_spray *s, const struct lb_hop *hops, uint16_t nb_hops)
{
	uint16_t *turn = turn_of(s, hops, nb_hops);
	uint16_t hop = *turn < nb_hops ? *turn : (uint16_t)(*turn % nb_hops);

	for (uint16_t i = 0; i < nb_hops && !hops[hop].up; i++)
		hop = hop + 1 < nb_hops ? (uint16_t)(hop + 1) : 0;
	*turn = hop + 1 < nb_hops ? (uint16_t)(hop + 1) : 0;
	return hop;
}

static void
sw_spray_select(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops, uint16_t nb_hops,
                uint64_t now_ns, struct lb_choice *out)
{
	struct sw_spray *s = state;

	(void)pkt;
	(void)now_ns;
	out->hop =
		s->round_robin ? next_hop(s, hops, nb_hops) : hops_random(hops, nb_hops, &s->prng);
}

static size_t
sw_spray_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct sw_spray);
}

static void
sw_spray_init(void *state, const void *params, const struct engine_env *env)
{
	const struct spray_params *p = params;
	struct sw_spray *s = state;

	*s = (struct sw_spray){
		.head = {.deadline_ns = NEVER_NS},
		.round_robin = p->round_robin,
	};
	prng_seed(&s->prng, env->seed);
	for (uint32_t i = 0; i < NB_TURNS; i++)
		s->turns[i] = (uint16_t)prng_next(&s->prng);
}

static const struct param_desc spray_params[] = {
	{
		.name = "round_robin",
		.type = PARAM_YES_NO,
		.offset = offsetof(struct spray_params, round_robin),
		.def = 0,
		.min = 0,
		.max = 1,
		.unit = "1",
		.source = "our choice: random, which no pattern of traffic meets in step",
	},
	{.name = NULL},
};

const struct lb_ops sw_spray_ops = {
	.info =
		{
			.name = "spray",
			.source = "packet spraying, INFOCOM'13",
			.params_size = sizeof(struct spray_params),
			.params = spray_params,
		},
	.where = LB_SWITCH,
	.select = sw_spray_select,
	.state_size = sw_spray_state_size,
	.init = sw_spray_init,
};
