/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "qpns.h"
#include "view.h"

/* ---- addresses ---- */

static json_t *
json_ip(const struct ip_addr *ip)
{
	char text[IP_ADDR_TEXT];

	return json_string(ip_addr_text(ip, text));
}

static json_t *
json_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
	                    mac[5]);
}

/* ---- nodes ---- */

/* What may change of a NIC. */
struct nic_copy {
	const struct nic *nic;
	struct gid_table gids;
	uint8_t mac[6];
	uint32_t ip_mtu_bytes;
	uint8_t active_mtu;
	uint32_t nb_qps, nb_keys;
	bool is_down;
};

static void
copy_nic(void *arg, uint64_t now_ns)
{
	struct nic_copy *c = arg;

	(void)now_ns;
	c->gids = c->nic->gids;
	memcpy(c->mac, c->nic->self.mac, sizeof(c->mac));
	c->ip_mtu_bytes = c->nic->ip_mtu_bytes;
	c->active_mtu = c->nic->active_mtu;
	c->nb_qps = c->nic->qps.nb_objs;
	c->nb_keys = c->nic->keys.nb_objs;
	c->is_down = !c->nic->is_up;
}

/* Index, address and VLAN of each GID that is not empty. */
static json_t *
json_gids(const struct nic_copy *c)
{
	json_t *gids = json_array();

	for (uint32_t i = 0; i < c->gids.nb_used; i++) {
		const struct gid *gid = gid_at(&c->gids, i);

		if (gid)
			json_array_append_new(gids, json_pack("{s:i, s:o, s:i}", "index", (int)i,
			                                      "address", json_ip(&gid->ip), "vlan",
			                                      (int)gid->vlan));
	}
	return gids;
}

static json_t *
json_port(const struct conf_port *port, bool is_down)
{
	return json_pack("{s:o, s:s}", "port",
	                 json_sprintf("%s:%s", conf_port_kind(port), port->arg), "link",
	                 is_down ? "down" : "up");
}

static json_t *
json_nic(const struct report *report, uint32_t i)
{
	const struct conf_nic *conf = &report->conf->nics[i];
	struct nic_copy c = {.nic = report->nodes->nics[i]};

	worker_call(report->nodes->worker, copy_nic, &c);
	return json_pack(
		"{s:s, s:s, s:[o], s:b, s:o, s:o, s:i, s:i, s:I, s:s, s:s, s:s, s:s, s:i, s:i}",
		"name", conf->name, "kind", "nic", "ports", json_port(&conf->port, c.is_down),
		"drained", report->is_drained && report->is_drained(c.nic->conf.owner), "mac",
		json_mac(c.mac), "gids", json_gids(&c), "mtu", (int)c.ip_mtu_bytes, "path_mtu",
		(int)mtu_bytes(c.active_mtu), "rate_bps", (json_int_t)conf->num.rate_bps, "framing",
		framing_wish_name(conf->bind.framing), "reliability", conf->bind.set.rel->info.name,
		"cc", conf->bind.set.cc->info.name, "lb", conf->bind.set.lb->info.name, "qps",
		(int)c.nb_qps, "keys", (int)c.nb_keys);
}

struct switch_copy {
	struct fabric_switch *sw;
	struct port *const *ports;
	uint32_t nb_ports;
	bool is_down[CONF_MAX_PORTS], floods[CONF_MAX_PORTS];
	struct switch_stats stats;
	uint32_t nb_prefixes;
};

static void
copy_switch(void *arg, uint64_t now_ns)
{
	struct switch_copy *c = arg;

	(void)now_ns;
	for (uint16_t p = 0; p < c->nb_ports; p++) {
		c->is_down[p] = c->ports[p]->is_down;
		c->floods[p] = switch_floods(c->sw, p);
	}
	switch_stats(c->sw, &c->stats);
	c->nb_prefixes = routes_nb(switch_routes(c->sw));
}

