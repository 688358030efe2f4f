/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "conf_read.h"
#include "nearest.h"

/* What stands between the words of a list. */
static const char between[] = ", \t";

/* ---- helpers of the keys ---- */

/* A name of a device, daemon, switch or ring: also part of a file's name. */
static bool
read_name(struct conf_reader *r, const char *what, const char *text, char name[WEFT_NAME_LEN])
{
	size_t len = strlen(text);

	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !(p > text && strchr("_-.", *p))) {
			conf_error(r, r->line, "%s '%s': letters, digits, '_', '-' and '.' only",
			           what, text);
			return false;
		}
	}
	if (len == 0 || len >= WEFT_NAME_LEN) {
		conf_error(r, r->line, "%s '%s': 1 to %d characters", what, text,
		           WEFT_NAME_LEN - 1);
		return false;
	}
	memset(name, 0, WEFT_NAME_LEN);
	memcpy(name, text, len);
	return true;
}

static void
read_yes_no(struct conf_reader *r, bool *out, const char *value)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		conf_error(r, r->line, "'%s' is neither yes nor no", value);
	else
		*out = value[0] == 'y';
}

/* 10.77.0.1 or fd00::1; IPv4 becomes ::ffff:10.77.0.1. */
static bool
parse_ip(const char *text, struct ip_addr *ip, bool *is_v4)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	*is_v4 = inet_pton(AF_INET, text, &ip->b[12]) == 1;
	if (*is_v4) {
		memcpy(ip->b, mapped, sizeof(mapped));
		return true;
	}
	return inet_pton(AF_INET6, text, ip->b) == 1;
}

/* Whether a host may call itself so. */
static bool
is_host_ip(const struct ip_addr *ip, bool is_v4)
{
	static const struct ip_addr any;
	static const struct ip_addr loopback = {{[15] = 1}};

	if (is_v4)
		return ip->b[12] != 0 && ip->b[12] != 127 && ip->b[12] < 224;
	return memcmp(ip, &any, sizeof(any)) != 0 && memcmp(ip, &loopback, sizeof(loopback)) != 0 &&
	       ip->b[0] != 0xff;
}

static bool
read_port(struct conf_reader *r, struct conf_port *port, const char *value)
{
	static const char ring[] = "ring:";

	if (strncmp(value, ring, strlen(ring)) != 0) {
		conf_error(r, r->line, "port '%s': only ring:NAME is known", value);
		return false;
	}
	return read_name(r, "ring", value + strlen(ring), port->ring);
}

/* ---- [daemon] ---- */

static const struct param_desc daemon_numbers[] = {
	{"packets", PARAM_U32, offsetof(struct conf_daemon_numbers, packets), 8191, 1023, 1 << 22,
         "pkt", "our choice: four full rings of 1024 frames and as many in queues"},
	{"client_memory", PARAM_U64, offsetof(struct conf_daemon_numbers, client_memory_bytes), 0,
         0, 0x1p48, "B", "our choice: half of the machine's"},
	{NULL},
};

static void
read_daemon_name(struct conf_reader *r, void *obj, const char *value)
{
	read_name(r, "name", value, ((struct conf_daemon *)obj)->name);
}

static void
read_daemon_group(struct conf_reader *r, void *obj, const char *value)
{
	read_name(r, "group", value, ((struct conf_daemon *)obj)->group);
}

static void
read_daemon_hugepages(struct conf_reader *r, void *obj, const char *value)
{
	read_yes_no(r, &((struct conf_daemon *)obj)->hugepages, value);
}

static void
read_daemon_userfaultfd(struct conf_reader *r, void *obj, const char *value)
{
	read_yes_no(r, &((struct conf_daemon *)obj)->userfaultfd, value);
}

static void
read_daemon_idle(struct conf_reader *r, void *obj, const char *value)
{
	if (strcmp(value, "sleep") != 0 && strcmp(value, "poll") != 0)
		conf_error(r, r->line, "idle '%s': known are sleep and poll", value);
	else
		((struct conf_daemon *)obj)->poll = value[0] == 'p';
}

static const struct conf_key daemon_keys[] = {
	{"name", read_daemon_name},           {"group", read_daemon_group},
	{"hugepages", read_daemon_hugepages}, {"userfaultfd", read_daemon_userfaultfd},
	{"idle", read_daemon_idle},           {NULL},
};

static void *
begin_daemon(struct conf_reader *r, const char *name)
{
	(void)name;
	if (r->conf->daemon_line) {
		conf_error(r, r->line, "section [daemon] began at line %u already",
		           r->conf->daemon_line);
		return NULL;
	}
	r->conf->daemon_line = r->line;
	conf_add_table(r, daemon_numbers, &r->conf->daemon.num);
	return &r->conf->daemon;
}

