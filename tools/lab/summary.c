/* SPDX-License-Identifier: BSD-3-Clause */
#include "summary.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "done.h"
#include "totals.h"

/* ---- the list ---- */

static const struct value none = {.kind = VALUE_NONE};

/* What there is at most: more would be a mistake here. */
#define METRICS_FIXED 128
#define METRICS_PER_WORKLOAD 8

struct metric_list {
	struct summary *summary;
	uint32_t room;
};

__attribute__((format(printf, 4, 5))) static void
add(struct metric_list *l, const char *unit, struct value value, const char *name, ...)
{
	struct metric *m = &l->summary->metrics[l->summary->nb++];
	va_list args;

	assert(l->summary->nb <= l->room);
	m->unit = unit;
	m->value = value;
	va_start(args, name);
	vsnprintf(m->name, sizeof(m->name), name, args);
	va_end(args);
}

static void
add_count(struct metric_list *l, const char *unit, uint64_t count, const char *name)
{
	add(l, unit, value_count(count), "%s", name);
}

/* ---- goodput and fairness ---- */

static void
add_goodput(struct metric_list *l, const struct result *r, const struct totals *t)
{
	const double seconds = (double)totals_active_ps(r) / PS_PER_S;
	double sum = 0, min = 0, max = 0;
	uint32_t nb = 0;

	for (uint32_t h = 0; h < r->plan->nb_hosts; h++) {
		double bits = 8.0 * (double)r->hosts[h].delivered_bytes;

		if (!t->is_dst[h])
			continue;
		min = nb == 0 || bits < min ? bits : min;
		max = bits > max ? bits : max;
		sum += bits;
		nb++;
	}
	add(l, "bps", value_ratio(sum, seconds), "goodput_bps");
	add(l, "bps", nb ? value_ratio(min, seconds) : none, "goodput_host_min_bps");
	add(l, "bps", nb ? value_ratio(sum / nb, seconds) : none, "goodput_host_mean_bps");
	add(l, "bps", nb ? value_ratio(max, seconds) : none, "goodput_host_max_bps");
}

/* The lowest of all workloads that have several flows. */
static struct value
worst_fairness(const struct result *r, const struct totals *t)
{
	struct value worst = value_none();

	for (uint32_t w = 0; w < r->nb_workloads; w++) {
		struct value v = totals_fairness(&t->shares[w]);

		if (v.kind == VALUE_REAL && t->shares[w].nb > 1 &&
		    (worst.kind == VALUE_NONE || v.real < worst.real))
			worst = v;
	}
	return worst;
}

/* ---- completion times ---- */

static void
add_fct(struct metric_list *l, const char *prefix, const struct spread *s)
{
	add(l, "ns", s->nb ? value_real(s->mean) : none, "%sfct_mean_ns", prefix);
	add(l, "ns", s->nb ? value_real(s->p50) : none, "%sfct_p50_ns", prefix);
	add(l, "ns", s->nb ? value_real(s->p99) : none, "%sfct_p99_ns", prefix);
	add(l, "ns", s->nb ? value_real(s->p999) : none, "%sfct_p999_ns", prefix);
}

static void
add_slowdown(struct metric_list *l, const char *prefix, const struct spread *s)
{
	add(l, "1", s->nb ? value_real(s->p50) : none, "%sslowdown_p50", prefix);
	add(l, "1", s->nb ? value_real(s->p99) : none, "%sslowdown_p99", prefix);
}

static void
add_times(struct metric_list *l, const char *prefix, struct done_flows *done, uint32_t first,
          uint32_t end)
{
	struct spread fct = done_flows_fct(done, first, end);
	struct spread slowdown = done_flows_slowdown(done, first, end);

	add_fct(l, prefix, &fct);
	add_slowdown(l, prefix, &slowdown);
}

static void
add_sizes(struct metric_list *l, struct done_flows *done)
{
	uint32_t first = 0;

	for (uint32_t c = 0; c < SIZE_CLASSES; c++) {
		uint32_t end = done_flows_end(done, c);
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "%s_", size_classes[c].key);
		add(l, "1", value_count(end - first), "%sflows_done", prefix);
		add_times(l, prefix, done, first, end);
		first = end;
	}
}

/* ---- the rest ---- */

