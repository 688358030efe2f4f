/* SPDX-License-Identifier: BSD-3-Clause */
#include "sheets.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "stat.h"
#include "totals.h"

/* ---- cells ---- */

static void
put(struct row *row, const char *prefix, const char *name, struct value value)
{
	struct cell *c = &row->cells[row->nb++];
	int len;

	assert(row->nb <= ROW_CELLS_MAX);
	len = snprintf(c->name, sizeof(c->name), "%s%s", prefix, name);
	assert(len < CELL_NAME_MAX);
	c->value = value;
}

static void
put_count(struct row *row, const char *name, uint64_t count)
{
	put(row, "", name, value_count(count));
}

static void
put_word(struct row *row, const char *name, const char *word)
{
	put(row, "", name, value_word(word));
}

static void
put_stats(struct row *row, const struct stat_desc *descs, const void *state)
{
	STAT_FOREACH (d, descs)
		put_count(row, d->name, stat_read(d, state));
}

static void
put_node(struct row *row, const char *name, const struct result *r, uint32_t node, int which)
{
	put_word(row, name, plan_node_name(r->plan, node, row->names[which]));
}

/* ---- flows and workloads ---- */

static const char *const status_names[] = {
	[FLOW_RUNS] = "runs", [FLOW_DONE] = "done", [FLOW_FAILED] = "failed"};

static uint64_t
nb_flows(const struct result *r)
{
	return r->nb_flows;
}

static void
fill_flow(const struct result *r, uint64_t i, struct row *row)
{
	const struct flow *f = &r->flows[i];
	const bool is_done = f->status == FLOW_DONE;
	const double fct_ps = is_done ? (double)(f->end_ps - f->start_ps) : 0;

	put_count(row, "flow", i);
	put_word(row, "workload", r->workloads[f->conf.workload].name);
	put_node(row, "src", r, f->conf.src, 0);
	put_node(row, "dst", r, f->conf.dst, 1);
	put_word(row, "verb", flow_verb_names[f->conf.verb]);
	put(row, "", "qp", f->conf.qp == FLOW_QP_FRESH ? value_none() : value_count(f->conf.qp));
	put_count(row, "bytes", f->conf.bytes);
	put_word(row, "status", status_names[f->status]);
	put(row, "", "reason", f->status == FLOW_FAILED ? value_count(f->why) : value_none());
	put_count(row, "delivered_bytes", f->delivered_bytes);
	put_count(row, "start_ps", f->start_ps);
	put(row, "", "delivered_ps", value_time(f->delivered_ps));
	put(row, "", "end_ps", value_time(f->end_ps));
	put_count(row, "ideal_ps", f->ideal_ps);
	put(row, "", "slowdown", is_done ? value_ratio(fct_ps, (double)f->ideal_ps) : value_none());
}

static uint64_t
nb_workloads(const struct result *r)
{
	return r->nb_workloads;
}

static void
fill_workload(const struct result *r, uint64_t i, struct row *row)
{
	const struct workload_result *w = &r->workloads[i];

	put_word(row, "workload", w->name);
	put_word(row, "kind", w->kind);
	put_count(row, "flows", w->nb_flows);
	put_count(row, "flows_done", w->nb_done);
	put_count(row, "flows_failed", w->nb_failed);
	put_count(row, "rounds", w->nb_rounds);
	put(row, "", "done_ps", w->done_ps ? value_count(w->done_ps) : value_none());
}

/* ---- nodes ---- */

static uint64_t
nb_hosts(const struct result *r)
{
	return r->plan->nb_hosts;
}

static void
fill_host(const struct result *r, uint64_t i, struct row *row)
{
	const struct host_result *h = &r->hosts[i];

	put_node(row, "host", r, (uint32_t)i, 0);
	put_count(row, "tx_data_pkts", h->tx_data_pkts);
	put_count(row, "tx_data_bytes", h->tx_data_bytes);
	put_count(row, "rx_data_pkts", h->rx_data_pkts);
	put_count(row, "delivered_pkts", h->delivered_pkts);
	put_count(row, "delivered_bytes", h->delivered_bytes);
	put_count(row, "retransmitted_pkts", h->retransmitted_pkts);
	put_count(row, "spurious_pkts", h->spurious_pkts);
	put_count(row, "inflight_max_pkts", h->inflight_max_pkts);
	put_count(row, "qps", h->nb_qps);
	put_count(row, "qps_failed", h->nb_failed_qps);
	put_stats(row, nic_stat_descs, h->nic);
	for (uint32_t e = 0; e < r->nb_engine_stats; e++) {
		uint32_t nb = 0;

		STAT_FOREACH (d, r->engine_stats[e])
			put_count(row, d->name, h->engines->engine[e][nb++]);
	}
}

static uint64_t
nb_switches(const struct result *r)
{
	return r->plan->nb_switches;
}