/* ---- the five keys of [nic] and [peer], whose structs begin with a conf_bind ---- */

/* An engine by name; NULL after conf_error. */
static const struct engine_info *
read_engine(struct conf_reader *r, enum conf_engine_kind kind, const char *value)
{
	static const char *const kinds[] = {
		[CONF_ENGINE_REL] = "reliability engine",
		[CONF_ENGINE_CC] = "cc engine",
		[CONF_ENGINE_HOST_LB] = "lb engine of hosts",
		[CONF_ENGINE_SWITCH_LB] = "lb engine of switches",
	};
	struct nearest n = nearest_of(value);
	char why[256];

	for (uint32_t i = 0; i < r->conf->nb_engines; i++) {
		const struct conf_engine *e = &r->conf->engines[i];

		if (e->kind != kind)
			continue;
		if (strcmp(e->info->name, value) == 0)
			return e->info;
		nearest_offer(&n, e->info->name);
	}
	nearest_explain(&n, kinds[kind], why, sizeof(why));
	conf_error(r, r->line, "%s", why);
	return NULL;
}

static void
read_framing(struct conf_reader *r, void *obj, const char *value)
{
	((struct conf_bind *)obj)->line = r->line;
	if (strcmp(value, framing_name(FRAMING_ROCEV2)) != 0)
		conf_error(r, r->line, "framing '%s': only rocev2 is known", value);
}

/* Every ops struct begins with its info. */
static void
read_rel(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_bind *bind = obj;
	const struct engine_info *info = read_engine(r, CONF_ENGINE_REL, value);

	bind->line = r->line;
	if (info)
		bind->rel = (const struct reliability_ops *)info;
}

static void
read_cc(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_bind *bind = obj;
	const struct engine_info *info = read_engine(r, CONF_ENGINE_CC, value);

	bind->line = r->line;
	if (info)
		bind->cc = (const struct cc_ops *)info;
}

static void
read_lb(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_bind *bind = obj;
	const struct engine_info *info = read_engine(r, CONF_ENGINE_HOST_LB, value);

	bind->line = r->line;
	if (info)
		bind->lb = (const struct lb_ops *)info;
}

static void
read_fabric(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_bind *bind = obj;
	char why[256];

	bind->line = r->line;
	bind->has_fabric = true;
	if (traits_parse(value, &bind->fabric, why, sizeof(why)) != 0)
		conf_error(r, r->line, "%s", why);
}

#define BIND_KEYS                                                                                  \
	{"framing", read_framing}, {"reliability", read_rel}, {"cc", read_cc}, {"lb", read_lb},    \
	{                                                                                          \
		"fabric", read_fabric                                                              \
	}

/* ---- [nic NAME] ---- */

static const struct param_desc nic_numbers[] = {
	{"mtu", PARAM_U32, offsetof(struct conf_nic_numbers, mtu), 4200, 576, 9216, "B",
         "our choice: a path MTU of 4096 and its headers"},
	{"vlan", PARAM_U32, offsetof(struct conf_nic_numbers, vlan), 0, 0, 4094, "1",
         "IEEE 802.1Q"},
	{"rate", PARAM_U64, offsetof(struct conf_nic_numbers, rate_bps), 100e9, 1e6, 800e9, "bps",
         "our choice"},
	{"base_rtt", PARAM_U64, offsetof(struct conf_nic_numbers, base_rtt_ns), 10e3, 100, 1e9,
         "ns", "our choice"},
	{"window", PARAM_U32, offsetof(struct conf_nic_numbers, window_pkts), 1024, 1, 1 << 22,
         "pkt", "our choice: a full ring"},
	{NULL},
};

static const struct param_desc traffic_class_number[] = {
	{"traffic_class", PARAM_U32, offsetof(struct conf_nic_numbers, traffic_class), 0, 0, 255,
         "1", "RFC 2474"},
	{NULL},
};

static void
read_nic_port(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_nic *nic = obj;

	nic->port_line = r->line;
	read_port(r, &nic->port, value);
}

static void
read_nic_ip(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_nic *nic = obj;
	char text[256], *word, *rest = NULL;

	nic->ip_line = r->line;
	snprintf(text, sizeof(text), "%s", value);
	for (word = strtok_r(text, between, &rest); word; word = strtok_r(NULL, between, &rest)) {
		struct ip_addr ip;
		bool is_v4;

		if (!parse_ip(word, &ip, &is_v4) || !is_host_ip(&ip, is_v4)) {
			conf_error(r, r->line, "'%s' is not an address of a host", word);
		} else if (nic->nb_ips == CONF_MAX_IPS) {
			conf_error(r, r->line, "more than %d addresses", CONF_MAX_IPS);
			return;
		} else {
			nic->ips[nic->nb_ips++] = ip;
		}
	}
}