static json_t *
json_switch(const struct report *report, uint32_t i)
{
	const struct conf_switch *conf = &report->conf->switches[i];
	struct switch_copy c = {.sw = report->nodes->switches[i].sw,
	                        .ports = report->nodes->switch_ports[i],
	                        .nb_ports = conf->nb_ports};
	json_t *ports = json_array();

	worker_call(report->nodes->worker, copy_switch, &c);
	for (uint32_t p = 0; p < conf->nb_ports; p++) {
		json_t *port = json_port(&conf->ports[p], c.is_down[p]);

		json_object_set_new(port, "floods", json_boolean(c.floods[p]));
		json_array_append_new(ports, port);
	}
	return json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I}", "name", conf->name, "kind",
	                 "switch", "ports", ports, "lb", conf->fabric.lb->info.name, "prefixes",
	                 (json_int_t)c.nb_prefixes, "buffer",
	                 (json_int_t)conf->fabric.params.buffer_bytes, "buffer_used",
	                 (json_int_t)c.stats.buffer_used_bytes, "buffer_used_max",
	                 (json_int_t)c.stats.buffer_used_bytes_max);
}

json_t *
report_nodes(const struct report *report)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < report->conf->nb_nics; i++)
		json_array_append_new(nodes, json_nic(report, i));
	for (uint32_t i = 0; i < report->conf->nb_switches; i++)
		json_array_append_new(nodes, json_switch(report, i));
	return nodes;
}

const struct nic *
report_nic(const struct report *report, const char *name)
{
	for (uint32_t i = 0; i < report->nodes->nb_nics; i++) {
		if (strcmp(report->nodes->nics[i]->conf.name, name) == 0)
			return report->nodes->nics[i];
	}
	return NULL;
}

const struct node *
report_node(const struct report *report, const char *name)
{
	const struct nodes *nodes = report->nodes;

	for (uint32_t i = 0; i < nodes->nb_nics; i++) {
		if (strcmp(nodes->nics[i]->conf.name, name) == 0)
			return &nodes->hosts[i].node;
	}
	for (uint32_t i = 0; i < nodes->nb_switches; i++) {
		if (strcmp(nodes->switches[i].node.name, name) == 0)
			return &nodes->switches[i].node;
	}
	return NULL;
}

bool
report_has_counters(const struct report *report, const char *name)
{
	return report_node(report, name) || strcmp(name, "worker") == 0 ||
	       (report->nodes->refused && strcmp(name, "control") == 0);
}

json_t *
report_counters(const struct report *report, const char *owner)
{
	json_t *all = json_object(), *own = NULL;
	const char *slash = owner ? strchr(owner, '/') : NULL;
	char node[WEFT_NAME_LEN], text[COUNTER_OWNER_MAX];
	struct counter *list;
	uint32_t nb;

	if (slash)
		snprintf(node, sizeof(node), "%.*s", (int)(slash - owner), owner);
	list = counters_read(report->nodes, slash ? node : owner, &nb);
	for (uint32_t i = 0; list && i < nb; i++) {
		const struct counter *c = &list[i];

		if (slash && strcmp(counter_owner(c, text), owner) != 0)
			continue;
		if (!own || strcmp(c->node, c[-1].node) != 0 || c->port != c[-1].port) {
			own = json_object();
			json_object_set_new(all, counter_owner(c, text), own);
		}
		json_object_set_new(own, c->name, json_integer((json_int_t)c->value));
	}
	free(list);
	return all;
}

/* ---- QPs ---- */

struct qp_copy {
	struct qp_view view;
	pid_t pid; /* 0 = not known */
	uid_t uid;
};

struct slice {
	const struct report *report;
	const struct nic *nic;
	const uint32_t *qpns;
	uint32_t nb_qpns;
	uint32_t nb_found;
	struct qp_copy found[REPORT_SLICE_QPS];
};

static void
copy_slice(void *arg, uint64_t now_ns)
{
	struct slice *s = arg;

	(void)now_ns;
	for (uint32_t i = 0; i < s->nb_qpns; i++) {
		const struct qp *qp = qp_find(s->nic, s->qpns[i]);
		struct qp_copy *c = &s->found[s->nb_found];

		if (!qp)
			continue;
		qp_view(qp, &c->view);
		c->pid = 0;
		c->uid = 0;
		if (s->report->whose)
			s->report->whose(c->view.owner, &c->pid, &c->uid);
		s->nb_found++;
	}
}

static void
set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void
set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text ? json_string(text) : json_null());
}

