/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "done.h"
#include "human.h"

/* Where a line's numbers begin. */
#define TITLE_COLUMNS 14

struct table {
	FILE *f;
	const struct summary *summary;
};

static void
title(const struct table *t, const char *text)
{
	fprintf(t->f, "%-*s", TITLE_COLUMNS, text);
}

/* "TEXT VALUE", with the metric's own unit. */
static void
say(const struct table *t, const char *before, const char *metric, const char *after)
{
	char text[HUMAN_TEXT_MAX];
	const char *unit = "1";

	for (uint32_t i = 0; i < t->summary->nb; i++) {
		if (strcmp(t->summary->metrics[i].name, metric) == 0)
			unit = t->summary->metrics[i].unit;
	}
	fprintf(t->f, "%s%s%s", before, human(summary_value(t->summary, metric), unit, text),
	        after);
}

static void
say_share(const struct table *t, const char *metric, const char *after)
{
	char text[HUMAN_TEXT_MAX];

	fprintf(t->f, " (%s)%s", human_share(summary_value(t->summary, metric), text), after);
}

/* "12 hosts" */
static void
say_number(FILE *f, const char *before, uint32_t n, const char *one, const char *several)
{
	fprintf(f, "%s%u %s", before, n, n == 1 ? one : several);
}

static void
print_run(const struct table *t, const struct result *r)
{
	const struct plan *p = r->plan;

	fprintf(t->f, "%s", summary_scenario(r));
	say(t, ", seed ", "seed", ": ");
	fprintf(t->f, "%s", plan_kind_names[p->kind]);
	say_number(t->f, ", ", p->nb_hosts, "host", "hosts");
	if (p->nb_switches)
		say_number(t->f, ", ", p->nb_switches, "switch", "switches");
	say(t, "; ", "virtual_time_ns", " of virtual time\n");
	if (r->violation.rule)
		fprintf(t->f, "VIOLATED      %s: %s\n", r->violation.rule, r->violation.what);
	fputs("\n", t->f);
}

static void
print_flows(const struct table *t)
{
	title(t, "flows");
	say(t, "", "flows_done", " done of ");
	say(t, "", "flows", "");
	say(t, ", ", "flows_failed", " failed; QPs ");
	say(t, "", "qps", "");
	say(t, ", ", "qps_failed", " failed\n");
	title(t, "goodput");
	say(t, "", "goodput_bps", "");
	say(t, "; by receiver: min ", "goodput_host_min_bps", "");
	say(t, ", mean ", "goodput_host_mean_bps", "");
	say(t, ", max ", "goodput_host_max_bps", "\n");
	title(t, "fairness");
	say(t, "", "fairness", " (Jain's index)\n\n");
}

/* ---- columns ---- */

static void
cell(const struct table *t, const char *prefix, const char *metric, const char *unit, int width)
{
	char name[METRIC_NAME_MAX], text[HUMAN_TEXT_MAX];
	int len = snprintf(name, sizeof(name), "%s%s", prefix, metric);

	assert(len > 0 && (size_t)len < sizeof(name));
	fprintf(t->f, " %*s", width, human(summary_value(t->summary, name), unit, text));
}

static void
print_times(const struct table *t, const char *name, const char *prefix)
{
	title(t, name);
	cell(t, prefix, "flows_done", "1", 9);
	cell(t, prefix, "fct_mean_ns", "ns", 11);
	cell(t, prefix, "fct_p50_ns", "ns", 11);
	cell(t, prefix, "fct_p99_ns", "ns", 11);
	cell(t, prefix, "fct_p999_ns", "ns", 11);
	cell(t, prefix, "slowdown_p50", "1", 12);
	cell(t, prefix, "slowdown_p99", "1", 8);
	fputs("\n", t->f);
}

