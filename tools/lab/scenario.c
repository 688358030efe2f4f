/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "nearest.h"
#include "scenario_read.h"

/* ---- for all sections ---- */

bool
scenario_once(struct conf_reader *r, uint32_t *line, const char *header)
{
	if (*line) {
		conf_error(r, r->line, "section [%s] began at line %u already", header, *line);
		return false;
	}
	*line = r->line;
	return true;
}

uint32_t
scenario_choice(struct conf_reader *r, const char *what, const char *value,
                const char *const *names, uint32_t nb)
{
	const char *sorted[SCENARIO_CHOICES_MAX];
	char why[512];

	assert(nb >= 1 && nb <= SCENARIO_CHOICES_MAX);
	for (uint32_t i = 0; i < nb; i++)
		if (strcmp(names[i], value) == 0)
			return i;
	memcpy(sorted, names, nb * sizeof(sorted[0]));
	nearest_list(value, what, sorted, nb, why, sizeof(why));
	conf_error(r, r->line, "%s", why);
	return nb - 1;
}

/* ---- [lab] ---- */

static const struct param_desc lab_numbers[] = {
	{"seed", PARAM_U64, offsetof(struct lab_conf, seed), 1, 0, 0x1p53, "1", "our choice"},
	{"duration", PARAM_U64, offsetof(struct lab_conf, duration_ns), 0, 0, 1e15, "ns",
         "0: until all is done"},
	{"sample", PARAM_U64, offsetof(struct lab_conf, sample_ns), 10e3, 0, 1e12, "ns",
         "our choice: a round trip"},
	{NULL},
};

static const struct param_desc psn_number[] = {
	{"psn", PARAM_U32, offsetof(struct lab_conf, first_psn), 0, 0, 0xffffff, "1",
         "IBA vol. 1, ch. 9: 24 bits"},
	{NULL},
};

static void
read_payload(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	static const char *const names[] = {"absent", "real"};
	struct lab_conf *lab = obj;

	lab->real_payload = scenario_choice(r, key->name, value, names, 2) == 1;
}

static void
read_psn(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	if (strcmp(value, "random") != 0)
		conf_number(r, psn_number, obj, key->name, value);
}

static void
read_probes(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct scenario *s = r->conf->s;
	char text[CONF_LINE_MAX], *rest = NULL;
	struct lab_conf *lab = obj;

	(void)key;
	snprintf(text, sizeof(text), "%s", value);
	for (char *word = strtok_r(text, CONF_BETWEEN, &rest); word;
	     word = strtok_r(NULL, CONF_BETWEEN, &rest)) {
		if (lab->nb_probes == SCENARIO_PROBES_MAX) {
			conf_too_many(r, SCENARIO_PROBES_MAX, "probes");
			return;
		}
		s->probes[lab->nb_probes] = strdup(word);
		if (!s->probes[lab->nb_probes]) {
			conf_error(r, r->line, "%s", strerror(ENOMEM));
			return;
		}
		r->conf->probe_lines[lab->nb_probes++] = r->line;
	}
}

static const struct conf_key lab_keys[] = {
	{"payload", read_payload},
	{"psn", read_psn},
	{"probes", read_probes, .is_list = true},
	{NULL},
};

static void *
begin_lab(struct conf_reader *r, const char *title)
{
	struct lab_conf *lab = &r->conf->s->conf;

	(void)title;
	if (!scenario_once(r, &r->conf->lab_line, "lab"))
		return NULL;
	conf_add_table(r, lab_numbers, lab);
	return lab;
}

const struct conf_section scenario_lab_section = {"lab", NULL, lab_keys, begin_lab};

static void
finish_lab(struct conf_reader *r)
{
	const struct scenario *s = r->conf->s;
	char why[256];

	for (uint32_t i = 0; r->conf->has_plan && i < s->conf.nb_probes; i++)
		if (lab_probe_check(&s->plan, s->probes[i], why, sizeof(why)) != 0)
			conf_error(r, r->conf->probe_lines[i], "%s", why);
}

/* ---- all of it ---- */

static const struct conf_section *const sections[] = {
	&scenario_lab_section,      &scenario_topology_section,
	&scenario_host_section,     &scenario_switch_section,
	&scenario_queue_section,    &scenario_port_section,
	&scenario_link_section,     &conf_engine_section,
	&scenario_workload_section, NULL,
};

/* What holds if nothing is said; false without memory. */
static bool
defaults(struct conf *c, const char *path)
{
	struct scenario *s = c->s;

	s->path = strdup(path);
	if (!s->path || !conf_engines_create(&s->engines, &s->nb_engines))
		return false;
	s->conf.scenario = s->path;
	s->conf.plan = &s->plan;
	s->conf.workloads = s->workloads;
	s->conf.probes = s->probes;
	s->conf.first_psn = LAB_PSN_RANDOM;
	param_defaults(lab_numbers, &s->conf);
	scenario_topology_defaults(c);
	scenario_host_defaults(c);
	scenario_switch_defaults(c);
	c->links = calloc(SCENARIO_LINKS_MAX, sizeof(*c->links));
	return c->links != NULL;
}

