/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "bounds.h"
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

void
scenario_doubts(struct conf_reader *r)
{
	const struct conf *c = r->conf;
	struct switch_port_params ports[PLAN_PORTS_MAX];
	bool told_headroom = false, told_marks = false;

	tell_topology(r);
	if (c->s->plan.nb_switches > 0)
		tell_limits(r);
	for (uint32_t i = 0; c->sw.lossless && i < c->s->plan.nb_switches; i++) {
		lab_switch_ports(&c->s->conf, i, ports);
		told_headroom = told_headroom || tell_headroom(r, i, ports);
		told_marks = told_marks || tell_marks(r, i, ports);
		if (told_headroom && told_marks)
			break;
	}
}
