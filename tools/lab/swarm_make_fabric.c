/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "bind.h"
#include "plan.h"
#include "swarm_make.h"

/* Topologies, and what their switches do. */

/* ---- [topology] ---- */

/* With telemetry only some rates are known. Source: int.h. */
static const char *const rates[] = {"1G", "10G", "25G", "40G", "100G", "400G"};
static const uint64_t rates_bps[] = {1000000000,  10000000000,  25000000000,
                                     40000000000, 100000000000, 400000000000};
static const char *const delays[] = {"0", "10ns", "200ns", "1us", "1us", "5us", "50us"};

#define NB(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static void
make_back_to_back(struct swarm_dice *d, struct sketch_section *t)
{
	(void)t;
	d->nb_hosts = 2;
}

static void
make_star(struct swarm_dice *d, struct sketch_section *t)
{
	d->nb_hosts = 2 + dice_below(d, 9);
	d->nb_switches = 1;
	d->ports_max = d->nb_hosts;
	sketch_set(t, "hosts", "%u", d->nb_hosts);
}

static void
make_pair(struct swarm_dice *d, struct sketch_section *t)
{
	d->nb_hosts = 2 + 2 * dice_below(d, 4);
	d->nb_switches = 2;
	d->ports_max = d->nb_hosts / 2 + 2;
	sketch_set(t, "hosts", "%u", d->nb_hosts);
}

static void
make_two_paths(struct swarm_dice *d, struct sketch_section *t)
{
	make_pair(d, t);
	if (dice_once_in(d, 2))
		sketch_set(t, "rate2", "%s", DICE_WORD(d, rates));
	if (dice_once_in(d, 2))
		sketch_set(t, "delay2", "%s", DICE_WORD(d, delays));
}

static void
make_leaf_spine(struct swarm_dice *d, struct sketch_section *t)
{
	uint32_t leaves = 1 + dice_below(d, 4), spines = 1 + dice_below(d, 3);
	uint32_t hosts = leaves == 1 ? 2 + dice_below(d, 3) : 1 + dice_below(d, 4);
	uint32_t parallel = 1 + dice_below(d, 2);

	d->nb_hosts = leaves * hosts;
	d->nb_switches = leaves + spines;
	d->ports_max = hosts + spines * parallel;
	if (d->ports_max < leaves * parallel)
		d->ports_max = leaves * parallel;
	sketch_set(t, "leaves", "%u", leaves);
	sketch_set(t, "spines", "%u", spines);
	sketch_set(t, "hosts_per_leaf", "%u", hosts);
	sketch_set(t, "parallel", "%u", parallel);
}

static void
make_tree(struct swarm_dice *d, struct sketch_section *t, uint32_t levels)
{
	uint32_t k = dice_once_in(d, 3) ? 2 : 4;

	d->nb_hosts = levels == 3 ? k * k * k / 4 : k * k / 2;
	d->nb_switches = 2; /* or more */
	d->ports_max = k;
	sketch_set(t, "k", "%u", k);
}

static void
make_fat_tree(struct swarm_dice *d, struct sketch_section *t)
{
	make_tree(d, t, 3);
}

static void
make_rlft(struct swarm_dice *d, struct sketch_section *t)
{
	uint32_t levels = 2 + dice_below(d, 2);

	make_tree(d, t, levels);
	sketch_set(t, "levels", "%u", levels);
}

static void (*const kinds[PLAN_NB_KINDS])(struct swarm_dice *d, struct sketch_section *t) = {
	[PLAN_BACK_TO_BACK] = make_back_to_back,
	[PLAN_DUMBBELL] = make_pair,
	[PLAN_STAR] = make_star,
	[PLAN_TWO_PATHS] = make_two_paths,
	[PLAN_LEAF_SPINE] = make_leaf_spine,
	[PLAN_FAT_TREE] = make_fat_tree,
	[PLAN_RLFT] = make_rlft,
};

static enum plan_kind
make_topology(struct swarm_dice *d)
{
	struct sketch_section *t = sketch_section(d->s, "topology");
	enum plan_kind kind = (enum plan_kind)dice_below(d, PLAN_NB_KINDS);
	uint32_t rate = dice_below(d, NB(rates));

	sketch_set(t, "kind", "%s", plan_kind_names[kind]);
	kinds[kind](d, t);
	d->rate_bps = rates_bps[rate];
	sketch_set(t, "rate", "%s", rates[rate]);
	sketch_set(t, "delay", "%s", DICE_WORD(d, delays));
	d->has_cores = d->nb_switches > 1;
	if (d->has_cores && dice_once_in(d, 3))
		sketch_set(t, "core_rate", "%s", DICE_WORD(d, rates));
	if (d->has_cores && dice_once_in(d, 3))
		sketch_set(t, "core_delay", "%s", DICE_WORD(d, delays));
	/* What is a tree has one path. */
	if (kind == PLAN_BACK_TO_BACK || kind == PLAN_DUMBBELL || kind == PLAN_STAR)
		d->traits |= TRAIT_FLOW_ECMP;
	return kind;
}

/* ---- [switch], [queue N], [port] ---- */

