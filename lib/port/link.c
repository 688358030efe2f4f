/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "engine.h"
#include "link_meet.h"

/* With less room than for a burst, see whether the peer has made more. */
#define LOOK_FRAMES 32

struct link_port {
	struct port port;
	struct pkt_pool *pool;
	struct link_meet *meet;
	struct link_conn *conn; /* NULL = down */
	uint64_t now_ns;        /* of the last rx_burst */
	uint64_t full_ns;       /* since when the ring is full; NEVER_NS = it is not */
	bool is_stalled;        /* full for too long: what is sent is dropped */
	bool has_promised_all;  /* the last answer of tx_room */
	struct link_stats stats;
};

const struct stat_desc link_stat_descs[] = {
	{"link_ups", offsetof(struct link_port, stats.ups)},
	{"link_resets", offsetof(struct link_port, stats.resets)},
	{"link_stalls", offsetof(struct link_port, stats.stalls)},
	{"link_rx_too_long", offsetof(struct link_port, stats.rx_too_long)},
	{"link_tx_dropped", offsetof(struct link_port, port.stats.tx_dropped)},
	{NULL},
};

static void
attach(struct link_port *lp)
{
	lp->conn = link_meet_take(lp->meet);
	if (!lp->conn)
		return;
	lp->full_ns = NEVER_NS;
	lp->is_stalled = false;
	lp->port.is_down = false;
	lp->stats.ups++;
}

static void
detach(struct link_port *lp)
{
	link_meet_give(lp->meet, lp->conn);
	lp->conn = NULL;
	lp->port.is_down = true;
}

/* Whether there is a peer, whom nothing is known against. */
static bool
check_conn(struct link_port *lp)
{
	if (!lp->conn)
		attach(lp);
	if (!lp->conn)
		return false;
	if (lp->conn->is_broken)
		lp->stats.resets++;
	else if (!atomic_load_explicit(&lp->conn->is_gone, memory_order_relaxed))
		return true;
	detach(lp);
	return false;
}

/* n frames out of the ring, into pkts. Returns how many are fit for us; -EPROTO. */
static int
copy_out(struct link_port *lp, struct pkt **pkts, uint32_t n)
{
	uint32_t nb_fit = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = pkts[nb_fit];
		uint32_t len;
		const uint8_t *frame = link_take(&lp->conn->rx, &len);

		if (!frame)
			return -EPROTO;
		if (len > p->room) {
			lp->stats.rx_too_long++;
			continue;
		}
		memcpy(p->data, frame, len);
		p->len = len;
		nb_fit++;
	}
	return (int)nb_fit;
}

static uint32_t
link_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct link_port *lp = (struct link_port *)port;
	int nb_ready, nb_fit;
	uint32_t n;

	lp->now_ns = now_ns;
	if (!check_conn(lp))
		return 0;
	nb_ready = link_reader_look(&lp->conn->rx);
	if (nb_ready < 0) {
		lp->conn->is_broken = true;
		return 0;
	}
	n = (uint32_t)nb_ready < max ? (uint32_t)nb_ready : max;
	/* Without packets the frames wait, and then the peer. */
	if (n == 0 || lp->pool->alloc(lp->pool, pkts, n) == 0)
		return 0;
	nb_fit = copy_out(lp, pkts, n);
	if (nb_fit < 0) {
		pkt_free(pkts, n);
		lp->conn->is_broken = true;
		return 0;
	}
	pkt_free(pkts + nb_fit, n - (uint32_t)nb_fit);
	if (link_reader_publish(&lp->conn->rx))
		link_conn_ring(lp->conn);
	port_count_rx(port, pkts, (uint32_t)nb_fit);
	return (uint32_t)nb_fit;
}

/* Frames that fit into the ring. The peer's count is read only when ours says that it is short. */
static uint32_t
ring_room(struct link_port *lp)
{
	struct link_writer *tx = &lp->conn->tx;
	uint32_t room = link_writer_room(tx, lp->pool->room_bytes);

	if (room >= LOOK_FRAMES)
		return room;
	if (link_writer_look(tx) < 0) {
		lp->conn->is_broken = true;
		return 0;
	}
	return link_writer_room(tx, lp->pool->room_bytes);
}

