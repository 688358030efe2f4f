/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpdk.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include "engine.h"

struct ring_link;

/* One end. The peer's thread reads is_open of it and nothing else. */
struct ring_port {
	struct port port;
	struct ring_link *link;
	struct rte_ring *rx, *tx;
	struct ring_port *peer;
	atomic_bool is_open;
};

/* The rings are plain memory, so that neither EAL nor its name space is needed. */
struct ring_link {
	struct ring_link *next;
	struct ring_port ends[2];
	char name[];
};

/* Those with an open end. */
static struct ring_link *links;

static uint32_t
ring_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct ring_port *rp = (struct ring_port *)port;
	uint32_t n = rte_ring_sc_dequeue_burst(rp->rx, (void **)pkts, max, NULL);

	(void)now_ns;
	port_count_rx(port, pkts, n);
	return n;
}

static uint32_t
ring_tx_room(struct port *port)
{
	return rte_ring_free_count(((struct ring_port *)port)->tx);
}

static bool
peer_is_open(const struct ring_port *rp)
{
	return atomic_load_explicit(&rp->peer->is_open, memory_order_relaxed);
}

static uint32_t
ring_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct ring_port *rp = (struct ring_port *)port;
	uint32_t room = ring_tx_room(port), nb_sent;

	(void)now_ns;
	if (!peer_is_open(rp)) {
		port->stats.tx_dropped += n;
		pkt_free(pkts, n);
		return n;
	}
	/* Nobody else fills this ring, so the room is still there after counting. */
	n = n < room ? n : room;
	port_count_tx(port, pkts, n);
	nb_sent = rte_ring_sp_enqueue_bulk(rp->tx, (void **)pkts, n, NULL);
	assert(nb_sent == n);
	return n;
}

static uint64_t
ring_next_ns(struct port *port)
{
	return rte_ring_empty(((struct ring_port *)port)->rx) ? NEVER_NS : 0;
}

static void
drain(struct rte_ring *ring)
{
	struct pkt *p;

	while (rte_ring_sc_dequeue(ring, (void **)&p) == 0)
		pkt_free(&p, 1);
}

static void
link_free(struct ring_link *link)
{
	for (int i = 0; i < 2; i++)
		free(link->ends[i].rx);
	free(link);
}

/* The peer may have handed over a few frames in the meantime: the last one out sweeps up. */
static void
ring_close(struct port *port)
{
	struct ring_port *rp = (struct ring_port *)port;
	struct ring_link *link = rp->link, **at = &links;

	atomic_store_explicit(&rp->is_open, false, memory_order_relaxed);
	drain(rp->rx);
	if (peer_is_open(rp))
		return;
	drain(rp->tx);
	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	link_free(link);
}

static const struct port_ops ring_ops = {
	.rx_burst = ring_rx_burst,
	.tx_burst = ring_tx_burst,
	.tx_room = ring_tx_room,
	.next_ns = ring_next_ns,
	.close = ring_close,
};

static struct rte_ring *
ring_create(uint32_t depth_pkts)
{
	/* One slot of a ring stays empty. */
	uint32_t nb_slots = rte_align32pow2(depth_pkts + 1);
	struct rte_ring *ring;
	void *mem;

	if (posix_memalign(&mem, RTE_CACHE_LINE_SIZE, (size_t)rte_ring_get_memsize(nb_slots)))
		return NULL;
	ring = mem;
	if (rte_ring_init(ring, "", depth_pkts, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ)) {
		free(ring);
		return NULL;
	}
	return ring;
}

static struct ring_link *
link_create(const char *name, uint32_t depth_pkts)
{
	struct ring_link *link = calloc(1, sizeof(*link) + strlen(name) + 1);

	if (!link)
		return NULL;
	strcpy(link->name, name);
	for (int i = 0; i < 2; i++) {
		link->ends[i].link = link;
		link->ends[i].peer = &link->ends[!i];
		link->ends[i].rx = ring_create(depth_pkts);
		link->ends[!i].tx = link->ends[i].rx;
	}
	if (!link->ends[0].rx || !link->ends[1].rx) {
		link_free(link);
		return NULL;
	}
	return link;
}

static struct ring_link *
link_find(const char *name)
{
	struct ring_link *link = links;

	while (link && strcmp(link->name, name) != 0)
		link = link->next;
	return link;
}

int
port_ring_open(const char *name, uint32_t depth_pkts, struct port **port)
{
	struct ring_link *link = link_find(name);
	struct ring_port *rp;

	assert(depth_pkts >= 1 && depth_pkts <= PORT_RING_DEPTH_MAX_PKTS);
	if (!link) {
		link = link_create(name, depth_pkts);
		if (!link)
			return -ENOMEM;
		link->next = links;
		links = link;
	}
	rp = &link->ends[0];
	if (atomic_load_explicit(&rp->is_open, memory_order_relaxed))
		rp = rp->peer;
	if (atomic_load_explicit(&rp->is_open, memory_order_relaxed))
		return -EBUSY;
	drain(rp->rx);
	rp->port = (struct port){.ops = &ring_ops};
	atomic_store_explicit(&rp->is_open, true, memory_order_relaxed);
	*port = &rp->port;
	return 0;
}
