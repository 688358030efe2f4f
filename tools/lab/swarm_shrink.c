/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm_shrink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "progress.h"

/* Other seeds of the run that a step is tried with. Our choice. */
#define OTHER_SEEDS 3
/* Milliseconds between two looks at the clock. */
#define WAIT_MS 100

struct shrink {
	struct crew *crew;
	struct shrunk *best;
	uint64_t end_ns;
	int err;
	bool has_changed; /* in this round */
};

int
swarm_run_one(struct crew *crew, const struct sketch *sketch, struct swarm_finding *finding)
{
	char *text = sketch_text(sketch), *nothing[] = {NULL}, *row = NULL;
	uint32_t cell;
	int err = text ? 0 : -ENOMEM;

	if (!err) {
		crew->scenario = text;
		err = crew_start(crew, 0, nothing);
	}
	while (!err && !row) {
		err = crew_wait(crew, WAIT_MS, &row);
		if (!err && !row && crew_is_told_to_stop)
			err = -EINTR;
	}
	if (!err && !swarm_finding_parse(row, &cell, finding))
		err = -EPROTO;
	free(row);
	free(text);
	return err;
}

/* ---- one step ---- */

static bool
is_over(const struct shrink *k)
{
	return k->err || k->best->nb_runs >= SHRINK_RUNS_MAX || progress_clock_ns() >= k->end_ns;
}

/* Whether the same is found there; then it is the best so far. */
static bool
try_once(struct shrink *k, const struct sketch *s)
{
	struct swarm_finding f;

	if (is_over(k))
		return false;
	k->best->nb_runs++;
	k->err = swarm_run_one(k->crew, s, &f);
	if (k->err || !swarm_finding_is_same(&f, &k->best->finding))
		return false;
	k->best->sketch = *s;
	k->best->finding = f;
	k->has_changed = true;
	return true;
}

/* What was made of the best so far; s is changed. */
static bool
try(struct shrink *k, struct sketch *s)
{
	struct sketch_section *lab = sketch_find(s, "lab");

	if (try_once(k, s))
		return true;
	for (uint32_t i = 1; lab && i <= OTHER_SEEDS; i++) {
		sketch_set(lab, "seed", "%u", i);
		if (try_once(k, s))
			return true;
	}
	return false;
}

static bool
begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* ---- fabrics ---- */

/* One flow from the first host to the second, with the same verb and sizes. */
static void
make_long(struct sketch_section *w)
{
	static const char *const kept[] = {"verb", "bytes", "message", "qps"};
	struct sketch_section was = *w;

	w->nb_keys = 0;
	sketch_set(w, "kind", "long");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (sketch_get(&was, kept[i]))
			sketch_set(w, kept[i], "%s", sketch_get(&was, kept[i]));
}

/* Links by names that another fabric may not have: the faults of one are those of all. */
static void
make_links_all(struct sketch *s)
{
	for (uint32_t i = s->nb_sections; i-- > 0;) {
		struct sketch_section *section = &s->sections[i];

		if (!begins(section->name, "link ") || strcmp(section->name, "link all") == 0)
			continue;
		if (sketch_find(s, "link all"))
			sketch_drop_section(s, i);
		else
			strcpy(section->name, "link all");
	}
}

static void
drop_switches(struct sketch *s)
{
	for (uint32_t i = s->nb_sections; i-- > 0;) {
		const char *name = s->sections[i].name;

		if (strcmp(name, "switch") == 0 || strcmp(name, "port") == 0 ||
		    begins(name, "queue "))
			sketch_drop_section(s, i);
	}
}

