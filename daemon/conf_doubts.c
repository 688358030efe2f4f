/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "bounds.h"
#include "conf_read.h"
#include "hdr.h"
#include "path_mtu.h"
#include "units.h"

/* What is allowed and hardly meant. The conf is whole: all that it does not say is filled in. */

/* The longest frame, with a VLAN tag. */
static uint32_t
frame_bytes(const struct conf_switch *sw)
{
	return sw->num.mtu + ETH_LEN + VLAN_LEN;
}

/* ---- lossless classes ---- */

/* The first port whose headroom is too small, and how many are. */
static void
check_headroom(struct conf_reader *r, const struct conf_switch *sw)
{
	uint32_t first = 0, nb = 0, line;
	uint64_t need_bytes = 0;
	char text[CONF_PORT_TEXT];

	for (uint32_t p = 0; p < sw->nb_ports; p++) {
		const struct switch_port_params *link = &sw->settings[p].link;
		uint64_t need =
			headroom_need_bytes(link->rate_bps, link->delay_ns, frame_bytes(sw));

		if (link->headroom_bytes >= need)
			continue;
		if (nb++ == 0) {
			first = p;
			need_bytes = need;
		}
	}
	if (nb == 0)
		return;
	line = conf_line_of(r, &sw->settings[first].link, "headroom");
	if (!line)
		line = sw->settings[first].line ? sw->settings[first].line : sw->lossless_line;
	conf_warning(r, line,
	             "[switch %s]: port %s has headroom = %" PRIu64
	             ", and two delays of its link and two frames take %" PRIu64
	             ": lossless classes may lose frames%s",
	             sw->name, conf_port_text(&sw->ports[first], text),
	             sw->settings[first].link.headroom_bytes, need_bytes,
	             nb > 1 ? "; other ports as well" : "");
}

/* Of a lossless class: pauses should find that queues have marked before. */
static void
check_marks(struct conf_reader *r, const struct conf_switch *sw, const struct switch_conf *fabric)
{
	for (uint8_t i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &fabric->queues[i];
		uint64_t from_bytes;

		switch (mark_doubt(fabric, i, &from_bytes)) {
		case MARKS_FIRST:
			break;
		case MARKS_LATE:
			conf_warning(
				r, conf_queue_line(r, sw, i, "ecn_kmin"),
				"[switch %s]: queue %u marks above ecn_kmin = %" PRIu64
				", and its senders may be paused from %" PRIu64
				" bytes on: for marks to come first, ecn_kmin must be lower, the "
				"buffer larger or beta_dt smaller",
				sw->name, i, q->kmin_bytes, from_bytes);
			break;
		case MARKS_IN_PART:
			conf_warning(r, conf_queue_line(r, sw, i, "ecn_kmax"),
			             "[switch %s]: queue %u never reaches ecn_kmax = %" PRIu64
			             ": all its senders are paused at %" PRIu64
			             " bytes; a lower ecn_kmax, a larger buffer or a smaller "
			             "beta_dt, please",
			             sw->name, i, q->kmax_bytes, from_bytes);
			break;
		}
	}
}

/* ---- what cannot work, or has no effect ---- */

/* Each mistake of the switch's own numbers once, and each of a [queue]. */
static void
check_limits(struct conf_reader *r, const struct conf_switch *sw)
{
	bool is_told = false;

	for (uint8_t i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &sw->fabric.queues[i];
		char name[WEFT_NAME_LEN + 16];

		snprintf(name, sizeof(name), sw->queue_lines[i] ? "queue %s/%u" : "switch %s",
		         sw->name, i);
		if (sw->fabric.lossless >> i & 1) {
			if (conf_line_of(r, q, "limit"))
				conf_warning(r, conf_line_of(r, q, "limit"),
				             "[%s]: limit has no effect on a lossless class: what "
				             "bounds it is beta_dt and headroom of its ports",
				             name);
			continue;
		}
		if (q->limit_bytes >= frame_bytes(sw) || i == sw->fabric.trim_queue ||
		    (is_told && !sw->queue_lines[i]))
			continue;
		is_told |= !sw->queue_lines[i];
		conf_warning(r, conf_queue_line(r, sw, i, "limit"),
		             "[%s]: limit = %" PRIu64
		             " is less than a frame of mtu = %u, which is %u: "
		             "a longer one than limit never passes",
		             name, q->limit_bytes, sw->num.mtu, frame_bytes(sw));
	}
}