/* Also what a part that is missing would lead to is not told twice: each looks whether it is there.
 */
static void
finish(struct conf_reader *r)
{
	scenario_topology_finish(r);
	scenario_links_finish(r);
	scenario_switch_finish(r);
	scenario_host_finish(r);
	scenario_workloads_finish(r);
	finish_lab(r);
	if (r->nb_errors == 0)
		scenario_doubts(r);
}

static bool
no_memory(struct conf_reader *r)
{
	conf_error(r, 0, "%s", strerror(ENOMEM));
	return false;
}

/* Texts of the command line; false after an error line. */
static bool
read_overrides(struct conf_reader *r, const char *const *texts)
{
	while (texts && texts[r->nb_overrides])
		r->nb_overrides++;
	r->overrides = calloc(r->nb_overrides + 1, sizeof(*r->overrides));
	if (!r->overrides)
		return no_memory(r);
	for (uint32_t i = 0; i < r->nb_overrides; i++) {
		char *text = strdup(texts[i]);

		if (!text)
			return no_memory(r);
		if (conf_override_parse(&r->overrides[i], text, "lab"))
			continue;
		fprintf(r->errors, "command line: %s: [SECTION.]KEY=VALUE, please\n", texts[i]);
		free(text);
		return false;
	}
	return true;
}

static void
free_overrides(struct conf_reader *r)
{
	for (uint32_t i = 0; r->overrides && i < r->nb_overrides; i++)
		free((char *)r->overrides[i].text);
	free(r->overrides);
}

struct scenario *
scenario_read_stream(FILE *stream, const char *path, const char *const *overrides, FILE *errors)
{
	struct conf_reader r = {.path = path, .errors = errors, .sections = sections};
	struct scenario *s = calloc(1, sizeof(*s));
	struct conf *c = calloc(1, sizeof(*c));
	bool ok = false;

	if (!s || !c) {
		no_memory(&r);
		goto out;
	}
	c->s = s;
	r.conf = c;
	if (!read_overrides(&r, overrides))
		goto out;
	if (!defaults(c, path)) {
		no_memory(&r);
		goto out;
	}
	r.engines = s->engines;
	r.nb_engines = s->nb_engines;
	if (conf_read_sections(&r, stream))
		finish(&r);
	ok = r.nb_errors == 0;
out:
	conf_reader_free(&r);
	free_overrides(&r);
	if (c)
		free(c->links);
	free(c);
	if (ok)
		return s;
	scenario_free(s);
	return NULL;
}

struct scenario *
scenario_read(const char *path, const char *const *overrides, FILE *errors)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *stream = is_stdin ? stdin : fopen(path, "r");
	struct scenario *s;

	if (!stream) {
		fprintf(errors, "%s: %s\n", path, strerror(errno));
		return NULL;
	}
	s = scenario_read_stream(stream, is_stdin ? "standard input" : path, overrides, errors);
	if (!is_stdin)
		fclose(stream);
	return s;
}

void
scenario_free(struct scenario *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->conf.nb_probes; i++)
		free((char *)s->probes[i]);
	for (uint32_t i = 0; i < s->conf.nb_workloads; i++)
		scenario_workload_free(&s->workloads[i]);
	plan_free(&s->plan);
	free(s->faults);
	conf_engines_free(s->engines, s->nb_engines);
	free(s->path);
	free(s);
}

/* A title that each section takes. */
static const char *
title_of(const struct conf_section *section)
{
	static const struct {
		const struct conf_section *section;
		const char *title;
	} rows[] = {
		{&scenario_queue_section, "0"},
		{&scenario_link_section, "all"},
		{&scenario_workload_section, "name"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].section == section)
			return rows[i].title;
	return NULL;
}

static void
each_number(void (*fn)(const char *section, const char *name, const struct param_desc *desc),
            const char *section, const struct param_desc *descs)
{
	for (const struct param_desc *d = descs; d && d->name; d++)
		fn(section, d->name, d);
}

bool
scenario_each_key(void (*fn)(const char *section, const char *name, const struct param_desc *desc))
{
	struct scenario *s = calloc(1, sizeof(*s));
	struct conf *c = calloc(1, sizeof(*c));
	struct conf_reader r = {.conf = c, .path = "keys", .errors = stderr, .line = 1};
	bool ok = s && c;

	if (ok) {
		c->s = s;
		ok = defaults(c, "keys");
	}
	for (const struct conf_section *const *p = sections; ok && *p; p++) {
		if (*p == &conf_engine_section)
			continue;
		r.nb_tables = 0;
		ok = (*p)->begin(&r, title_of(*p)) != NULL;
		for (const struct conf_key *k = (*p)->keys; k->name; k++)
			fn((*p)->name, k->name, NULL);
		for (uint32_t i = 0; i < r.nb_tables; i++)
			each_number(fn, (*p)->name, r.tables[i].descs);
	}
	for (const struct workload_ops *const *w = workload_kinds; ok && *w; w++)
		each_number(fn, scenario_workload_section.name, (*w)->params);
	if (c)
		free(c->links);
	free(c);
	scenario_free(s);
	return ok;
}
