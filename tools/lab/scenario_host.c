/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "bind.h"
#include "path_mtu.h"
#include "scenario_read.h"

/* The section [host], and whether the engines that it names find in the fabric what they need. */

#define MEMBER(name) offsetof(struct conf, name)

static const struct conf_key host_keys[] = {
	{"framing", conf_read_framing, MEMBER(engines.framing),
         .line_offset = MEMBER(framing_line)},
	{"reliability", conf_read_engine, MEMBER(engines.set.rel), CONF_ENGINE_REL,
         .line_offset = MEMBER(rel_line)},
	{"cc", conf_read_engine, MEMBER(engines.set.cc), CONF_ENGINE_CC,
         .line_offset = MEMBER(cc_line)},
	{"lb", conf_read_engine, MEMBER(engines.set.lb), CONF_ENGINE_HOST_LB,
         .line_offset = MEMBER(lb_line)},
	{NULL},
};

static void *
begin_host(struct conf_reader *r, const char *title)
{
	(void)title;
	if (!scenario_once(r, &r->conf->host_line, "host"))
		return NULL;
	conf_add_table(r, lab_host_param_descs, &r->conf->s->conf.host);
	return r->conf;
}

const struct conf_section scenario_host_section = {"host", NULL, host_keys, begin_host};

void
scenario_host_defaults(struct conf *c)
{
	struct lab_engines *e = &c->engines;

	param_defaults(lab_host_param_descs, &c->s->conf.host);
	e->framing = FRAMING_WISH_ROCEV2;
	e->set = e->plain = conf_plain_set();
	e->rel_dgram = reliability_find("none");
}

static void
check_mtus(struct conf_reader *r)
{
	const struct lab_host_params *host = &r->conf->s->conf.host;
	const struct lab_engines *e = &r->conf->engines;
	uint32_t line = conf_line_of(r, host, "path_mtu");
	uint32_t overhead = path_mtu_overhead(&e->set, e->framing);
	uint32_t most = mtu_bytes(path_mtu_code(host->ip_mtu_bytes, overhead));

	if ((host->path_mtu_bytes & (host->path_mtu_bytes - 1)) != 0)
		conf_error(r, line, "[host] path_mtu = %u: 256, 512, 1024, 2048 or 4096, please",
		           host->path_mtu_bytes);
	else if (host->path_mtu_bytes > most)
		conf_error(r, line ? line : conf_line_of(r, host, "mtu"),
		           "[host] path_mtu = %u and %u bytes of headers do not fit into mtu = %u, "
		           "which has room for %u",
		           host->path_mtu_bytes, overhead, host->ip_mtu_bytes, most);
}

/* How a fabric gets a trait. */
static const struct {
	uint32_t trait;
	const char *remedy;
} remedies[] = {
	{TRAIT_ECN, "ecn_kmin and ecn_kmax of [switch]"},
	{TRAIT_INT, "int = yes of [switch]"},
	{TRAIT_TBO, "int = yes of [switch]"},
	{TRAIT_TRIM, "trim_queue of [switch]"},
	{TRAIT_FLOW_ECMP, "lb = ecmp of [switch]"},
};

/* The line that names the first engine that lacks something. */
static uint32_t
line_of(const struct conf *c, uint32_t traits)
{
	const struct engine_set *set = &c->engines.set;
	const struct {
		const struct engine_info *info;
		uint32_t line;
	} rows[] = {
		{&set->rel->info, c->rel_line},
		{&set->cc->info, c->cc_line},
		{&set->lb->info, c->lb_line},
	};
	const uint32_t framing = c->engines.framing == FRAMING_WISH_ROCEV2 ? 0 : TRAIT_WEFT;
	const uint32_t given = traits | framing | set->rel->info.offers | set->cc->info.offers |
	                       set->lb->info.offers;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].line && (rows[i].info->needs & ~given))
			return rows[i].line;
	return c->framing_line ? c->framing_line : c->host_line;
}

static void
check_engines(struct conf_reader *r, uint32_t traits)
{
	const struct conf *c = r->conf;
	const struct lab_engines *e = &c->engines;
	const struct engine_set *set = &e->set;
	const uint32_t missing =
		(set->rel->info.needs | set->cc->info.needs | set->lb->info.needs) & ~traits;
	const char *remedy = NULL;
	char why[512];

	if (set->rel == e->rel_dgram) {
		conf_error(r, c->rel_line,
		           "[host] reliability = %s is that of UC and UD; RC needs another",
		           set->rel->info.name);
		return;
	}
	if (engine_set_check_wish(set, e->framing, &e->plain, traits, why, sizeof(why)) == 0)
		return;
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]) && !remedy; i++)
		if (remedies[i].trait & missing)
			remedy = remedies[i].remedy;
	if (remedy && c->s->plan.nb_switches == 0)
		remedy = "a topology with switches";
	conf_error(r, line_of(c, traits), "[host]: %s%s%s", why, remedy ? ": it takes " : "",
	           remedy ? remedy : "");
}

void
scenario_host_finish(struct conf_reader *r)
{
	struct conf *c = r->conf;
	struct scenario *s = c->s;
	struct lab_engines *e = &s->conf.engines;

	check_mtus(r);
	if (c->has_plan)
		check_engines(r, scenario_traits(s));
	*e = c->engines;
	e->params = conf_set_params(s->engines, s->nb_engines, &e->set);
	e->plain_params = conf_set_params(s->engines, s->nb_engines, &e->plain);
}