static void
make_queue(struct swarm_dice *d, struct sketch_section *q)
{
	static const char *const weights[] = {"0", "1", "2", "0.5", "1000"};
	static const char *const alphas[] = {"0.0625", "0.5", "1", "8", "1024"};
	static const char *const limits[] = {"2K", "10K", "64K", "1M"};
	uint64_t kmin;

	if (dice_once_in(d, 3))
		sketch_set(q, "weight", "%s", DICE_WORD(d, weights));
	if (dice_once_in(d, 3))
		sketch_set(q, "alpha", "%s", DICE_WORD(d, alphas));
	if (dice_once_in(d, 6))
		sketch_set(q, "limit", "%s", DICE_WORD(d, limits));
	if (dice_once_in(d, 2))
		return;
	kmin = dice_log(d, 0, 1 << 18);
	sketch_set(q, "ecn_kmin", "%" PRIu64, kmin);
	sketch_set(q, "ecn_kmax", "%" PRIu64, kmin + dice_log(d, 1, 1 << 18));
	sketch_set(q, "ecn_pmax", "%u%%", dice_below(d, 101));
	d->traits |= TRAIT_ECN;
}

/*
 * The buffer: what all ports have for their own, and a share for all that is small at times.
 *
 * @return bytes of a queue for its own.
 */
static uint32_t
make_buffer(struct swarm_dice *d, struct sketch_section *sw, uint32_t nb_lossless)
{
	static const uint32_t headrooms[] = {4096, 32768, 512 << 10};
	uint32_t headroom = headrooms[dice_below(d, NB(headrooms))];
	uint32_t reserve = dice_once_in(d, 2) ? 0 : (uint32_t)dice_log(d, 0, 8192);
	uint64_t own = (uint64_t)d->ports_max * (8 * reserve + nb_lossless * headroom);
	uint64_t shared = dice_log(d, 1 << 16, 1 << 24);

	sketch_set(sw, "reserve", "%u", reserve);
	sketch_set(sw, "buffer", "%" PRIu64, own + shared);
	if (dice_once_in(d, 4))
		sketch_set(sw, "buffer_pkts", "%" PRIu64, dice_log(d, 1, 4096));
	return headroom;
}

/* Lossless classes and a queue for headers, which are not the same. @return how many lossless. */
static uint32_t
make_classes(struct swarm_dice *d, struct sketch_section *sw)
{
	static const char *const lossless[] = {"0", "3", "0, 3", "0, 1, 2, 3, 4, 5, 6"};
	static const uint32_t nb_lossless[] = {1, 1, 2, 7};
	uint32_t i = dice_below(d, NB(lossless)), nb = 0;

	if (dice_once_in(d, 3)) {
		sketch_set(sw, "pfc", "%s", lossless[i]);
		nb = nb_lossless[i];
		if (dice_once_in(d, 3))
			sketch_set(sw, "pfc_watchdog", "%" PRIu64 "us", dice_log(d, 0, 100000));
	}
	if (dice_once_in(d, 3)) {
		sketch_set(sw, "trim_queue", "7");
		d->traits |= TRAIT_TRIM;
	}
	return nb;
}

/* An engine of switches. */
static void
make_lb(struct swarm_dice *d, struct sketch_section *sw)
{
	const struct lb_ops *fit[32];
	uint32_t nb = 0;

	for (const struct lb_ops *const *e = lb_engines; *e && nb < NB(fit); e++)
		if ((*e)->where == LB_SWITCH)
			fit[nb++] = *e;
	fit[0] = fit[dice_below(d, nb)];
	sketch_set(sw, "lb", "%s", fit[0]->info.name);
	if (fit[0] == lb_find("ecmp", LB_SWITCH))
		d->traits |= TRAIT_FLOW_ECMP;
}

static void
make_switch(struct swarm_dice *d)
{
	struct sketch_section *sw = sketch_section(d->s, "switch"), *port;
	uint32_t nb_lossless, headroom;

	make_lb(d, sw);
	nb_lossless = make_classes(d, sw);
	headroom = make_buffer(d, sw, nb_lossless);
	make_queue(d, sw);
	if (dice_once_in(d, 4)) {
		sketch_set(sw, "int", "yes");
		d->traits |= TRAIT_INT | TRAIT_TBO;
	}
	if (dice_once_in(d, 8))
		sketch_set(sw, "trust", "pcp");
	if (dice_once_in(d, 8))
		sketch_set(sw, "dscp_map", "%u:%u, 0:%u", dice_below(d, 64), dice_below(d, 7),
		           dice_below(d, 7));
	if (dice_once_in(d, 8))
		sketch_set(sw, "macs_max", "%" PRIu64, dice_log(d, 1, 64));
	if (dice_once_in(d, 8))
		sketch_set(sw, "tbo_alpha", "%u%%", dice_below(d, 101));
	if (dice_once_in(d, 3)) {
		char name[16];

		snprintf(name, sizeof(name), "queue %u", dice_below(d, 8));
		make_queue(d, sketch_section(d->s, name));
	}
	port = sketch_section(d->s, "port");
	sketch_set(port, "headroom", "%u", headroom);
	if (dice_once_in(d, 4))
		sketch_set(port, "beta_dt", "%" PRIu64, dice_log(d, 1, 1024));
	if (dice_once_in(d, 8))
		sketch_set(port, "overhead", "%u", dice_below(d, 65));
}

void
swarm_make_fabric(struct swarm_dice *d)
{
	make_topology(d);
	if (d->nb_switches > 0)
		make_switch(d);
}
