/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "bind.h"
#include "conf_read.h"

/* The section [switch NAME]. */

static void
read_ports(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_switch *sw = obj;
	char text[CONF_LINE_MAX], *rest = NULL;
	bool is_empty = true;

	(void)key;
	snprintf(text, sizeof(text), "%s", value);
	for (char *word = conf_next_port(text, &rest); word; word = conf_next_port(NULL, &rest)) {
		is_empty = false;
		if (sw->nb_ports == CONF_MAX_PORTS) {
			conf_error(r, r->line, "more than %d ports", CONF_MAX_PORTS);
			return;
		}
		if (!conf_port(r, word, &sw->ports[sw->nb_ports]))
			continue;
		conf_port_defaults(&sw->settings[sw->nb_ports]);
		sw->nb_ports++;
	}
	/* A value may be nothing but a comment. */
	if (is_empty)
		conf_error(r, r->line, "no port is named: 'ports = ring:NAME, ...'");
	sw->has_ports = true;
}

#define MEMBER(name) offsetof(struct conf_switch, name)

static const struct conf_key switch_keys[] = {
	{"ports", read_ports, .is_list = true},
	{"route", conf_read_route, .is_list = true},
	{"lb", conf_read_engine, MEMBER(fabric.lb), CONF_ENGINE_SWITCH_LB,
         .line_offset = MEMBER(lb_line)},
	{"trust", conf_read_trust, MEMBER(fabric.trust)},
	{"dscp_map", conf_read_class_map, MEMBER(fabric.class_of_dscp), 63, .is_list = true},
	{"pcp_map", conf_read_class_map, MEMBER(fabric.class_of_pcp), 7, .is_list = true},
	{"pfc", conf_read_lossless, MEMBER(fabric.lossless), .is_list = true,
         .line_offset = MEMBER(lossless_line)},
	{"trim_queue", conf_read_trim_queue, MEMBER(fabric.trim_queue),
         .line_offset = MEMBER(trim_line)},
	{"int", conf_read_yes_no, MEMBER(fabric.has_int), .line_offset = MEMBER(int_line)},
	{NULL},
};

static const struct param_desc switch_numbers[] = {
	{"mtu", PARAM_U32, offsetof(struct conf_switch_numbers, mtu), 4200, 576, 9216, "B",
         "our choice: that of a NIC"},
	{NULL},
};

/* What tells it from others, in other processes too. */
static void
derive_ids(struct conf_switch *sw)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (const char *p = sw->name; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	sw->fabric.id = (uint16_t)(h >> 32);
	sw->fabric.mac[0] = 0x02;
	for (int i = 1; i < 6; i++)
		sw->fabric.mac[i] = (uint8_t)(h >> (8 * i));
}

static void *
begin_switch(struct conf_reader *r, const char *title)
{
	struct conf *conf = r->conf;
	struct conf_switch *sw;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		if (strcmp(conf->switches[i].name, title) != 0)
			continue;
		conf_error(r, r->line, "section [switch %s] began at line %u already", title,
		           conf->switches[i].line);
		return NULL;
	}
	if (conf->nb_switches == CONF_MAX_SWITCHES) {
		conf_too_many(r, CONF_MAX_SWITCHES, "switches");
		return NULL;
	}
	sw = &conf->switches[conf->nb_switches];
	if (!conf_name(r, "name", title, sw->name))
		return NULL;
	conf->nb_switches++;
	sw->line = r->line;
	switch_conf_default(&sw->fabric);
	sw->fabric.lb = lb_find("ecmp", LB_SWITCH);
	derive_ids(sw);
	param_defaults(switch_numbers, &sw->num);
	param_defaults(switch_queue_descs, &sw->queue_default);
	param_defaults(switch_port_descs, &sw->port_default);
	conf_add_table(r, switch_param_descs, &sw->fabric.params);
	conf_add_table(r, switch_numbers, &sw->num);
	conf_add_table(r, switch_queue_descs, &sw->queue_default);
	conf_add_table(r, switch_port_descs, &sw->port_default);
	return sw;
}

const struct conf_section conf_switch_section = {"switch", "NAME", switch_keys, begin_switch,
                                                 .is_node = true};

struct switch_conf
conf_switch_fabric(const struct conf_switch *sw, struct switch_port_params ports[CONF_MAX_PORTS])
{
	struct switch_conf fabric = sw->fabric;

	for (uint32_t p = 0; p < sw->nb_ports; p++)
		ports[p] = sw->settings[p].link;
	fabric.nb_ports = (uint16_t)sw->nb_ports;
	fabric.ports = ports;
	return fabric;
}
