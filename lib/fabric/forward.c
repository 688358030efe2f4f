/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "hdr.h"
#include "switch_impl.h"
#include "weft_hdr.h"

/* Forwarding: through which port, or ports, a frame leaves. */

/* What was looked up last. Neighbouring frames of a burst mostly go the same way. */
struct way {
	uint64_t src, dst; /* MACs; at first zero, which nobody has */
	uint16_t out_port; /* of dst */
};

/* Whether a frame may leave its link at all. */
static bool
is_forwarded(const struct pkt *p, const struct frame *f)
{
	static const uint8_t reserved[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	if (f->eth_type == ETH_TYPE_MAC_CONTROL)
		return false;
	return memcmp(p->data, reserved, sizeof(reserved)) != 0 || p->data[5] > 0x0f;
}

/* The class of a frame, and where its headers lie. */
static void
classify(const struct fabric_switch *sw, struct pkt *p, const struct frame *f)
{
	struct weft_at at;

	p->sw.l3_off = f->l3_off;
	p->sw.bth_off = 0;
	if (sw->looks_at_weft && f->l3_off && weft_find(p->data, p->len, f->l3_off, f->ipv6, &at)) {
		p->sw.bth_off = (uint16_t)at.bth_off;
		p->sw.bth_len = (uint16_t)(at.end_off - at.bth_off);
		p->sw.tag = f->tos >> DCP_TAG_SHIFT & 3;
	}
	if (sw->conf.trust == TRUST_PCP)
		p->sw.class = f->has_vlan ? sw->conf.class_of_pcp[f->pcp] : 0;
	else
		p->sw.class = f->l3_off ? sw->conf.class_of_dscp[f->tos >> 2] : 0;
	p->sw.is_lossless = sw->conf.lossless >> p->sw.class & 1;
}

/* Copies to all ports of the tree but one of the others, which gets the frame itself. */
static void
flood(struct fabric_switch *sw, struct pkt *p)
{
	struct switch_port *in = &sw->ports[p->in_port];
	uint16_t last = UINT16_MAX;

	/* Nobody pauses for a frame that goes many ways. */
	p->sw.is_lossless = false;
	for (uint16_t i = 0; i < sw->conf.nb_ports; i++) {
		if (i == p->in_port || !sw->ports[i].floods || !sw->ports[i].is_up)
			continue;
		if (last != UINT16_MAX) {
			in->stats.rx_copies++;
			switch_admit_copy(sw, last, p);
		}
		last = i;
	}
	if (last == UINT16_MAX) {
		in->stats.rx_filtered++;
		pkt_free(&p, 1);
		return;
	}
	in->stats.rx_flooded++;
	switch_admit(sw, last, p);
}

static void
learn(struct fabric_switch *sw, struct way *way, const struct frame *f, uint16_t in_port,
      uint64_t now_ns)
{
	if (f->src_mac == way->src)
		return;
	way->src = f->src_mac;
	if (fib_learn(sw->fib, f->src_mac, in_port, now_ns))
		way->dst = 0;
}

/* By MAC, along the flood tree: what came in beside it would run in circles. */
static void
bridge(struct fabric_switch *sw, struct way *way, const struct frame *f, struct pkt *p,
       uint64_t now_ns)
{
	struct switch_port *in = &sw->ports[p->in_port];

	if (!in->floods) {
		in->stats.rx_off_tree++;
		pkt_free(&p, 1);
		return;
	}
	if (sw->has_new_tree) {
		fib_forget_all(sw->fib);
		way->src = way->dst = 0;
		sw->has_new_tree = false;
	}
	learn(sw, way, f, p->in_port, now_ns);
	if (f->dst_mac != way->dst || f->dst_mac == 0) {
		way->dst = f->dst_mac;
		way->out_port = fib_find(sw->fib, f->dst_mac, now_ns);
	}
	if (way->out_port == FIB_NO_PORT) {
		flood(sw, p);
	} else if (way->out_port == p->in_port) {
		in->stats.rx_filtered++;
		pkt_free(&p, 1);
	} else {
		switch_admit(sw, way->out_port, p);
	}
}

/* The static prefix that covers a frame's destination; NULL = none. */
static const struct route *
find_route(struct fabric_switch *sw, const struct frame *f, const struct pkt *p)
{
	struct last_route *last;
	struct ip_addr ip;

	if (!f->l3_off || routes_is_empty(sw->routes) || fib_mac_is_group(f->dst_mac))
		return NULL;
	frame_dst_ip(p->data, f, &ip);
	last = &sw->ports[p->in_port].last_routes[(ip.b[14] ^ ip.b[15]) % LAST_ROUTES];
	if (last->version != routes_version(sw->routes) ||
	    memcmp(&ip, &last->ip, sizeof(ip)) != 0) {
		last->version = routes_version(sw->routes);
		last->ip = ip;
		last->route = routes_find(sw->routes, &ip);
	}
	return last->route;
}

/*
 * What a group's ports are like now. Mostly they stand in a row and are as they stand there; a copy
 * is for those that do not, and where some class is paused or some link behind the next one is
 * down.
 */
static const struct lb_hop *
hops_of(const struct fabric_switch *sw, const struct route *route, uint8_t class,
        struct lb_hop copies[ROUTE_PORTS_MAX])
{
	uint16_t first = route->ports[0], n = route->nb_ports;

	if (route->in_a_row && !route->away && !sw->conf.lossless)
		return &sw->hops[first];
	for (uint16_t i = 0; i < n; i++) {
		const struct switch_port *port = &sw->ports[route->ports[i]];

		copies[i] = sw->hops[route->ports[i]];
		copies[i].up &= !(route->away >> i & 1);
		copies[i].paused = port->pause.held >> class & 1;
	}
	return copies;
}

static uint16_t
balance(struct fabric_switch *sw, const struct route *route, const struct frame *f,
        const struct pkt *p, uint64_t now_ns)
{
	struct lb_hop copies[ROUTE_PORTS_MAX];
	struct lb_choice choice = {.queue = p->sw.class};
	struct lb_pkt pkt = {
		.flow_hash = frame_flow_hash(p->data, p->len, f, sw->salt),
		.len_bytes = p->len,
		.in_port = p->in_port,
		.queue = p->sw.class,
	};

	sw->conf.lb->select(sw->lb, &pkt, hops_of(sw, route, p->sw.class, copies), route->nb_ports,
	                    now_ns, &choice);
	assert(choice.hop < route->nb_ports);
	return route->ports[choice.hop];
}

/* Along a static prefix; a group of one has nothing to balance. */
static void
route_on(struct fabric_switch *sw, const struct route *route, const struct frame *f, struct pkt *p,
         uint64_t now_ns)
{
	uint16_t out_port =
		route->nb_ports == 1 ? route->ports[0] : balance(sw, route, f, p, now_ns);

	if (out_port == p->in_port) {
		sw->ports[p->in_port].stats.rx_filtered++;
		pkt_free(&p, 1);
		return;
	}
	switch_admit(sw, out_port, p);
}

static void
forward(struct fabric_switch *sw, struct way *way, struct pkt *p, uint64_t now_ns)
{
	struct switch_port *in = &sw->ports[p->in_port];
	const struct route *route;
	struct frame f;

	in->stats.rx_bytes += p->len;
	if (p->len < ETH_LEN) {
		in->stats.rx_bad++;
		pkt_free(&p, 1);
		return;
	}
	frame_parse(p->data, p->len, &f);
	if (!is_forwarded(p, &f)) {
		in->stats.rx_control++;
		pfc_receive(sw, in, p, now_ns);
		pkt_free(&p, 1);
		return;
	}
	classify(sw, p, &f);
	route = find_route(sw, &f, p);
	if (route)
		route_on(sw, route, &f, p, now_ns);
	else
		bridge(sw, way, &f, p, now_ns);
}

/* Those of the weft framing end in the next cache line. */
static void
prefetch_headers(const struct fabric_switch *sw, const uint8_t *data)
{
	__builtin_prefetch(data);
	if (sw->looks_at_weft)
		__builtin_prefetch(data + 64);
}

void
switch_receive(struct fabric_switch *sw, uint16_t in_port, struct pkt **pkts, uint32_t n,
               uint64_t now_ns)
{
	struct way way = {.out_port = FIB_NO_PORT};

	assert(in_port < sw->conf.nb_ports);
	sw->now_ns = now_ns;
	sw->ports[in_port].stats.rx_packets += n;
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(pkts[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n)
			prefetch_headers(sw, pkts[i + 1]->data);
		pkts[i]->in_port = in_port;
		forward(sw, &way, pkts[i], now_ns);
	}
}
