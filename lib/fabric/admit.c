/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "hdr.h"
#include "switch_impl.h"
#include "trim.h"
#include "weft_hdr.h"

/*
 * Admission: a frame whose way is known finds room, is cut to its headers, or is dropped; each is
 * counted at the egress. Trimming: Li et al., "Revisiting RDMA Reliability for Lossy Fabrics",
 * SIGCOMM 2025: above the threshold of a queue, what is tagged as data is cut and goes to the
 * control queue, which also gets what was cut before; all else is dropped.
 */

/* The tag counts in packets of the weft framing only. */
static bool
is_header_only(const struct fabric_switch *sw, const struct pkt *p)
{
	return p->sw.bth_off && p->sw.tag == DCP_HEADER_ONLY && sw->conf.trim_queue != QUEUE_NONE;
}

static bool
may_trim(const struct fabric_switch *sw, const struct pkt *p)
{
	return p->sw.bth_off && sw->conf.trim_queue != QUEUE_NONE &&
	       wire_may_trim_found(p->data + p->sw.bth_off, p->sw.bth_len, (enum dcp_tag)p->sw.tag);
}

/* Charge the buffer; what is lossless is bounded by where it came from alone. */
static bool
take(struct fabric_switch *sw, struct switch_port *out, uint8_t queue, struct pkt *p)
{
	struct buffer_ingress *in = &sw->ports[p->in_port].ingress[p->sw.class];

	if (p->sw.is_lossless)
		return buffer_take_lossless(&sw->buffer, in, p->len);
	return out->queues.q[queue].nb_bytes + p->len <= sw->conf.queues[queue].limit_bytes &&
	       buffer_take_lossy(&sw->buffer, in, &out->egress[queue], p->len);
}

static void
enqueue(struct fabric_switch *sw, struct switch_port *out, uint8_t queue, struct pkt *p)
{
	struct switch_port *from = &sw->ports[p->in_port];

	queues_push(&out->queues, queue, p);
	switch_wake(sw, out);
	out->hop->queue_bytes += p->len;
	if (out->queues.q[queue].nb_bytes > out->stats.q[queue].bytes_max)
		out->stats.q[queue].bytes_max = out->queues.q[queue].nb_bytes;
	if (p->sw.is_lossless)
		pfc_look(sw, from, p->sw.class);
}

/* No room for it as it is. Its headers are lossy, whatever it was. */
static bool
trim(struct fabric_switch *sw, struct switch_port *out, struct pkt *p)
{
	uint8_t queue = sw->conf.trim_queue;

	p->len = wire_trim(p->data, p->sw.l3_off, p->data[p->sw.l3_off] >> 4 == 6);
	p->absent = 0;
	p->sw.bth_off = 0;
	p->sw.is_lossless = false;
	if (!take(sw, out, queue, p)) {
		out->stats.q[queue].full++;
		return false;
	}
	enqueue(sw, out, queue, p);
	return true;
}

void
switch_admit(struct fabric_switch *sw, uint16_t out_port, struct pkt *p)
{
	struct switch_port *out = &sw->ports[out_port];
	uint8_t queue = p->sw.class;

	if (!out->is_up) {
		out->stats.tx_link_down++;
	} else if (buffer_free_pkts(&sw->buffer) == 0) {
		out->stats.tx_full_pkts++;
	} else {
		if (is_header_only(sw, p)) {
			queue = sw->conf.trim_queue;
			p->sw.is_lossless = false;
		}
		if (take(sw, out, queue, p)) {
			enqueue(sw, out, queue, p);
			return;
		}
		if (may_trim(sw, p)) {
			out->stats.q[queue].trimmed++;
			if (trim(sw, out, p))
				return;
		} else if (p->sw.is_lossless) {
			sw->ports[p->in_port].stats.q[p->sw.class].headroom++;
		} else {
			out->stats.q[queue].full++;
		}
	}
	pkt_free(&p, 1);
}

void
switch_admit_copy(struct fabric_switch *sw, uint16_t out_port, const struct pkt *p)
{
	struct pkt *copy;

	if (pkt_held(p) > sw->pool->room_bytes || sw->pool->alloc(sw->pool, &copy, 1) == 0) {
		sw->ports[out_port].stats.tx_no_buffer++;
		return;
	}
	pkt_copy(copy, p);
	copy->sw = p->sw;
	switch_admit(sw, out_port, copy);
}
