/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf_parts.h"
#include "nearest.h"

/* Keys and their values, where they were said, and what is wrong with them. */

/* "FILE:LINE: ", or of whatever else the line stands for. */
static void
print_place(const struct conf_reader *r, uint32_t line)
{
	if (line & CONF_LINE_OVERRIDE)
		fprintf(r->errors,
		        "command line: %s: ", r->overrides[line & ~CONF_LINE_OVERRIDE].text);
	else
		fprintf(r->errors, line ? "%s:%" PRIu32 ": " : "%s: ", r->path, line);
}

void
conf_error(struct conf_reader *r, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	r->nb_errors++;
	print_place(r, line);
	va_start(ap, fmt);
	vfprintf(r->errors, fmt, ap);
	va_end(ap);
	fputc('\n', r->errors);
}

void
conf_warning(struct conf_reader *r, uint32_t line, const char *fmt, ...)
{
	va_list ap;

	print_place(r, line);
	fputs("warning: ", r->errors);
	va_start(ap, fmt);
	vfprintf(r->errors, fmt, ap);
	va_end(ap);
	fputc('\n', r->errors);
}

void
conf_too_many(struct conf_reader *r, uint32_t max, const char *what)
{
	const size_t nb = sizeof(r->too_many) / sizeof(r->too_many[0]);
	size_t i = 0;

	while (i < nb && r->too_many[i] && strcmp(r->too_many[i], what) != 0)
		i++;
	assert(i < nb);
	if (!r->too_many[i])
		conf_error(r, r->line, "more than %u %s", max, what);
	r->too_many[i] = what;
}

/* What was said and what was not makes a difference, also to numbers: none may be forgotten. */
static void
keep_line(struct conf_reader *r, const void *params, const char *name)
{
	if (r->nb_said == r->said_size) {
		uint32_t size = r->said_size ? 2 * r->said_size : 64;
		struct conf_said *said = realloc(r->said, size * sizeof(*said));

		if (!said) {
			conf_error(r, r->line, "%s", strerror(ENOMEM));
			return;
		}
		r->said = said;
		r->said_size = size;
	}
	r->said[r->nb_said++] = (struct conf_said){params, name, r->line};
}

uint32_t
conf_line_of(const struct conf_reader *r, const void *params, const char *name)
{
	for (uint32_t i = 0; i < r->nb_said; i++) {
		if (r->said[i].params == params && strcmp(r->said[i].name, name) == 0)
			return r->said[i].line;
	}
	return 0;
}

void
conf_add_table(struct conf_reader *r, const struct param_desc *descs, void *params)
{
	assert(r->nb_tables < CONF_MAX_TABLES);
	r->tables[r->nb_tables].descs = descs;
	r->tables[r->nb_tables].params = params;
	r->nb_tables++;
}

bool
conf_number(struct conf_reader *r, const struct param_desc *descs, void *params, const char *name,
            const char *value)
{
	char why[256];

	if (param_set(descs, params, name, value, why, sizeof(why)) == 0)
		return true;
	conf_error(r, r->line, "%s", why);
	return false;
}

/* Whether a key comes for the first time in its section, or is a list that goes on. */
static bool
may_come(struct conf_reader *r, const char *name, bool is_list)
{
	for (uint32_t i = 0; i < r->nb_seen; i++) {
		if (strcmp(r->seen[i].name, name) != 0)
			continue;
		if (is_list)
			return true;
		conf_error(r, r->line, "key '%s' was set at line %u already", name,
		           r->seen[i].line);
		return false;
	}
	assert(r->nb_seen < CONF_MAX_KEYS);
	r->seen[r->nb_seen].name = name;
	r->seen[r->nb_seen].line = r->line;
	r->nb_seen++;
	return true;
}

static void
unknown_key(struct conf_reader *r, const char *name)
{
	struct nearest n = nearest_of(name);
	const char *names[CONF_MAX_KEYS], *hint = r->hint;
	uint32_t nb = 0;
	char why[256];

	for (const struct conf_key *k = r->section->keys; k->name && nb < CONF_MAX_KEYS; k++)
		names[nb++] = k->name;
	for (uint32_t i = 0; i < r->nb_tables; i++) {
		const struct param_desc *d = r->tables[i].descs;

		for (; d->name && nb < CONF_MAX_KEYS; d++)
			names[nb++] = d->name;
	}
	for (uint32_t i = 0; i < nb; i++)
		nearest_offer(&n, names[i]);
	if (nb > 0 && r->section->names_few)
		nearest_list(name, "key", names, nb, why, sizeof(why));
	else
		nearest_explain(&n, "key", why, sizeof(why));
	if (!hint && r->section->explain)
		hint = r->section->explain(r, name);
	conf_error(r, r->line, "%s%s%s", why, hint ? ": " : "", hint ? hint : "");
}

/* One of the section's keys that are no plain numbers; false = none is called so. */
static bool
take_special(struct conf_reader *r, const char *name, const char *value)
{
	for (const struct conf_key *k = r->section->keys; k->name; k++) {
		if (strcmp(k->name, name) != 0)
			continue;
		if (!may_come(r, k->name, k->is_list))
			return true;
		if (k->line_offset)
			memcpy((char *)r->obj + k->line_offset, &r->line, sizeof(r->line));
		k->read(r, k, r->obj, value);
		return true;
	}
	return false;
}

void
conf_take_key(struct conf_reader *r, const char *name, const char *value)
{
	const char *known = NULL;

	if (r->is_lost || take_special(r, name, value))
		return;
	/* Engines of two kinds may have one name, and then one section. */
	for (uint32_t i = 0; i < r->nb_tables; i++) {
		const struct param_desc *d = param_find(r->tables[i].descs, name);

		if (!d)
			continue;
		if (!known && !may_come(r, d->name, false))
			return;
		known = d->name;
		keep_line(r, r->tables[i].params, d->name);
		if (!conf_number(r, r->tables[i].descs, r->tables[i].params, name, value))
			return;
	}
	if (!known)
		unknown_key(r, name);
}

void
conf_reader_free(struct conf_reader *r)
{
	free(r->said);
	r->said = NULL;
	r->nb_said = r->said_size = 0;
}