/* Another fabric, of two hosts; and perhaps one flow in place of each workload. */
static bool
try_fabric(struct shrink *k, const char *kind, bool with_long)
{
	struct sketch s = k->best->sketch;
	struct sketch_section *t = sketch_section(&s, "topology");
	const struct sketch_section was = *t;
	const char *rate = sketch_get(&was, "rate"), *delay = sketch_get(&was, "delay");

	t->nb_keys = 0;
	sketch_set(t, "kind", "%s", kind);
	if (rate)
		sketch_set(t, "rate", "%s", rate);
	if (delay)
		sketch_set(t, "delay", "%s", delay);
	if (strcmp(kind, "back-to-back") == 0)
		drop_switches(&s);
	else
		sketch_set(t, "hosts", "2");
	make_links_all(&s);
	for (uint32_t i = 0; with_long && i < s.nb_sections; i++)
		if (begins(s.sections[i].name, "workload "))
			make_long(&s.sections[i]);
	return try(k, &s);
}

/* The first that will do of those that are simpler than what there is. */
static void
simplify_fabric(struct shrink *k)
{
	static const char *const kinds[] = {"back-to-back", "star", "two-paths"};
	const struct sketch_section *t = sketch_find(&k->best->sketch, "topology");
	const char *now = t ? sketch_get(t, "kind") : "star";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(now, kinds[i]) == 0 || try_fabric(k, kinds[i], true) ||
		    try_fabric(k, kinds[i], false))
			return;
}

/* ---- sections and keys ---- */

static uint32_t
nb_workloads(const struct sketch *s)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < s->nb_sections; i++)
		nb += begins(s->sections[i].name, "workload ");
	return nb;
}

static void
drop_sections(struct shrink *k)
{
	for (uint32_t i = k->best->sketch.nb_sections; i-- > 0 && !is_over(k);) {
		struct sketch s = k->best->sketch;

		/* Without it the fabric would be larger. */
		if (strcmp(s.sections[i].name, "topology") == 0 ||
		    (begins(s.sections[i].name, "workload ") && nb_workloads(&s) == 1))
			continue;
		sketch_drop_section(&s, i);
		try(k, &s);
	}
}

static void
simplify_workloads(struct shrink *k)
{
	for (uint32_t i = 0; i < k->best->sketch.nb_sections && !is_over(k); i++) {
		struct sketch s = k->best->sketch;
		struct sketch_section *w = &s.sections[i];

		if (!begins(w->name, "workload "))
			continue;
		make_long(w);
		if (w->nb_keys < k->best->sketch.sections[i].nb_keys ||
		    strcmp(sketch_get(&k->best->sketch.sections[i], "kind"), "long") != 0)
			try(k, &s);
	}
}

static void
drop_keys(struct shrink *k)
{
	for (uint32_t i = 0; i < k->best->sketch.nb_sections; i++) {
		for (uint32_t n = k->best->sketch.sections[i].nb_keys; n-- > 0 && !is_over(k);) {
			struct sketch s = k->best->sketch;

			if (strcmp(s.sections[i].keys[n].name, "kind") == 0)
				continue;
			sketch_drop_key(&s.sections[i], n);
			try(k, &s);
		}
	}
}

/* ---- numbers ---- */

/* A plain whole number, without a unit. */
static bool
plain_number(const struct sketch_section *section, const char *key, uint64_t *x)
{
	const char *text = sketch_get(section, key);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	*x = strtoull(text, &end, 10);
	return *end == '\0';
}

static bool
try_number(struct shrink *k, uint32_t section, const char *key, uint64_t x)
{
	struct sketch s = k->best->sketch;

	sketch_set(&s.sections[section], key, "%" PRIu64, x);
	return try(k, &s);
}

/* Down to min: at once, or by halves, or by one. */
static void
lower(struct shrink *k, uint32_t section, const char *key, uint64_t min)
{
	uint64_t x, step;

	if (!plain_number(&k->best->sketch.sections[section], key, &x) || x <= min ||
	    try_number(k, section, key, min))
		return;
	for (step = (x - min) / 2; step > 0 && !is_over(k); step /= 2)
		while (x - min > step && try_number(k, section, key, x - step))
			x -= step;
}

