/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"
#include "nearest.h"

/* Engines by name, and the section [engine NAME] with their parameters. */

/* More than there are of all kinds. */
#define MAX_NAMES 64

/* The names of engines, each once, for a message. */
struct names {
	const char *names[MAX_NAMES];
	uint32_t nb;
};

static void
add_name(struct names *n, const struct engine_info *info)
{
	/* That of UC and UD is nobody's choice and has no parameters. */
	if (info == &reliability_find("none")->info)
		return;
	for (uint32_t i = 0; i < n->nb; i++) {
		if (strcmp(n->names[i], info->name) == 0)
			return;
	}
	if (n->nb < MAX_NAMES)
		n->names[n->nb++] = info->name;
}

static void
unknown_engine(struct conf_reader *r, const char *kind, const char *name, struct names *known)
{
	char why[512];

	nearest_list(name, kind, known->names, known->nb, why, sizeof(why));
	conf_error(r, r->line, "%s", why);
}

const struct engine_info *
conf_engine(struct conf_reader *r, enum conf_engine_kind kind, const char *name)
{
	static const char *const kinds[] = {
		[CONF_ENGINE_REL] = "reliability engine",
		[CONF_ENGINE_CC] = "cc engine",
		[CONF_ENGINE_HOST_LB] = "lb engine of hosts",
		[CONF_ENGINE_SWITCH_LB] = "lb engine of switches",
	};
	struct names known = {.nb = 0};

	for (uint32_t i = 0; i < r->nb_engines; i++) {
		const struct conf_engine *e = &r->engines[i];

		if (e->kind != kind)
			continue;
		if (strcmp(e->info->name, name) == 0)
			return e->info;
		add_name(&known, e->info);
	}
	unknown_engine(r, kinds[kind], name, &known);
	return NULL;
}

static const struct conf_key engine_keys[] = {{NULL}};

/* Engines of different kinds may share a name, and then the section. */
static void *
begin_engine(struct conf_reader *r, const char *title)
{
	struct conf_engine *found = NULL;
	struct names known = {.nb = 0};

	for (uint32_t i = 0; i < r->nb_engines; i++) {
		struct conf_engine *e = &r->engines[i];

		add_name(&known, e->info);
		if (strcmp(e->info->name, title) != 0)
			continue;
		found = e;
		if (e->line) {
			conf_error(r, r->line, "section [engine %s] began at line %u already",
			           title, e->line);
			return NULL;
		}
		e->line = r->line;
		if (e->info->params)
			conf_add_table(r, e->info->params, e->params);
	}
	if (!found)
		unknown_engine(r, "engine", title, &known);
	return found;
}

const struct conf_section conf_engine_section = {"engine", "NAME", engine_keys, begin_engine,
                                                 .names_few = true};

/* ---- keys that name one ---- */

void
conf_read_engine(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	/* Every ops struct begins with its info. */
	const struct engine_info *info = conf_engine(r, (enum conf_engine_kind)key->arg, value);

	if (info)
		memcpy((char *)obj + key->offset, &info, sizeof(info));
}

void
conf_read_framing(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	enum framing_wish *wish = (enum framing_wish *)(void *)((char *)obj + key->offset);

	if (!framing_wish_find(value, wish))
		conf_error(r, r->line, "%s '%s' is none of auto, weft and rocev2", key->name,
		           value);
}

/* ---- defaults ---- */

static size_t
count(void)
{
	size_t n = 0;

	for (const struct reliability_ops *const *e = reliability_engines; *e; e++)
		n++;
	for (const struct cc_ops *const *e = cc_engines; *e; e++)
		n++;
	for (const struct lb_ops *const *e = lb_engines; *e; e++)
		n++;
	return n;
}

bool
conf_engines_create(struct conf_engine **engines, uint32_t *nb)
{
	struct conf_engine *next = calloc(count(), sizeof(*next));

	*engines = next;
	*nb = 0;
	if (!next)
		return false;
	for (const struct reliability_ops *const *e = reliability_engines; *e; e++)
		*next++ = (struct conf_engine){.kind = CONF_ENGINE_REL, .info = &(*e)->info};
	for (const struct cc_ops *const *e = cc_engines; *e; e++)
		*next++ = (struct conf_engine){.kind = CONF_ENGINE_CC, .info = &(*e)->info};
	for (const struct lb_ops *const *e = lb_engines; *e; e++)
		*next++ =
			(struct conf_engine){.kind = (*e)->where == LB_HOST ? CONF_ENGINE_HOST_LB
		                                                            : CONF_ENGINE_SWITCH_LB,
		                             .info = &(*e)->info};
	*nb = (uint32_t)(next - *engines);
	for (struct conf_engine *e = *engines; e < next; e++) {
		if (e->info->params_size == 0)
			continue;
		e->params = calloc(1, e->info->params_size);
		if (!e->params)
			return false;
		param_defaults(e->info->params, e->params);
	}
	return true;
}

void
conf_engines_free(struct conf_engine *engines, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		free(engines[i].params);
	free(engines);
}

const void *
conf_engine_params(const struct conf_engine *engines, uint32_t nb, const struct engine_info *info)
{
	for (uint32_t i = 0; i < nb; i++) {
		if (engines[i].info == info)
			return engines[i].params;
	}
	return NULL;
}

struct engine_set_params
conf_set_params(const struct conf_engine *engines, uint32_t nb, const struct engine_set *set)
{
	return (struct engine_set_params){
		.rel = conf_engine_params(engines, nb, &set->rel->info),
		.cc = conf_engine_params(engines, nb, &set->cc->info),
		.lb = conf_engine_params(engines, nb, &set->lb->info),
	};
}

struct engine_set
conf_plain_set(void)
{
	return (struct engine_set){
		.rel = reliability_find("gbn"),
		.cc = cc_find("fixed"),
		.lb = lb_find("fixed", LB_HOST),
	};
}

bool
conf_lb_mixes(const struct lb_ops *lb, const void *params)
{
	if (lb == lb_find("spray", LB_SWITCH))
		return true;
	if (lb != lb_find("adaptive", LB_SWITCH))
		return false;
	return *(const uint64_t *)(const void *)((const char *)params +
	                                         param_find(lb->info.params, "gap")->offset) == 0;
}
