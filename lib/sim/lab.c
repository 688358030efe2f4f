/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "lab_impl.h"
#include "pool.h"

/* Headers of any packet, PFC and ARP frames; without payload. */
#define HEADERS_ROOM 256

/* ---- set-up ---- */

static void
on_turn(void *arg, bool is_up, uint64_t now_ps)
{
	struct net_way *way = arg;
	struct lab *lab = container_of(way->from->net, struct lab, net);
	uint32_t link = (uint32_t)((struct net_way(*)[2])way - lab->net.links);

	(void)now_ps;
	lab_reroute(lab, link, is_up);
	net_set_link(&lab->net, link, is_up);
}

static int
create_faults(struct lab *lab)
{
	for (uint32_t i = 0; lab->conf.faults && i < lab->net.nb_links; i++) {
		struct fault_params params = lab->conf.faults[i];
		struct net_way *ways = lab->net.links[i];
		struct sim_link *const links[] = {&ways[0].link, &ways[1].link};
		uint64_t seed = lab->conf.seed ^ params.seed << 32 ^ (uint64_t)i << 8 ^ 1;

		if (!fault_any(&params))
			continue;
		params.seed = prng_splitmix(&seed);
		if (link_faults_create(links, &params, &lab->net.clock, lab->pool, on_turn, ways) !=
		    0)
			return -ENOMEM;
	}
	return 0;
}

static void
fire_stop(struct event *e, uint64_t now_ps)
{
	struct lab *lab = container_of(e, struct lab, stop);

	if (lab->sample.is_armed && lab->sample.at_ps == now_ps)
		event_arm(&lab->net.clock, e, now_ps); /* the last sample first */
	else
		lab->is_over = true;
}

static int
set_up(struct lab *lab)
{
	const struct lab_conf *conf = &lab->conf;

	lab->link_results = calloc(conf->plan->nb_links, sizeof(*lab->link_results));
	lab->base_rtt_ns = conf->host.base_rtt_ns ? conf->host.base_rtt_ns : conf->plan->rtt_ns;
	lab->pool =
		sim_pool_create(HEADERS_ROOM + (conf->real_payload ? conf->host.ip_mtu_bytes : 0));
	if (!lab->link_results || !lab->pool || net_init(&lab->net, conf->plan) != 0 ||
	    lab_hosts_create(lab) != 0 || lab_switches_create(lab) != 0 ||
	    create_faults(lab) != 0 || flows_begin(lab) != 0 || probes_begin(lab) != 0)
		return -ENOMEM;
	lab->stop.fire = fire_stop;
	if (conf->duration_ns)
		event_arm(&lab->net.clock, &lab->stop, conf->duration_ns * PS_PER_NS);
	else
		lab_arm_stall(lab);
	for (uint32_t i = 0; i < lab->net.nb_hosts; i++)
		net_wake(&lab->net, i);
	return 0;
}

struct lab *
lab_create(const struct lab_conf *conf)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	if (!lab)
		return NULL;
	lab->conf = *conf;
	list_init(&lab->timers);
	if (set_up(lab) != 0) {
		lab_destroy(lab);
		return NULL;
	}
	return lab;
}

void
lab_destroy(struct lab *lab)
{
	if (!lab)
		return;
	probes_end(lab);
	conns_destroy(lab);
	flows_end(lab);
	net_fini(&lab->net);
	lab_switches_destroy(lab);
	lab_hosts_destroy(lab);
	assert(!lab->pool || sim_pool_nb_out(lab->pool) == 0);
	sim_pool_destroy(lab->pool);
	free(lab->violation.history);
	free(lab->link_results);
	free(lab);
}

/* ---- links ---- */

/* Of frames under way at the end, what is behind it does not count. */
static uint64_t
busy_until(const struct sim_link *link, uint64_t end_ps)
{
	return link->busy_ps - (link->free_ps > end_ps ? link->free_ps - end_ps : 0);
}

/* The time that links were taken is that until the end; all else goes on while the run drains. */
static void
sum_links(struct lab *lab)
{
	uint64_t now_ps = lab_now_ps(lab);

	for (uint32_t i = 0; i < lab->net.nb_links; i++) {
		const struct fault_stats *f = link_fault_stats(&lab->net.links[i][0].link);

		for (int w = 0; w < 2; w++) {
			const struct sim_link *link = &lab->net.links[i][w].link;
			struct link_result *r = &lab->link_results[i][w];
			const uint64_t *hits = !f ? NULL : w == 0 ? f->tx : f->rx;
			uint64_t busy_ps = lab->end_ps ? r->busy_ps : busy_until(link, now_ps);

			*r = (struct link_result){link->nb_pkts, link->nb_bytes, busy_ps};
			if (!hits)
				continue;
			r->lost_pkts = hits[FAULT_LOSS] + hits[FAULT_BURST] + hits[FAULT_PATTERN] +
			               hits[FAULT_QPN] + hits[FAULT_NO_TRIM] + hits[FAULT_DOWN];
			r->doubled_pkts = hits[FAULT_DUPLICATE];
			if (w == 0)
				r->faults = *f;
		}
	}
}

