/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "engine.h"
#include "fault_lane.h"

/* Frames that are asked of or handed to the inner port at once. */
#define FAULT_BURST_PKTS 32

struct fault_port {
	struct port port;
	struct port *inner;
	struct fault_lane tx, rx;
	uint64_t seed;
	struct fault_outage down;
	uint64_t since_ns; /* its times count from then on; NEVER_NS = from the next turn on */
	uint64_t edge_ns;  /* the link goes down or up */
	uint64_t now_ns;   /* of the last turn */
	struct fault_stats stats;
};

static uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The link goes down or up when it is time; what is on its way then never arrives. */
static void
fault_turn_link(struct fault_port *fp, uint64_t now_ns)
{
	uint64_t since_ns, next_ns;
	bool is_cut;

	if (now_ns < fp->edge_ns)
		return;
	if (fp->since_ns == NEVER_NS)
		fp->since_ns = now_ns;
	since_ns = now_ns - fp->since_ns;
	is_cut = fault_outage_is_on(&fp->down, since_ns);
	next_ns = fault_outage_next_ns(&fp->down, since_ns);
	fp->edge_ns = next_ns == NEVER_NS ? NEVER_NS : fp->since_ns + next_ns;
	fault_lane_cut(&fp->tx, is_cut);
	fault_lane_cut(&fp->rx, is_cut);
}

/* To the inner port what is due and finds room there. */
static void
fault_flush(struct fault_port *fp, uint64_t now_ns)
{
	struct pkt *pkts[FAULT_BURST_PKTS];
	uint32_t room, n, nb_sent;

	if (fault_lane_is_idle(&fp->tx))
		return;
	room = fp->inner->ops->tx_room(fp->inner);
	do {
		n = fault_lane_pop(&fp->tx, pkts, min_u32(room, FAULT_BURST_PKTS), now_ns);
		if (n == 0)
			return;
		nb_sent = fp->inner->ops->tx_burst(fp->inner, pkts, n, now_ns);
		assert(nb_sent == n);
		room -= n;
	} while (n == FAULT_BURST_PKTS);
}

/* The link's times are looked at here alone, so that tx_room says what tx_burst will do. */
static uint32_t
fault_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint32_t room, n;

	fault_turn_link(fp, now_ns);
	fault_flush(fp, now_ns);
	fp->now_ns = now_ns;
	room = min_u32(max, fault_lane_room(&fp->rx, FAULT_HELD_MAX_PKTS, now_ns));
	fault_lane_grant(&fp->rx, room);
	n = fp->inner->ops->rx_burst(fp->inner, pkts, room, now_ns);
	if (room > 0)
		fault_lane_taken(&fp->rx, n);
	port->is_down = fp->inner->is_down || fp->rx.is_cut;
	if (!fault_lane_is_idle(&fp->rx)) {
		for (uint32_t i = 0; i < n; i++)
			fault_lane_push(&fp->rx, pkts[i], now_ns);
		n = fault_lane_pop(&fp->rx, pkts, max, now_ns);
	}
	port_count_rx(port, pkts, n);
	return n;
}

/*
 * Without a delay the line holds only what waits for the inner port: it is no further buffer. A
 * link that is down takes everything.
 */
static uint32_t
tx_room_now(const struct fault_port *fp, uint64_t now_ns)
{
	const struct fault_dir *dir = &fp->tx.dir;
	uint32_t limit = FAULT_HELD_MAX_PKTS;

	if (!dir->rate_bps && !dir->delay_ns && !dir->jitter_ns && !fp->tx.is_cut)
		limit = min_u32(limit, fp->inner->ops->tx_room(fp->inner));
	return fault_lane_room(&fp->tx, limit, now_ns);
}

static uint32_t
fault_tx_room(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint32_t room = tx_room_now(fp, fp->now_ns);

	fault_lane_grant(&fp->tx, room);
	return room;
}

static uint32_t
fault_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct fault_port *fp = (struct fault_port *)port;
	uint32_t nb_sent;

	fault_flush(fp, now_ns);
	n = min_u32(n, tx_room_now(fp, now_ns));
	fault_lane_taken(&fp->tx, n);
	port_count_tx(port, pkts, n);
	if (fault_lane_is_idle(&fp->tx)) {
		nb_sent = fp->inner->ops->tx_burst(fp->inner, pkts, n, now_ns);
		assert(nb_sent == n);
		return n;
	}
	for (uint32_t i = 0; i < n; i++)
		fault_lane_push(&fp->tx, pkts[i], now_ns);
	fault_flush(fp, now_ns);
	return n;
}

