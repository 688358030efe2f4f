/* SPDX-License-Identifier: BSD-3-Clause */
#include "lb_check.h"

#include <assert.h>
#include <stdlib.h>

#include "prng.h"

#define GUARD_BYTES 64
#define GUARD 0xc3
#define STATE_BYTES_MAX (1u << 20)
#define NB_GROUPS_MAX 6
#define NB_PORTS_MAX 128
/* Hosts' paths; IANA's dynamic ports, of which RoCEv2 takes its source ports. */
#define SPORT_MIN 0xc000

/* Ports of one destination, as a switch keeps them; of a host there is one, with all paths. */
struct group {
	struct lb_hop hops[LB_GROUP_MAX];
	uint16_t nb_hops;
};

/* A state in memory of its own. */
struct twin {
	uint8_t *block;
	uint8_t *state;
};

struct check {
	const struct lb_ops *ops;
	struct prng prng;
	struct engine_env env;
	uint8_t *params, *params_copy;
	size_t size;
	/* The first lies between guards; the second ends where its allocation ends, for ASan. They
	 * begin with other garbage. */
	struct twin twins[2];
	struct group groups[NB_GROUPS_MAX];
	uint32_t nb_groups;
	uint64_t now_ns;
	uint64_t psn;
};

const char *
lb_fault_text(enum lb_fault fault)
{
	static const char *const texts[LB_NB_FAULTS] = {
		[LB_KEPT] = "keeps its promises",
		[LB_RANGE] = "chose a hop that the group has not",
		[LB_DOWN] = "chose a hop that is down while another is up",
		[LB_UNDETERMINED] = "gave two answers to the same calls",
		[LB_OUTSIDE] = "wrote outside its state",
		[LB_INPUT] = "changed what it may only read",
		[LB_PRESET] = "changed a part of the choice that is not its own",
		[LB_SPORT] = "chose a source port of no path",
		[LB_TIMER] = "has a deadline that no on_timer moves",
	};

	return texts[fault];
}

/* ---- set-up ---- */

static uint64_t
below(struct check *c, uint64_t n)
{
	return prng_next(&c->prng) % n;
}

static bool
one_in(struct check *c, uint32_t n)
{
	return prng_below(&c->prng, n) == 0;
}

static void
put_param(const struct param_desc *d, uint8_t *params, double value)
{
	switch (d->type) {
	case PARAM_U32:
		*(uint32_t *)(void *)(params + d->offset) = (uint32_t)value;
		break;
	case PARAM_U64:
		*(uint64_t *)(void *)(params + d->offset) = (uint64_t)value;
		break;
	case PARAM_F64:
		*(double *)(void *)(params + d->offset) = value;
		break;
	case PARAM_YES_NO:
		*(bool *)(void *)(params + d->offset) = value != 0;
		break;
	case PARAM_PATTERN:
		break; /* stays as it is: no engine has one */
	}
}

/* The default, an end of the range, or something near either. */
static double
some_value(struct check *c, const struct param_desc *d)
{
	double width = d->max - d->min;

	switch (prng_below(&c->prng, 5)) {
	case 0:
		return d->min;
	case 1:
		return d->max;
	case 2:
		for (uint64_t halves = below(c, 30); halves > 0; halves--)
			width /= 2;
		return d->min + width;
	default:
		return d->def;
	}
}

static void
make_params(struct check *c)
{
	const struct engine_info *info = &c->ops->info;

	if (info->params_size == 0)
		return;
	c->params = calloc(1, info->params_size);
	c->params_copy = malloc(info->params_size);
	assert(c->params && c->params_copy);
	do {
		for (const struct param_desc *d = info->params; d->name; d++)
			put_param(d, c->params, some_value(c, d));
	} while (c->ops->state_size(c->params, &c->env) > STATE_BYTES_MAX);
	memcpy(c->params_copy, c->params, info->params_size);
}

static void
make_states(struct check *c)
{
	struct twin *a = &c->twins[0], *b = &c->twins[1];

	c->size = c->ops->state_size(c->params, &c->env);
	if (posix_memalign((void **)&a->block, ENGINE_STATE_ALIGN, c->size + 2 * GUARD_BYTES) ||
	    posix_memalign((void **)&b->block, ENGINE_STATE_ALIGN, c->size))
		abort();
	a->state = a->block + GUARD_BYTES;
	b->state = b->block;
	memset(a->block, GUARD, c->size + 2 * GUARD_BYTES);
	memset(a->state, 0xa5, c->size);
	memset(b->state, 0x5a, c->size);
}

