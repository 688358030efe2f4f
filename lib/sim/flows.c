/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lab_impl.h"

/* What workloads ask for: flows on connections, and to be told when. */

/* ---- flows ---- */

static bool
make_room(struct lab *lab)
{
	uint32_t max = lab->max_flows ? 2 * lab->max_flows : 1024;
	struct flow *flows;
	struct flow_links *links;

	if (lab->nb_flows < lab->max_flows)
		return true;
	flows = realloc(lab->flows, max * sizeof(*flows));
	if (flows)
		lab->flows = flows;
	links = realloc(lab->flow_links, max * sizeof(*links));
	if (links)
		lab->flow_links = links;
	if (!flows || !links)
		return false;
	lab->max_flows = max;
	return true;
}

/* Beside payload: headers and what a frame takes of a link. A RETH or padding is not in it. */
#define PKT_BYTES (PLAN_DATA_BYTES - 1024)

static uint64_t
ideal_ps(const struct lab *lab, const struct flow_conf *conf)
{
	const struct plan *plan = lab->conf.plan;
	uint32_t mtu = lab->conf.host.path_mtu_bytes;
	uint64_t nb_full = (conf->bytes - 1) / mtu;
	uint32_t last = (uint32_t)(conf->bytes - nb_full * mtu);

	return plan_ideal_ps(plan, conf->src, conf->dst, nb_full, PKT_BYTES + mtu,
	                     PKT_BYTES + last) +
	       plan_ideal_ps(plan, conf->dst, conf->src, 0, 0, PLAN_ACK_BYTES);
}

static void
append(struct lab *lab, struct conn *conn, uint32_t flow)
{
	lab->flow_links[flow] = (struct flow_links){FLOW_NONE, FLOW_NONE};
	if (conn->last_flow == FLOW_NONE) {
		conn->first_flow = flow;
		conn_set_busy(conn);
	} else {
		lab->flow_links[conn->last_flow].next = flow;
	}
	conn->last_flow = flow;
	if (conn->posting_flow == FLOW_NONE)
		conn->posting_flow = flow;
}

static struct conn *
conn_for(struct lab *lab, const struct flow_conf *conf)
{
	struct conn *conn = conn_find(lab, conf);

	return conn ? conn : conn_make(lab, conf);
}

static void
begin_flow(struct lab *lab, const struct flow_conf *conf)
{
	uint32_t idx = lab->nb_flows;
	struct conn *conn = make_room(lab) ? conn_for(lab, conf) : NULL;

	if (!conn) {
		lab_out_of_memory(lab);
		return;
	}
	lab->flows[idx] = (struct flow){
		.conf = *conf,
		.start_ps = net_now_ps(&lab->net),
		.delivered_ps = NEVER_PS,
		.end_ps = NEVER_PS,
		.ideal_ps = ideal_ps(lab, conf),
	};
	lab->nb_flows++;
	append(lab, conn, idx);
	conn_pump(conn);
}

/* Whether a flow can begin in the middle of a window: then only the running host takes part. */
static bool
is_at_home(const struct lab *lab, const struct flow_conf *conf)
{
	uint32_t requester = conf->verb == FLOW_READ ? conf->dst : conf->src;

	return !lab->net.running ||
	       (lab->net.running->idx == requester && conn_find(lab, conf) != NULL);
}

/* ---- timers ---- */

static void
begin(struct lab *lab, struct workload *w, uint64_t now_ps)
{
	lab->nb_begun++;
	if (w->ops->begin(w, now_ps) != 0)
		lab_out_of_memory(lab);
}

static void
fire_timer(struct event *e, uint64_t now_ps)
{
	struct lab_timer *timer = container_of(e, struct lab_timer, event), t = *timer;
	struct workload *w = t.of->workload;
	struct lab *lab = t.of->lab;

	list_del(&timer->link);
	free(timer);
	switch (t.kind) {
	case LAB_TIMER_BEGIN:
		begin(lab, w, now_ps);
		break;
	case LAB_TIMER_TELL:
		w->ops->on_time(w, t.tag, now_ps);
		break;
	case LAB_TIMER_FLOW:
		begin_flow(lab, &t.flow);
		break;
	}
	lab->is_over |= lab->conf.duration_ns == 0 && flows_are_done(lab);
}

static void
arm(const struct lab_workload *lw, uint64_t at_ps, const struct lab_timer *what)
{
	struct lab *lab = lw->lab;
	struct lab_timer *t = malloc(sizeof(*t));

	if (!t) {
		lab_out_of_memory(lab);
		return;
	}
	*t = *what;
	t->of = lw;
	t->event = (struct event){.fire = fire_timer};
	list_add_tail(&lab->timers, &t->link);
	event_arm(&lab->net.clock, &t->event, at_ps);
}

static void
free_timers(struct lab *lab)
{
	while (!list_is_empty(&lab->timers)) {
		struct lab_timer *t = container_of(lab->timers.next, struct lab_timer, link);

		list_del(&t->link);
		free(t);
	}
}

/*
 * What one host's application asks of another reaches it when the shortest link has carried it, as
 * soon as a message would.
 */
static void
start(void *arg, const struct flow_conf *asked)
{
	const struct lab_workload *lw = arg;
	struct workload *w = lw->workload;
	struct lab *lab = lw->lab;
	struct flow_conf conf = *asked;

	if (lab->is_over)
		return;
	conf.workload = w->index;
	conf.verb = w->verb;
	if (conf.msg_bytes == 0)
		conf.msg_bytes = w->params.msg_bytes;
	assert(conf.src != conf.dst && conf.bytes > 0);
	w->nb_started++;
	if (is_at_home(lab, &conf))
		begin_flow(lab, &conf);
	else
		arm(lw, net_now_ps(&lab->net) + lab->net.lookahead_ps,
		    &(struct lab_timer){.kind = LAB_TIMER_FLOW, .flow = conf});
}

