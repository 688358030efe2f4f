/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "engine.h"
#include "int.h"
#include "switch_impl.h"

/*
 * The way out: whose turn it is, what is written to the frame as it leaves, and how long the link
 * takes for it.
 *
 * A link with a rate is free again when the last frame's end has left; a driver that comes late
 * sends what the link could have sent meanwhile, up to catch_up. Times of departure are the link's,
 * not the driver's. A link with a rate or a delay holds frames until their end arrives.
 */

/* A link that had nothing to send has earned nothing. */
static void
begin(struct switch_port *port, uint64_t now_ns)
{
	uint64_t late_ns = port->is_ready ? port->params.catch_up_ns : 0;
	uint64_t lost_ns = link_clock_begin(&port->clock, now_ns, late_ns);

	if (port->is_ready && port->clock.ns_per_byte)
		port->stats.tx_late_ns += lost_ns;
	port->is_ready = true;
}

/* The link is taken until the frame's end has left. */
static void
occupy(struct switch_port *port, struct pkt *p)
{
	uint32_t bytes = p->len + port->overhead_bytes;

	port->tx_link_bytes += bytes;
	link_clock_take(&port->clock, bytes);
	p->due_ns = port->clock.free_ns + port->params.delay_ns;
}

static void
write_telemetry(struct fabric_switch *sw, struct switch_port *port, struct pkt *p,
                uint64_t start_ns)
{
	const struct int_stamp stamp = {
		.now_ns = start_ns,
		.tx_bytes = port->tx_link_bytes,
		.queue_bytes = port->hop->queue_bytes,
		.hop_id = port->hop_id,
		.rate_code = port->rate_code,
		.tbo = sw->buffer.used_bytes > sw->tbo_bytes,
	};

	switch (int_push(p->data + p->sw.bth_off, p->sw.bth_len, &stamp)) {
	case INT_NO_AREA:
	case INT_NB:
		return;
	case INT_WRITTEN:
		port->stats.int_written++;
		break;
	case INT_FULL:
		port->stats.int_full++;
		break;
	case INT_LIES:
		port->stats.int_lies++;
		return;
	}
	port->stats.int_tbo += stamp.tbo;
}

/* A frame has its turn: it leaves the buffer, and is written to. */
static void
depart(struct fabric_switch *sw, struct switch_port *port, struct pkt *p, uint8_t queue)
{
	const struct mark *mark = &sw->marks[queue];

	switch_release(sw, port, queue, p);
	if (mark->kmax_bytes && p->sw.l3_off &&
	    mark_hit(mark, port->queues.q[queue].nb_bytes, &port->dice))
		port->stats.q[queue].marked += mark_ce(p->data + p->sw.l3_off);
	if (port->rate_code && p->sw.bth_off)
		write_telemetry(sw, port, p, port->has_link ? port->clock.free_ns : sw->now_ns);
	port->stats.q[queue].packets++;
	port->stats.q[queue].bytes += p->len;
}

/* The next frame of the queues that may send; NULL if there is none. */
static struct pkt *
next_frame(struct fabric_switch *sw, struct switch_port *port, uint8_t may, uint64_t now_ns)
{
	struct pkt *p = NULL;
	uint8_t queue;

	if (pfc_next_ns(port) <= now_ns)
		p = pfc_frame(sw, port, now_ns);
	if (p)
		return p;
	p = queues_pop(&port->queues, may, port->overhead_bytes, &queue);
	if (p)
		depart(sw, port, p, queue);
	return p;
}

/* The next frame that the link takes now. */
static struct pkt *
next_on_link(struct fabric_switch *sw, struct switch_port *port, uint8_t may, uint64_t now_ns)
{
	struct pkt *p;

	if (!(port->queues.backlog & may) && pfc_next_ns(port) > now_ns) {
		port->is_ready = false;
		return NULL;
	}
	begin(port, now_ns);
	if (port->clock.free_ns > now_ns)
		return NULL;
	p = next_frame(sw, port, may, now_ns);
	if (p)
		occupy(port, p);
	return p;
}

static uint32_t
send_over_link(struct fabric_switch *sw, struct switch_port *port, uint8_t may, struct pkt **pkts,
               uint32_t max, uint64_t now_ns)
{
	struct pkt *p;
	uint32_t n = 0;

	while (port->wire.nb_pkts < WIRE_MAX_PKTS && (p = next_on_link(sw, port, may, now_ns))) {
		if (n < max && !port->wire.head && p->due_ns <= now_ns)
			pkts[n++] = p; /* it has arrived already */
		else
			pkt_queue_push(&port->wire, p);
	}
	while (n < max && port->wire.head && port->wire.head->due_ns <= now_ns)
		pkts[n++] = pkt_queue_pop(&port->wire);
	return n;
}

/* The driver takes them. */
static uint32_t
send_at_once(struct fabric_switch *sw, struct switch_port *port, uint8_t may, struct pkt **pkts,
             uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;

	while (n < max && (pkts[n] = next_frame(sw, port, may, now_ns)))
		port->tx_link_bytes += pkts[n++]->len + port->overhead_bytes;
	return n;
}

uint64_t
switch_ready(const struct fabric_switch *sw, uint16_t word)
{
	assert(word <= sw->conf.nb_ports / 64);
	return sw->ready[word];
}

uint32_t
switch_send(struct fabric_switch *sw, uint16_t port_idx, struct pkt **pkts, uint32_t max,
            uint64_t now_ns)
{
	struct switch_port *port = &sw->ports[port_idx];
	uint32_t n = 0;
	uint8_t may; /* bit i: queue i is not paused */

	assert(port_idx < sw->conf.nb_ports);
	sw->now_ns = now_ns;
	may = (uint8_t)~pause_mask(&port->pause, now_ns);
	if (port->has_link)
		n = send_over_link(sw, port, may, pkts, max, now_ns);
	else
		n = send_at_once(sw, port, may, pkts, max, now_ns);
	if (!port->queues.backlog && !port->wire.head && pfc_next_ns(port) == NEVER_NS)
		sw->ready[port_idx / 64] &= ~(UINT64_C(1) << port_idx % 64);
	port->stats.tx_packets += n;
	for (uint32_t i = 0; i < n; i++)
		port->stats.tx_bytes += pkts[i]->len;
	return n;
}

/* When a frame can go over to the link. */
static uint64_t
port_leaves_ns(const struct switch_port *port)
{
	uint64_t next_ns = pfc_next_ns(port), resume_ns;

	if (port->wire.nb_pkts >= WIRE_MAX_PKTS)
		return NEVER_NS;
	if (port->queues.backlog & ~port->pause.held) {
		next_ns = 0;
	} else if (port->queues.backlog) {
		resume_ns = pause_next_ns(&port->pause);
		next_ns = resume_ns < next_ns ? resume_ns : next_ns;
	}
	return next_ns > port->clock.free_ns ? next_ns : port->clock.free_ns;
}

uint64_t
switch_next_ns(const struct fabric_switch *sw)
{
	uint64_t next_ns = sw->lb->deadline_ns;

	for (uint16_t i = 0; i < sw->conf.nb_ports; i++) {
		const struct switch_port *port = &sw->ports[i];
		uint64_t t = port_leaves_ns(port);

		if (t < next_ns)
			next_ns = t;
		if (port->wire.head && port->wire.head->due_ns < next_ns)
			next_ns = port->wire.head->due_ns;
	}
	return next_ns <= sw->now_ns ? 0 : next_ns;
}