/* Different ports, all up. */
static void
make_group(struct check *c, struct group *g, uint16_t nb_hops)
{
	uint16_t ports[NB_PORTS_MAX];

	for (uint16_t i = 0; i < c->env.nb_hops; i++)
		ports[i] = i;
	g->nb_hops = nb_hops;
	for (uint16_t i = 0; i < nb_hops; i++) {
		uint32_t at = i;

		if (c->ops->where == LB_SWITCH)
			at += prng_below(&c->prng, c->env.nb_hops - i);
		g->hops[i] = (struct lb_hop){.id = ports[at], .up = true};
		ports[at] = ports[i];
	}
}

static uint16_t
some_size(struct check *c, uint16_t max)
{
	static const uint16_t sizes[] = {1, 1, 2, 3, 4, 5, 8, 16, 33, 63, 64};
	uint16_t size = sizes[below(c, sizeof(sizes) / sizeof(sizes[0]))];

	return size < max ? size : max;
}

static void
setup(struct check *c, const struct lb_ops *ops, uint16_t nb_hops_max, uint64_t seed)
{
	*c = (struct check){.ops = ops, .psn = 1 << 24};
	prng_seed(&c->prng, seed);
	c->env = (struct engine_env){
		.line_rate_bps = UINT64_C(100000000000),
		.base_rtt_ns = 10000,
		.seed = prng_next(&c->prng),
		.mtu_bytes = 1024,
		.bdp_pkts = 123,
		.window_pkts = 1024,
		.max_msgs = 1024,
	};
	c->now_ns = one_in(c, 2) ? 0 : prng_next(&c->prng) >> (2 + below(c, 60));
	if (ops->where == LB_HOST) {
		c->nb_groups = 1;
		c->env.nb_hops = some_size(c, nb_hops_max);
		c->env.base_sport =
			(uint16_t)(SPORT_MIN + below(c, 0x10000 - SPORT_MIN - c->env.nb_hops + 1));
	} else {
		c->nb_groups = 1 + (uint32_t)below(c, NB_GROUPS_MAX);
		c->env.nb_hops =
			(uint16_t)(LB_GROUP_MAX + below(c, NB_PORTS_MAX - LB_GROUP_MAX + 1));
		c->env.stage = (uint8_t)below(c, 3);
	}
	for (uint32_t i = 0; i < c->nb_groups; i++)
		make_group(c, &c->groups[i],
		           ops->where == LB_HOST ? c->env.nb_hops : some_size(c, nb_hops_max));
	make_params(c);
	make_states(c);
}

static void
teardown(struct check *c)
{
	free(c->params);
	free(c->params_copy);
	free(c->twins[0].block);
	free(c->twins[1].block);
}

/* ---- what is looked at after each call ---- */

static const struct lb_head *
head_of(const struct twin *t)
{
	return (const void *)t->state;
}

/* Before the second twin is called, so that under ASan the planted engines get this far. */
static enum lb_fault
look_at_memory(const struct check *c)
{
	const uint8_t *before = c->twins[0].block, *behind = c->twins[0].state + c->size;

	for (int i = 0; i < GUARD_BYTES; i++) {
		if (before[i] != GUARD || behind[i] != GUARD)
			return LB_OUTSIDE;
	}
	if (c->params && memcmp(c->params, c->params_copy, c->ops->info.params_size) != 0)
		return LB_INPUT;
	return LB_KEPT;
}

static enum lb_fault
look_at_heads(const struct check *c)
{
	uint64_t deadline_ns = head_of(&c->twins[0])->deadline_ns;

	if (deadline_ns != head_of(&c->twins[1])->deadline_ns)
		return LB_UNDETERMINED;
	return deadline_ns != NEVER_NS && !c->ops->on_timer ? LB_TIMER : LB_KEPT;
}

static bool
is_same_path(const struct path_info *a, const struct path_info *b)
{
	return a->first_psn == b->first_psn && a->lanes == b->lanes && a->offset == b->offset &&
	       a->back == b->back;
}

static bool
is_same_choice(const struct lb_choice *a, const struct lb_choice *b)
{
	return a->hop == b->hop && a->udp_sport == b->udp_sport && a->queue == b->queue &&
	       a->adapted == b->adapted && is_same_path(&a->path, &b->path);
}

static bool
is_any_up(const struct group *g)
{
	for (uint16_t i = 0; i < g->nb_hops; i++) {
		if (g->hops[i].up)
			return true;
	}
	return false;
}