/* ---- loop ---- */

bool
lab_run(struct lab *lab, uint64_t nb_events)
{
	uint64_t end = lab->net.nb_fired + nb_events;

	if (lab->is_over)
		return false;
	while (lab->net.nb_fired < end && !lab->is_over)
		lab->is_over |= !net_step(&lab->net);
	if (!lab->is_over)
		return true;
	sum_links(lab);
	lab->end_ps = lab_now_ps(lab);
	if (lab->is_short_of_memory)
		watch_violated(lab, NULL, "there is memory for all",
		               "the system has none left: fewer hosts, QPs or flows would do");
	if (!lab->violation.rule && flows_are_done(lab))
		lab_drain(lab);
	watch_end(lab);
	return false;
}

/* Between windows: as far as any node or the clock has come. */
uint64_t
lab_now_ps(const struct lab *lab)
{
	uint64_t now_ps = lab->net.clock.now_ps;

	for (uint32_t i = 0; i < lab->net.nb_nodes; i++)
		if (lab->net.nodes[i].events.now_ps > now_ps)
			now_ps = lab->net.nodes[i].events.now_ps;
	return now_ps;
}

void
lab_progress(const struct lab *lab, uint64_t *nb_ended, uint64_t *nb_all)
{
	*nb_ended = lab->nb_ended;
	*nb_all = 0;
	for (uint32_t i = 0; i < lab->conf.nb_workloads; i++) {
		if (lab->conf.workloads[i].nb_all == 0) {
			*nb_all = 0;
			return;
		}
		*nb_all += lab->conf.workloads[i].nb_all;
	}
}

static void
tap(void *arg, struct net_node *node, uint16_t port, bool is_out, const struct pkt *p,
    uint64_t now_ps)
{
	struct lab *lab = arg;

	if (node->idx == lab->tap.node)
		lab->tap.frame(lab->tap.arg, node->idx, port, is_out, now_ps, p);
}

void
lab_set_tap(struct lab *lab, const struct lab_tap *t)
{
	lab->net.hooks.tap = t ? tap : NULL;
	if (t)
		lab->tap = *t;
}

/* ---- result ---- */

static void
sum_workloads(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->conf.nb_workloads; i++) {
		const struct workload *w = &lab->conf.workloads[i];
		struct workload_result *r = &lab->workload_results[i];

		r->name = w->name;
		r->kind = w->ops->name;
		r->nb_flows = w->nb_started;
		r->nb_rounds = w->nb_rounds;
		if (w->done_ps)
			r->done_ps = w->done_ps;
	}
}

const struct result *
lab_result(struct lab *lab)
{
	const struct plan *plan = lab->conf.plan;

	for (uint32_t i = 0; i < plan->nb_switches; i++) {
		switch_stats(lab->switches[i].sw, &lab->switch_results[i].stats);
		lab->switch_results[i].ports = lab->switches[i].ports;
	}
	for (uint32_t i = 0; i < plan->nb_hosts; i++)
		nic_engine_stats(lab->hosts[i].nic, &lab->hosts[i].engine_sums);
	sum_links(lab);
	sum_workloads(lab);
	lab->result = (struct result){
		.scenario = lab->conf.scenario,
		.seed = lab->conf.seed,
		.end_ps = lab->end_ps ? lab->end_ps : lab_now_ps(lab),
		.nb_events = lab->net.nb_fired,
		.data_pkts = lab->data_pkts,
		.plan = plan,
		.nb_flows = lab->nb_flows,
		.flows = lab->flows,
		.nb_workloads = lab->conf.nb_workloads,
		.workloads = lab->workload_results,
		.hosts = lab->host_results,
		.switches = lab->switch_results,
		.links = (const struct link_result(*)[2])lab->link_results,
		.sample_ps = lab->conf.sample_ns * PS_PER_NS,
		.nb_series = lab->conf.nb_probes,
		.series = lab->series,
		.queues = &lab->queues,
		.violation = lab->violation,
		.engine_stats = lab->hosts[0].nic->engine_stats,
		.nb_engine_stats = lab->hosts[0].nic->nb_engine_stats,
	};
	return &lab->result;
}