static void
fill_switch(const struct result *r, uint64_t i, struct row *row)
{
	put_word(row, "switch", r->plan->switches[i].name);
	put_count(row, "stage", r->plan->switches[i].stage);
	put_count(row, "ports", r->plan->switches[i].nb_ports);
	put_stats(row, switch_stat_descs, &r->switches[i].stats);
}

static uint64_t
nb_ports(const struct result *r)
{
	uint64_t nb = 0;

	for (uint32_t s = 0; s < r->plan->nb_switches; s++)
		nb += r->plan->switches[s].nb_ports;
	return nb;
}

static void
fill_port(const struct result *r, uint64_t i, struct row *row)
{
	uint32_t s = 0;

	for (; i >= r->plan->switches[s].nb_ports; s++)
		i -= r->plan->switches[s].nb_ports;
	put_word(row, "switch", r->plan->switches[s].name);
	put_count(row, "port", i);
	put_stats(row, switch_port_stat_descs, r->switches[s].ports[i]);
}

/* ---- links: a row for each way ---- */

#define FAULT_TX "fault_tx_"

static uint64_t
nb_ways(const struct result *r)
{
	return 2 * (uint64_t)r->plan->nb_links;
}

static void
fill_way(const struct result *r, uint64_t i, struct row *row)
{
	const struct plan_link *link = &r->plan->links[i / 2];
	const uint32_t way = i % 2;
	const struct link_result *l = &r->links[i / 2][way];
	const char *faults = (const char *)&r->links[i / 2][0].faults;

	put_node(row, "from", r, link->end[way].node, 0);
	put_count(row, "from_port", link->end[way].port);
	put_node(row, "to", r, link->end[!way].node, 1);
	put_count(row, "to_port", link->end[!way].port);
	put_count(row, "rate_bps", link->rate_bps);
	put_count(row, "delay_ns", link->delay_ns);
	put_count(row, "pkts", l->pkts);
	put_count(row, "bytes", l->bytes);
	put_count(row, "busy_ps", l->busy_ps);
	put(row, "", "used_share", value_ratio((double)l->busy_ps, (double)r->end_ps));
	put_count(row, "lost_pkts", l->lost_pkts);
	put_count(row, "doubled_pkts", l->doubled_pkts);
	/* The way from the first end is what the table calls tx. */
	if (way == 1)
		faults += offsetof(struct fault_stats, rx) - offsetof(struct fault_stats, tx);
	STAT_FOREACH (d, fault_stat_descs) {
		if (strncmp(d->name, FAULT_TX, strlen(FAULT_TX)) == 0)
			put(row, "fault_", d->name + strlen(FAULT_TX),
			    value_count(stat_read(d, faults)));
	}
}

/* ---- samples ---- */

static uint64_t
nb_samples(const struct result *r)
{
	uint64_t nb = 0;

	for (uint32_t s = 0; s < r->nb_series; s++)
		nb += r->series[s].nb;
	return nb;
}

static void
fill_sample(const struct result *r, uint64_t i, struct row *row)
{
	const struct series *s = r->series;

	for (; i >= s->nb; s++)
		i -= s->nb;
	put_count(row, "time_ns", (i + 1) * r->sample_ps / PS_PER_NS);
	put_word(row, "probe", s->name);
	put_word(row, "unit", s->unit);
	put(row, "", "value", value_real(s->values[i]));
}

/* Up to the last bin that has any. */
static uint64_t
nb_bins(const struct result *r)
{
	uint32_t nb = QUEUE_BINS;

	if (!r->queues)
		return 0;
	while (nb > 0 && r->queues->count[nb - 1] == 0)
		nb--;
	return nb;
}

static void
fill_bin(const struct result *r, uint64_t i, struct row *row)
{
	put_count(row, "from_bytes", i == 0 ? 0 : queue_bin_max((uint32_t)i - 1) + 1);
	put_count(row, "to_bytes", queue_bin_max((uint32_t)i));
	put_count(row, "samples", r->queues->count[i]);
}

/* ---- a rule that was broken ---- */

static uint64_t
nb_violations(const struct result *r)
{
	return r->violation.rule != NULL;
}

static void
fill_violation(const struct result *r, uint64_t i, struct row *row)
{
	(void)i;
	put_word(row, "rule", r->violation.rule);
	put_count(row, "at_ps", r->violation.at_ps);
	put_word(row, "what", r->violation.what);
	put_word(row, "history", r->violation.history);
}

const struct sheet sheets[] = {
	{"workloads", nb_workloads, fill_workload},
	{"flows", nb_flows, fill_flow},
	{"hosts", nb_hosts, fill_host},
	{"switches", nb_switches, fill_switch},
	{"ports", nb_ports, fill_port},
	{"links", nb_ways, fill_way},
	{"series", nb_samples, fill_sample},
	{"queues", nb_bins, fill_bin},
	{"violations", nb_violations, fill_violation},
	{NULL},
};