static void
set_requester(json_t *q, const struct qp_view *v)
{
	set(q, "psn_una", v->psn_una);
	set(q, "psn_next", v->psn_nxt);
	set(q, "inflight_packets", v->inflight_pkts);
	set(q, "inflight_bytes", v->inflight_bytes);
	set(q, "sends_posted", v->nb_sends);
	set(q, "reads_waiting", v->nb_rd);
	set(q, "rate_bps", v->rate_bps);
	json_object_set_new(q, "window_bytes",
	                    v->window_bytes == UINT64_MAX
	                            ? json_null()
	                            : json_integer((json_int_t)v->window_bytes));
}

static json_t *
json_qp(const struct nic *nic, const struct qp_copy *c)
{
	const struct qp_view *v = &c->view;
	json_t *q = json_object();

	set_text(q, "nic", nic->conf.name);
	set(q, "qpn", v->qpn);
	set_text(q, "type", qp_type_text(v->type));
	set_text(q, "state", qp_state_text(v->state));
	json_object_set_new(q, "address", v->mtu ? json_ip(&v->own_ip) : json_null());
	json_object_set_new(q, "peer", v->has_path ? json_ip(&v->peer_ip) : json_null());
	set(q, "peer_qpn", v->dest_qpn);
	set(q, "mtu", v->mtu);
	set_text(q, "framing", v->framing);
	set_text(q, "reliability", v->rel);
	set_text(q, "cc", v->cc);
	set_text(q, "lb", v->lb);
	set_requester(q, v);
	set(q, "psn_expected", v->psn_expected);
	set(q, "receives_posted", v->nb_recvs);
	set(q, "packets_sent", v->nb_sent);
	set(q, "retransmits", v->nb_retransmits);
	set(q, "timeouts", v->nb_timeouts);
	set(q, "rnr_naks", v->nb_rnr);
	set(q, "vendor_err", v->reason);
	set_text(q, "error", v->why);
	set(q, "pid", (uint64_t)c->pid);
	set(q, "uid", c->uid);
	return q;
}

json_t *
report_qp(const struct report *report, const struct nic *nic, uint32_t qpn)
{
	struct slice s = {.report = report, .nic = nic, .qpns = &qpn, .nb_qpns = 1};

	worker_call(report->nodes->worker, copy_slice, &s);
	return s.nb_found ? json_qp(nic, &s.found[0]) : json_null();
}

/* ---- walk ---- */

void
report_walk_begin(struct report_walk *walk, const struct report *report, const struct nic *nic)
{
	*walk = (struct report_walk){.report = report, .nic_end = report->nodes->nb_nics};
	for (uint32_t i = 0; nic && i < report->nodes->nb_nics; i++) {
		if (report->nodes->nics[i] == nic) {
			walk->nic_idx = i;
			walk->nic_end = i + 1;
		}
	}
}

bool
report_walk_more(const struct report_walk *walk)
{
	return walk->nic_idx < walk->nic_end;
}

json_t *
report_walk_next(struct report_walk *walk)
{
	struct slice s = {.report = walk->report, .nic = walk->report->nodes->nics[walk->nic_idx]};
	json_t *array;

	assert(report_walk_more(walk));
	if (!walk->qpns) {
		walk->qpns = qpns_of(walk->report->nodes->worker, s.nic, &walk->nb_qpns);
		walk->next = 0;
	}
	if (!walk->qpns)
		return NULL;
	s.qpns = walk->qpns + walk->next;
	s.nb_qpns = walk->nb_qpns - walk->next;
	if (s.nb_qpns > REPORT_SLICE_QPS)
		s.nb_qpns = REPORT_SLICE_QPS;
	if (s.nb_qpns > 0)
		worker_call(walk->report->nodes->worker, copy_slice, &s);
	walk->next += s.nb_qpns;
	array = json_array();
	for (uint32_t i = 0; i < s.nb_found; i++)
		json_array_append_new(array, json_qp(s.nic, &s.found[i]));
	if (walk->next == walk->nb_qpns) {
		report_walk_end(walk);
		walk->nic_idx++;
	}
	return array;
}

void
report_walk_end(struct report_walk *walk)
{
	free(walk->qpns);
	walk->qpns = NULL;
}