void
flow_delivered(struct lab *lab, struct lab_host *host, uint32_t flow, uint64_t now_ps)
{
	lab->flows[flow].delivered_ps = now_ps;
	lab->flow_links[flow].next_delivered = FLOW_NONE;
	if (host->first_delivered == FLOW_NONE)
		host->first_delivered = flow;
	else
		lab->flow_links[host->last_delivered].next_delivered = flow;
	host->last_delivered = flow;
}

void
flows_tell_delivered(struct lab_host *host, uint64_t now_ps)
{
	struct lab *lab = host->lab;

	while (host->first_delivered != FLOW_NONE) {
		uint32_t i = host->first_delivered;
		struct flow flow = lab->flows[i]; /* the place may move */
		struct workload *w = &lab->conf.workloads[flow.conf.workload];

		host->first_delivered = lab->flow_links[i].next_delivered;
		if (w->ops->on_delivered && !lab->is_over)
			w->ops->on_delivered(w, &flow, now_ps);
	}
}

void
flow_ended(struct lab *lab, uint32_t idx, enum flow_status status, uint8_t why, uint64_t now_ps)
{
	struct flow *f = &lab->flows[idx], flow;
	struct workload *w = &lab->conf.workloads[f->conf.workload];
	struct workload_result *result = &lab->workload_results[w->index];

	f->status = (uint8_t)status;
	f->why = why;
	f->end_ps = now_ps;
	flow = *f;
	lab->nb_ended++;
	w->nb_ended++;
	if (now_ps > lab->workloads[w->index].last_end_ps)
		lab->workloads[w->index].last_end_ps = now_ps;
	result->nb_done += status == FLOW_DONE;
	result->nb_failed += status == FLOW_FAILED;
	if (w->ops->on_end && !lab->is_over)
		w->ops->on_end(w, &flow, now_ps);
	if (w->is_finite_done && w->nb_ended == w->nb_started)
		result->done_ps = lab->workloads[w->index].last_end_ps;
	lab->is_over |= lab->conf.duration_ns == 0 && flows_are_done(lab);
}

bool
flows_are_done(const struct lab *lab)
{
	if (lab->nb_begun < lab->conf.nb_workloads)
		return false;
	for (uint32_t i = 0; i < lab->conf.nb_workloads; i++) {
		const struct workload *w = &lab->conf.workloads[i];

		if (!w->is_finite_done || w->nb_ended != w->nb_started)
			return false;
	}
	return true;
}

/* ---- workloads ---- */

static void
at(void *arg, uint64_t at_ps, uint64_t tag)
{
	const struct lab_workload *lw = arg;
	const struct net *net = &lw->lab->net;
	uint64_t heard_ps = net_now_ps(net), soonest_ps;

	if (lw->last_end_ps > heard_ps)
		heard_ps = lw->last_end_ps; /* of a host whose turn in this window was before */
	soonest_ps = heard_ps + net->lookahead_ps;
	if (net->running && at_ps < soonest_ps)
		at_ps = soonest_ps;
	arm(lw, at_ps, &(struct lab_timer){.kind = LAB_TIMER_TELL, .tag = tag});
}

static int
prepare(struct lab *lab, uint32_t i)
{
	struct workload *w = &lab->conf.workloads[i];
	uint64_t seed = lab->conf.seed ^ (uint64_t)(i + 1) << 56;

	lab->workloads[i] = (struct lab_workload){.lab = lab, .workload = w};
	w->index = i;
	w->env = (struct workload_env){
		.nb_hosts = lab->net.nb_hosts,
		.rate_bps = lab->conf.plan->links[0].rate_bps,
		.start = start,
		.at = at,
		.arg = &lab->workloads[i],
	};
	w->nb_started = w->nb_ended = w->nb_all = 0;
	w->is_finite_done = false;
	w->done_ps = w->nb_rounds = 0;
	prng_seed(&w->prng, prng_splitmix(&seed));
	w->state = calloc(1, w->ops->state_size + 1);
	if (!w->state)
		return -ENOMEM;
	arm(&lab->workloads[i], w->params.start_ns * PS_PER_NS,
	    &(struct lab_timer){.kind = LAB_TIMER_BEGIN});
	return lab->is_short_of_memory ? -ENOMEM : 0;
}

int
flows_begin(struct lab *lab)
{
	lab->workload_results = calloc(lab->conf.nb_workloads + 1, sizeof(*lab->workload_results));
	lab->workloads = calloc(lab->conf.nb_workloads + 1, sizeof(*lab->workloads));
	if (!lab->workload_results || !lab->workloads)
		return -ENOMEM;
	for (uint32_t i = 0; i < lab->conf.nb_workloads; i++) {
		if (prepare(lab, i) != 0)
			return -ENOMEM;
	}
	return 0;
}

void
flows_end(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->conf.nb_workloads; i++) {
		struct workload *w = &lab->conf.workloads[i];

		if (w->ops->end && w->state)
			w->ops->end(w);
		free(w->state);
		w->state = NULL;
	}
	free_timers(lab);
	free(lab->workload_results);
	free(lab->workloads);
	free(lab->flows);
	free(lab->flow_links);
}
