/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines that break one promise each, now and then: the check must see it.
 */
#include "lb_bad.h"

#include "prng.h"

struct bad_params {
	uint32_t period; /* one call in so many goes wrong */
};

struct bad {
	struct lb_head head;
	struct prng prng;
	struct bad_params *params;
	uint64_t nb_calls;
	uint16_t base_sport;
};

/* From one on, in turn. */
static uint16_t
first_up(uint16_t from, const struct lb_hop *hops, uint16_t nb_hops)
{
	uint16_t hop = from % nb_hops;

	for (uint16_t i = 0; i < nb_hops && !hops[hop].up; i++)
		hop = (uint16_t)((hop + 1) % nb_hops);
	return hop;
}

static void
bad_good(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops, uint16_t nb_hops,
         uint64_t now_ns, struct lb_choice *out)
{
	struct bad *s = state;
	uint16_t hop = first_up((uint16_t)prng_next(&s->prng), hops, nb_hops);

	(void)pkt;
	(void)now_ns;
	out->hop = hop;
	out->udp_sport = s->base_sport ? (uint16_t)(s->base_sport + hop) : 0;
	s->nb_calls++;
}

/* Chooses well, and says whether this call goes wrong. */
#define BAD(name, wrong)                                                                           \
	static void name(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops,         \
	                 uint16_t nb_hops, uint64_t now_ns, struct lb_choice *out)                 \
	{                                                                                          \
		struct bad *s = state;                                                             \
                                                                                                   \
		bad_good(state, pkt, hops, nb_hops, now_ns, out);                                  \
		if (s->nb_calls % s->params->period == 0) {                                        \
			wrong;                                                                     \
		}                                                                                  \
	}

/* clang-format off */
BAD(bad_range, out->hop = nb_hops)
BAD(bad_down, out->hop = (uint16_t)prng_below(&s->prng, nb_hops))
BAD(bad_address, out->hop = first_up((uint16_t)((uintptr_t)s * 0x9e3779b1u >> 16), hops, nb_hops))
BAD(bad_behind, ((volatile uint8_t *)state)[sizeof(*s)] = 1)
BAD(bad_before, ((volatile uint8_t *)state)[-1] = 1)
BAD(bad_hops, ((struct lb_hop *)(uintptr_t)hops)->queue_bytes++)
BAD(bad_pkt, ((struct lb_pkt *)(uintptr_t)pkt)->flow_hash++)
BAD(bad_params, s->params->period++)
BAD(bad_sport, out->udp_sport = 0xc000)
BAD(bad_queue, out->queue ^= 1)
BAD(bad_adapted, out->adapted = !out->adapted)
BAD(bad_path, out->path.lanes = 8)
BAD(bad_port_below, out->udp_sport = (uint16_t)(s->base_sport - 1))
BAD(bad_port_above, out->udp_sport = (uint16_t)(s->base_sport + nb_hops))
BAD(bad_deadline, s->head.deadline_ns = now_ns + 1000)
/* clang-format on */

static void
bad_timer(void *state, uint64_t now_ns, struct lb_notice *out)
{
	struct bad *s = state;

	(void)out;
	s->head.deadline_ns = now_ns + 100000;
}

static void
bad_timer_late(void *state, uint64_t now_ns, struct lb_notice *out)
{
	struct bad *s = state;

	bad_timer(state, now_ns, out);
	if (prng_below(&s->prng, 4) == 0)
		s->head.deadline_ns = now_ns;
}

static void
bad_feedback(void *state, const struct lb_feedback *fb, uint64_t now_ns)
{
	struct bad *s = state;

	s->nb_calls += fb->range.count;
	s->head.deadline_ns = now_ns + fb->rtt_ns;
}

static void
bad_feedback_behind(void *state, const struct lb_feedback *fb, uint64_t now_ns)
{
	(void)fb;
	(void)now_ns;
	((volatile uint8_t *)state)[sizeof(struct bad)] = 1;
}

static size_t
bad_state_size(const void *params, const struct engine_env *env)
{
	(void)params;
	(void)env;
	return sizeof(struct bad);
}

static void
bad_init_switch(void *state, const void *params, const struct engine_env *env)
{
	struct bad *s = state;

	*s = (struct bad){
		.head = {.deadline_ns = NEVER_NS},
		.params = (struct bad_params *)(uintptr_t)params,
	};
	prng_seed(&s->prng, env->seed);
}