/* So that few packets are enough to come to the wrap. */
static void
raise_psn(struct shrink *k, uint32_t section)
{
	static const uint32_t psns[] = {0xffffff, 0xfffffe, 0xfffffc, 0xfffff8, 0xfffff0};
	uint64_t x;

	if (!plain_number(&k->best->sketch.sections[section], "psn", &x))
		return;
	for (size_t i = 0; i < sizeof(psns) / sizeof(psns[0]); i++)
		if (x < psns[i] && try_number(k, section, "psn", psns[i]))
			return;
}

/* Fewer messages: one is best, of all bytes; then as few bytes as will do. */
static void
shrink_messages(struct shrink *k, uint32_t section)
{
	const struct sketch_section *w = &k->best->sketch.sections[section];
	uint64_t bytes, message;

	lower(k, section, "qps", 1);
	lower(k, section, "flows", 1);
	if (!plain_number(w, "bytes", &bytes) || !plain_number(w, "message", &message))
		return;
	for (uint64_t nb = 1; nb <= 3 && message * nb < bytes; nb++) {
		if (try_number(k, section, "message", bytes / nb + 1) ||
		    try_number(k, section, "bytes", message * nb))
			break;
	}
	lower(k, section, "bytes", 1);
	plain_number(w, "bytes", &bytes);
	if (plain_number(w, "message", &message) && message > bytes)
		try_number(k, section, "message", bytes);
}

static void
shrink_numbers(struct shrink *k)
{
	static const struct {
		const char *section, *key;
		uint64_t min;
	} rows[] = {
		{"topology", "hosts", 2},    {"topology", "leaves", 1},
		{"topology", "spines", 1},   {"topology", "hosts_per_leaf", 1},
		{"topology", "parallel", 1}, {"topology", "k", 2},
		{"topology", "levels", 2},   {"host", "window", 1},
		{"host", "depth", 1},        {"host", "rd_atomic", 1},
	};

	for (uint32_t i = 0; i < k->best->sketch.nb_sections && !is_over(k); i++) {
		const char *name = k->best->sketch.sections[i].name;

		if (begins(name, "workload "))
			shrink_messages(k, i);
		if (strcmp(name, "lab") == 0)
			raise_psn(k, i);
		for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++)
			if (strcmp(name, rows[n].section) == 0)
				lower(k, i, rows[n].key, rows[n].min);
	}
}

/* Not longer than until the rule is broken. */
static void
shorten(struct shrink *k)
{
	uint64_t ns = k->best->finding.at_ps / PS_PER_NS + 1;
	struct sketch s = k->best->sketch;
	struct sketch_section *lab = sketch_find(&s, "lab");
	char now[SKETCH_VALUE_LEN];

	if (!lab || !sketch_get(lab, "duration") || k->best->finding.at_ps == 0)
		return;
	snprintf(now, sizeof(now), "%" PRIu64 "ns", ns);
	if (strcmp(sketch_get(lab, "duration"), now) == 0)
		return;
	sketch_set(lab, "duration", "%s", now);
	try(k, &s);
}

/* ---- all of it ---- */

int
swarm_shrink(struct crew *crew, const struct sketch *sketch, const struct swarm_finding *finding,
             struct shrunk *shrunk)
{
	struct shrink k = {
		.crew = crew,
		.best = shrunk,
		.end_ns = progress_clock_ns() + SHRINK_TIME_NS,
	};

	shrunk->sketch = *sketch;
	shrunk->finding = *finding;
	shrunk->nb_runs = 0;
	shrunk->is_flaky = !try_once(&k, sketch);
	while (!shrunk->is_flaky && !is_over(&k)) {
		k.has_changed = false;
		simplify_fabric(&k);
		drop_sections(&k);
		simplify_workloads(&k);
		shrink_numbers(&k);
		drop_keys(&k);
		if (!k.has_changed)
			break;
	}
	if (!shrunk->is_flaky)
		shorten(&k);
	return k.err;
}
