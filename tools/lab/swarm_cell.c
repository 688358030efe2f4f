/* SPDX-License-Identifier: BSD-3-Clause */
#include "swarm_cell.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "qp.h"
#include "scenario.h"

/* Between two looks at a run: so many events, which never take less time than that. Our choice. */
#define SLICE_EVENTS 20000
#define SLICE_PS 40000

/* Code of a timeout of 268 ms, for which no frame of a swarm waits unless something goes wrong. */
#define SAFE_TIMEOUT 16

/* ---- in the child ---- */

/* A line of the row; control characters, which rows must not have, become blanks. */
__attribute__((format(printf, 3, 4))) static void
say(FILE *row, const char *name, const char *fmt, ...)
{
	char text[120];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = ' ';
	fprintf(row, "%s\t%s\n", name, text);
}

static void
say_rule(FILE *row, const char *rule, const char *what, uint64_t at_ps)
{
	say(row, "rule", "%s", rule);
	say(row, "what", "%s", what);
	say(row, "at_ps", "%" PRIu64, at_ps);
}

/* The scenario of a text; NULL after a rule that says what the reader did not like. */
static struct scenario *
read_text(const char *text, FILE *row)
{
	char *errors = NULL;
	size_t size;
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	FILE *out = open_memstream(&errors, &size);
	struct scenario *s = NULL;

	if (in && out)
		s = scenario_read_stream(in, "swarm", NULL, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	if (!s)
		say_rule(row, "the reader takes it", errors ? errors : "no memory", 0);
	free(errors);
	return s;
}

/* Frames that switches dropped. */
static uint64_t
switch_drops(const struct result *r)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < r->plan->nb_switches; i++) {
		for (uint16_t p = 0; p < r->plan->switches[i].nb_ports; p++) {
			const struct switch_port_stats *s = r->switches[i].ports[p];

			drops += s->tx_no_buffer + s->tx_full_pkts;
			for (int q = 0; q < QUEUES_NB; q++)
				drops += s->q[q].full;
		}
	}
	return drops;
}

/* Whether packets overtook each other, on several paths, and a receiver dropped some for it. */
static bool
was_reordered(const struct lab_conf *conf, const struct result *r)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < r->plan->nb_hosts; i++)
		drops += r->hosts[i].nic->drop[DROP_GAP];
	return drops > 0 && conf->sw.lb != lb_find("ecmp", LB_SWITCH);
}

/*
 * Whether an answer may have been missed: frames were lost, paused or out of order, or a timeout is
 * shorter than all of a swarm's bytes in one queue take, 100 ms or so.
 */
static bool
may_want_answers(const struct lab_conf *conf, const struct result *r)
{
	return conf->host.timeout != 0 &&
	       (conf->host.timeout < SAFE_TIMEOUT || conf->faults || conf->sw.lossless ||
	        switch_drops(r) > 0 || was_reordered(conf, r));
}

/* Why a QP failed, if there is no excuse; NULL = all is well. */
static const char *
why_failed(const struct lab_conf *conf, const struct result *r, const struct flow *f)
{
	if (f->status != FLOW_FAILED)
		return NULL;
	if (f->why == QP_REASON_RETRY || f->why == QP_REASON_LINK)
		return may_want_answers(conf, r) ? NULL : "and nobody held up an answer";
	if (f->why == QP_REASON_RNR_RETRY)
		return conf->host.rnr_retry < 7 ? NULL : "for RNR NAKs, which it bears for ever";
	return "for what nobody has asked for";
}

static void
judge_flows(const struct lab_conf *conf, const struct result *r, FILE *row)
{
	for (uint32_t i = 0; i < r->nb_flows; i++) {
		const struct flow *f = &r->flows[i];
		const char *why = why_failed(conf, r, f);
		char what[120];

		if (!why)
			continue;
		snprintf(what, sizeof(what), "flow %u, h%u to h%u, failed, %s: reason %u", i,
		         f->conf.src, f->conf.dst, why, f->why);
		say_rule(row, "QPs fail for want of answers only", what, f->end_ps);
		return;
	}
}