static void
read_nic_mac(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_nic *nic = obj;
	unsigned int b[6];
	int end = -1;

	nic->mac_line = r->line;
	if (strlen(value) != 17 ||
	    sscanf(value, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
	           &end) != 6 ||
	    end != 17) {
		conf_error(r, r->line, "mac '%s' is not of the form 02:00:0a:4d:00:01", value);
		return;
	}
	if (b[0] & 1)
		conf_error(r, r->line, "mac '%s' is a group's", value);
	for (int i = 0; i < 6; i++)
		nic->mac[i] = (uint8_t)b[i];
}

static void
read_nic_traffic_class(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_nic *nic = obj;

	nic->has_traffic_class =
		conf_number(r, traffic_class_number, &nic->num, "traffic_class", value);
}

static const struct conf_key nic_keys[] = {
	{"port", read_nic_port},
	{"ip", read_nic_ip},
	{"mac", read_nic_mac},
	{"traffic_class", read_nic_traffic_class},
	BIND_KEYS,
	{NULL},
};

static void *
begin_nic(struct conf_reader *r, const char *name)
{
	struct conf *conf = r->conf;
	struct conf_nic *nic;

	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		if (strcmp(conf->nics[i].name, name) != 0)
			continue;
		conf_error(r, r->line, "section [nic %s] began at line %u already", name,
		           conf->nics[i].line);
		return NULL;
	}
	if (conf->nb_nics == CONF_MAX_NICS) {
		conf_error(r, r->line, "more than %d NICs", CONF_MAX_NICS);
		return NULL;
	}
	nic = &conf->nics[conf->nb_nics];
	if (!read_name(r, "name", name, nic->name))
		return NULL;
	conf->nb_nics++;
	nic->line = r->line;
	nic->bind.line = r->line;
	nic->bind.rel = reliability_find("gbn");
	nic->bind.cc = cc_find("fixed");
	nic->bind.lb = lb_find("fixed", LB_HOST);
	nic->bind.fabric = TRAITS_FABRIC;
	param_defaults(nic_numbers, &nic->num);
	param_defaults(fault_param_descs, &nic->fault);
	conf_add_table(r, nic_numbers, &nic->num);
	conf_add_table(r, fault_param_descs, &nic->fault);
	return nic;
}

/* ---- [peer PREFIX] ---- */

static const struct conf_key peer_keys[] = {
	BIND_KEYS,
	{NULL},
};

/* 10.0.0.0/8, fd00::/16, or one address. */
static bool
parse_prefix(const char *text, struct conf_peer *peer)
{
	char addr[64];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	uint32_t most, bits = 0;
	bool is_v4;

	if (len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (!parse_ip(addr, &peer->prefix, &is_v4))
		return false;
	most = is_v4 ? 32 : 128;
	if (slash) {
		if (!slash[1] || strlen(slash + 1) > 3 ||
		    strspn(slash + 1, "0123456789") != strlen(slash + 1))
			return false;
		bits = (uint32_t)strtoul(slash + 1, NULL, 10);
	} else {
		bits = most;
	}
	if (bits > most)
		return false;
	peer->prefix_bits = 128 - most + bits;
	for (uint32_t i = peer->prefix_bits; i < 128; i++) {
		if (peer->prefix.b[i / 8] & (0x80 >> i % 8))
			return false;
	}
	return true;
}

static void *
begin_peer(struct conf_reader *r, const char *name)
{
	struct conf *conf = r->conf;
	struct conf_peer *peer;

	if (conf->nb_peers == CONF_MAX_PEERS) {
		conf_error(r, r->line, "more than %d peers", CONF_MAX_PEERS);
		return NULL;
	}
	peer = &conf->peers[conf->nb_peers];
	if (!parse_prefix(name, peer)) {
		conf_error(r, r->line, "'%s' is not a prefix such as 10.0.0.0/8 or fd00::/16",
		           name);
		return NULL;
	}
	for (uint32_t i = 0; i < conf->nb_peers; i++) {
		const struct conf_peer *p = &conf->peers[i];

		if (p->prefix_bits != peer->prefix_bits ||
		    memcmp(&p->prefix, &peer->prefix, sizeof(p->prefix)) != 0)
			continue;
		conf_error(r, r->line, "section [peer %s] began at line %u already", name, p->line);
		return NULL;
	}
	conf->nb_peers++;
	peer->line = r->line;
	return peer;
}

/* ---- [switch NAME] ---- */

static void
read_switch_ports(struct conf_reader *r, void *obj, const char *value)
{
	struct conf_switch *sw = obj;
	char text[256], *word, *rest = NULL;

	sw->port_line = r->line;
	snprintf(text, sizeof(text), "%s", value);
	for (word = strtok_r(text, between, &rest); word; word = strtok_r(NULL, between, &rest)) {
		if (sw->nb_ports == CONF_MAX_PORTS) {
			conf_error(r, r->line, "more than %d ports", CONF_MAX_PORTS);
			return;
		}
		if (read_port(r, &sw->ports[sw->nb_ports], word))
			sw->nb_ports++;
	}
}

static const struct conf_key switch_keys[] = {
	{"ports", read_switch_ports},
	{NULL},
};

static void *
begin_switch(struct conf_reader *r, const char *name)
{
	struct conf *conf = r->conf;
	struct conf_switch *sw;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		if (strcmp(conf->switches[i].name, name) != 0)
			continue;
		conf_error(r, r->line, "section [switch %s] began at line %u already", name,
		           conf->switches[i].line);
		return NULL;
	}
	if (conf->nb_switches == CONF_MAX_SWITCHES) {
		conf_error(r, r->line, "more than %d switches", CONF_MAX_SWITCHES);
		return NULL;
	}
	sw = &conf->switches[conf->nb_switches];
	if (!read_name(r, "name", name, sw->name))
		return NULL;
	conf->nb_switches++;
	sw->line = r->line;
	param_defaults(switch_param_descs, &sw->params);
	conf_add_table(r, switch_param_descs, &sw->params);
	return sw;
}

