/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "be.h"
#include "engine.h"
#include "fib.h"
#include "hdr.h"

const struct param_desc switch_param_descs[] = {
	{"macs_max", PARAM_U32, offsetof(struct switch_params, macs_max), 4096, 1, 1 << 24, "1",
         "our choice"},
	{"mac_age", PARAM_U64, offsetof(struct switch_params, mac_age_ns), 300e9, 1e9, 1e15, "ns",
         "IEEE 802.1Q, 8.8.3: 300 s"},
	{"queue_pkts_max", PARAM_U32, offsetof(struct switch_params, queue_pkts_max), 1024, 1,
         1 << 20, "pkt", "our choice"},
	{"queue_bytes_max", PARAM_U64, offsetof(struct switch_params, queue_bytes_max), 4 << 20,
         1600, 1 << 30, "B", "our choice"},
	{NULL},
};

const struct stat_desc switch_port_stat_descs[] = {
	{"rx_packets", offsetof(struct switch_port_stats, rx_packets)},
	{"rx_bytes", offsetof(struct switch_port_stats, rx_bytes)},
	{"tx_packets", offsetof(struct switch_port_stats, tx_packets)},
	{"tx_bytes", offsetof(struct switch_port_stats, tx_bytes)},
	{"rx_flooded", offsetof(struct switch_port_stats, rx_flooded)},
	{"rx_filtered", offsetof(struct switch_port_stats, rx_filtered)},
	{"rx_control", offsetof(struct switch_port_stats, rx_control)},
	{"rx_bad", offsetof(struct switch_port_stats, rx_bad)},
	{"tx_queue_full", offsetof(struct switch_port_stats, tx_queue_full)},
	{"tx_no_buffer", offsetof(struct switch_port_stats, tx_no_buffer)},
	{NULL},
};

struct switch_port {
	struct pkt_queue queue; /* frames that go out here */
	struct switch_port_stats stats;
};

struct fabric_switch {
	struct switch_params params;
	struct pkt_pool *pool;
	struct fib *fib;
	uint64_t nb_queued;
	uint16_t nb_ports;
	struct switch_port ports[];
};

/* What was looked up last. Neighbouring frames of a burst mostly go the same way. */
struct way {
	uint64_t src, dst; /* MACs; at first zero, which nobody has */
	uint16_t out_port; /* of dst */
};

struct fabric_switch *
switch_create(uint16_t nb_ports, const struct switch_params *params, struct pkt_pool *pool)
{
	struct fabric_switch *sw;

	assert(nb_ports >= 1 && nb_ports < FIB_NO_PORT);
	sw = calloc(1, sizeof(*sw) + nb_ports * sizeof(sw->ports[0]));
	if (!sw)
		return NULL;
	sw->params = *params;
	sw->pool = pool;
	sw->nb_ports = nb_ports;
	sw->fib = fib_create(params->macs_max, params->mac_age_ns);
	if (!sw->fib) {
		free(sw);
		return NULL;
	}
	return sw;
}

void
switch_destroy(struct fabric_switch *sw)
{
	struct pkt *p;

	if (!sw)
		return;
	for (uint16_t i = 0; i < sw->nb_ports; i++)
		while ((p = pkt_queue_pop(&sw->ports[i].queue)))
			pkt_free(&p, 1);
	fib_destroy(sw->fib);
	free(sw);
}

