/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "bind.h"
#include "bounds.h"
#include "conf_engine.h"
#include "flow.h"
#include "hdr.h"
#include "scenario_read.h"

/* What of a fabric is allowed and hardly meant; each is told of the first switch where it is so. */

static uint32_t
frame_bytes(const struct scenario *s)
{
	return s->conf.host.ip_mtu_bytes + ETH_LEN;
}

/* Whether some port's headroom is too small, which is told. */
static bool
tell_headroom(struct conf_reader *r, uint32_t sw, const struct switch_port_params *ports)
{
	const struct conf *c = r->conf;
	const struct plan_switch *p = &c->s->plan.switches[sw];
	uint32_t line = conf_line_of(r, &c->port, "headroom");

	for (uint32_t i = 0; i < p->nb_ports; i++) {
		uint64_t need = headroom_need_bytes(ports[i].rate_bps, ports[i].delay_ns,
		                                    frame_bytes(c->s));

		if (ports[i].headroom_bytes >= need)
			continue;
		conf_warning(r, line ? line : c->lossless_line,
		             "[port] headroom = %" PRIu64
		             ", and two delays of the link at port %u of %s and two frames take "
		             "%" PRIu64 ": lossless classes may lose frames",
		             ports[i].headroom_bytes, i, p->name, need);
		return true;
	}
	return false;
}

/* Of lossless classes: whether pauses may come before marks, or instead of them; which is told. */
static bool
tell_marks(struct conf_reader *r, uint32_t sw, const struct switch_port_params *ports)
{
	const struct plan_switch *p = &r->conf->s->plan.switches[sw];
	struct switch_conf fabric = r->conf->sw;

	fabric.nb_ports = p->nb_ports;
	fabric.ports = ports;
	for (uint32_t i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &fabric.queues[i];
		uint64_t from_bytes;

		switch (mark_doubt(&fabric, i, &from_bytes)) {
		case MARKS_FIRST:
			break;
		case MARKS_LATE:
			conf_warning(r, scenario_queue_line(r, i, "ecn_kmin"),
			             "queue %u marks above ecn_kmin = %" PRIu64
			             ", and at %s its senders may be paused from %" PRIu64
			             " bytes on: for marks to come first, ecn_kmin must be lower, "
			             "the buffer larger or beta_dt smaller",
			             i, q->kmin_bytes, p->name, from_bytes);
			return true;
		case MARKS_IN_PART:
			conf_warning(r, scenario_queue_line(r, i, "ecn_kmax"),
			             "queue %u never reaches ecn_kmax = %" PRIu64
			             ": at %s all its senders are paused at %" PRIu64
			             " bytes; a lower ecn_kmax, a larger buffer or a smaller "
			             "beta_dt, please",
			             i, q->kmax_bytes, p->name, from_bytes);
			return true;
		}
	}
	return false;
}

static void
tell_limits(struct conf_reader *r)
{
	const struct conf *c = r->conf;

	for (uint32_t i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &c->sw.queues[i];
		uint32_t line = scenario_queue_line(r, i, "limit");

		if (c->sw.lossless >> i & 1) {
			if (conf_line_of(r, q, "limit"))
				conf_warning(r, line,
				             "[queue %u]: limit has no effect on a lossless class: "
				             "what bounds it is beta_dt and headroom of [port]",
				             i);
			continue;
		}
		if (q->limit_bytes >= frame_bytes(c->s) || i == c->sw.trim_queue)
			continue;
		conf_warning(r, line,
		             "queue %u: limit = %" PRIu64
		             " is less than a frame of mtu = %u, which is %u: a longer one than "
		             "limit never passes",
		             i, q->limit_bytes, c->s->conf.host.ip_mtu_bytes, frame_bytes(c->s));
		return;
	}
}

/* Numbers that the kind does not look at. */
static void
tell_topology(struct conf_reader *r)
{
	const struct conf *c = r->conf;

	for (const struct param_desc *d = plan_param_descs; d->name; d++) {
		uint32_t line = conf_line_of(r, &c->topology, d->name);

		if (line && !plan_kind_uses(c->kind, d->name))
			conf_warning(r, line, "[topology] %s has no effect with kind = %s", d->name,
			             plan_kind_names[c->kind]);
	}
}

/* ---- hosts and fabric ---- */

/* The class of what hosts send; they send no VLAN tags. */
static uint32_t
host_class(const struct conf *c)
{
	return c->sw.trust == TRUST_DSCP ? c->sw.class_of_dscp[c->s->conf.host.traffic_class >> 2]
	                                 : c->sw.class_of_pcp[0];
}

