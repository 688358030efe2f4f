/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "flow.h"
#include "progress.h"
#include "swarm_make.h"

/* Numbers of cells are those of a row, and begin again. */
#define CELLS 1000000
/* Milliseconds between two looks at the clock. */
#define WAIT_MS 100
#define SECOND UINT64_C(1000000000)

struct swarm {
	const struct swarm_conf *conf;
	struct swarm_result *result;
	struct crew crew;
	uint64_t nb_begun;
	uint64_t begin_ns, shrinking_ns, told_ns;
	bool is_terminal;
	/* found, and not told yet: seeds that ran while the first of them was found are among them
	 */
	struct found {
		uint64_t seed;
		struct swarm_finding finding;
	} found[CREW_MAX];
	uint32_t nb_found;
	char rules[SWARM_FINDINGS_MAX][ROW_STATUS_MAX + 1]; /* told already */
	uint32_t nb_rules;
};

/* ---- seeds ---- */

static int
begin_seed(struct swarm *w)
{
	uint32_t cell = (uint32_t)(w->nb_begun % CELLS);
	struct sketch *s = malloc(sizeof(*s));
	char *text = NULL, *nothing[] = {NULL};
	int err = -ENOMEM;

	if (s) {
		swarm_make(w->conf->first + w->nb_begun, s);
		text = sketch_text(s);
	}
	if (text) {
		w->crew.scenario = text;
		err = crew_start(&w->crew, cell, nothing);
	}
	if (!err)
		w->nb_begun++;
	free(text);
	free(s);
	return err;
}

/* The seed of a number of a cell: the last that was begun with it. */
static uint64_t
seed_of(const struct swarm *w, uint32_t cell)
{
	uint64_t last = w->nb_begun - 1;

	return w->conf->first + last - (last - cell) % CELLS;
}

static int
take_row(struct swarm *w, char *row)
{
	struct swarm_finding f;
	uint32_t cell;

	if (!swarm_finding_parse(row, &cell, &f))
		return -EPROTO;
	w->result->nb_seeds++;
	w->result->nb_cut += f.is_cut;
	w->result->nb_events += f.nb_events;
	w->result->data_pkts += f.data_pkts;
	if (*f.rule)
		w->found[w->nb_found++] = (struct found){seed_of(w, cell), f};
	return 0;
}

/* ---- findings ---- */

static void
write_scenario(FILE *out, const struct found *found, const struct swarm_finding *f,
               const struct sketch *s)
{
	fprintf(out, "# weft-lab swarm --seed %" PRIu64 "\n# %s\n", found->seed, f->rule);
	if (*f->what)
		fprintf(out, "# %s\n", f->what);
	if (f->at_ps)
		fprintf(out, "# at %" PRIu64 ".%03" PRIu64 " ns\n", f->at_ps / PS_PER_NS,
		        f->at_ps % PS_PER_NS);
	sketch_write(s, out);
}

static int
keep(const struct swarm *w, const struct found *found, const struct swarm_finding *f,
     const struct sketch *s, const char *suffix)
{
	FILE *out = NULL;
	char *path;
	int err = 0;

	if (!w->conf->dir)
		return 0;
	if (asprintf(&path, "%s/seed-%" PRIu64 "%s.scenario", w->conf->dir, found->seed, suffix) <
	    0)
		return -ENOMEM;
	out = fopen(path, "we");
	if (out)
		write_scenario(out, found, f, s);
	if (!out || fclose(out) != 0) {
		err = -errno;
		fprintf(stderr, "weft-lab swarm: %s: %s\n", path, strerror(-err));
	}
	free(path);
	return err;
}

static bool
is_known(const struct swarm *w, const char *rule)
{
	for (uint32_t i = 0; i < w->nb_rules; i++)
		if (strcmp(w->rules[i], rule) == 0)
			return true;
	return false;
}

/* The first of its rule: shrunk. */
static int
tell_new(struct swarm *w, const struct found *found, const struct sketch *whole)
{
	struct shrunk *shrunk = &w->result->last;
	FILE *out = w->conf->out;
	int err;

	strcpy(w->rules[w->nb_rules++], found->finding.rule);
	err = swarm_shrink(&w->crew, whole, &found->finding, shrunk);
	if (err)
		return err;
	w->result->seed = found->seed;
	if (shrunk->is_flaky)
		fputs("and not when it was run again\n", out);
	else
		fprintf(out, "made smaller in %" PRIu32 " runs:\n\n", shrunk->nb_runs);
	write_scenario(out, found, &shrunk->finding, &shrunk->sketch);
	fputc('\n', out);
	return keep(w, found, &shrunk->finding, &shrunk->sketch, "");
}

