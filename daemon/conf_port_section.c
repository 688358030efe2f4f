/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "conf_read.h"
#include "nearest.h"

/* The section [port PORT]: what is so at one port of a switch above it. */

/* Tables of its keys, each with what it describes. */
static const struct {
	const struct param_desc *descs;
	size_t offset; /* in struct conf_port_settings */
} tables[] = {
	{fault_param_descs, offsetof(struct conf_port_settings, fault)},
	{switch_port_descs, offsetof(struct conf_port_settings, link)},
};

#define NB_TABLES (sizeof(tables) / sizeof(tables[0]))

void
conf_port_defaults(struct conf_port_settings *settings)
{
	*settings = (struct conf_port_settings){0};
	for (size_t i = 0; i < NB_TABLES; i++)
		param_defaults(tables[i].descs, (char *)settings + tables[i].offset);
}

/* One end of a port: that of a switch. */
struct end {
	const struct conf_switch *sw;
	struct conf_port_settings *settings;
};

/* The switches' ends of a port, in the order of the file. @return how many, up to 2. */
static uint32_t
find_ends(struct conf *conf, const struct conf_port *port, struct end ends[2])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		struct conf_switch *sw = &conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports && n < 2; p++) {
			if (conf_same_wire(&sw->ports[p], port))
				ends[n++] = (struct end){sw, &sw->settings[p]};
		}
	}
	return n;
}

static void
unknown_port(struct conf_reader *r, const char *title)
{
	struct nearest near = nearest_of(title);
	char best[CONF_PORT_TEXT], why[2 * CONF_LINE_MAX];

	for (uint32_t i = 0; i < r->conf->nb_switches; i++)
		conf_offer_ports(&near, &r->conf->switches[i], best);
	nearest_explain(&near, "port of a switch above", why, sizeof(why));
	conf_error(r, r->line, "%s", why);
}

static void *
begin_port(struct conf_reader *r, const char *title)
{
	struct conf_port port = {0};
	struct end ends[2];
	uint32_t n;

	if (!conf_port(r, title, &port))
		return NULL;
	n = find_ends(r->conf, &port, ends);
	if (n == 0) {
		/* Not if the switch was skipped, which was told. */
		if (!conf_is_partial(r))
			unknown_port(r, title);
		return NULL;
	}
	if (ends[0].settings->line) {
		conf_error(r, r->line, "section [port %s] began at line %u already", title,
		           ends[0].settings->line);
		return NULL;
	}
	/* Its keys set both ends; what it does not say is as each end's switch has it. */
	for (uint32_t e = 0; e < n; e++) {
		struct conf_port_settings *settings = ends[e].settings;

		settings->line = r->line;
		settings->link = ends[e].sw->port_default;
		for (size_t i = 0; i < NB_TABLES; i++)
			conf_add_table(r, tables[i].descs, (char *)settings + tables[i].offset);
	}
	return ends[0].settings;
}

/* Which port these are the settings of. */
static void
find_port(const struct conf *conf, const struct conf_port_settings *settings, uint32_t *sw,
          uint32_t *port)
{
	*sw = 0;
	while (settings < conf->switches[*sw].settings ||
	       settings >= conf->switches[*sw].settings + CONF_MAX_PORTS)
		++*sw;
	*port = (uint32_t)(settings - conf->switches[*sw].settings);
}

static void
read_hosts(struct conf_reader *r, const struct conf_key *key, void *obj, const char *value)
{
	struct conf *conf = r->conf;
	char text[CONF_LINE_MAX], *rest = NULL;

	(void)key;
	snprintf(text, sizeof(text), "%s", value);
	for (char *word = strtok_r(text, CONF_BETWEEN, &rest); word;
	     word = strtok_r(NULL, CONF_BETWEEN, &rest)) {
		struct conf_remote *remote = &conf->remotes[conf->nb_remotes];

		if (conf->nb_remotes == CONF_MAX_REMOTES) {
			conf_error(r, r->line, "more than %d prefixes of hosts", CONF_MAX_REMOTES);
			return;
		}
		if (!conf_prefix(r, word, &remote->prefix))
			return;
		remote->line = r->line;
		find_port(conf, obj, &remote->sw, &remote->port);
		conf->nb_remotes++;
	}
}

static const struct conf_key port_keys[] = {
	{"hosts", read_hosts, .is_list = true},
	{NULL},
};

const struct conf_section conf_port_section = {"port", "PORT", port_keys, begin_port};

/*
 * Of a wire between two switches, each end sends one of its two directions: with the same settings
 * at both ends a frame meets them once. What strikes frames that come in would meet those of the
 * other end once more. The seeds differ, or both directions would suffer alike.
 */
static void
check_ends(struct conf_reader *r, const struct end ends[2])
{
	const struct conf_port_settings *first = ends[0].settings;
	const struct fault_params received = {.rx = first->fault.rx};

	if (!ends[1].settings->line)
		conf_error(r, first->line,
		           "[port]: it must stand behind [switch %s], at line %u, which lists it "
		           "too",
		           ends[1].sw->name, ends[1].sw->line);
	if (fault_any(&received))
		conf_error(r, first->line,
		           "[port]: it joins [switch %s] and [switch %s]: fault_... holds for both "
		           "directions, and no fault_rx_... is needed",
		           ends[0].sw->name, ends[1].sw->name);
	ends[1].settings->fault.seed++;
}

void
conf_check_port_sections(struct conf_reader *r)
{
	struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		struct conf_switch *sw = &conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			struct conf_port_settings *settings = &sw->settings[p];
			struct end ends[2];

			if (!settings->line) {
				settings->link = sw->port_default;
				continue;
			}
			settings->has_fault = fault_any(&settings->fault);
			if (find_ends(conf, &sw->ports[p], ends) == 2 &&
			    ends[0].settings == settings)
				check_ends(r, ends);
		}
	}
}
