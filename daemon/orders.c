/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "nearest.h"
#include "orders.h"
#include "psn.h"

/* What operators can ask for. */

const char *
order_text(const struct console *con, const char *name)
{
	return json_string_value(json_object_get(con->state.args, name));
}

static void
offer_nics(struct nearest *near, const struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->nb_nics; i++)
		nearest_offer(near, nodes->nics[i]->conf.name);
}

static void
offer_switches(struct nearest *near, const struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->nb_switches; i++)
		nearest_offer(near, nodes->switches[i].node.name);
}

bool
order_nic(const struct console *con, const struct nic **nic, char *why, size_t size)
{
	const struct report *report = &con->all->report;
	const char *name = order_text(con, "nic");
	struct nearest near;

	*nic = name ? report_nic(report, name) : NULL;
	if (!name || *nic)
		return true;
	near = nearest_of(name);
	offer_nics(&near, report->nodes);
	nearest_explain(&near, "NIC", why, size);
	return false;
}

const struct node *
order_node(const struct console *con, const char *name, char *why, size_t size)
{
	const struct report *report = &con->all->report;
	const struct node *node = report_node(report, name);
	struct nearest near = nearest_of(name);

	if (node)
		return node;
	offer_nics(&near, report->nodes);
	offer_switches(&near, report->nodes);
	nearest_explain(&near, "node", why, size);
	return NULL;
}

/* Digits, and few; anything else is a port that nobody has. */
static int
port_number(const char *text)
{
	size_t len = strspn(text, "0123456789");

	return len > 0 && len <= 4 && !text[len] ? atoi(text) : INT32_MAX;
}

const struct node *
order_node_port(const struct console *con, const char *text, int *port, char *why, size_t size)
{
	char name[ORDER_TEXT_MAX + 1], *slash;
	const struct node *node;

	snprintf(name, sizeof(name), "%s", text);
	slash = strchr(name, '/');
	*port = -1;
	if (slash) {
		*slash = '\0';
		*port = port_number(slash + 1);
	}
	node = order_node(con, name, why, size);
	if (!node || *port < (int)node->nb_ports)
		return node;
	snprintf(why, size, "%s: %s has ports 0 to %u", text, name, node->nb_ports - 1);
	return NULL;
}

/* ---- version, nodes, counters ---- */

static enum order_said
next_version(struct console *con, json_t **line)
{
	*line = json_pack("{s:s, s:s, s:i, s:i}", "version", WEFT_VERSION, "name",
	                  con->all->report.conf->daemon.name, "abi", WEFT_ABI_VERSION, "pid",
	                  (int)getpid());
	return ORDER_LAST;
}

static enum order_said
next_nodes(struct console *con, json_t **line)
{
	*line = json_pack("{s:o}", "nodes", report_nodes(&con->all->report));
	return ORDER_LAST;
}

static bool
begin_counters(struct console *con, char *why, size_t size)
{
	const struct report *report = &con->all->report;
	const char *name = order_text(con, "node");
	const struct node *node;
	struct nearest near;
	int port;

	if (!name || report_has_counters(report, name))
		return true;
	if (strchr(name, '/')) {
		node = order_node_port(con, name, &port, why, size);
		if (!node || !report_nic(report, node->name))
			return node;
		snprintf(why, size, "%s: a NIC counts for all of it: ask for %s", name, node->name);
		return false;
	}
	near = nearest_of(name);
	offer_nics(&near, report->nodes);
	offer_switches(&near, report->nodes);
	nearest_offer(&near, "worker");
	nearest_explain(&near, "node", why, size);
	return false;
}

static enum order_said
next_counters(struct console *con, json_t **line)
{
	*line = json_pack("{s:o}", "counters",
	                  report_counters(&con->all->report, order_text(con, "node")));
	return ORDER_LAST;
}

/* ---- QPs ---- */

static bool
begin_qps(struct console *con, char *why, size_t size)
{
	const struct nic *nic;

	if (!order_nic(con, &nic, why, size))
		return false;
	report_walk_begin(&con->state.walk, &con->all->report, nic);
	return true;
}