/* Queue and adapted bit are for engines that hear of congestion elsewhere. */
static bool
is_preset_kept(const struct lb_ops *ops, const struct lb_pkt *pkt, const struct lb_choice *choice)
{
	static const struct path_info no_path;

	if (!ops->on_notice && (choice->queue != pkt->queue || choice->adapted != pkt->adapted))
		return false;
	if (ops->where == LB_SWITCH && choice->udp_sport != 0)
		return false;
	return (ops->where == LB_HOST && ops->info.wire & WIRE_PATH) ||
	       is_same_path(&choice->path, &no_path);
}

static enum lb_fault
look_at_choice(const struct check *c, const struct group *g, const struct lb_pkt *pkt,
               const struct lb_choice *choice)
{
	if (choice->hop >= g->nb_hops)
		return LB_RANGE;
	if (!g->hops[choice->hop].up && is_any_up(g))
		return LB_DOWN;
	if (!is_preset_kept(c->ops, pkt, choice))
		return LB_PRESET;
	if (c->ops->where == LB_HOST && (choice->udp_sport < c->env.base_sport ||
	                                 choice->udp_sport - c->env.base_sport >= c->env.nb_hops))
		return LB_SPORT;
	return LB_KEPT;
}

/* ---- the schedule ---- */

static enum lb_fault
start(struct check *c)
{
	enum lb_fault fault;

	for (int i = 0; i < 2; i++) {
		c->ops->init(c->twins[i].state, c->params, &c->env);
		fault = look_at_memory(c);
		if (fault)
			return fault;
	}
	return look_at_heads(c);
}

static struct lb_pkt
some_pkt(struct check *c)
{
	static const uint32_t flows[] = {1, 4, 300, UINT32_MAX};
	struct lb_pkt pkt = {.len_bytes = 64 + (uint32_t)below(c, 4200)};

	/* A hash: few flows have as different ones as many. */
	pkt.flow_hash = prng_below(&c->prng, flows[below(c, 4)]) * UINT32_C(0x85ebca6b);
	if (c->ops->where == LB_HOST) {
		pkt.retransmit = one_in(c, 8);
		pkt.psn = pkt.retransmit ? c->psn - below(c, 64) : c->psn++;
	} else {
		pkt.psn = below(c, 1 << 24);
		pkt.dst = (uint32_t)below(c, 100);
		pkt.in_port = (uint16_t)below(c, c->env.nb_hops);
		pkt.queue = (uint8_t)below(c, 8);
		pkt.adapted = one_in(c, 4);
	}
	return pkt;
}

static enum lb_fault
select_hop(struct check *c)
{
	const struct group *g = &c->groups[below(c, c->nb_groups)];
	const struct lb_pkt pkt = some_pkt(c);
	struct lb_choice choices[2];

	for (int i = 0; i < 2; i++) {
		struct group given = *g;
		struct lb_pkt given_pkt = pkt;
		enum lb_fault fault;

		choices[i] = (struct lb_choice){.queue = pkt.queue, .adapted = pkt.adapted};
		c->ops->select(c->twins[i].state, &given_pkt, given.hops, given.nb_hops, c->now_ns,
		               &choices[i]);
		fault = look_at_memory(c);
		if (!fault && (memcmp(&given, g, sizeof(given)) != 0 ||
		               memcmp(&given_pkt, &pkt, sizeof(pkt)) != 0))
			fault = LB_INPUT;
		if (!fault)
			fault = look_at_choice(c, g, &pkt, &choices[i]);
		if (fault)
			return fault;
	}
	return is_same_choice(&choices[0], &choices[1]) ? look_at_heads(c) : LB_UNDETERMINED;
}

static enum lb_fault
give_feedback(struct check *c)
{
	const struct lb_feedback fb = {
		.signal = (enum lb_signal)below(c, LB_CE + 1),
		.range = {.first = c->psn - below(c, 256), .count = (uint32_t)below(c, 64)},
		.udp_sport =
			one_in(c, 3) ? 0 : (uint16_t)(c->env.base_sport + below(c, c->env.nb_hops)),
		.rtt_ns = one_in(c, 3) ? 0 : prng_next(&c->prng) >> (20 + below(c, 44)),
	};

	for (int i = 0; i < 2; i++) {
		enum lb_fault fault;

		c->ops->on_feedback(c->twins[i].state, &fb, c->now_ns);
		fault = look_at_memory(c);
		if (fault)
			return fault;
	}
	return look_at_heads(c);
}

