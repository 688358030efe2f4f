/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "bind.h"
#include "conf_read.h"

/* The section [switch NAME]. */

/* A port may have a comma in itself: what follows one without a colon of its own belongs to it. */
static char *
next_port(char *text, char **rest)
{
	char *word = strtok_r(text, CONF_BETWEEN, rest);

	while (word && **rest && !strchr(CONF_BETWEEN, **rest)) {
		size_t len = strcspn(*rest, CONF_BETWEEN);

		if (memchr(*rest, ':', len))
			break;
		(*rest)[-1] = ',';
		strtok_r(NULL, CONF_BETWEEN, rest);
	}
	return word;
}

static void
read_ports(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf_switch *sw = obj;
	char text[CONF_LINE_MAX], *rest = NULL;
	bool is_empty = true;

	(void)key;
	snprintf(text, sizeof(text), "%s", value);
	for (char *word = next_port(text, &rest); word; word = next_port(NULL, &rest)) {
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

static const struct conf_key switch_keys[] = {
	{"ports", read_ports, .is_list = true},
	{NULL},
};

static const struct param_desc switch_numbers[] = {
	{"mtu", PARAM_U32, offsetof(struct conf_switch_numbers, mtu), 4200, 576, 9216, "B",
         "our choice: that of a NIC"},
	{NULL},
};

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
		conf_error(r, r->line, "more than %d switches", CONF_MAX_SWITCHES);
		return NULL;
	}
	sw = &conf->switches[conf->nb_switches];
	if (!conf_name(r, "name", title, sw->name))
		return NULL;
	conf->nb_switches++;
	sw->line = r->line;
	switch_conf_default(&sw->fabric);
	sw->fabric.lb = lb_find("ecmp", LB_SWITCH);
	conf_add_table(r, switch_param_descs, &sw->fabric.params);
	param_defaults(switch_numbers, &sw->num);
	conf_add_table(r, switch_numbers, &sw->num);
	return sw;
}

const struct conf_section conf_switch_section = {"switch", "NAME", switch_keys, begin_switch};
