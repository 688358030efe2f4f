/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "nearest.h"
#include "scenario_read.h"

/* The section [topology]. */

static void
read_kind(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf *c = obj;

	(void)key;
	c->kind = (enum plan_kind)scenario_choice(r, "kind of topology", value, plan_kind_names,
	                                          PLAN_NB_KINDS);
}

static const struct conf_key topology_keys[] = {
	{"kind", read_kind, .line_offset = offsetof(struct conf, kind_line)},
	{NULL},
};

static void *
begin_topology(struct conf_reader *r, const char *title)
{
	(void)title;
	if (!scenario_once(r, &r->conf->topology_line, "topology"))
		return NULL;
	conf_add_table(r, plan_param_descs, &r->conf->topology);
	return r->conf;
}

const struct conf_section scenario_topology_section = {"topology", NULL, topology_keys,
                                                       begin_topology};

void
scenario_topology_defaults(struct conf *c)
{
	c->kind = PLAN_STAR;
	param_defaults(plan_param_descs, &c->topology);
}

void
scenario_topology_finish(struct conf_reader *r)
{
	struct conf *c = r->conf;
	const char *key = NULL;
	uint32_t line = 0;
	char why[256];

	/* What is wrong by itself was told. */
	if (r->nb_errors != 0 && !c->topology_line && conf_is_partial(r))
		return;
	if (plan_create(&c->s->plan, c->kind, &c->topology, &key, why, sizeof(why)) == 0) {
		c->has_plan = true;
		return;
	}
	if (key)
		line = conf_line_of(r, &c->topology, key);
	if (!line)
		line = c->kind_line ? c->kind_line : c->topology_line;
	conf_error(r, line, "[topology] %s: %s", key ? key : "kind", why);
}

uint32_t
scenario_node(const struct plan *plan, const char *name, char *why, size_t size)
{
	char text[PLAN_NAME_LEN], best[PLAN_NAME_LEN];
	struct nearest near = nearest_of(name);
	uint32_t node = plan_find(plan, name);

	if (node != UINT32_MAX)
		return node;
	for (uint32_t i = 0; i < plan->nb_hosts + plan->nb_switches; i++) {
		nearest_offer(&near, plan_node_name(plan, i, text));
		if (near.name == text)
			near.name = strcpy(best, text);
	}
	nearest_explain(&near, "node", why, size);
	return UINT32_MAX;
}
