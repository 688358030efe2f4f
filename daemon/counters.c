/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "peers.h"

/* Once to count, once to read, both on the worker; between them a port may get a fault layer. */
struct walk {
	const struct nodes *nodes;
	const char *node;     /* only this one; NULL = all */
	struct counter *list; /* NULL: only count */
	uint32_t nb, max;
};

static void
add_one(struct walk *w, const char *node, int port, const char *name, uint64_t value)
{
	if (w->nb < w->max)
		w->list[w->nb] = (struct counter){node, port, name, value};
	w->nb++;
}

static void
add(struct walk *w, const char *node, int port, const struct stat_desc *descs, const void *state)
{
	STAT_FOREACH (d, descs)
		add_one(w, node, port, d->name, w->list ? stat_read(d, state) : 0);
}

/* Its own, and those of the fault layer around it. */
static void
add_port(struct walk *w, const char *node, int idx, const struct port *port)
{
	const void *state;
	const struct stat_desc *descs =
		port->ops->counters ? port->ops->counters(port, &state) : NULL;

	if (port_is_fault(port))
		add(w, node, idx, fault_stat_descs, port_fault_stats(port));
	if (descs)
		add(w, node, idx, descs, state);
}

static void
add_engines(struct walk *w, const struct nic *nic)
{
	struct nic_engine_sums sums;

	if (w->list)
		nic_engine_stats(nic, &sums);
	for (uint32_t e = 0; e < nic->nb_engine_stats; e++) {
		uint32_t i = 0;

		STAT_FOREACH (d, nic->engine_stats[e])
			add_one(w, nic->conf.name, -1, d->name, w->list ? sums.engine[e][i++] : 0);
	}
}

static void
add_nic(struct walk *w, uint32_t i)
{
	const struct nic *nic = w->nodes->nics[i];
	const char *name = nic->conf.name;

	add(w, name, -1, nic_stat_descs, &nic->stats);
	add(w, name, -1, neigh_stat_descs, neigh_stats(nic->neigh));
	if (nic->peers)
		add(w, name, -1, peers_stat_descs, peers_stats(nic->peers));
	add_engines(w, nic);
	add_port(w, name, -1, w->nodes->host_ports[i]);
}

static void
add_switch(struct walk *w, const struct switch_node *sw)
{
	struct switch_stats stats;

	switch_stats(sw->sw, &stats);
	add(w, sw->node.name, -1, switch_stat_descs, &stats);
}

static void
add_switch_port(struct walk *w, const struct switch_node *sw, uint16_t p, const struct port *port)
{
	struct switch_port_levels levels;

	switch_port_levels(sw->sw, p, &levels);
	add(w, sw->node.name, p, switch_port_stat_descs, switch_port_stats(sw->sw, p));
	add(w, sw->node.name, p, switch_port_level_descs, &levels);
	add_port(w, sw->node.name, p, port);
}

static bool
wants(const struct walk *w, const char *node)
{
	return !w->node || strcmp(w->node, node) == 0;
}

static void
walk(struct walk *w)
{
	const struct nodes *nodes = w->nodes;

	if (nodes->refused && wants(w, "control"))
		add(w, "control", -1, account_stat_descs, nodes->refused);
	if (wants(w, "worker"))
		add(w, "worker", -1, worker_stat_descs, worker_stats(nodes->worker));
	for (uint32_t i = 0; i < nodes->nb_nics; i++) {
		if (wants(w, nodes->nics[i]->conf.name))
			add_nic(w, i);
	}
	for (uint32_t i = 0; i < nodes->nb_switches; i++) {
		const struct switch_node *sw = &nodes->switches[i];

		if (wants(w, sw->node.name))
			add_switch(w, sw);
		for (uint16_t p = 0; wants(w, sw->node.name) && p < sw->node.nb_ports; p++)
			add_switch_port(w, sw, p, nodes->switch_ports[i][p]);
	}
}

static void
walk_on_worker(void *arg, uint64_t now_ns)
{
	(void)now_ns;
	walk(arg);
}

struct counter *
counters_read(const struct nodes *nodes, const char *node, uint32_t *nb)
{
	struct walk w = {.nodes = nodes, .node = node};

	worker_call(nodes->worker, walk_on_worker, &w);
	while (!w.list || w.nb > w.max) {
		free(w.list);
		w.max = w.nb;
		w.list = calloc(w.max ? w.max : 1, sizeof(*w.list));
		if (!w.list)
			return NULL;
		w.nb = 0;
		worker_call(nodes->worker, walk_on_worker, &w);
	}
	*nb = w.nb;
	return w.list;
}

const char *
counter_owner(const struct counter *counter, char text[COUNTER_OWNER_MAX])
{
	if (counter->port < 0)
		snprintf(text, COUNTER_OWNER_MAX, "%s", counter->node);
	else
		snprintf(text, COUNTER_OWNER_MAX, "%s/%d", counter->node, counter->port);
	return text;
}

void
counters_print(const struct nodes *nodes, FILE *out)
{
	uint32_t nb = 0;
	struct counter *list = counters_read(nodes, NULL, &nb);
	char owner[COUNTER_OWNER_MAX];

	for (uint32_t i = 0; i < nb; i++) {
		if (list[i].value)
			fprintf(out, "%s %s %" PRIu64 "\n", counter_owner(&list[i], owner),
			        list[i].name, list[i].value);
	}
	free(list);
}

void
counters_log(const struct nodes *nodes)
{
	char *text, *line, *rest = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out) {
		log_error("counters: %s", strerror(errno));
		return;
	}
	counters_print(nodes, out);
	fclose(out);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_info("%s", line);
	free(text);
}