static enum order_said
next_qps(struct console *con, json_t **line)
{
	struct report_walk *walk = &con->state.walk;
	json_t *qps = report_walk_more(walk) ? report_walk_next(walk) : json_array();

	*line = json_pack("{s:o}", "qps", qps);
	return report_walk_more(walk) ? ORDER_MORE : ORDER_LAST;
}

static void
end_qps(struct console *con)
{
	report_walk_end(&con->state.walk);
}

static bool
begin_qp(struct console *con, char *why, size_t size)
{
	json_int_t qpn = json_integer_value(json_object_get(con->state.args, "qpn"));
	const struct nic *nic;

	if (qpn < 0 || qpn > PSN_MASK) {
		snprintf(why, size, "qpn %" JSON_INTEGER_FORMAT ": 0 to %u", qpn, PSN_MASK);
		return false;
	}
	return order_nic(con, &nic, why, size);
}

static enum order_said
next_qp(struct console *con, json_t **line)
{
	const struct report *report = &con->all->report;
	uint32_t qpn = (uint32_t)json_integer_value(json_object_get(con->state.args, "qpn"));
	json_t *qp = report_qp(report, report_nic(report, order_text(con, "nic")), qpn);

	if (json_is_null(qp))
		*line = json_pack("{s:o}", "error",
		                  json_sprintf("%s has no QP 0x%06x", order_text(con, "nic"), qpn));
	else
		*line = json_pack("{s:o}", "qp", qp);
	return ORDER_LAST;
}

/* ---- programs ---- */

static bool
begin_clients(struct console *con, char *why, size_t size)
{
	const struct nic *nic;

	return order_nic(con, &nic, why, size);
}

static enum order_said
next_clients(struct console *con, json_t **line)
{
	const struct report *report = &con->all->report;
	const char *name = order_text(con, "nic");
	bool more;

	*line = json_pack("{s:o}", "clients",
	                  report_clients(report, name ? report_nic(report, name) : NULL,
	                                 &con->state.client, &more));
	return more ? ORDER_MORE : ORDER_LAST;
}

/* ---- events ---- */

/* Events of one line. Source: our choice. */
#define EVENTS_AT_ONCE 32

/* "2026-11-30T10:49:12.000001Z" */
static json_t *
json_time(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000u);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return json_sprintf("%s.%06uZ", text, (unsigned int)(time_ns / 1000 % 1000000));
}

static json_t *
json_event(const struct event *e)
{
	json_t *text = json_string(e->text);

	/* Cut within a letter. */
	if (!text)
		text = json_string("");
	return json_pack("{s:I, s:o, s:s, s:s, s:o}", "number", (json_int_t)e->number, "time",
	                 json_time(e->time_ns), "kind", event_kind_text(e->kind), "node", e->node,
	                 "text", text);
}

/* Those that are remembered, then the others as they come. */
static enum order_said
next_events(struct console *con, json_t **line)
{
	const struct events *events = con->all->events;
	uint64_t lost = atomic_load_explicit(&events->nb_lost, memory_order_relaxed);
	bool follow = !json_is_false(json_object_get(con->state.args, "follow"));
	const struct event *e = events_after(events, con->state.event);
	json_t *array;
	uint64_t missed;

	if (!e && follow)
		return ORDER_WAIT;
	array = json_array();
	missed = lost - con->state.nb_lost;
	con->state.nb_lost = lost;
	if (e && con->state.event != 0)
		missed += e->number - con->state.event - 1;
	while (e && json_array_size(array) < EVENTS_AT_ONCE) {
		json_array_append_new(array, json_event(e));
		con->state.event = e->number;
		e = events_after(events, e->number);
	}
	*line = json_pack("{s:o, s:I}", "events", array, "missed", (json_int_t)missed);
	return e || follow ? ORDER_MORE : ORDER_LAST;
}

/* ---- the table ---- */

