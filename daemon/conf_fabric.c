/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>

#include "bounds.h"
#include "conf_read.h"
#include "hdr.h"
#include "weft_hdr.h"

/* What the keys of a switch, its queues and its ports mean together. */

/* The longest frame, with a VLAN tag. */
static uint32_t
frame_bytes(const struct conf_switch *sw)
{
	return sw->num.mtu + ETH_LEN + VLAN_LEN;
}

/* What all other weighted queues have together. */
static double
other_weights(const struct conf_switch *sw, uint8_t queue)
{
	double sum = 0;

	for (uint8_t i = 0; i < QUEUES_NB; i++)
		sum += i == queue ? 0 : sw->fabric.queues[i].weight;
	return sum;
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
	uint32_t overhead = 0, header, data;
	double w;

	if (queue == QUEUE_NONE || sw->fabric.queues[queue].weight != CONF_WEIGHT_UNSAID)
		return;
	for (uint32_t p = 0; p < sw->nb_ports; p++)
		overhead = sw->settings[p].link.overhead_bytes > overhead
		                   ? sw->settings[p].link.overhead_bytes
		                   : overhead;
	header = ETH_LEN + IPV6_LEN + WEFT_HEADER_ONLY_UDP_LEN + overhead;
	data = conf_path_mtu(sw->num.mtu) + header;
	w = trim_weight(sw->nb_ports, data, header);
	if (isinf(w)) {
		conf_warning(
			r, sw->trim_line,
			"[switch %s]: no weight keeps all headers in an incast: with %u ports, "
			"data of %u bytes must be more than %u times its headers of %u; fewer "
			"ports or a larger mtu, please, or [queue %s/%u] weight",
			sw->name, sw->nb_ports, data, sw->nb_ports - 1, header, sw->name, queue);
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

/* The first port whose headroom is too small, and how many are. */
static void
check_headroom(struct conf_reader *r, const struct conf_switch *sw)
{
	uint32_t first = 0, nb = 0;
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
	conf_warning(r, sw->settings[first].line ? sw->settings[first].line : sw->lossless_line,
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
			conf_warning(r, sw->queue_lines[i] ? sw->queue_lines[i] : sw->line,
			             "[switch %s]: queue %u marks above ecn_kmin = %" PRIu64
			             ", and its senders may be paused from %" PRIu64
			             " bytes on: DCQCN should see marks first",
			             sw->name, i, q->kmin_bytes, begin);
		else if (q->kmax_bytes > end)
			conf_warning(r, sw->queue_lines[i] ? sw->queue_lines[i] : sw->line,
			             "[switch %s]: queue %u never reaches ecn_kmax = %" PRIu64
			             ": all its senders are paused at %" PRIu64 " bytes",
			             sw->name, i, q->kmax_bytes, end);
	}
}

static void
check_switch(struct conf_reader *r, struct conf_switch *sw)
{
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf fabric;
	char why[256];

	fill_queues(sw);
	weigh_headers(r, sw);
	fabric = conf_switch_fabric(sw, ports);
	if (switch_conf_check(&fabric, why, sizeof(why)) != 0) {
		conf_error(r, sw->line, "[switch %s]: %s", sw->name, why);
		return;
	}
	if (!fabric.lossless)
		return;
	check_headroom(r, sw);
	check_marks(r, sw, &fabric);
}

void
conf_check_fabric(struct conf_reader *r)
{
	for (uint32_t i = 0; i < r->conf->nb_switches; i++)
		if (r->conf->switches[i].nb_ports > 0)
			check_switch(r, &r->conf->switches[i]);
}