static void
print_sizes(const struct table *t)
{
	fprintf(t->f, "%-*s %9s %11s %11s %11s %11s %12s %8s\n", TITLE_COLUMNS, "size of flows",
	        "done", "FCT mean", "p50", "p99", "p99.9", "slowdown p50", "p99");
	for (uint32_t c = 0; c < SIZE_CLASSES; c++) {
		char prefix[32], name[48];
		struct value nb;

		snprintf(prefix, sizeof(prefix), "%s_", size_classes[c].key);
		snprintf(name, sizeof(name), "%sflows_done", prefix);
		nb = summary_value(t->summary, name);
		if (nb.kind == VALUE_COUNT && nb.count > 0)
			print_times(t, size_classes[c].text, prefix);
	}
	print_times(t, "all", "");
	fputs("\n", t->f);
}

static void
print_fabric(const struct table *t)
{
	title(t, "queues");
	say(t, "p50 ", "queue_p50_bytes", "");
	say(t, ", p99 ", "queue_p99_bytes", "");
	say(t, ", max ", "queue_max_bytes", "");
	say(t, "; most of a switch's buffer ", "buffer_max_bytes", "\n");
	title(t, "drops");
	say(t, "by switches ", "drops_switch_pkts", "");
	say(t, ", by links ", "drops_link_pkts", "");
	say(t, ", by NICs ", "drops_nic_pkts", "; ");
	say(t, "trimmed ", "trimmed_pkts", "\n");
	title(t, "congestion");
	say(t, "marked ", "marked_pkts", "");
	say(t, ", CNPs ", "cnps", "");
	say(t, ", pauses ", "pauses", "");
	say(t, " (", "paused_ns", " in all)\n");
	title(t, "sent again");
	say(t, "", "retransmitted_pkts", "");
	say_share(t, "retransmitted_share", "");
	say(t, " of ", "tx_data_pkts", " data packets");
	say(t, "; spurious ", "spurious_pkts", "");
	say_share(t, "spurious_share", "\n");
	title(t, "");
	say(t, "timeouts ", "timeouts", "");
	say(t, ", NAKs ", "naks", "");
	say(t, ", RNR NAKs ", "rnr_naks", "\n\n");
}

static void
print_workloads(const struct table *t, const struct result *r)
{
	fprintf(t->f, "%-20s %-12s %9s %9s %9s %8s %12s %9s\n", "workload", "kind", "flows", "done",
	        "failed", "rounds", "complete at", "fairness");
	for (uint32_t i = 0; i < r->nb_workloads; i++) {
		char prefix[METRIC_NAME_MAX];

		snprintf(prefix, sizeof(prefix), "%s.", r->workloads[i].name);
		fprintf(t->f, "%-20.20s %-12s", r->workloads[i].name, r->workloads[i].kind);
		cell(t, prefix, "flows", "1", 9);
		cell(t, prefix, "flows_done", "1", 9);
		cell(t, prefix, "flows_failed", "1", 9);
		cell(t, prefix, "rounds", "1", 8);
		cell(t, prefix, "done_ns", "ns", 12);
		cell(t, prefix, "fairness", "1", 9);
		fputs("\n", t->f);
	}
	fputs("\n", t->f);
}

void
table_print(FILE *f, const struct result *r, const struct summary *summary)
{
	const struct table t = {f, summary};
	char pkts[HUMAN_TEXT_MAX], wall[HUMAN_TEXT_MAX], rate[HUMAN_TEXT_MAX];
	const double per_s = r->cpu_s > 0 ? (double)r->data_pkts / r->cpu_s : 0;

	print_run(&t, r);
	print_flows(&t);
	print_sizes(&t);
	print_fabric(&t);
	if (r->nb_workloads)
		print_workloads(&t, r);
	fprintf(f, "%s data packets delivered in %s; %s of them per second of CPU time\n",
	        human(value_count(r->data_pkts), "1", pkts),
	        human(value_real(r->wall_s * 1e9), "ns", wall),
	        per_s > 0 ? human(value_count((uint64_t)per_s), "1", rate) : "-");
}
