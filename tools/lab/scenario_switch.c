/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "bind.h"
#include "bounds.h"
#include "hdr.h"
#include "scenario_read.h"
#include "weft_hdr.h"

/* The sections [switch], [queue N] and [port], which hold for all switches. */

/* ---- reading ---- */

#define MEMBER(name) offsetof(struct conf, name)

static const struct conf_key switch_keys[] = {
	{"lb", conf_read_engine, MEMBER(sw.lb), CONF_ENGINE_SWITCH_LB,
         .line_offset = MEMBER(switch_lb_line)},
	{"trust", conf_read_trust, MEMBER(sw.trust)},
	{"dscp_map", conf_read_class_map, MEMBER(sw.class_of_dscp), 63, .is_list = true},
	{"pcp_map", conf_read_class_map, MEMBER(sw.class_of_pcp), 7, .is_list = true},
	{"pfc", conf_read_lossless, MEMBER(sw.lossless), .is_list = true,
         .line_offset = MEMBER(lossless_line)},
	{"trim_queue", conf_read_trim_queue, MEMBER(sw.trim_queue),
         .line_offset = MEMBER(trim_line)},
	{"int", conf_read_yes_no, MEMBER(sw.has_int), .line_offset = MEMBER(int_line)},
	{NULL},
};

static void *
begin_switch(struct conf_reader *r, const char *title)
{
	struct conf *c = r->conf;

	(void)title;
	if (!scenario_once(r, &c->switch_line, "switch"))
		return NULL;
	conf_add_table(r, c->switch_descs, &c->sw.params);
	conf_add_table(r, switch_queue_descs, &c->queue_default);
	return c;
}

const struct conf_section scenario_switch_section = {"switch", NULL, switch_keys, begin_switch};

static const struct conf_key no_keys[] = {{NULL}};

static void *
begin_queue(struct conf_reader *r, const char *title)
{
	struct conf *c = r->conf;
	char header[16];
	uint8_t n;

	if (!conf_small(title, QUEUES_NB - 1, &n)) {
		conf_error(r, r->line, "[queue %s]: 0 to %d, please", title, QUEUES_NB - 1);
		return NULL;
	}
	snprintf(header, sizeof(header), "queue %u", n);
	if (!scenario_once(r, &c->queue_lines[n], header))
		return NULL;
	param_defaults(switch_queue_descs, &c->sw.queues[n]);
	conf_add_table(r, switch_queue_descs, &c->sw.queues[n]);
	return &c->sw.queues[n];
}

const struct conf_section scenario_queue_section = {"queue", "N", no_keys, begin_queue};

static void *
begin_port(struct conf_reader *r, const char *title)
{
	struct conf *c = r->conf;

	(void)title;
	if (!scenario_once(r, &c->port_line, "port"))
		return NULL;
	conf_add_table(r, c->port_descs, &c->port);
	return &c->port;
}

const struct conf_section scenario_port_section = {"port", NULL, no_keys, begin_port};

/* A table without some of its rows. */
static void
without(struct param_desc *out, size_t size, const struct param_desc *descs,
        const char *const *names)
{
	size_t n = 0;

	for (const struct param_desc *d = descs; d->name; d++) {
		const char *const *name = names;

		while (*name && strcmp(*name, d->name) != 0)
			name++;
		if (!*name && n + 1 < size)
			out[n++] = *d;
	}
	out[n].name = NULL;
}

void
scenario_switch_defaults(struct conf *c)
{
	/* From the run's seed, and from the links. */
	static const char *const of_run[] = {"seed", NULL}, *const of_link[] = {"rate", "delay",
	                                                                        NULL};
	const size_t size = sizeof(c->switch_descs) / sizeof(c->switch_descs[0]);

	without(c->switch_descs, size, switch_param_descs, of_run);
	without(c->port_descs, size, switch_port_descs, of_link);
	switch_conf_default(&c->sw);
	c->sw.lb = lb_find("ecmp", LB_SWITCH);
	param_defaults(switch_queue_descs, &c->queue_default);
	param_defaults(switch_port_descs, &c->port);
}

/* ---- what follows ---- */

/* Nodes that are all joined by one link less than there are nodes are a tree. */
bool
scenario_has_one_path(const struct plan *plan)
{
	return plan->nb_links + 1 == plan->nb_hosts + plan->nb_switches;
}

uint32_t
scenario_traits(const struct scenario *s)
{
	const struct switch_conf *sw = &s->conf.sw;
	uint32_t traits = scenario_has_one_path(&s->plan) ? TRAIT_FLOW_ECMP : 0;

	if (s->plan.nb_switches == 0)
		return traits;
	for (int i = 0; i < QUEUES_NB; i++)
		if (sw->queues[i].kmax_bytes != 0)
			traits |= TRAIT_ECN;
	if (sw->has_int)
		traits |= TRAIT_INT | TRAIT_TBO;
	if (sw->trim_queue != QUEUE_NONE)
		traits |= TRAIT_TRIM;
	if (sw->lb == lb_find("ecmp", LB_SWITCH))
		traits |= TRAIT_FLOW_ECMP;
	return traits;
}

uint32_t
scenario_queue_line(const struct conf_reader *r, uint32_t queue, const char *key)
{
	const struct conf *c = r->conf;
	uint32_t line = conf_line_of(r, &c->sw.queues[queue], key);

	if (!line)
		line = conf_line_of(r, &c->queue_default, key);
	if (!line)
		line = c->queue_lines[queue];
	return line ? line : c->switch_line;
}