/* A timer comes when its time has come, or somewhat after. */
static enum lb_fault
run_timer(struct check *c)
{
	enum lb_fault fault;

	if (head_of(&c->twins[0])->deadline_ns > c->now_ns || one_in(c, 4))
		return LB_KEPT;
	for (int i = 0; i < 2; i++) {
		struct lb_notice notice = {.kind = LB_NOTICE_NONE};

		c->ops->on_timer(c->twins[i].state, c->now_ns,
		                 c->ops->where == LB_HOST ? NULL : &notice);
		fault = look_at_memory(c);
		if (fault)
			return fault;
	}
	fault = look_at_heads(c);
	if (fault)
		return fault;
	return head_of(&c->twins[0])->deadline_ns > c->now_ns ? LB_KEPT : LB_TIMER;
}

static void
pass_time(struct check *c)
{
	const uint64_t steps_ns[] = {0, 1, below(c, 1000), 99999 + below(c, 3), below(c, 1000000)};

	c->now_ns += steps_ns[below(c, sizeof(steps_ns) / sizeof(steps_ns[0]))];
	/* Rarely, for hours or years. */
	if (one_in(c, 50))
		c->now_ns += prng_next(&c->prng) >> (8 + below(c, 50));
}

/* One port, or all of a group, as when a neighbour dies. */
static void
change_hops(struct check *c)
{
	struct group *g = &c->groups[below(c, c->nb_groups)];
	uint16_t first = (uint16_t)below(c, g->nb_hops), nb = one_in(c, 4) ? g->nb_hops : 1;
	uint64_t what = below(c, 5);
	static const uint32_t fills[] = {0, 0, 1500, 64000, UINT32_MAX};

	for (uint16_t i = 0; i < nb; i++) {
		struct lb_hop *hop = &g->hops[(first + i) % g->nb_hops];

		if (what < 2)
			hop->up = what == 0 && nb > 1 ? false : !hop->up;
		else if (what == 2)
			hop->paused = !hop->paused;
		else
			hop->queue_bytes =
				one_in(c, 2) ? fills[below(c, 5)] : (uint32_t)prng_next(&c->prng);
	}
}

static enum lb_fault
step(struct check *c)
{
	enum lb_fault fault = LB_KEPT;
	uint64_t what = below(c, 8);

	pass_time(c);
	if (what == 0)
		change_hops(c);
	else if (what == 1 && c->ops->on_feedback)
		fault = give_feedback(c);
	else
		fault = select_hop(c);
	return fault ? fault : run_timer(c);
}

struct lb_verdict
lb_check_run(const struct lb_ops *ops, uint16_t nb_hops_max, uint64_t seed, uint32_t nb_steps)
{
	struct lb_verdict verdict = {LB_KEPT, 0};
	struct check c;

	setup(&c, ops, nb_hops_max, seed);
	verdict.fault = start(&c);
	while (!verdict.fault && verdict.step < nb_steps) {
		verdict.step++;
		verdict.fault = step(&c);
	}
	teardown(&c);
	return verdict;
}

/* ---- other seeds ---- */

/* What an engine with this seed chooses for some packets of many flows over 64 hops, as a hash. */
static uint64_t
choices_of(const struct lb_ops *ops, const uint8_t *params, uint64_t seed)
{
	const struct engine_env env = {.seed = seed,
	                               .nb_hops = LB_GROUP_MAX,
	                               .base_sport = SPORT_MIN,
	                               .window_pkts = 1024};
	struct lb_hop hops[LB_GROUP_MAX];
	void *state = malloc(ops->state_size(params, &env));
	uint64_t hash = 0;

	assert(state);
	for (uint16_t i = 0; i < LB_GROUP_MAX; i++)
		hops[i] = (struct lb_hop){.id = i, .up = true};
	ops->init(state, params, &env);
	for (uint32_t i = 0; i < 32; i++) {
		struct lb_pkt pkt = {.psn = (1 << 24) + i, .flow_hash = i * UINT32_C(0x85ebca6b)};
		struct lb_choice choice = {.hop = 0};

		ops->select(state, &pkt, hops, LB_GROUP_MAX, i * UINT64_C(1000000), &choice);
		hash = (hash ^ choice.hop ^ (uint64_t)choice.udp_sport << 16) *
		       UINT64_C(0x100000001b3);
	}
	free(state);
	return hash;
}

uint32_t
lb_check_seeds(const struct lb_ops *ops, uint64_t seed, uint32_t nb_pairs)
{
	uint32_t nb_different = 0;
	struct check c;

	for (uint32_t i = 0; i < nb_pairs; i++) {
		setup(&c, ops, LB_GROUP_MAX, seed + i);
		nb_different += choices_of(ops, c.params, c.env.seed) !=
		                choices_of(ops, c.params, c.env.seed + 1);
		teardown(&c);
	}
	return nb_different;
}