static uint64_t
fault_next_ns(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;
	struct port *inner = fp->inner;
	const uint64_t times_ns[] = {
		inner->ops->next_ns ? inner->ops->next_ns(inner) : NEVER_NS,
		fault_lane_next_ns(&fp->tx, fp->now_ns),
		fault_lane_next_ns(&fp->rx, fp->now_ns),
		fp->edge_ns,
	};
	uint64_t next_ns = NEVER_NS;

	for (uint32_t i = 0; i < sizeof(times_ns) / sizeof(times_ns[0]); i++) {
		if (times_ns[i] < next_ns)
			next_ns = times_ns[i];
	}
	return next_ns;
}

static int
fault_wait_fd(const struct port *port)
{
	const struct port *inner = ((const struct fault_port *)port)->inner;

	return inner->ops->wait_fd ? inner->ops->wait_fd(inner) : -1;
}

static bool
fault_doze(struct port *port, bool dozing)
{
	struct port *inner = ((struct fault_port *)port)->inner;

	return inner->ops->doze && inner->ops->doze(inner, dozing);
}

static const struct stat_desc *
fault_counters(const struct port *port, const void **state)
{
	const struct port *inner = ((const struct fault_port *)port)->inner;

	return inner->ops->counters ? inner->ops->counters(inner, state) : NULL;
}

static void
fault_close(struct port *port)
{
	struct fault_port *fp = (struct fault_port *)port;

	fault_lane_clear(&fp->tx);
	fault_lane_clear(&fp->rx);
	fp->inner->ops->close(fp->inner);
	free(fp);
}

static const struct port_ops fault_ops = {
	.rx_burst = fault_rx_burst,
	.tx_burst = fault_tx_burst,
	.tx_room = fault_tx_room,
	.next_ns = fault_next_ns,
	.wait_fd = fault_wait_fd,
	.doze = fault_doze,
	.counters = fault_counters,
	.close = fault_close,
};

static void
fault_set_outage(struct fault_port *fp, const struct fault_outage *down)
{
	const struct fault_outage *was = &fp->down;

	if (down->at_ns != was->at_ns || down->for_ns != was->for_ns ||
	    down->every_ns != was->every_ns)
		fp->since_ns = NEVER_NS;
	fp->down = *down;
	fp->edge_ns = down->now || down->for_ns || fp->rx.is_cut ? 0 : NEVER_NS;
}

int
port_fault_create(const struct fault_params *params, struct pkt_pool *pool, struct port **port)
{
	struct fault_port *fp = calloc(1, sizeof(*fp));

	if (!fp)
		return -ENOMEM;
	fp->port.ops = &fault_ops;
	fp->since_ns = NEVER_NS;
	fault_set_outage(fp, &params->down);
	fault_lanes_init(&fp->tx, &fp->rx, params, pool, &fp->stats);
	fp->seed = params->seed;
	*port = &fp->port;
	return 0;
}

void
port_fault_enclose(struct port *port, struct port *inner)
{
	struct fault_port *fp = (struct fault_port *)port;

	assert(port_is_fault(port) && !fp->inner);
	*port = *inner;
	port->ops = &fault_ops;
	fp->inner = inner;
}

int
port_fault_wrap(struct port *inner, const struct fault_params *params, struct pkt_pool *pool,
                struct port **port)
{
	int err = port_fault_create(params, pool, port);

	if (!err)
		port_fault_enclose(*port, inner);
	return err;
}

bool
port_is_fault(const struct port *port)
{
	return port->ops == &fault_ops;
}

void
port_fault_set(struct port *port, const struct fault_params *params)
{
	struct fault_port *fp = (struct fault_port *)port;

	assert(port_is_fault(port));
	fault_lane_set(&fp->tx, &params->tx);
	fault_lane_set(&fp->rx, &params->rx);
	fault_set_outage(fp, &params->down);
	if (params->seed != fp->seed)
		fault_lanes_seed(&fp->tx, &fp->rx, params->seed);
	fp->seed = params->seed;
}

const struct fault_stats *
port_fault_stats(const struct port *port)
{
	assert(port_is_fault(port));
	return &((const struct fault_port *)port)->stats;
}
