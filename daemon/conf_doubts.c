/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "bounds.h"
#include "conf_read.h"
#include "hdr.h"

/* What is allowed and hardly meant. The conf is whole: all that it does not say is filled in. */

/* The longest frame, with a VLAN tag. */
static uint32_t
frame_bytes(const struct conf_switch *sw)
{
	return sw->num.mtu + ETH_LEN + VLAN_LEN;
}

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
	uint64_t shared = fabric->params.buffer_bytes - switch_reserved_bytes(fabric);
	uint32_t nb_lossless = (uint32_t)__builtin_popcount(fabric->lossless), beta_dt = 1;

	for (uint32_t p = 0; p < sw->nb_ports; p++)
		if (fabric->ports[p].beta_dt > beta_dt)
			beta_dt = fabric->ports[p].beta_dt;
	for (uint8_t i = 0; i < QUEUES_NB; i++) {
		const struct switch_queue *q = &fabric->queues[i];
		uint64_t begin, end;

		if (!(fabric->lossless >> i & 1) || q->kmax_bytes == 0)
			continue;
		begin = mark_before_pause_bytes(shared, sw->nb_ports, nb_lossless, beta_dt);
		end = pause_reach_bytes(shared, q->reserve_bytes, sw->nb_ports, beta_dt);
		if (q->kmin_bytes > begin)
			conf_warning(
				r, conf_queue_line(r, sw, i, "ecn_kmin"),
				"[switch %s]: queue %u marks above ecn_kmin = %" PRIu64
				", and its senders may be paused from %" PRIu64
				" bytes on: for marks to come first, ecn_kmin must be lower, the "
				"buffer larger or beta_dt smaller",
				sw->name, i, q->kmin_bytes, begin);
		else if (q->kmax_bytes > end)
			conf_warning(r, conf_queue_line(r, sw, i, "ecn_kmax"),
			             "[switch %s]: queue %u never reaches ecn_kmax = %" PRIu64
			             ": all its senders are paused at %" PRIu64
			             " bytes; a lower ecn_kmax, a larger buffer or a smaller "
			             "beta_dt, please",
			             sw->name, i, q->kmax_bytes, end);
	}
}

static void
check_switch(struct conf_reader *r, const struct conf_switch *sw)
{
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric = conf_switch_fabric(sw, ports);

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
}