static void
run_to_end(struct lab *lab, FILE *row)
{
	for (uint32_t nb = 0; nb < SWARM_EVENTS_MAX; nb += SLICE_EVENTS) {
		uint64_t before_ps = lab_now_ps(lab);

		if (!lab_run(lab, SLICE_EVENTS))
			return;
		if (lab_now_ps(lab) - before_ps < SLICE_PS) {
			say_rule(row, "virtual time goes on", "many events, and none much later",
			         before_ps);
			return;
		}
	}
	say(row, "cut", "1");
}

static void
run(const struct lab_conf *conf, struct lab *lab, FILE *row)
{
	const struct result *r;

	run_to_end(lab, row);
	r = lab_result(lab);

	say(row, "events", "%" PRIu64, r->nb_events);
	say(row, "data_pkts", "%" PRIu64, r->data_pkts);
	if (r->violation.rule)
		say_rule(row, r->violation.rule, r->violation.what, r->violation.at_ps);
	else
		judge_flows(conf, r, row);
}

/* Of the leak sanitizer, where there is one: a child that ends by _exit is not looked at. */
__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

int
swarm_cell(const char *scenario, char *const *overrides, FILE *row)
{
	struct scenario *s = read_text(scenario, row);
	struct lab *lab;

	(void)overrides;
	if (!s)
		return 0;
	lab = lab_create(&s->conf);
	if (!lab) {
		fputs("no memory\n", stderr);
		scenario_free(s);
		return 1;
	}
	run(&s->conf, lab, row);
	lab_destroy(lab);
	scenario_free(s);
	return 0;
}

int
swarm_cell_leaks(const char *scenario, char *const *overrides, FILE *row)
{
	int err = swarm_cell(scenario, overrides, row);

	if (err || !__lsan_do_recoverable_leak_check)
		return err;
	return __lsan_do_recoverable_leak_check();
}

/* ---- in the parent ---- */

/* Of a crash: what is the same each time. Numbers of processes and addresses are not. */
static void
take_status(const char *status, char *rule)
{
	const char *sanitizer = strstr(status, "Sanitizer: ");

	if (sanitizer)
		snprintf(rule, ROW_STATUS_MAX, "%.*s", (int)(11 + strcspn(sanitizer + 11, " ")),
		         sanitizer);
	else
		snprintf(rule, ROW_STATUS_MAX, "%s", status);
}

static uint64_t
number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void
take_metric(const struct row_metric *m, struct swarm_finding *f)
{
	if (strcmp(m->name, "rule") == 0)
		snprintf(f->rule, sizeof(f->rule), "%s", m->value);
	else if (strcmp(m->name, "what") == 0)
		snprintf(f->what, sizeof(f->what), "%s", m->value);
	else if (strcmp(m->name, "at_ps") == 0)
		f->at_ps = number(m->value);
	else if (strcmp(m->name, "events") == 0)
		f->nb_events = number(m->value);
	else if (strcmp(m->name, "data_pkts") == 0)
		f->data_pkts = number(m->value);
	else if (strcmp(m->name, "cut") == 0)
		f->is_cut = true;
}

bool
swarm_finding_parse(char *text, uint32_t *cell, struct swarm_finding *f)
{
	struct sweep_row *row = malloc(sizeof(*row));
	bool ok = row && row_parse(text, row);

	memset(f, 0, sizeof(*f));
	if (ok) {
		*cell = row->cell;
		if (!row_is_ok(row))
			take_status(row->status, f->rule);
		for (uint32_t i = 0; i < row->nb_metrics; i++)
			take_metric(&row->metrics[i], f);
	}
	free(row);
	return ok;
}

bool
swarm_finding_is_same(const struct swarm_finding *a, const struct swarm_finding *b)
{
	return strcmp(a->rule, b->rule) == 0;
}
