/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_impl.h"
#include "nearest.h"
#include "units.h"

/* Series of numbers over time, and how often queues had which length. */

struct probe {
	const struct probe_kind *kind;
	uint32_t node; /* UINT32_MAX = of all */
	uint16_t port;
	uint64_t last; /* of kinds that count */
};

/* What a name may be of. */
enum probe_of { PROBE_ALL = 1, PROBE_HOST = 2, PROBE_SWITCH = 4, PROBE_PORT = 8 };

struct probe_kind {
	const char *name;
	const char *unit;
	uint32_t of;  /* enum probe_of */
	bool is_rate; /* what it counts in a sample's time, in bits per second */
	uint64_t (*read)(const struct lab *lab, const struct probe *p);
};

static uint64_t
read_goodput(const struct lab *lab, const struct probe *p)
{
	uint64_t sum = 0;

	if (p->node != UINT32_MAX)
		return lab->hosts[p->node].result->delivered_bytes;
	for (uint32_t i = 0; i < lab->net.nb_hosts; i++)
		sum += lab->hosts[i].result->delivered_bytes;
	return sum;
}

static uint64_t
buffer_of(const struct lab *lab, uint32_t sw)
{
	struct switch_stats stats;

	switch_stats(lab->switches[sw].sw, &stats);
	return stats.buffer_used_bytes;
}

static uint64_t
read_buffer(const struct lab *lab, const struct probe *p)
{
	uint64_t sum = 0;

	if (p->node != UINT32_MAX)
		return buffer_of(lab, p->node - lab->net.nb_hosts);
	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++)
		sum += buffer_of(lab, i);
	return sum;
}

static uint64_t
queue_of(const struct lab *lab, uint32_t sw, uint16_t port)
{
	struct switch_port_levels levels;
	uint64_t sum = 0;

	switch_port_levels(lab->switches[sw].sw, port, &levels);
	for (int i = 0; i < QUEUES_NB; i++)
		sum += levels.q_bytes[i];
	return sum;
}

static uint64_t
read_queue(const struct lab *lab, const struct probe *p)
{
	return queue_of(lab, p->node - lab->net.nb_hosts, p->port);
}

static uint64_t
read_rate(const struct lab *lab, const struct probe *p)
{
	return lab->net.nodes[p->node].out[0]->link.nb_bytes;
}

static uint64_t
read_drops(const struct lab *lab, const struct probe *p)
{
	uint64_t sum = 0;

	(void)p;
	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++) {
		for (uint16_t port = 0; port < lab->conf.plan->switches[i].nb_ports; port++) {
			const struct switch_port_stats *s = lab->switches[i].ports[port];

			for (int q = 0; q < QUEUES_NB; q++)
				sum += s->q[q].full + s->q[q].headroom;
			sum += s->tx_full_pkts;
		}
	}
	return sum;
}

static uint64_t
paused_of(const struct lab *lab, uint32_t node)
{
	const struct plan *plan = lab->conf.plan;
	uint64_t sum = 0;

	if (node < plan->nb_hosts)
		return (uint64_t)__builtin_popcount(lab->hosts[node].nic->pause.held);
	node -= plan->nb_hosts;
	for (uint16_t port = 0; port < plan->switches[node].nb_ports; port++)
		sum += switch_nb_paused(lab->switches[node].sw, port);
	return sum;
}

static uint64_t
read_paused(const struct lab *lab, const struct probe *p)
{
	uint64_t sum = 0;

	if (p->node != UINT32_MAX)
		return paused_of(lab, p->node);
	for (uint32_t i = 0; i < lab->net.nb_nodes; i++)
		sum += paused_of(lab, i);
	return sum;
}

static uint64_t
read_inflight(const struct lab *lab, const struct probe *p)
{
	uint64_t sum = 0;

	(void)p;
	for (const struct conn *c = lab->conns; c; c = c->next)
		for (int i = 0; i < 2; i++)
			sum += c->stream[i].next_psn - c->stream[i].una_psn;
	return sum;
}

static const struct probe_kind kinds[] = {
	{"goodput", "bps", PROBE_ALL | PROBE_HOST, true, read_goodput},
	{"buffer", "B", PROBE_ALL | PROBE_SWITCH, false, read_buffer},
	{"queue", "B", PROBE_PORT, false, read_queue},
	{"rate", "bps", PROBE_HOST, true, read_rate},
	{"drops", "pkt", PROBE_ALL, false, read_drops},
	{"paused", "1", PROBE_ALL | PROBE_HOST | PROBE_SWITCH, false, read_paused},
	{"inflight", "pkt", PROBE_ALL, false, read_inflight},
};
#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- names ---- */

static const struct probe_kind *
find_kind(const char *name, char *why, size_t size)
{
	const char *names[NB_KINDS];

	for (size_t i = 0; i < NB_KINDS; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
		names[i] = kinds[i].name;
	}
	nearest_list(name, "probe", names, NB_KINDS, why, size);
	return NULL;
}