/* Pauses that never come. */
static void
tell_classes(struct conf_reader *r)
{
	const struct conf *c = r->conf;
	uint32_t lossless, dscp = 0;

	if (!c->sw.lossless || c->sw.lossless >> host_class(c) & 1)
		return;
	lossless = (uint32_t)__builtin_ctz(c->sw.lossless);
	while (dscp < 64 && c->sw.class_of_dscp[dscp] != lossless)
		dscp++;
	if (c->sw.trust == TRUST_PCP)
		conf_warning(r, c->lossless_line,
		             "no host sends class %u: hosts send no VLAN tags, so all of theirs "
		             "is of class %u with trust = pcp; trust = dscp, please",
		             lossless, host_class(c));
	else if (dscp == 64)
		conf_warning(r, c->lossless_line,
		             "no host sends class %u, which no DSCP has in dscp_map", lossless);
	else
		conf_warning(r, c->lossless_line,
		             "no host sends class %u: host.traffic_class = %u would", lossless,
		             dscp << 2);
}

static void
tell_order(struct conf_reader *r)
{
	const struct conf *c = r->conf;

	if (scenario_has_one_path(&c->s->plan) || c->engines.set.rel != reliability_find("gbn") ||
	    !conf_lb_mixes(c->sw.lb, c->sw.lb_params))
		return;
	conf_warning(r, c->switch_lb_line,
	             "[switch]: with lb = %s packets of a flow overtake each other, and gbn, the "
	             "reliability of hosts, repeats all behind a gap; flowlet or adaptive, each "
	             "with a gap, keeps their order",
	             c->sw.lb->info.name);
}

/* Where the window, or what makes it too small, is said. */
static uint32_t
window_line(const struct conf_reader *r)
{
	static const char *const of_host[] = {"window", "path_mtu"};
	static const char *const of_topology[] = {"delay", "core_delay", "delay2",
	                                          "rate",  "core_rate",  "rate2"};
	const struct conf *c = r->conf;
	uint32_t line = 0;

	for (size_t i = 0; !line && i < sizeof(of_host) / sizeof(of_host[0]); i++)
		line = conf_line_of(r, &c->s->conf.host, of_host[i]);
	for (size_t i = 0; !line && i < sizeof(of_topology) / sizeof(of_topology[0]); i++)
		line = conf_line_of(r, &c->topology, of_topology[i]);
	return line ? line : c->topology_line;
}

/* Of a flow alone on the longest path: whether its link waits for acknowledgements. */
static void
tell_window(struct conf_reader *r)
{
	const struct conf *c = r->conf;
	const struct lab_host_params *host = &c->s->conf.host;
	const struct plan *plan = &c->s->plan;
	const uint32_t frame = PLAN_DATA_BYTES - 1024 + host->path_mtu_bytes;
	uint64_t rate_bps = UINT64_MAX, rtt_ps, window;
	double bdp;

	for (uint32_t i = 0; i < plan->nb_links; i++)
		if (plan->links[i].rate_bps < rate_bps)
			rate_bps = plan->links[i].rate_bps;
	rtt_ps = plan_rtt_ps(plan, 0, plan->nb_hosts - 1, frame, PLAN_ACK_BYTES);
	bdp = (double)rate_bps / 8 * ((double)rtt_ps / PS_PER_S);
	window = (uint64_t)(bdp / frame) + 1;
	if (host->window_pkts >= window)
		return;
	conf_warning(r, window_line(r),
	             "[host] window = %u of path_mtu = %u: %" PRIu64
	             " bytes of frames, and the longest path, empty, holds %.0f in a round trip: "
	             "a lone flow does not fill its link; window = %" PRIu64 " would do",
	             host->window_pkts, host->path_mtu_bytes, (uint64_t)host->window_pkts * frame,
	             bdp, window);
}

void
scenario_doubts(struct conf_reader *r)
{
	const struct conf *c = r->conf;
	struct switch_port_params ports[PLAN_PORTS_MAX];
	bool told_headroom = false, told_marks = false;

	tell_topology(r);
	if (c->s->plan.nb_switches > 0) {
		tell_limits(r);
		tell_classes(r);
		tell_order(r);
	}
	if (c->has_plan)
		tell_window(r);
	for (uint32_t i = 0; c->sw.lossless && i < c->s->plan.nb_switches; i++) {
		lab_switch_ports(&c->s->conf, i, ports);
		told_headroom = told_headroom || tell_headroom(r, i, ports);
		told_marks = told_marks || tell_marks(r, i, ports);
		if (told_headroom && told_marks)
			break;
	}
}
