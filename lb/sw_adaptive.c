/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adaptive routing: each packet, or each flowlet, takes the hop with the fewest bytes waiting;
 * among equals a random one.
 *
 * Source: DCP (SIGCOMM'25), whose switches choose per packet. With a gap, the choice holds until a
 * flow was silent for longer (LetFlow, NSDI'17), which keeps most of its packets in order.
 *
 * A hop that PFC holds still comes after all that are open, however short its queue: what is sent
 * there waits for an unknown time. A flowlet under way stays on a hop that pauses, because its
 * packets wait there already and the next ones would overtake them; it leaves one that went down.
 */
#include <assert.h>

#include "flowlets.h"
#include "lb.h"
#include "prng.h"

struct adaptive_params {
	uint64_t gap_ns;
	uint32_t flowlets;
};

struct sw_adaptive {
	struct lb_head head;
	struct prng prng;
	struct flowlets flowlets; /* no slots: per packet */
	uint64_t slots[];
};

/*
 * How little each hop is wanted: by its queue in units of 8 bytes, if paused after all that are
 * open, if down after those. Four hops at a time: 64 take 70 ns instead of 220
 * (tests/bench/bench_lb.c).
 */
typedef uint32_t v4 __attribute__((vector_size(16)));
typedef int32_t v4_signed __attribute__((vector_size(16)));
typedef uint64_t v2 __attribute__((vector_size(16)));

#define COST_PAUSED (1u << 29)
#define COST_DOWN (1u << 30)

static_assert(sizeof(struct lb_hop) == 8 && offsetof(struct lb_hop, up) == 2 &&
                      offsetof(struct lb_hop, paused) == 3 &&
                      offsetof(struct lb_hop, queue_bytes) == 4 &&
                      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "a hop is a word of flags, up bit 16 and paused bit 24, and a word of bytes");

/* Read as they were written, whole: a load of two would wait until both are out of the store
 * buffer. */
static uint64_t
load(const struct lb_hop *hop)
{
	uint64_t word;

	memcpy(&word, hop, sizeof(word));
	return word;
}

/* Of 1 to 4 hops; those that are not there are like the first. */
static v4
costs_of(const struct lb_hop *hops, uint32_t nb)
{
	v4 a = (v4)(v2){load(hops), load(hops + (nb > 1 ? 1 : 0))};
	v4 b = (v4)(v2){load(hops + (nb > 2 ? 2 : 0)), load(hops + (nb > 3 ? 3 : 0))};
	v4 flags = __builtin_shufflevector(a, b, 0, 2, 4, 6);
	v4 bytes = __builtin_shufflevector(a, b, 1, 3, 5, 7);

	return bytes >> 3 | (flags << 5 & COST_PAUSED) | (~flags << 14 & COST_DOWN);
}

/* Costs are below 2^31: SSE2 compares signed numbers only. */
static v4
least_of(v4 a, v4 b)
{
	v4 is_less = (v4)((v4_signed)a < (v4_signed)b);

	return (is_less & a) | (~is_less & b);
}

static uint16_t
shortest(const struct lb_hop *hops, uint16_t nb_hops, struct prng *prng)
{
	static const v4 there[] = {{1, 1, 1, 1}, {1}, {1, 1}, {1, 1, 1}};
	v4 costs[LB_GROUP_MAX / 4];
	uint32_t last = (nb_hops - 1u) / 4, hop;
	v4 least = costs_of(&hops[4 * last], nb_hops - 4 * last);
	v4 tied = {0};
	uint64_t ties;

	costs[last] = least;
	for (uint32_t i = 0; i < last; i++) {
		costs[i] = costs_of(&hops[4 * i], 4);
		least = least_of(costs[i], least);
	}
	least = least_of(least, __builtin_shufflevector(least, least, 2, 3, 0, 1));
	least = least_of(least, __builtin_shufflevector(least, least, 1, 0, 3, 2));
	tied = (v4)(costs[last] == least) & there[nb_hops % 4];
	for (uint32_t i = last; i-- > 0;)
		tied = tied << 1 | ((v4)(costs[i] == least) & 1);

	/* Of each four hops, 16 bits for the first, 16 for the second, ... */
	ties = tied[0] | tied[1] << 16 | (uint64_t)(tied[2] | tied[3] << 16) << 32;
	if (ties & (ties - 1)) {
		uint32_t nth = prng_below(prng, (uint32_t)__builtin_popcountll(ties));

		while (nth-- > 0)
			ties &= ties - 1;
	}
	hop = (uint32_t)__builtin_ctzll(ties);
	return (uint16_t)(hop % 16 * 4 + hop / 16);
}

static void
sw_adaptive_select(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops,
                   uint16_t nb_hops, uint64_t now_ns, struct lb_choice *out)
{
	struct sw_adaptive *s = state;
	uint64_t *slot;

	assert(nb_hops <= LB_GROUP_MAX);
	if (s->flowlets.nb_slots == 0) {
		out->hop = shortest(hops, nb_hops, &s->prng);
		return;
	}
	slot = flowlets_slot(&s->flowlets, pkt->flow_hash);
	out->hop = flowlets_goes_on(&s->flowlets, *slot, hops, nb_hops, now_ns)
	                   ? (uint16_t)*slot
	                   : shortest(hops, nb_hops, &s->prng);
	*slot = flowlets_pack(out->hop, now_ns);
}

/* A table is there only if it is used. */
static uint32_t
nb_slots(const struct adaptive_params *p)
{
	return p->gap_ns ? p->flowlets : 0;
}

static size_t
sw_adaptive_state_size(const void *params, const struct engine_env *env)
{
	(void)env;
	return sizeof(struct sw_adaptive) + nb_slots(params) * sizeof(uint64_t);
}

static void
sw_adaptive_init(void *state, const void *params, const struct engine_env *env)
{
	const struct adaptive_params *p = params;
	struct sw_adaptive *s = state;

	*s = (struct sw_adaptive){.head = {.deadline_ns = NEVER_NS}};
	prng_seed(&s->prng, env->seed);
	s->flowlets = flowlets_of(s->slots, nb_slots(p), p->gap_ns);
}

static const struct param_desc adaptive_params[] = {
	{
		.name = "gap",
		.type = PARAM_U64,
		.offset = offsetof(struct adaptive_params, gap_ns),
		.def = 0,
		.min = 0,
		.max = 10e9,
		.unit = "ns",
		.source = "DCP SIGCOMM'25: 0, per packet",
	},
	{
		.name = "flowlets",
		.type = PARAM_U32,
		.offset = offsetof(struct adaptive_params, flowlets),
		.def = 65536,
		.min = 1,
		.max = 1 << 24,
		.unit = "1",
		.source = "our choice, as in flowlet",
	},
	{.name = NULL},
};

const struct lb_ops sw_adaptive_ops = {
	.info =
		{
			.name = "adaptive",
			.source = "DCP SIGCOMM'25",
			.params_size = sizeof(struct adaptive_params),
			.params = adaptive_params,
		},
	.where = LB_SWITCH,
	.select = sw_adaptive_select,
	.state_size = sw_adaptive_state_size,
	.init = sw_adaptive_init,
};