static void
check_floods(struct conf_reader *r, const struct conf_switch *sw)
{
	for (uint32_t p = 0; p < sw->nb_ports; p++)
		if (sw->settings[p].link.floods)
			return;
	conf_warning(r, conf_port_line(r, sw, 0, "flood"),
	             "[switch %s]: with flood = no at all its ports neither ARP nor neighbour "
	             "discovery passes: hosts do not find each other",
	             sw->name);
}

/* Only if somebody has counted them: by default, not all switches are full at a time. */
static void
check_packets(struct conf_reader *r)
{
	const struct conf *conf = r->conf;
	uint64_t sum = 0;
	uint32_t line = 0;

	for (uint32_t i = 0; i < conf->nb_switches; i++) {
		const struct switch_params *params = &conf->switches[i].fabric.params;
		uint32_t said = conf_line_of(r, params, "buffer_pkts");

		sum += params->buffer_pkts;
		line = said ? said : line;
	}
	if (line && sum > conf->daemon.num.packets)
		conf_warning(r, line,
		             "buffer_pkts of all switches is %" PRIu64
		             ", and [daemon] packets = %u: full switches would leave none to NICs "
		             "and ports",
		             sum, conf->daemon.num.packets);
}

/* ---- both ends of a ring ---- */

static void
check_ring(struct conf_reader *r, const struct conf_nic *nic, const struct conf_switch *sw,
           uint32_t port)
{
	char ring[CONF_PORT_TEXT], have[UNITS_TEXT_MAX], want[UNITS_TEXT_MAX];
	uint64_t rate_bps = sw->settings[port].link.rate_bps;
	uint32_t line = conf_line_of(r, &sw->num, "mtu");
	uint32_t path_mtu = conf_path_mtu(r->conf, nic);

	conf_port_text(&sw->ports[port], ring);
	if (path_mtu + conf_overhead_bytes(r->conf, nic) > sw->num.mtu)
		conf_warning(
			r, line ? line : sw->line,
			"[switch %s]: mtu = %u has no room for the path MTU of [nic %s] at %s, %u: "
			"its frames pass within this process, and are dropped at the next one",
			sw->name, sw->num.mtu, nic->name, ring, path_mtu);
	if (rate_bps < SWITCH_PAUSE_RATE_BPS)
		rate_bps = SWITCH_PAUSE_RATE_BPS;
	if (sw->fabric.lossless && nic->pfc && nic->num.rate_bps > rate_bps)
		conf_warning(
			r, conf_line_of(r, &nic->num, "rate"),
			"[nic %s]: it counts pauses in times of its rate = %s, and [switch %s] "
			"tells "
			"them for up to %s at %s: it may go on too early; the same rate, please",
			nic->name, units_format(UNITS_RATE, nic->num.rate_bps, have), sw->name,
			units_format(UNITS_RATE, rate_bps, want), ring);
}

/* What engines put into packets may halve the payload of all. */
static void
check_path_mtu(struct conf_reader *r, const struct conf_nic *nic)
{
	uint32_t overhead = conf_overhead_bytes(r->conf, nic), have = conf_path_mtu(r->conf, nic);
	uint32_t plain = mtu_bytes(
		path_mtu_code(nic->num.mtu, path_mtu_overhead(NULL, FRAMING_WISH_ROCEV2)));

	if (have < plain)
		conf_warning(
			r, nic->bind.line,
			"[nic %s]: with what framing and engines put into packets, mtu = %u has "
			"room for path MTU %u; mtu = %u has for %u",
			nic->name, nic->num.mtu, have, plain + overhead, plain);
}

static void
check_nic(struct conf_reader *r, const struct conf_nic *nic)
{
	check_path_mtu(r, nic);
	for (uint32_t i = 0; i < r->conf->nb_switches; i++) {
		const struct conf_switch *sw = &r->conf->switches[i];

		for (uint32_t p = 0; p < sw->nb_ports; p++)
			if (conf_port_has_two_ends(&nic->port) &&
			    conf_same_wire(&sw->ports[p], &nic->port))
				check_ring(r, nic, sw, p);
	}
}

static void
check_switch(struct conf_reader *r, const struct conf_switch *sw)
{
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric = conf_switch_fabric(sw, ports);

	check_limits(r, sw);
	check_floods(r, sw);
	if (!fabric.lossless)
		return;
	check_headroom(r, sw);
	check_marks(r, sw, &fabric);
}

void
conf_check_doubts(struct conf_reader *r)
{
	for (uint32_t i = 0; i < r->conf->nb_switches; i++)
		check_switch(r, &r->conf->switches[i]);
	for (uint32_t i = 0; i < r->conf->nb_nics; i++)
		check_nic(r, &r->conf->nics[i]);
	check_packets(r);
}