/* Whether a frame may leave its link at all. */
static bool
is_forwarded(const struct pkt *p)
{
	static const uint8_t reserved[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	if (get_be16(p->data + 12) == ETH_TYPE_MAC_CONTROL)
		return false;
	return memcmp(p->data, reserved, sizeof(reserved)) != 0 || p->data[5] > 0x0f;
}

static bool
queue_has_room(const struct fabric_switch *sw, const struct pkt_queue *queue, uint32_t len)
{
	return queue->nb_pkts < sw->params.queue_pkts_max &&
	       queue->nb_bytes + len <= sw->params.queue_bytes_max;
}

/* To the queue of one port, or to the drops of it. */
static void
switch_enqueue(struct fabric_switch *sw, uint16_t out_port, struct pkt *p)
{
	struct switch_port *out = &sw->ports[out_port];

	if (!queue_has_room(sw, &out->queue, p->len)) {
		out->stats.tx_queue_full++;
		pkt_free(&p, 1);
		return;
	}
	pkt_queue_push(&out->queue, p);
	sw->nb_queued++;
}

/* A copy for one port; the frame itself stays where it is. */
static void
switch_enqueue_copy(struct fabric_switch *sw, uint16_t out_port, const struct pkt *p)
{
	struct switch_port *out = &sw->ports[out_port];
	struct pkt *copy;

	if (!queue_has_room(sw, &out->queue, p->len)) {
		out->stats.tx_queue_full++;
		return;
	}
	if (p->len > sw->pool->room_bytes || sw->pool->alloc(sw->pool, &copy, 1) == 0) {
		out->stats.tx_no_buffer++;
		return;
	}
	memcpy(copy->data, p->data, p->len);
	copy->len = p->len;
	copy->in_port = p->in_port;
	switch_enqueue(sw, out_port, copy);
}

/* Copies to all ports but the first of the others, which gets the frame itself. */
static void
switch_flood(struct fabric_switch *sw, struct pkt *p)
{
	uint16_t first = p->in_port == 0 ? 1 : 0;

	sw->ports[p->in_port].stats.rx_flooded++;
	if (first >= sw->nb_ports) {
		pkt_free(&p, 1);
		return;
	}
	for (uint16_t i = first + 1; i < sw->nb_ports; i++)
		if (i != p->in_port)
			switch_enqueue_copy(sw, i, p);
	switch_enqueue(sw, first, p);
}

static void
switch_learn(struct fabric_switch *sw, struct way *way, const struct pkt *p, uint64_t now_ns)
{
	uint64_t src = fib_mac(p->data + 6);

	if (src == way->src)
		return;
	way->src = src;
	if (fib_learn(sw->fib, src, p->in_port, now_ns))
		*way = (struct way){.src = src, .out_port = FIB_NO_PORT};
}

/* The port of a frame's destination; FIB_NO_PORT = all others. */
static uint16_t
switch_find(const struct fabric_switch *sw, struct way *way, const struct pkt *p, uint64_t now_ns)
{
	uint64_t dst = fib_mac(p->data);

	if (dst != way->dst) {
		way->dst = dst;
		way->out_port = fib_find(sw->fib, dst, now_ns);
	}
	return way->out_port;
}

static void
switch_forward(struct fabric_switch *sw, struct way *way, struct pkt *p, uint64_t now_ns)
{
	struct switch_port *in = &sw->ports[p->in_port];
	uint16_t out_port;

	in->stats.rx_packets++;
	in->stats.rx_bytes += p->len;
	if (p->len < ETH_LEN) {
		in->stats.rx_bad++;
		pkt_free(&p, 1);
		return;
	}
	if (!is_forwarded(p)) {
		in->stats.rx_control++;
		pkt_free(&p, 1);
		return;
	}
	switch_learn(sw, way, p, now_ns);
	out_port = switch_find(sw, way, p, now_ns);
	if (out_port == FIB_NO_PORT) {
		switch_flood(sw, p);
	} else if (out_port == p->in_port) {
		in->stats.rx_filtered++;
		pkt_free(&p, 1);
	} else {
		switch_enqueue(sw, out_port, p);
	}
}

void
switch_receive(struct fabric_switch *sw, uint16_t in_port, struct pkt **pkts, uint32_t n,
               uint64_t now_ns)
{
	struct way way = {.out_port = FIB_NO_PORT};

	assert(in_port < sw->nb_ports);
	for (uint32_t i = 0; i < n; i++) {
		pkts[i]->in_port = in_port;
		switch_forward(sw, &way, pkts[i], now_ns);
	}
}

uint32_t
switch_send(struct fabric_switch *sw, uint16_t port, struct pkt **pkts, uint32_t max,
            uint64_t now_ns)
{
	struct switch_port *out = &sw->ports[port];
	uint32_t n = 0;

	(void)now_ns;
	assert(port < sw->nb_ports);
	while (n < max && out->queue.head) {
		pkts[n] = pkt_queue_pop(&out->queue);
		out->stats.tx_bytes += pkts[n]->len;
		n++;
	}
	out->stats.tx_packets += n;
	sw->nb_queued -= n;
	return n;
}

uint64_t
switch_next_ns(const struct fabric_switch *sw)
{
	return sw->nb_queued > 0 ? 0 : NEVER_NS;
}

uint16_t
switch_nb_ports(const struct fabric_switch *sw)
{
	return sw->nb_ports;
}

const struct switch_port_stats *
switch_port_stats(const struct fabric_switch *sw, uint16_t port)
{
	assert(port < sw->nb_ports);
	return &sw->ports[port].stats;
}