/* ---- [engine NAME] ---- */

static const struct conf_key engine_keys[] = {{NULL}};

/* Engines of different kinds may share a name, and then the section. */
static void *
begin_engine(struct conf_reader *r, const char *name)
{
	struct nearest n = nearest_of(name);
	struct conf_engine *found = NULL;
	char why[256];

	for (uint32_t i = 0; i < r->conf->nb_engines; i++) {
		struct conf_engine *e = &r->conf->engines[i];

		nearest_offer(&n, e->info->name);
		if (strcmp(e->info->name, name) != 0)
			continue;
		found = e;
		if (e->line) {
			conf_error(r, r->line, "section [engine %s] began at line %u already", name,
			           e->line);
			return NULL;
		}
		e->line = r->line;
		if (e->info->params)
			conf_add_table(r, e->info->params, e->params);
	}
	if (!found) {
		nearest_explain(&n, "engine", why, sizeof(why));
		conf_error(r, r->line, "%s", why);
	}
	return found;
}

const struct conf_section conf_sections[] = {
	{"daemon", false, daemon_keys, begin_daemon}, {"nic", true, nic_keys, begin_nic},
	{"peer", true, peer_keys, begin_peer},        {"switch", true, switch_keys, begin_switch},
	{"engine", true, engine_keys, begin_engine},  {NULL},
};

/* ---- defaults ---- */

bool
conf_defaults(struct conf *conf)
{
	const struct reliability_ops *const *rel;
	const struct cc_ops *const *cc;
	const struct lb_ops *const *lb;
	struct conf_engine *e;
	size_t n = 0;

	for (rel = reliability_engines; *rel; rel++)
		n++;
	for (cc = cc_engines; *cc; cc++)
		n++;
	for (lb = lb_engines; *lb; lb++)
		n++;
	conf->engines = e = calloc(n, sizeof(*conf->engines));
	if (!e)
		return false;
	for (rel = reliability_engines; *rel; rel++)
		*e++ = (struct conf_engine){.kind = CONF_ENGINE_REL, .info = &(*rel)->info};
	for (cc = cc_engines; *cc; cc++)
		*e++ = (struct conf_engine){.kind = CONF_ENGINE_CC, .info = &(*cc)->info};
	for (lb = lb_engines; *lb; lb++)
		*e++ = (struct conf_engine){.kind = (*lb)->where == LB_HOST ? CONF_ENGINE_HOST_LB
		                                                            : CONF_ENGINE_SWITCH_LB,
		                            .info = &(*lb)->info};
	conf->nb_engines = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		e = &conf->engines[i];
		if (e->info->params_size == 0)
			continue;
		e->params = calloc(1, e->info->params_size);
		if (!e->params)
			return false;
		param_defaults(e->info->params, e->params);
	}
	param_defaults(daemon_numbers, &conf->daemon.num);
	return true;
}
