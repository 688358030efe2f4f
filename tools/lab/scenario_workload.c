/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cdf.h"
#include "scenario_read.h"
#include "table_file.h"
#include "trace_file.h"

/* The sections [workload NAME]. */

/* Of an object of the section: which of the workloads it is. */
static uint32_t
index_of(const struct conf_reader *r, const void *obj)
{
	return (uint32_t)((const struct workload *)obj - r->conf->s->workloads);
}

static void
unknown_kind(struct conf_reader *r, const char *value)
{
	const char *names[SCENARIO_CHOICES_MAX];
	uint32_t nb = 0;

	for (const struct workload_ops *const *w = workload_kinds; *w && nb < SCENARIO_CHOICES_MAX;
	     w++)
		names[nb++] = (*w)->name;
	scenario_choice(r, "kind of workload", value, names, nb);
}

static void
read_kind(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct workload *w = obj;

	(void)key;
	r->conf->workloads[w->index].kind_line = r->line;
	w->ops = workload_find(value);
	if (!w->ops) {
		unknown_kind(r, value);
		/* Its keys are not known either; that follows, and need not be told. */
		r->is_lost = true;
		return;
	}
	r->hint = NULL;
	if (!w->ops->params)
		return;
	w->own_params = calloc(1, w->ops->params_size);
	if (!w->own_params) {
		conf_error(r, r->line, "%s", strerror(ENOMEM));
		w->ops = NULL; /* as of a kind that is unknown: nothing looks at its numbers */
		r->is_lost = true;
		return;
	}
	param_defaults(w->ops->params, w->own_params);
	conf_add_table(r, w->ops->params, w->own_params);
}

static void
read_verb(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct workload *w = obj;

	w->verb = (uint8_t)scenario_choice(r, key->name, value, flow_verb_names, FLOW_NB_VERBS);
}

static void
read_file(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct scenario_workload *known = &r->conf->workloads[index_of(r, obj)];

	(void)key;
	known->file_line = r->line;
	snprintf(known->file, sizeof(known->file), "%s", value);
}

static const struct conf_key workload_keys[] = {
	{"kind", read_kind},
	{"verb", read_verb},
	{"file", read_file},
	{NULL},
};

static void *
begin_workload(struct conf_reader *r, const char *title)
{
	struct conf *c = r->conf;
	struct lab_conf *lab = &c->s->conf;
	struct workload *w = &c->s->workloads[lab->nb_workloads];

	for (uint32_t i = 0; i < lab->nb_workloads; i++) {
		if (strcmp(c->s->workloads[i].name, title) != 0)
			continue;
		conf_error(r, r->line, "section [workload %s] began at line %u already", title,
		           c->workloads[i].line);
		return NULL;
	}
	if (lab->nb_workloads == SCENARIO_WORKLOADS_MAX) {
		conf_too_many(r, SCENARIO_WORKLOADS_MAX, "workloads");
		return NULL;
	}
	static_assert(sizeof(w->name) == CONF_NAME_LEN, "a name fits");
	if (!conf_name(r, "name", title, w->name))
		return NULL;
	c->workloads[lab->nb_workloads].line = r->line;
	w->index = lab->nb_workloads++;
	param_defaults(workload_param_descs, &w->params);
	conf_add_table(r, workload_param_descs, &w->params);
	r->hint = "keys of its kind stand behind 'kind = ...'";
	return w;
}

/* A key that another kind has. */
static const char *
explain(const struct conf_reader *r, const char *key)
{
	const struct workload *w = r->obj;
	char *why = r->conf->workloads[w->index].why;

	for (const struct workload_ops *const *k = workload_kinds; w->ops && *k; k++) {
		if (!(*k)->params || !param_find((*k)->params, key))
			continue;
		snprintf(why, sizeof(r->conf->workloads[0].why), "kind = %s has none",
		         w->ops->name);
		return why;
	}
	return NULL;
}

const struct conf_section scenario_workload_section = {
	"workload", "NAME", workload_keys, begin_workload, .is_node = true, .explain = explain};

/* ---- afterwards ---- */

