/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_parts.h"

/* What the command line says instead of the file, or beyond it. */

bool
conf_override_parse(struct conf_override *o, char *text, const char *section)
{
	char *equals = strchr(text, '='), *first, *last;
	size_t len;

	if (!equals || strcspn(text, " \t") < (size_t)(equals - text) ||
	    equals - text >= CONF_LINE_MAX || strlen(equals + 1) >= CONF_LINE_MAX)
		return false;
	first = memchr(text, '.', (size_t)(equals - text));
	last = memrchr(text, '.', (size_t)(equals - text));
	if (last == equals - 1 || first == text || equals == text ||
	    (first != last && first + 1 == last))
		return false;
	*equals = '\0';
	*o = (struct conf_override){.text = text, .value = equals + 1};
	snprintf(o->key, sizeof(o->key), "%s", last ? last + 1 : text);
	len = last ? (size_t)(last - text) : 0;
	if (len == 0) {
		snprintf(o->section, sizeof(o->section), "%s", section);
		return true;
	}
	memcpy(o->section, text, len);
	o->section[len] = '\0';
	if (first != last)
		o->section[first - text] = ' ';
	return true;
}

static bool
is_here(const struct conf_reader *r, const struct conf_override *o)
{
	return !o->is_done && strcmp(o->section, r->header) == 0;
}

/* Whether the present section's key is a list, which several overrides may make. */
static bool
is_list(const struct conf_reader *r, const char *name)
{
	for (const struct conf_key *k = r->section->keys; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k->is_list;
	return false;
}

/* The last of a key counts, unless it is a list. */
static bool
is_outdone(const struct conf_reader *r, uint32_t i)
{
	if (is_list(r, r->overrides[i].key))
		return false;
	for (uint32_t k = i + 1; k < r->nb_overrides; k++)
		if (is_here(r, &r->overrides[k]) &&
		    strcmp(r->overrides[k].key, r->overrides[i].key) == 0)
			return true;
	return false;
}

static void
take(struct conf_reader *r, uint32_t i)
{
	struct conf_override *o = &r->overrides[i];
	uint32_t line = r->line;

	o->is_done = true;
	r->line = CONF_LINE_OVERRIDE | i;
	conf_take_key(r, o->key, o->value);
	r->line = line;
}

bool
conf_override_key(struct conf_reader *r, const char *name)
{
	bool found = false;

	for (uint32_t i = 0; i < r->nb_overrides; i++) {
		struct conf_override *o = &r->overrides[i];

		if (strcmp(o->section, r->header) != 0 || strcmp(o->key, name) != 0)
			continue;
		found = true;
		if (is_here(r, o) && is_outdone(r, i))
			o->is_done = true;
		else if (is_here(r, o))
			take(r, i);
	}
	return found;
}

void
conf_override_rest(struct conf_reader *r)
{
	for (uint32_t i = 0; i < r->nb_overrides; i++)
		if (is_here(r, &r->overrides[i]))
			conf_override_key(r, r->overrides[i].key);
}

void
conf_override_new(struct conf_reader *r)
{
	uint32_t line = r->line;

	for (uint32_t i = 0; i < r->nb_overrides; i++) {
		struct conf_override *o = &r->overrides[i];

		if (o->is_done)
			continue;
		r->line = CONF_LINE_OVERRIDE | i;
		conf_begin_section(r, o->section);
		if (r->section)
			conf_override_rest(r);
		o->is_done = true;
	}
	r->line = line;
}
