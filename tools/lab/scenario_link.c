/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "scenario_read.h"

/*
 * The sections [link WHICH]: what befalls frames of links. Of several that mean a link, each key
 * counts as the narrowest has it: all, then host or core, then the two nodes.
 */

enum width { WIDTH_ALL, WIDTH_KIND, WIDTH_NODES, NB_WIDTHS };

static enum width
width_of(const char *which)
{
	if (strcmp(which, "all") == 0)
		return WIDTH_ALL;
	return strchr(which, '-') ? WIDTH_NODES : WIDTH_KIND;
}

static void *
begin_link(struct conf_reader *r, const char *title)
{
	struct conf *c = r->conf;
	struct scenario_link *link = &c->links[c->nb_links];

	for (uint32_t i = 0; i < c->nb_links; i++) {
		if (strcmp(c->links[i].which, title) != 0)
			continue;
		conf_error(r, r->line, "section [link %s] began at line %u already", title,
		           c->links[i].line);
		return NULL;
	}
	if (c->nb_links == SCENARIO_LINKS_MAX) {
		conf_too_many(r, SCENARIO_LINKS_MAX, "sections [link WHICH]");
		return NULL;
	}
	if (strlen(title) >= sizeof(link->which) ||
	    (strcmp(title, "all") != 0 && strcmp(title, "host") != 0 &&
	     strcmp(title, "core") != 0 && !strchr(title, '-'))) {
		conf_error(r, r->line, "[link %s]: all, host, core or two nodes such as h0-s0",
		           title);
		return NULL;
	}
	c->nb_links++;
	strcpy(link->which, title);
	link->line = r->line;
	param_defaults(fault_param_descs, &link->params);
	conf_add_table(r, fault_param_descs, &link->params);
	return link;
}

static const struct conf_key link_keys[] = {{NULL}};

const struct conf_section scenario_link_section = {"link", "WHICH", link_keys, begin_link};

/* The node of a name; UINT32_MAX after conf_error. */
static uint32_t
find_node(struct conf_reader *r, const struct scenario_link *link, const char *name)
{
	char why[256];
	uint32_t node = scenario_node(&r->conf->s->plan, name, why, sizeof(why));

	if (node == UINT32_MAX)
		conf_error(r, link->line, "[link %s]: %s", link->which, why);
	return node;
}

/* Where a section applies. */
struct target {
	enum width width;
	bool is_core;
	uint32_t from, to; /* of WIDTH_NODES */
};

/* false after conf_error. */
static bool
find_target(struct conf_reader *r, const struct scenario_link *link, struct target *t)
{
	char from[sizeof(link->which)], *to;

	*t = (struct target){.width = width_of(link->which),
	                     .is_core = strcmp(link->which, "core") == 0};
	if (t->width != WIDTH_NODES)
		return true;
	strcpy(from, link->which);
	to = strchr(from, '-');
	*to++ = '\0';
	t->from = find_node(r, link, from);
	if (t->from == UINT32_MAX)
		return false;
	t->to = find_node(r, link, to);
	return t->to != UINT32_MAX;
}

/* 0 = the section does not mean this link, 1 = it does, -1 = with its ends the other way round. */
static int
means(const struct target *t, const struct plan_link *l)
{
	uint32_t a = l->end[0].node, b = l->end[1].node;

	if (t->width == WIDTH_ALL)
		return 1;
	if (t->width == WIDTH_KIND)
		return t->is_core == l->is_core;
	if (t->from == a && t->to == b)
		return 1;
	return t->from == b && t->to == a ? -1 : 0;
}

static void
turn(struct fault_params *f)
{
	const struct fault_dir tx = f->tx;

	f->tx = f->rx;
	f->rx = tx;
}

/* Add what a section says, and no more. */
static void
apply(const struct conf_reader *r, const struct scenario_link *link, int way,
      struct fault_params *f)
{
	if (way < 0)
		turn(f);
	for (const struct param_desc *d = fault_param_descs; d->name; d++)
		if (conf_line_of(r, &link->params, d->name))
			param_copy(d, f, &link->params);
	if (way < 0)
		turn(f);
}

/* To all links that it means; false: there is none. */
static bool
apply_all(const struct conf_reader *r, const struct scenario_link *link, const struct target *t)
{
	struct scenario *s = r->conf->s;
	bool found = false;

	for (uint32_t i = 0; i < s->plan.nb_links; i++) {
		int way = means(t, &s->plan.links[i]);

		if (way == 0)
			continue;
		found = true;
		apply(r, link, way, &s->faults[i]);
	}
	return found;
}

static void
finish_one(struct conf_reader *r, const struct scenario_link *link)
{
	struct target t;

	if (!find_target(r, link, &t) || apply_all(r, link, &t))
		return;
	if (t.width == WIDTH_NODES)
		conf_error(r, link->line, "[link %s]: no link joins these two", link->which);
	else
		conf_warning(r, link->line, "[link %s]: this topology has no such link",
		             link->which);
}

void
scenario_links_finish(struct conf_reader *r)
{
	struct conf *c = r->conf;
	struct scenario *s = c->s;
	bool any = false;

	if (c->nb_links == 0 || !c->has_plan)
		return;
	s->faults = calloc(s->plan.nb_links, sizeof(*s->faults));
	if (!s->faults) {
		conf_error(r, 0, "no memory for %u links", s->plan.nb_links);
		return;
	}
	for (uint32_t i = 0; i < s->plan.nb_links; i++)
		param_defaults(fault_param_descs, &s->faults[i]);
	for (int width = 0; width < NB_WIDTHS; width++)
		for (uint32_t i = 0; i < c->nb_links; i++)
			if (width_of(c->links[i].which) == (enum width)width)
				finish_one(r, &c->links[i]);
	for (uint32_t i = 0; i < s->plan.nb_links; i++) {
		any |= fault_any(&s->faults[i]);
		/* Or all links would suffer alike. */
		s->faults[i].seed += i;
	}
	if (any)
		s->conf.faults = s->faults;
}