static const struct order_arg no_args[] = {{NULL}};
static const struct order_arg node_optional[] = {{"node", ARG_TEXT, true}, {NULL}};
static const struct order_arg nic_optional[] = {{"nic", ARG_TEXT, true}, {NULL}};
static const struct order_arg nic_and_qpn[] = {
	{"nic", ARG_TEXT, false}, {"qpn", ARG_NUMBER, false}, {NULL}};
static const struct order_arg follow_optional[] = {{"follow", ARG_FLAG, true}, {NULL}};

static const struct order order_version = {"version", no_args, .next = next_version};
static const struct order order_nodes = {"nodes", no_args, .next = next_nodes};
static const struct order order_counters = {"counters", node_optional, begin_counters,
                                            next_counters};
static const struct order order_qps = {"qps", nic_optional, begin_qps, next_qps, .end = end_qps};
static const struct order order_qp = {"qp", nic_and_qpn, begin_qp, next_qp};
static const struct order order_clients = {"clients", nic_optional, begin_clients, next_clients};
static const struct order order_events = {"events", follow_optional, .next = next_events};

static const struct order *const orders[] = {
	&order_version, &order_nodes,   &order_counters, &order_qps,
	&order_qp,      &order_clients, &order_events,   &order_set,
	&order_drain,   &order_resume,  &order_capture,
};

#define NB_ORDERS (sizeof(orders) / sizeof(orders[0]))

static const struct order *
find(const char *name, char *why, size_t size)
{
	struct nearest near = nearest_of(name);

	for (size_t i = 0; i < NB_ORDERS; i++) {
		if (strcmp(orders[i]->name, name) == 0)
			return orders[i];
		nearest_offer(&near, orders[i]->name);
	}
	nearest_explain(&near, "order", why, size);
	return NULL;
}

static bool
is_of_type(const struct order_arg *arg, const json_t *value)
{
	switch (arg->type) {
	case ARG_TEXT:
		return json_is_string(value);
	case ARG_NUMBER:
		return json_is_integer(value);
	case ARG_FLAG:
		return json_is_boolean(value);
	}
	return false;
}

/* Whether a member of the request is an argument of the order, of the right type. */
static bool
known_arg(const struct order *order, const char *name, const json_t *value, char *why, size_t size)
{
	static const char *const types[] = {
		[ARG_TEXT] = "text", [ARG_NUMBER] = "whole number", [ARG_FLAG] = "true or false"};
	struct nearest near = nearest_of(name);

	for (const struct order_arg *arg = order->args; arg->name; arg++) {
		nearest_offer(&near, arg->name);
		if (strcmp(arg->name, name) != 0)
			continue;
		if (json_string_length(value) > ORDER_TEXT_MAX) {
			snprintf(why, size, "%s of %s: more than %u bytes", name, order->name,
			         ORDER_TEXT_MAX);
			return false;
		}
		if (is_of_type(arg, value))
			return true;
		snprintf(why, size, "%s of %s: not a %s", name, order->name, types[arg->type]);
		return false;
	}
	nearest_explain(&near, "argument", why, size);
	return false;
}

const struct order *
order_find(json_t *request, char *why, size_t size)
{
	const char *name = json_string_value(json_object_get(request, "order"));
	const struct order *order;
	const char *key;
	json_t *value;

	if (!name || strlen(name) > ORDER_TEXT_MAX) {
		snprintf(why, size, "a request needs a text \"order\"");
		return NULL;
	}
	order = find(name, why, size);
	if (!order)
		return NULL;
	json_object_foreach(request, key, value)
	{
		if (strlen(key) > ORDER_TEXT_MAX) {
			snprintf(why, size, "%s has no argument of such a long name", order->name);
			return NULL;
		}
		if (strcmp(key, "order") != 0 && !known_arg(order, key, value, why, size))
			return NULL;
	}
	for (const struct order_arg *arg = order->args; arg->name; arg++) {
		if (!arg->optional && !json_object_get(request, arg->name)) {
			snprintf(why, size, "%s needs \"%s\"", order->name, arg->name);
			return NULL;
		}
	}
	return order;
}
