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

/* As a list of ports has it. */
static void
port_text(const struct conf_port *port, char *text, size_t size)
{
	const char *role = port->is_server ? ",server" : ",client";

	snprintf(text, size, "%s:%s%s", conf_port_kind(port), port->arg,
	         port->kind == PORT_MEMIF ? role : "");
}

static void
unknown_port(struct conf_reader *r, const char *title)
{
	const struct conf *conf = r->conf;
	struct nearest near = nearest_of(title);
	char text[CONF_PORT_ARG_LEN + 32], best[sizeof(text)], why[2 * CONF_LINE_MAX];

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		const struct conf_switch *sw = &conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			port_text(&sw->ports[p], text, sizeof(text));
			nearest_offer(&near, text);
			if (near.name == text)
				near.name = strcpy(best, text);
		}
	}
	nearest_explain(&near, "port of a switch above", why, sizeof(why));
	conf_error(r, r->line, "%s", why);
}

static void *
begin_port(struct conf_reader *r, const char *title)
{
	struct conf_port port = {0};
	struct conf_port_settings *settings;
	struct end ends[2];

	if (!conf_port(r, title, &port))
		return NULL;
	if (find_ends(r->conf, &port, ends) == 0) {
		/* Not if the switch was skipped, which was told. */
		if (!r->nb_errors || r->nb_bad_sections <= 1)
			unknown_port(r, title);
		return NULL;
	}
	settings = ends[0].settings;
	if (settings->line) {
		conf_error(r, r->line, "section [port %s] began at line %u already", title,
		           settings->line);
		return NULL;
	}
	settings->line = r->line;
	for (size_t i = 0; i < NB_TABLES; i++)
		conf_add_table(r, tables[i].descs, (char *)settings + tables[i].offset);
	return settings;
}

static const struct conf_key port_keys[] = {
	{NULL},
};

const struct conf_section conf_port_section = {"port", "PORT", port_keys, begin_port};

/*
 * Of a wire between two switches, each end sends one of its two directions: with the same settings
 * at both ends a frame meets them once. What strikes frames that come in would meet those of the
 * other end once more. The seeds differ, or both directions would suffer alike.
 */
static void
share(struct conf_reader *r, const struct end ends[2])
{
	const struct conf_port_settings *from = ends[0].settings;
	const struct fault_params received = {.rx = from->fault.rx};

	if (fault_any(&received)) {
		conf_error(r, from->line,
		           "[port]: it joins [switch %s] and [switch %s]: fault_... holds for both "
		           "directions, and no fault_rx_... is needed",
		           ends[0].sw->name, ends[1].sw->name);
		return;
	}
	*ends[1].settings = *from;
	ends[1].settings->fault.seed++;
}

void
conf_check_port_sections(struct conf_reader *r)
{
	struct conf *conf = r->conf;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		struct conf_switch *sw = &conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports; p++) {
			struct end ends[2];

			if (!sw->settings[p].line)
				continue;
			sw->settings[p].has_fault = fault_any(&sw->settings[p].fault);
			if (find_ends(conf, &sw->ports[p], ends) == 2 &&
			    ends[0].settings == &sw->settings[p])
				share(r, ends);
		}
	}
}