/* Since when is there no room, and is that long enough? */
static void
note_room(struct link_port *lp, uint32_t room)
{
	if (room > 0) {
		lp->full_ns = NEVER_NS;
		lp->is_stalled = false;
	} else if (lp->full_ns == NEVER_NS) {
		lp->full_ns = lp->now_ns;
	} else if (!lp->is_stalled && lp->now_ns - lp->full_ns >= PORT_LINK_STALL_NS) {
		lp->is_stalled = true;
		lp->stats.stalls++;
	}
}

/* Whether frames go nowhere: tx_room then promises any number. */
static bool
is_hole(const struct link_port *lp)
{
	return !lp->conn || lp->conn->is_broken || lp->is_stalled;
}

static uint32_t
room_now(struct link_port *lp)
{
	uint32_t room;

	if (!lp->conn || lp->conn->is_broken)
		return UINT32_MAX;
	room = ring_room(lp);
	note_room(lp, room);
	return is_hole(lp) ? UINT32_MAX : room;
}

static uint32_t
link_tx_room(struct port *port)
{
	struct link_port *lp = (struct link_port *)port;
	uint32_t room = room_now(lp);

	lp->has_promised_all = room == UINT32_MAX;
	return room;
}

static void
copy_in(struct link_port *lp, struct pkt *const *pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct pkt *p = pkts[i];

		if (p->len - 1 < lp->pool->room_bytes)
			link_put(&lp->conn->tx, p->data, p->len);
		else
			lp->port.stats.tx_dropped++;
	}
	if (link_writer_publish(&lp->conn->tx))
		link_conn_ring(lp->conn);
}

static uint32_t
link_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct link_port *lp = (struct link_port *)port;
	uint32_t room = room_now(lp), nb_in;

	(void)now_ns;
	/* The peer may have come back to life since tx_room promised any number. */
	if (!lp->has_promised_all)
		n = n < room ? n : room;
	nb_in = is_hole(lp) ? 0 : n < room ? n : room;
	if (nb_in > 0) {
		port_count_tx(port, pkts, nb_in);
		copy_in(lp, pkts, nb_in);
	}
	port->stats.tx_dropped += n - nb_in;
	pkt_free(pkts, n);
	return n;
}

static int
link_wait_fd(const struct port *port)
{
	return link_meet_wait_fd(((const struct link_port *)port)->meet);
}

/* Whether the last answer of tx_room was 0. */
static bool
is_full(const struct link_port *lp)
{
	return lp->full_ns != NEVER_NS && !lp->is_stalled;
}

static bool
link_doze(struct port *port, bool dozing)
{
	struct link_port *lp = (struct link_port *)port;
	struct link_conn *conn = lp->conn;

	if (conn) {
		link_reader_want(&conn->rx, dozing);
		if (is_full(lp))
			link_writer_want(&conn->tx, dozing);
	}
	if (!dozing) {
		link_meet_heard(lp->meet, conn);
		return false;
	}
	if (!conn)
		return link_meet_has_news(lp->meet);
	return link_reader_look(&conn->rx) != 0 || (is_full(lp) && ring_room(lp) > 0);
}

static const struct stat_desc *
link_counters(const struct port *port, const void **state)
{
	*state = port;
	return link_stat_descs;
}

static void
link_close(struct port *port)
{
	struct link_port *lp = (struct link_port *)port;

	if (lp->conn)
		link_meet_give(lp->meet, lp->conn);
	link_meet_stop(lp->meet);
	free(lp);
}

static const struct port_ops link_ops = {
	.rx_burst = link_rx_burst,
	.tx_burst = link_tx_burst,
	.tx_room = link_tx_room,
	.wait_fd = link_wait_fd,
	.doze = link_doze,
	.counters = link_counters,
	.close = link_close,
};

int
port_link_open(const char *path, struct pkt_pool *pool, struct port **port)
{
	struct link_port *lp;
	int err;

	assert(pool->room_bytes <= LINK_FRAME_BYTES_MAX);
	lp = calloc(1, sizeof(*lp));
	if (!lp)
		return -ENOMEM;
	*lp = (struct link_port){
		.port = {.ops = &link_ops, .is_down = true}, .pool = pool, .full_ns = NEVER_NS};
	err = link_meet_start(path, &lp->meet);
	if (err) {
		free(lp);
		return err;
	}
	*port = &lp->port;
	return 0;
}

const struct link_stats *
port_link_stats(const struct port *port)
{
	return &((const struct link_port *)port)->stats;
}
