/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan_impl.h"

/* The three shapes, link by link. Ports of a switch are taken in order: hosts, then upwards. */

int
plan_alloc(struct plan *plan)
{
	plan->switches = calloc(plan->nb_switches + 1, sizeof(plan->switches[0]));
	plan->links = calloc(plan->nb_links, sizeof(plan->links[0]));
	if (plan->switches && plan->links)
		return 0;
	plan_free(plan);
	return -ENOMEM;
}

/** @return its number as a switch. */
__attribute__((format(printf, 3, 4))) static uint32_t
add_switch(struct plan_builder *b, uint8_t stage, const char *name, ...)
{
	struct plan_switch *sw = &b->plan->switches[b->nb_switches];
	va_list ap;

	assert(b->nb_switches < b->plan->nb_switches);
	va_start(ap, name);
	vsnprintf(sw->name, sizeof(sw->name), name, ap);
	va_end(ap);
	sw->stage = stage;
	return b->nb_switches++;
}

static struct plan_end
next_port(struct plan_builder *b, uint32_t sw)
{
	struct plan_switch *s = &b->plan->switches[sw];

	assert(s->nb_ports < PLAN_PORTS_MAX);
	return (struct plan_end){b->plan->nb_hosts + sw, s->nb_ports++};
}

/** The next host is at this switch. */
static void
attach(struct plan_builder *b, uint32_t sw)
{
	uint32_t host = b->nb_hosts++;

	assert(b->nb_links == host && host < b->plan->nb_hosts);
	b->plan->links[b->nb_links++] = (struct plan_link){
		.end = {{host, 0}, next_port(b, sw)},
		.rate_bps = b->params.rate_bps,
		.delay_ns = b->params.delay_ns,
	};
}

static struct plan_link *
join(struct plan_builder *b, uint32_t lower, uint32_t upper)
{
	struct plan_link *link = &b->plan->links[b->nb_links++];

	assert(b->nb_links <= b->plan->nb_links);
	link->end[0] = next_port(b, lower);
	link->end[1] = next_port(b, upper);
	link->rate_bps = b->params.core_rate_bps;
	link->delay_ns = b->params.core_delay_ns;
	link->is_core = true;
	return link;
}

static struct plan_builder
begin(struct plan *plan, const struct plan_params *params)
{
	struct plan_builder b = {.plan = plan, .params = *params};
	struct plan_params *p = &b.params;

	p->core_rate_bps = p->core_rate_bps ? p->core_rate_bps : p->rate_bps;
	p->core_delay_ns = p->core_delay_ns ? p->core_delay_ns : p->delay_ns;
	p->rate2_bps = p->rate2_bps ? p->rate2_bps : p->core_rate_bps;
	p->delay2_ns = p->delay2_ns ? p->delay2_ns : p->core_delay_ns;
	return b;
}

int
plan_build_hosts_alone(struct plan *plan, const struct plan_params *params)
{
	plan->nb_hosts = 2;
	plan->nb_links = 1;
	plan->hosts_per_leaf = plan->hosts_per_pod = 1;
	if (plan_alloc(plan) < 0)
		return -ENOMEM;
	plan->links[0] = (struct plan_link){
		.end = {{0, 0}, {1, 0}},
		.rate_bps = params->rate_bps,
		.delay_ns = params->delay_ns,
	};
	return 0;
}

int
plan_build_pair(struct plan *plan, const struct plan_params *params, uint32_t nb_between)
{
	static const char *const names[] = {"left", "right"};
	struct plan_builder b = begin(plan, params);

	plan->nb_hosts = params->hosts;
	plan->nb_switches = 2;
	plan->nb_links = params->hosts + nb_between;
	plan->hosts_per_leaf = params->hosts / 2;
	plan->hosts_per_pod = params->hosts;
	if (plan_alloc(plan) < 0)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		uint32_t sw = add_switch(&b, 0, "%s", names[side]);

		for (uint32_t h = 0; h < plan->hosts_per_leaf; h++)
			attach(&b, sw);
	}
	for (uint32_t i = 0; i < nb_between; i++) {
		struct plan_link *link = join(&b, 0, 1);

		if (i > 0) {
			link->rate_bps = b.params.rate2_bps;
			link->delay_ns = b.params.delay2_ns;
		}
	}
	return 0;
}

static void
add_tree_switches(struct plan_builder *b, const struct plan_tree *t)
{
	bool has_cores = t->cores_per_mid > 0;

	for (uint32_t i = 0; i < t->pods * t->leaves; i++) {
		uint32_t leaf = t->mids == 0 ? add_switch(b, 0, "s%u", i)
		                             : add_switch(b, 0, has_cores ? "edge%u" : "leaf%u", i);

		for (uint32_t h = 0; h < t->hosts_per_leaf; h++)
			attach(b, leaf);
	}
	for (uint32_t i = 0; i < t->pods * t->mids; i++)
		add_switch(b, 1, has_cores ? "agg%u" : "spine%u", i);
	for (uint32_t i = 0; i < t->mids * t->cores_per_mid; i++)
		add_switch(b, 2, "core%u", i);
}

int
plan_build_tree(struct plan *plan, const struct plan_params *params, const struct plan_tree *t)
{
	struct plan_builder b = begin(plan, params);
	uint32_t nb_leaves = t->pods * t->leaves, nb_mids = t->pods * t->mids;

	plan->nb_hosts = nb_leaves * t->hosts_per_leaf;
	plan->nb_switches = nb_leaves + nb_mids + t->mids * t->cores_per_mid;
	plan->nb_links =
		plan->nb_hosts + nb_leaves * t->mids * t->parallel + nb_mids * t->cores_per_mid;
	plan->hosts_per_leaf = t->hosts_per_leaf;
	plan->hosts_per_pod = t->leaves * t->hosts_per_leaf;
	if (plan_alloc(plan) < 0)
		return -ENOMEM;
	add_tree_switches(&b, t);
	for (uint32_t leaf = 0; leaf < nb_leaves; leaf++) {
		uint32_t first_mid = nb_leaves + leaf / t->leaves * t->mids;

		for (uint32_t m = 0; m < t->mids; m++) {
			for (uint32_t i = 0; i < t->parallel; i++)
				join(&b, leaf, first_mid + m);
		}
	}
	for (uint32_t mid = 0; mid < nb_mids; mid++) {
		uint32_t first_core = nb_leaves + nb_mids + mid % t->mids * t->cores_per_mid;

		for (uint32_t c = 0; c < t->cores_per_mid; c++)
			join(&b, nb_leaves + mid, first_core + c);
	}
	return 0;
}