/* Cdf or trace; false with why. */
static bool
read_rows(struct workload *w, FILE *f, const char *name, char *why, size_t size)
{
	if (strcmp(w->ops->name, "trace") == 0)
		return (w->trace = trace_file_read(f, name, why, size)) != NULL;
	return (w->cdf = cdf_read(f, name, why, size)) != NULL;
}

/* Paths begin at the scenario's folder. */
static void
load_file(struct conf_reader *r, struct workload *w)
{
	const struct scenario_workload *known = &r->conf->workloads[w->index];
	const char *slash = strrchr(r->path, '/');
	char *folder = slash ? strndup(r->path, (size_t)(slash - r->path)) : NULL;
	char beside[CONF_LINE_MAX + 8], why[512] = "no memory", ignored[512];
	FILE *f = NULL;

	/* A shipped name is one beside the scenario, too. */
	snprintf(beside, sizeof(beside), "%s.cdf", known->file);
	if (folder || !slash)
		f = table_file_open(folder, known->file, ".cdf", why, sizeof(why));
	if (!f && (folder || !slash))
		f = table_file_open(folder, beside, "", ignored, sizeof(ignored));
	if (!f || !read_rows(w, f, known->file, why, sizeof(why)))
		conf_error(r, known->file_line, "[workload %s] file: %s", w->name, why);
	if (f)
		fclose(f);
	free(folder);
}

/* Whether it has a file if it needs one. */
static bool
finish_file(struct conf_reader *r, struct workload *w)
{
	const struct scenario_workload *known = &r->conf->workloads[w->index];

	if (w->ops->needs_file && !known->file_line)
		conf_error(r, known->line, "[workload %s] has no file, which kind = %s needs",
		           w->name, w->ops->name);
	if (!w->ops->needs_file && known->file_line)
		conf_error(r, known->file_line, "[workload %s] file: kind = %s has none", w->name,
		           w->ops->name);
	if (w->ops->needs_file && known->file_line)
		load_file(r, w);
	return !w->ops->needs_file || w->cdf || w->trace;
}

/* The line of one of its keys, or of the section. */
static uint32_t
line_of(const struct conf_reader *r, const struct workload *w, const char *key)
{
	const struct scenario_workload *known = &r->conf->workloads[w->index];
	uint32_t line = 0;

	if (key && strcmp(key, "kind") == 0)
		line = known->kind_line;
	else if (key && strcmp(key, "file") == 0)
		line = known->file_line;
	else if (key)
		line = conf_line_of(r, &w->params, key);
	if (!line && key && w->own_params)
		line = conf_line_of(r, w->own_params, key);
	return line ? line : known->line;
}

static void
finish_one(struct conf_reader *r, struct workload *w)
{
	const struct scenario *s = r->conf->s;
	const struct scenario_workload *known = &r->conf->workloads[w->index];
	const char *key = NULL;
	char why[256];

	if (!w->ops) {
		/* Or it was told that it is wrong. */
		if (!known->kind_line)
			conf_error(r, known->line, "[workload %s] has no kind", w->name);
		return;
	}
	if (!finish_file(r, w) || !r->conf->has_plan)
		return;
	w->env.nb_hosts = s->plan.nb_hosts;
	w->env.rate_bps = s->plan.links[0].rate_bps;
	if (workload_check(w, &key, why, sizeof(why)) != 0)
		conf_error(r, line_of(r, w, key), "[workload %s] %s: %s", w->name,
		           key ? key : "kind", why);
	else if (s->conf.duration_ns == 0 && workload_is_endless(w))
		conf_error(r, line_of(r, w, NULL),
		           "[workload %s] never ends: it needs a stop, or [lab] a duration",
		           w->name);
}

void
scenario_workloads_finish(struct conf_reader *r)
{
	struct scenario *s = r->conf->s;

	if (s->conf.nb_workloads == 0 && !conf_is_partial(r))
		conf_error(r, r->line, "no [workload NAME]: nothing to run");
	for (uint32_t i = 0; i < s->conf.nb_workloads; i++)
		finish_one(r, &s->workloads[i]);
}

void
scenario_workload_free(struct workload *w)
{
	free(w->own_params);
	cdf_free((struct cdf *)w->cdf);
	trace_file_free((struct trace_file *)w->trace);
}
