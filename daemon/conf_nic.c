/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "bind.h"
#include "conf_read.h"
#include "pause.h"

/* The sections [nic NAME] and [peer PREFIX], whose structs both begin with a conf_bind. */

/* ---- the five keys that they have in common ---- */

static void
read_framing(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_bind *bind = obj;

	conf_read_framing(r, key, obj, value);
	bind->has_framing = true;
}

static void
read_fabric(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_bind *bind = obj;
	uint32_t traits;
	char why[256];

	(void)key;
	if (traits_parse(value, &traits, why, sizeof(why)) != 0) {
		conf_error(r, r->line, "%s", why);
		return;
	}
	bind->fabric = traits | (bind->has_fabric ? bind->fabric : 0);
	bind->has_fabric = true;
}

#define MEMBER(name) offsetof(struct conf_bind, name)

/* clang-format off */
#define BIND_KEYS                                                                                  \
	{"framing", read_framing, MEMBER(framing), .line_offset = MEMBER(line)},                        \
	{"reliability", conf_read_engine, MEMBER(set.rel), CONF_ENGINE_REL, .line_offset = MEMBER(line)},   \
	{"cc", conf_read_engine, MEMBER(set.cc), CONF_ENGINE_CC, .line_offset = MEMBER(line)},              \
	{"lb", conf_read_engine, MEMBER(set.lb), CONF_ENGINE_HOST_LB, .line_offset = MEMBER(line)},         \
	{"fabric", read_fabric, .is_list = true, .line_offset = MEMBER(line)}
/* clang-format on */

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
	{"pfc_watchdog", PARAM_U64, offsetof(struct conf_nic_numbers, pfc_watchdog_ns),
         PAUSE_WATCHDOG_NS, 0, 10e9, "ns", "our choice"},
	{NULL},
};

const struct param_desc conf_traffic_class[] = {
	{"traffic_class", PARAM_U32, offsetof(struct conf_nic_numbers, traffic_class), 0, 0, 255,
         "1", "RFC 2474"},
	{NULL},
};

static void
read_port(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	(void)key;
	conf_port(r, value, &((struct conf_nic *)obj)->port);
}

static void
read_ip(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_nic *nic = obj;
	char text[CONF_LINE_MAX], *rest = NULL;

	(void)key;
	snprintf(text, sizeof(text), "%s", value);
	for (char *word = strtok_r(text, CONF_BETWEEN, &rest); word;
	     word = strtok_r(NULL, CONF_BETWEEN, &rest)) {
		if (nic->nb_ips == CONF_MAX_IPS) {
			conf_error(r, r->line, "more than %d addresses", CONF_MAX_IPS);
			return;
		}
		nic->ip_lines[nic->nb_ips] = r->line;
		if (conf_host_ip(r, word, &nic->ips[nic->nb_ips]))
			nic->nb_ips++;
	}
}

static void
read_mac(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_nic *nic = obj;

	(void)key;
	conf_mac(r, value, nic->mac);
}

static void
read_traffic_class(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_nic *nic = obj;

	nic->has_traffic_class = conf_number(r, conf_traffic_class, &nic->num, key->name, value);
}

static const struct conf_key nic_keys[] = {
	{"port", read_port},
	{"ip", read_ip, .is_list = true, .line_offset = offsetof(struct conf_nic, ip_line)},
	{"mac", read_mac, .line_offset = offsetof(struct conf_nic, mac_line)},
	{"traffic_class", read_traffic_class},
	{"pfc", conf_read_yes_no, offsetof(struct conf_nic, pfc)},
	BIND_KEYS,
	{NULL},
};

static void *
begin_nic(struct conf_reader *r, const char *title)
{
	struct conf *conf = r->conf;
	struct conf_nic *nic;

	for (uint32_t i = 0; i < conf->nb_nics; i++) {
		if (strcmp(conf->nics[i].name, title) != 0)
			continue;
		conf_error(r, r->line, "section [nic %s] began at line %u already", title,
		           conf->nics[i].line);
		return NULL;
	}
	if (conf->nb_nics == CONF_MAX_NICS) {
		conf_too_many(r, CONF_MAX_NICS, "NICs");
		return NULL;
	}
	nic = &conf->nics[conf->nb_nics];
	if (!conf_name(r, "name", title, nic->name))
		return NULL;
	conf->nb_nics++;
	nic->line = r->line;
	nic->bind.line = r->line;
	nic->pfc = true;
	nic->bind.framing = FRAMING_WISH_DEFAULT;
	nic->bind.set = conf_plain_set();
	nic->bind.fabric = TRAITS_FABRIC;
	param_defaults(nic_numbers, &nic->num);
	param_defaults(fault_param_descs, &nic->fault);
	conf_add_table(r, nic_numbers, &nic->num);
	conf_add_table(r, fault_param_descs, &nic->fault);
	return nic;
}

const struct conf_section conf_nic_section = {"nic", "NAME", nic_keys, begin_nic, .is_node = true};

/* ---- [peer PREFIX] ---- */

static const struct conf_key peer_keys[] = {
	BIND_KEYS,
	{NULL},
};

static void *
begin_peer(struct conf_reader *r, const char *title)
{
	struct conf *conf = r->conf;
	struct conf_peer *peer;

	if (conf->nb_peers == CONF_MAX_PEERS) {
		conf_too_many(r, CONF_MAX_PEERS, "peers");
		return NULL;
	}
	peer = &conf->peers[conf->nb_peers];
	if (!conf_prefix(r, title, &peer->prefix))
		return NULL;
	for (uint32_t i = 0; i < conf->nb_peers; i++) {
		const struct conf_peer *p = &conf->peers[i];

		if (!ip_prefix_is_same(&p->prefix, &peer->prefix))
			continue;
		conf_error(r, r->line, "section [peer %s] began at line %u already", title,
		           p->line);
		return NULL;
	}
	conf->nb_peers++;
	peer->line = peer->bind.line = r->line;
	return peer;
}

const struct conf_section conf_peer_section = {"peer", "PREFIX", peer_keys, begin_peer};
