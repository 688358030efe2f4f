/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "swarm_make.h"

/* Hosts and their engines. */

#define NB(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define ENGINES_MAX 64

/* ---- engines ---- */

/* Sizes of tables, as most plain numbers are, cost memory and time: not much more than a default.
 */
static double
max_of(const struct param_desc *desc)
{
	double most = 16 * (desc->def > desc->min ? desc->def : desc->min + 64);

	return strcmp(desc->unit, "1") == 0 && most < desc->max ? most : desc->max;
}

/* Within its range, at its ends or its default now and then. */
static double
throw_any(struct swarm_dice *d, const struct param_desc *desc)
{
	double max = max_of(desc);

	switch (dice_below(d, 5)) {
	case 0:
		return desc->min;
	case 1:
		return max;
	case 2:
		return desc->def;
	default:
		if (desc->type == PARAM_F64)
			return desc->min + (max - desc->min) * prng_unit(&d->prng);
		return (double)dice_log(d, (uint64_t)desc->min, (uint64_t)max);
	}
}

/* A packet every hour is as good as none. */
static double
throw_number(struct swarm_dice *d, const struct param_desc *desc)
{
	double x = throw_any(d, desc);

	return strcmp(desc->unit, "bps") == 0 && x > 0 && x < 1e6 ? 1e6 : x;
}

static void
store(const struct param_desc *desc, char *params, double x, uint64_t bits)
{
	char *member = params + desc->offset;

	switch (desc->type) {
	case PARAM_U32:
		*(uint32_t *)(void *)member = (uint32_t)x;
		break;
	case PARAM_U64:
		*(uint64_t *)(void *)member = (uint64_t)x;
		break;
	case PARAM_F64:
		*(double *)(void *)member = x;
		break;
	case PARAM_YES_NO:
		*(bool *)(void *)member = x != 0;
		break;
	case PARAM_PATTERN:
		*(struct param_pattern *)(void *)member = (struct param_pattern){
			.bits = bits & 0xff,
			.nb_bits = 8,
		};
		break;
	}
}

/* Half of the parameters of an engine; engines that share a name share the section. */
static void
make_params(struct swarm_dice *d, const struct engine_info *info)
{
	char name[SKETCH_NAME_LEN], text[PARAM_TEXT_MAX], *params;
	struct sketch_section *section = NULL;

	if (!info->params)
		return;
	snprintf(name, sizeof(name), "engine %s", info->name);
	params = calloc(1, info->params_size);
	assert(params);
	for (const struct param_desc *p = info->params; p->name; p++) {
		double x = throw_number(d, p);

		if (dice_once_in(d, 2))
			continue;
		store(p, params, x, prng_next(&d->prng));
		section = section ? section : sketch_section(d->s, name);
		sketch_set(section, p->name, "%s", param_format(p, params, text));
	}
	free(params);
}

/* All that are listed, as the fabric may bear them: sets whose needs it meets. */
struct candidates {
	struct engine_set sets[ENGINES_MAX * 4];
	uint32_t nb;
};

static void
offer(struct candidates *c, const struct engine_set *set, uint32_t traits)
{
	char why[256];

	if (c->nb < NB(c->sets) && strcmp(set->rel->info.name, "none") != 0 &&
	    engine_set_check(set, FRAMING_WEFT, traits, why, sizeof(why)) == 0)
		c->sets[c->nb++] = *set;
}

/* Either, if the engines can do without weft. The throw is one beside, and changes no later one. */
static void
make_framing(const struct swarm_dice *d, const struct engine_set *set, struct sketch_section *host)
{
	struct prng beside = d->prng;
	char why[256];

	if (engine_set_check(set, FRAMING_ROCEV2, d->traits, why, sizeof(why)) != 0 ||
	    prng_next(&beside) >> 63)
		sketch_set(host, "framing", "weft");
}