/* KIND, KIND:NODE or KIND:NODE:PORT. */
static int
parse(const struct plan *plan, const char *text, struct probe *p, char *why, size_t size)
{
	char copy[64], *rest = NULL, *kind, *node, *port, *end;
	unsigned long number = 0;
	uint32_t of = PROBE_ALL;

	*p = (struct probe){.node = UINT32_MAX};
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy)) {
		snprintf(why, size, "the name of a probe has at most %zu characters",
		         sizeof(copy) - 1);
		return -EINVAL;
	}
	kind = strtok_r(copy, ":", &rest);
	node = strtok_r(NULL, ":", &rest);
	port = strtok_r(NULL, ":", &rest);
	p->kind = find_kind(kind ? kind : "", why, size);
	if (!p->kind)
		return -EINVAL;
	if (node) {
		p->node = plan_find(plan, node);
		if (p->node == UINT32_MAX) {
			snprintf(why, size, "probe '%s': there is no node '%s'", text, node);
			return -EINVAL;
		}
		of = p->node < plan->nb_hosts ? PROBE_HOST : port ? PROBE_PORT : PROBE_SWITCH;
	}
	if (port) {
		number = strtoul(port, &end, 10);
		if (*end || p->node < plan->nb_hosts ||
		    number >= plan->switches[p->node - plan->nb_hosts].nb_ports) {
			snprintf(why, size, "probe '%s': %s has no port '%s'", text, node, port);
			return -EINVAL;
		}
		p->port = (uint16_t)number;
	}
	if (p->kind->of & of)
		return 0;
	snprintf(why, size, "probe '%s': %s is of%s%s%s%s", text, kind,
	         p->kind->of & PROBE_ALL ? " the whole," : "",
	         p->kind->of & PROBE_HOST ? " a host (goodput:h0)," : "",
	         p->kind->of & PROBE_SWITCH ? " a switch (buffer:NODE)," : "",
	         p->kind->of & PROBE_PORT ? " a port of a switch (queue:NODE:PORT)," : "");
	why[strlen(why) - 1] = '\0';
	return -EINVAL;
}

int
lab_probe_check(const struct plan *plan, const char *probe, char *why, size_t size)
{
	struct probe p;

	return parse(plan, probe, &p, why, size);
}

/* ---- samples ---- */

static void
sample_queues(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->conf.plan->nb_switches; i++) {
		for (uint16_t port = 0; port < lab->conf.plan->switches[i].nb_ports; port++) {
			uint64_t bytes;

			if (lab->switches[i].ports[port]->tx_packets == 0)
				continue;
			bytes = queue_of(lab, i, port);
			lab->queues.count[bytes ? 64 - __builtin_clzll(bytes) : 0]++;
			lab->queues.nb++;
		}
	}
}

static double
next_value(struct lab *lab, struct probe *p)
{
	uint64_t value = p->kind->read(lab, p), was = p->last;

	p->last = value;
	if (!p->kind->is_rate)
		return (double)value;
	return (double)(value - was) * 8e9 / (double)lab->conf.sample_ns;
}

static bool
make_room(struct lab *lab)
{
	uint32_t max = lab->series_max ? 2 * lab->series_max : 256;

	if (lab->nb_samples < lab->series_max)
		return true;
	if (max <= lab->series_max)
		return false; /* of 2^31 samples */
	for (uint32_t i = 0; i < lab->conf.nb_probes; i++) {
		double *values = realloc(lab->series[i].values, max * sizeof(*values));

		if (!values)
			return false;
		lab->series[i].values = values;
	}
	lab->series_max = max;
	return true;
}

static void
fire_sample(struct event *e, uint64_t now_ps)
{
	struct lab *lab = container_of(e, struct lab, sample);

	if (!make_room(lab)) {
		lab_out_of_memory(lab);
		return;
	}
	for (uint32_t i = 0; i < lab->conf.nb_probes; i++) {
		lab->series[i].values[lab->nb_samples] = next_value(lab, &lab->probes[i]);
		lab->series[i].nb = lab->nb_samples + 1;
	}
	lab->nb_samples++;
	sample_queues(lab);
	event_arm(&lab->net.clock, e, now_ps + lab->conf.sample_ns * PS_PER_NS);
}

int
probes_begin(struct lab *lab)
{
	char why[256];

	lab->series = calloc(lab->conf.nb_probes + 1, sizeof(*lab->series));
	lab->probes = calloc(lab->conf.nb_probes + 1, sizeof(*lab->probes));
	if (!lab->series || !lab->probes)
		return -ENOMEM;
	for (uint32_t i = 0; i < lab->conf.nb_probes; i++) {
		struct series *s = &lab->series[i];

		if (parse(lab->conf.plan, lab->conf.probes[i], &lab->probes[i], why, sizeof(why)))
			return -EINVAL;
		snprintf(s->name, sizeof(s->name), "%s", lab->conf.probes[i]);
		s->unit = lab->probes[i].kind->unit;
	}
	lab->sample.fire = fire_sample;
	if (lab->conf.sample_ns)
		event_arm(&lab->net.clock, &lab->sample, lab->conf.sample_ns * PS_PER_NS);
	return 0;
}

void
probes_end(struct lab *lab)
{
	for (uint32_t i = 0; lab->series && i < lab->conf.nb_probes; i++)
		free(lab->series[i].values);
	free(lab->series);
	free(lab->probes);
}