static int
tell(struct swarm *w, const struct found *found)
{
	const struct swarm_finding *f = &found->finding;
	struct sketch *whole = malloc(sizeof(*whole));
	FILE *out = w->conf->out;
	int err;

	if (!whole)
		return -ENOMEM;
	swarm_make(found->seed, whole);
	fprintf(out, "seed %" PRIu64 ": %s%s%s", found->seed, f->rule, *f->what ? ": " : "",
	        f->what);
	if (f->at_ps)
		fprintf(out, ", at %" PRIu64 ".%03" PRIu64 " ns", f->at_ps / PS_PER_NS,
		        f->at_ps % PS_PER_NS);
	fputc('\n', out);
	fflush(out);
	err = keep(w, found, f, whole, "-whole");
	if (!err && !is_known(w, f->rule))
		err = tell_new(w, found, whole);
	fflush(out);
	w->result->nb_findings++;
	free(whole);
	return err;
}

/* ---- loop ---- */

static void
progress(struct swarm *w)
{
	uint64_t now = progress_clock_ns(), spent = now - w->begin_ns - w->shrinking_ns;

	if (w->conf->is_quiet || now - w->told_ns < (w->is_terminal ? SECOND / 2 : 10 * SECOND))
		return;
	w->told_ns = now;
	fprintf(stderr, "%s%" PRIu64 " seeds, to %" PRIu64 ", %.0f/s, %" PRIu32 " findings%s",
	        w->is_terminal ? "\r\033[K" : "", w->result->nb_seeds,
	        w->conf->first + w->nb_begun - 1, (double)w->result->nb_seeds * 1e9 / (double)spent,
	        w->result->nb_findings, w->is_terminal ? "" : "\n");
}

static void
hide_progress(const struct swarm *w)
{
	if (!w->conf->is_quiet && w->is_terminal)
		fputs("\r\033[K", stderr);
}

/* Whether another seed is to be begun. */
static bool
wants_more(const struct swarm *w)
{
	const struct swarm_conf *c = w->conf;

	return w->nb_found == 0 && w->nb_begun <= c->last - c->first &&
	       w->result->nb_findings < c->findings_max &&
	       (c->time_ns == 0 || progress_clock_ns() - w->begin_ns < c->time_ns);
}

/* What was found while the others came to their end. */
static int
tell_found(struct swarm *w)
{
	uint64_t begin_ns = progress_clock_ns();
	int err = 0;

	hide_progress(w);
	for (uint32_t i = 0; i < w->nb_found && !err; i++)
		if (w->result->nb_findings < w->conf->findings_max)
			err = tell(w, &w->found[i]);
	w->nb_found = 0;
	w->shrinking_ns += progress_clock_ns() - begin_ns;
	return err;
}

static int
loop(struct swarm *w)
{
	char *row;
	int err = 0;

	while (!err) {
		while (!err && crew_has_room(&w->crew) && wants_more(w))
			err = begin_seed(w);
		if (!err && w->crew.nb_running == 0 && w->nb_found == 0)
			break;
		if (!err && w->crew.nb_running > 0)
			err = crew_wait(&w->crew, WAIT_MS, &row);
		else
			row = NULL;
		if (!err && row)
			err = take_row(w, row);
		free(row);
		if (!err && crew_is_told_to_stop)
			err = -EINTR;
		if (!err && w->crew.nb_running == 0 && w->nb_found > 0)
			err = tell_found(w);
		progress(w);
	}
	return err;
}

int
swarm_run(const struct swarm_conf *conf, struct swarm_result *result)
{
	struct swarm *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	memset(result, 0, sizeof(*result));
	if (!err) {
		w->conf = conf;
		w->result = result;
		w->begin_ns = w->told_ns = progress_clock_ns();
		w->is_terminal = isatty(STDERR_FILENO);
		err = crew_init(&w->crew, conf->finds_leaks ? swarm_cell_leaks : swarm_cell, NULL,
		                conf->nb_jobs, conf->timeout_ns);
	}
	if (!err) {
		err = loop(w);
		hide_progress(w);
		result->wall_ns = progress_clock_ns() - w->begin_ns - w->shrinking_ns;
		crew_fini(&w->crew);
	}
	if (err && err != -EINTR)
		fprintf(stderr, "weft-lab swarm: %s\n", strerror(-err));
	free(w);
	return err;
}