static void
add_run(struct metric_list *l, const struct result *r, const struct totals *t)
{
	add_count(l, "1", r->seed, "seed");
	add(l, "ns", value_real((double)r->end_ps / PS_PER_NS), "virtual_time_ns");
	add_count(l, "1", r->violation.rule != NULL, "violations");
	add_count(l, "1", r->nb_flows, "flows");
	add_count(l, "1", t->flows_done, "flows_done");
	add_count(l, "1", t->flows_failed, "flows_failed");
	add_count(l, "1", t->qps, "qps");
	add_count(l, "1", t->qps_failed, "qps_failed");
	add_count(l, "pkt", r->data_pkts, "data_pkts");
	add_count(l, "1", r->nb_events, "events");
}

static void
add_fabric(struct metric_list *l, const struct result *r, const struct totals *t)
{
	add(l, "B", totals_queue(r, t, 500), "queue_p50_bytes");
	add(l, "B", totals_queue(r, t, 990), "queue_p99_bytes");
	add_count(l, "B", t->queue_max_bytes, "queue_max_bytes");
	add_count(l, "B", t->buffer_max_bytes, "buffer_max_bytes");
	add_count(l, "pkt", t->drops_switch, "drops_switch_pkts");
	add_count(l, "pkt", t->drops_link, "drops_link_pkts");
	add_count(l, "pkt", t->drops_nic, "drops_nic_pkts");
	add_count(l, "pkt", t->trimmed, "trimmed_pkts");
	add_count(l, "pkt", t->marked, "marked_pkts");
	add_count(l, "1", t->pauses, "pauses");
	add_count(l, "ns", t->paused_us * 1000, "paused_ns");
}

static void
add_hosts(struct metric_list *l, const struct totals *t)
{
	const double sent = (double)t->tx_data_pkts;

	add_count(l, "pkt", t->tx_data_pkts, "tx_data_pkts");
	add_count(l, "pkt", t->retransmitted, "retransmitted_pkts");
	add(l, "1", value_ratio((double)t->retransmitted, sent), "retransmitted_share");
	add_count(l, "pkt", t->spurious, "spurious_pkts");
	add(l, "1", value_ratio((double)t->spurious, sent), "spurious_share");
	add_count(l, "1", t->timeouts, "timeouts");
	add_count(l, "1", t->naks, "naks");
	add_count(l, "1", t->rnr_naks, "rnr_naks");
	add_count(l, "1", t->cnps, "cnps");
}

static void
add_workloads(struct metric_list *l, const struct result *r, const struct totals *t)
{
	for (uint32_t i = 0; i < r->nb_workloads; i++) {
		const struct workload_result *w = &r->workloads[i];
		const double done_ns = (double)w->done_ps / PS_PER_NS;

		add(l, "1", value_count(w->nb_flows), "%s.flows", w->name);
		add(l, "1", value_count(w->nb_done), "%s.flows_done", w->name);
		add(l, "1", value_count(w->nb_failed), "%s.flows_failed", w->name);
		add(l, "1", value_count(w->nb_rounds), "%s.rounds", w->name);
		add(l, "ns", w->done_ps ? value_real(done_ns) : none, "%s.done_ns", w->name);
		add(l, "1", totals_fairness(&t->shares[i]), "%s.fairness", w->name);
	}
}

int
summary_create(struct summary *summary, const struct result *r)
{
	struct metric_list l = {summary, METRICS_FIXED + METRICS_PER_WORKLOAD * r->nb_workloads};
	struct done_flows done = {0};
	struct totals totals = {0};
	int err = 0;

	*summary = (struct summary){.metrics = calloc(l.room, sizeof(*summary->metrics))};
	if (!summary->metrics || totals_create(&totals, r) || done_flows_create(&done, r)) {
		summary_free(summary);
		err = -ENOMEM;
		goto out;
	}
	add_run(&l, r, &totals);
	add_goodput(&l, r, &totals);
	add(&l, "1", worst_fairness(r, &totals), "fairness");
	add_times(&l, "", &done, 0, done.nb);
	add_sizes(&l, &done);
	add_fabric(&l, r, &totals);
	add_hosts(&l, &totals);
	add_workloads(&l, r, &totals);
out:
	totals_free(&totals);
	done_flows_free(&done);
	return err;
}

void
summary_free(struct summary *summary)
{
	free(summary->metrics);
	*summary = (struct summary){0};
}

struct value
summary_value(const struct summary *summary, const char *name)
{
	for (uint32_t i = 0; i < summary->nb; i++) {
		if (strcmp(summary->metrics[i].name, name) == 0)
			return summary->metrics[i].value;
	}
	return value_none();
}

const char *
summary_scenario(const struct result *result)
{
	const char *slash = result->scenario ? strrchr(result->scenario, '/') : NULL;

	return slash ? slash + 1 : result->scenario ? result->scenario : "-";
}