static void
make_engines(struct swarm_dice *d, struct sketch_section *host)
{
	struct candidates c = {.nb = 0};
	struct engine_set *set;

	for (const struct reliability_ops *const *rel = reliability_engines; *rel; rel++)
		for (const struct cc_ops *const *cc = cc_engines; *cc; cc++)
			for (const struct lb_ops *const *lb = lb_engines; *lb; lb++)
				offer(&c, &(struct engine_set){*rel, *cc, *lb}, d->traits);
	assert(c.nb > 0);
	set = &c.sets[dice_below(d, c.nb)];
	make_framing(d, set, host);
	sketch_set(host, "reliability", "%s", set->rel->info.name);
	sketch_set(host, "cc", "%s", set->cc->info.name);
	sketch_set(host, "lb", "%s", set->lb->info.name);
	make_params(d, &set->rel->info);
	make_params(d, &set->cc->info);
	make_params(d, &set->lb->info);
}

/* Those of switches, whichever [switch] names. */
static void
make_switch_params(struct swarm_dice *d)
{
	const struct sketch_section *sw = sketch_find(d->s, "switch");
	const struct lb_ops *lb = sw ? lb_find(sketch_get(sw, "lb"), LB_SWITCH) : NULL;

	if (lb)
		make_params(d, &lb->info);
}

/* ---- [host] ---- */

static void
make_windows(struct swarm_dice *d, struct sketch_section *host)
{
	static const uint32_t windows[] = {1, 1, 2, 3, 7, 16, 64, 256, 1000, 1 << 22};
	static const uint32_t depths[] = {1, 2, 3, 8, 128};

	sketch_set(host, "window", "%u", windows[dice_below(d, NB(windows))]);
	if (dice_once_in(d, 2))
		sketch_set(host, "depth", "%u", depths[dice_below(d, NB(depths))]);
	if (dice_once_in(d, 2))
		sketch_set(host, "rd_atomic", "%u", 1 + dice_below(d, 16));
}

/* Timeouts from shorter than a round trip to longer than the run. */
static void
make_timers(struct swarm_dice *d, struct sketch_section *host)
{
	static const uint32_t timeouts[] = {0, 1, 3, 4, 5, 6, 6, 8, 8, 10, 16, 18};

	sketch_set(host, "timeout", "%u", timeouts[dice_below(d, NB(timeouts))]);
	if (dice_once_in(d, 3))
		sketch_set(host, "retry_cnt", "%u", dice_below(d, 8));
	if (dice_once_in(d, 4))
		sketch_set(host, "rnr_retry", "%u", dice_below(d, 8));
	if (dice_once_in(d, 4))
		sketch_set(host, "min_rnr_timer", "%u", dice_below(d, 32));
	if (dice_once_in(d, 6))
		sketch_set(host, "base_rtt", "%" PRIu64 "ns", dice_log(d, 0, 100000));
}

static void
make_host(struct swarm_dice *d, struct sketch_section *host)
{
	d->path_mtu = 256u << dice_below(d, 5);
	sketch_set(host, "path_mtu", "%u", d->path_mtu);
	if (d->path_mtu <= 2048 && dice_once_in(d, 4))
		sketch_set(host, "mtu", "%u", 576 + d->path_mtu + dice_below(d, 2048));
	make_windows(d, host);
	make_timers(d, host);
	if (dice_once_in(d, 3)) /* DSCPs of classes 0 and 3, and others */
		sketch_set(host, "traffic_class", "%u",
		           dice_once_in(d, 2) ? 0x60 : dice_below(d, 256));
	if (dice_once_in(d, 4))
		sketch_set(host, "obeys_pfc", "no");
	if (dice_once_in(d, 6))
		sketch_set(host, "pfc_watchdog", "%" PRIu64 "us", dice_log(d, 0, 100000));
}

void
swarm_make_hosts(struct swarm_dice *d)
{
	struct sketch_section *host = sketch_section(d->s, "host");

	make_engines(d, host);
	make_switch_params(d);
	make_host(d, host);
}
