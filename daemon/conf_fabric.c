/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "bounds.h"
#include "conf_read.h"
#include "hdr.h"
#include "path_mtu.h"
#include "weft_hdr.h"

/* What the keys of a switch, its queues and its ports mean together. */

/* What all other weighted queues have together. */
static double
other_weights(const struct conf_switch *sw, uint8_t queue)
{
	double sum = 0;

	for (uint8_t i = 0; i < QUEUES_NB; i++)
		sum += i == queue ? 0 : sw->fabric.queues[i].weight;
	return sum;
}

/* What the largest packet of data takes of a link before and after the cut, as IPv6. */
struct cut {
	uint32_t data_bytes, header_bytes;
	uint32_t overhead_bytes; /* in both */
};

/* Of hosts at a link like the switch's: what is cut is weft, with whatever in its packets. */
static uint32_t
path_mtu_of(const struct conf_switch *sw)
{
	const struct engine_set set = conf_plain_set();

	return mtu_bytes(path_mtu_code(sw->num.mtu, path_mtu_overhead(&set, FRAMING_WISH_WEFT)));
}

static struct cut
cut_of(const struct conf_switch *sw)
{
	struct cut cut = {0};

	for (uint32_t p = 0; p < sw->nb_ports; p++) {
		uint32_t overhead_bytes = sw->settings[p].link.overhead_bytes;

		if (overhead_bytes > cut.overhead_bytes)
			cut.overhead_bytes = overhead_bytes;
	}
	cut.header_bytes = ETH_LEN + IPV6_LEN + WEFT_HEADER_ONLY_UDP_LEN + cut.overhead_bytes;
	cut.data_bytes = path_mtu_of(sw) + cut.header_bytes;
	return cut;
}

bool
conf_trim_text(const struct conf_switch *sw, char *text, size_t size)
{
	const uint8_t queue = sw->fabric.trim_queue;
	struct cut cut = cut_of(sw);

	if (queue == QUEUE_NONE)
		return false;
	snprintf(text, size,
	         "header-only packets in queue %u: weight %.4g, all others %.4g; %u ports, %u "
	         "bytes of "
	         "the link before the cut, %u after",
	         queue, sw->fabric.queues[queue].weight, other_weights(sw, queue), sw->nb_ports,
	         cut.data_bytes, cut.header_bytes);
	return true;
}

/*
 * The weight of headers: for the largest data packets that hosts send on links of this MTU, cut as
 * IPv6, whose headers are longer; the other queues may all have data at a time. Where no weight is
 * enough, data keep the share of one port, or nothing would arrive in an incast; some headers are
 * lost then.
 */
static void
weigh_headers(struct conf_reader *r, struct conf_switch *sw)
{
	uint8_t queue = sw->fabric.trim_queue;
	struct cut cut = cut_of(sw);
	double w;

	if (queue == QUEUE_NONE || sw->fabric.queues[queue].weight != CONF_WEIGHT_UNSAID)
		return;
	w = trim_weight(sw->nb_ports, cut.data_bytes, cut.header_bytes);
	if (isinf(w)) {
		conf_warning(
			r, sw->trim_line,
			"[switch %s]: no weight keeps all headers in an incast: with %u ports, "
			"data of %u bytes must be more than %u times its headers of %u, both with "
			"overhead = %u: mtu = %u is a path MTU of %u; fewer ports or a larger "
			"mtu, please, or [queue %s/%u] weight",
			sw->name, sw->nb_ports, cut.data_bytes, sw->nb_ports - 1, cut.header_bytes,
			cut.overhead_bytes, sw->num.mtu, path_mtu_of(sw), sw->name, queue);
		w = sw->nb_ports - 1;
	}
	w *= other_weights(sw, queue);
	sw->fabric.queues[queue].weight = w > 0 ? w : 1;
}

static void
fill_queues(struct conf_switch *sw)
{
	for (uint8_t i = 0; i < QUEUES_NB; i++) {
		if (sw->queue_lines[i])
			continue;
		sw->fabric.queues[i] = sw->queue_default;
		if (i == sw->fabric.trim_queue)
			sw->fabric.queues[i].weight = CONF_WEIGHT_UNSAID;
	}
}

uint32_t
conf_queue_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t queue,
                const char *key)
{
	uint32_t line = conf_line_of(r, &sw->fabric.queues[queue], key);

	if (!line)
		line = conf_line_of(r, &sw->queue_default, key);
	if (!line)
		line = sw->queue_lines[queue];
	return line ? line : sw->line;
}

uint32_t
conf_port_line(const struct conf_reader *r, const struct conf_switch *sw, uint32_t port,
               const char *key)
{
	uint32_t line = conf_line_of(r, &sw->settings[port].link, key);

	if (!line)
		line = conf_line_of(r, &sw->port_default, key);
	if (!line)
		line = sw->settings[port].line;
	return line ? line : sw->line;
}

static void
tell_mistake(struct conf_reader *r, const struct conf_switch *sw, const struct switch_mistake *m)
{
	char port[CONF_PORT_TEXT];
	uint32_t line = 0;

	switch (m->part) {
	case SWITCH_WHOLE:
		line = strcmp(m->key, "trim_queue") == 0
		               ? sw->trim_line
		               : conf_line_of(r, &sw->fabric.params, m->key);
		conf_error(r, line ? line : sw->line, "[switch %s]: %s", sw->name, m->why);
		break;
	case SWITCH_QUEUE:
		line = conf_queue_line(r, sw, m->index, m->key);
		if (sw->queue_lines[m->index])
			conf_error(r, line, "[queue %s/%u]: %s", sw->name, m->index, m->why);
		else
			conf_error(r, line, "[switch %s]: %s", sw->name, m->why);
		break;
	case SWITCH_PORT:
		line = conf_port_line(r, sw, m->index, m->key);
		/* Said nowhere, and asked for by this. */
		if (line == sw->line && sw->int_line)
			line = sw->int_line;
		conf_error(r, line, "[switch %s]: port %s: %s", sw->name,
		           conf_port_text(&sw->ports[m->index], port), m->why);
		break;
	}
}

/* Whether it was told already, of another queue that has it from the switch, too. */
static bool
is_again(const struct conf_switch *sw, const struct switch_mistake *mistakes, uint32_t i)
{
	if (mistakes[i].part != SWITCH_QUEUE || sw->queue_lines[mistakes[i].index])
		return false;
	for (uint32_t k = 0; k < i; k++) {
		if (mistakes[k].part == SWITCH_QUEUE && !sw->queue_lines[mistakes[k].index])
			return true;
	}
	return false;
}

static void
check_switch(struct conf_reader *r, struct conf_switch *sw)
{
	struct switch_mistake mistakes[SWITCH_MISTAKES_MAX];
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric;
	uint32_t n;

	fill_queues(sw);
	weigh_headers(r, sw);
	fabric = conf_switch_fabric(sw, ports);
	n = switch_conf_check(&fabric, mistakes);
	for (uint32_t i = 0; i < n; i++)
		if (!is_again(sw, mistakes, i))
			tell_mistake(r, sw, &mistakes[i]);
}

void
conf_check_fabric(struct conf_reader *r)
{
	for (uint32_t i = 0; i < r->conf->nb_switches; i++)
		if (r->conf->switches[i].nb_ports > 0)
			check_switch(r, &r->conf->switches[i]);
}