static void
bad_init_host(void *state, const void *params, const struct engine_env *env)
{
	struct bad *s = state;

	bad_init_switch(state, params, env);
	s->base_sport = env->base_sport;
}

static void
bad_init_garbage(void *state, const void *params, const struct engine_env *env)
{
	struct bad *s = state;
	struct prng garbage = s->prng;

	bad_init_switch(state, params, env);
	s->prng = garbage;
}

static void
bad_init_behind(void *state, const void *params, const struct engine_env *env)
{
	bad_init_switch(state, params, env);
	((volatile uint8_t *)state)[sizeof(struct bad)] = 0;
}

static void
bad_init_seedless(void *state, const void *params, const struct engine_env *env)
{
	struct bad *s = state;

	bad_init_switch(state, params, env);
	prng_seed(&s->prng, 1);
}

static const struct param_desc bad_params_descs[] = {
	{
		.name = "period",
		.type = PARAM_U32,
		.offset = offsetof(struct bad_params, period),
		.def = 16,
		.min = 1,
		.max = 64,
		.unit = "1",
		.source = "our choice",
	},
	{.name = NULL},
};

#define INFO(text)                                                                                 \
	{                                                                                          \
		.name = text, .params_size = sizeof(struct bad_params), .params = bad_params_descs \
	}
#define SWITCH(text, function)                                                                     \
	.info = INFO(text), .where = LB_SWITCH, .select = function, .state_size = bad_state_size,  \
	.init = bad_init_switch
#define HOST(text, function)                                                                       \
	.info = INFO(text), .where = LB_HOST, .select = function, .state_size = bad_state_size,    \
	.init = bad_init_host

const struct lb_ops lb_seedless = {
	.info = INFO("seedless"),
	.where = LB_SWITCH,
	.select = bad_good,
	.state_size = bad_state_size,
	.init = bad_init_seedless,
};

const struct lb_bad lb_bad_engines[] = {
	{{SWITCH("good", bad_good)}, LB_KEPT},
	{{HOST("good host", bad_good), .on_feedback = bad_feedback, .on_timer = bad_timer},
         LB_KEPT},
	{{SWITCH("good timer", bad_deadline), .on_timer = bad_timer}, LB_KEPT},
	{{SWITCH("range", bad_range)}, LB_RANGE},
	{{HOST("range of a host", bad_range)}, LB_RANGE},
	{{SWITCH("down", bad_down)}, LB_DOWN},
	{{SWITCH("address", bad_address)}, LB_UNDETERMINED},
	{{.info = INFO("garbage"),
          .where = LB_SWITCH,
          .select = bad_good,
          .state_size = bad_state_size,
          .init = bad_init_garbage},
         LB_UNDETERMINED},
	{{SWITCH("behind", bad_behind)}, LB_OUTSIDE},
	{{SWITCH("before", bad_before)}, LB_OUTSIDE},
	{{.info = INFO("init behind"),
          .where = LB_SWITCH,
          .select = bad_good,
          .state_size = bad_state_size,
          .init = bad_init_behind},
         LB_OUTSIDE},
	{{HOST("feedback behind", bad_good), .on_feedback = bad_feedback_behind}, LB_OUTSIDE},
	{{SWITCH("hops", bad_hops)}, LB_INPUT},
	{{SWITCH("packet", bad_pkt)}, LB_INPUT},
	{{SWITCH("parameters", bad_params)}, LB_INPUT},
	{{SWITCH("source port", bad_sport)}, LB_PRESET},
	{{SWITCH("queue", bad_queue)}, LB_PRESET},
	{{SWITCH("adapted", bad_adapted)}, LB_PRESET},
	{{SWITCH("path", bad_path)}, LB_PRESET},
	{{HOST("path of a host", bad_path)}, LB_PRESET},
	{{HOST("port below", bad_port_below)}, LB_SPORT},
	{{HOST("port above", bad_port_above)}, LB_SPORT},
	{{SWITCH("no timer", bad_deadline)}, LB_TIMER},
	{{SWITCH("late timer", bad_deadline), .on_timer = bad_timer_late}, LB_TIMER},
	{{.info = {.name = NULL}}, LB_KEPT},
};