/* What a [queue] does not say is as [switch] has it. */
static void
fill_queues(struct conf_reader *r)
{
	struct conf *c = r->conf;

	for (int i = 0; i < QUEUES_NB; i++)
		for (const struct param_desc *d = switch_queue_descs; d->name; d++)
			if (!conf_line_of(r, &c->sw.queues[i], d->name))
				param_copy(d, &c->sw.queues[i], &c->queue_default);
}

/*
 * The weight of headers, where none is said: what the switch with the most ports needs. Where none
 * is enough, data keep the share of one port, as at a weftd's switch.
 */
static void
weigh_headers(struct conf_reader *r)
{
	struct conf *c = r->conf;
	const uint32_t overhead = c->port.overhead_bytes;
	const uint32_t header = ETH_LEN + IPV6_LEN + WEFT_HEADER_ONLY_UDP_LEN + overhead;
	const uint8_t queue = c->sw.trim_queue;
	uint32_t nb_ports = 1;
	double w, others = 0;

	if (queue == QUEUE_NONE || conf_line_of(r, &c->sw.queues[queue], "weight"))
		return;
	for (uint32_t i = 0; i < c->s->plan.nb_switches; i++)
		if (c->s->plan.switches[i].nb_ports > nb_ports)
			nb_ports = c->s->plan.switches[i].nb_ports;
	for (int i = 0; i < QUEUES_NB; i++)
		others += i == queue ? 0 : c->sw.queues[i].weight;
	w = trim_weight(nb_ports, c->s->conf.host.path_mtu_bytes + header, header);
	if (isinf(w)) {
		conf_warning(r, c->trim_line,
		             "[switch]: no weight keeps all headers in an incast at %u ports: a "
		             "larger path_mtu or smaller switches, please, or [queue %u] weight",
		             nb_ports, queue);
		w = nb_ports - 1;
	}
	w *= others;
	c->sw.queues[queue].weight = w > 0 ? w : 1;
}

/* The line that gives a link its rate. */
static uint32_t
rate_line(const struct conf_reader *r, bool is_core)
{
	const struct conf *c = r->conf;
	uint32_t line = is_core ? conf_line_of(r, &c->topology, "core_rate") : 0;

	return line ? line : conf_line_of(r, &c->topology, "rate");
}

static void
tell_mistake(struct conf_reader *r, uint32_t sw, const struct switch_mistake *m)
{
	const struct conf *c = r->conf;
	const struct plan_switch *p = &c->s->plan.switches[sw];
	uint32_t line = 0;

	switch (m->part) {
	case SWITCH_WHOLE:
		line = strcmp(m->key, "trim_queue") == 0 ? c->trim_line
		                                         : conf_line_of(r, &c->sw.params, m->key);
		conf_error(r, line ? line : c->switch_line, "[switch], at %s with %u ports: %s",
		           p->name, p->nb_ports, m->why);
		break;
	case SWITCH_QUEUE:
		line = scenario_queue_line(r, m->index, m->key);
		if (c->queue_lines[m->index])
			conf_error(r, line, "[queue %u]: %s", m->index, m->why);
		else
			conf_error(r, line, "[switch]: %s", m->why);
		break;
	case SWITCH_PORT:
		line = rate_line(r, true);
		conf_error(r, line ? line : c->int_line, "[switch], port %u of %s: %s", m->index,
		           p->name, m->why);
		break;
	}
}

/* Whether it was told already, of another queue that has it from the switch, too. */
static bool
is_again(const struct conf *c, const struct switch_mistake *mistakes, uint32_t i)
{
	if (mistakes[i].part != SWITCH_QUEUE || c->queue_lines[mistakes[i].index])
		return false;
	for (uint32_t k = 0; k < i; k++)
		if (mistakes[k].part == SWITCH_QUEUE && !c->queue_lines[mistakes[k].index])
			return true;
	return false;
}

/* false: something is wrong, and told. */
static bool
check_switch(struct conf_reader *r, uint32_t sw)
{
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX];
	struct switch_port_params ports[PLAN_PORTS_MAX];
	struct switch_conf fabric = r->conf->sw;
	uint32_t n;

	fabric.nb_ports = r->conf->s->plan.switches[sw].nb_ports;
	fabric.ports = ports;
	lab_switch_ports(&r->conf->s->conf, sw, ports);
	n = switch_conf_check(&fabric, mistakes);
	for (uint32_t i = 0; i < n; i++)
		if (!is_again(r->conf, mistakes, i))
			tell_mistake(r, sw, &mistakes[i]);
	return n == 0;
}

/* Frames take no packets of a process here: bytes alone decide, unless the scenario says so. */
#define FRAME_MIN_BYTES 64

static void
count_frames(struct conf_reader *r, struct switch_params *params)
{
	if (!conf_line_of(r, params, "buffer_pkts"))
		params->buffer_pkts = (uint32_t)(params->buffer_bytes / FRAME_MIN_BYTES);
}

void
scenario_switch_finish(struct conf_reader *r)
{
	struct conf *c = r->conf;
	struct scenario *s = c->s;

	count_frames(r, &c->sw.params);
	fill_queues(r);
	weigh_headers(r);
	c->sw.lb_params = conf_engine_params(s->engines, s->nb_engines, &c->sw.lb->info);
	s->conf.sw = c->sw;
	s->conf.port = c->port;
	/* The first that is wrong; others are alike. */
	for (uint32_t i = 0; c->has_plan && i < s->plan.nb_switches; i++)
		if (!check_switch(r, i))
			return;
}
