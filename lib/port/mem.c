/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#endif

#include "engine.h"

#define DATA_ALIGN 64

struct mem_port {
	struct port port;
	struct mem_port *peer; /* NULL once it was closed */
	struct pkt_queue arrived;
	uint32_t depth_pkts;
};

static uint32_t
mem_rx_burst(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct mem_port *mp = (struct mem_port *)port;
	uint32_t n = 0;

	(void)now_ns;
	while (n < max && mp->arrived.head)
		pkts[n++] = pkt_queue_pop(&mp->arrived);
	port_count_rx(port, pkts, n);
	return n;
}

static uint32_t
mem_tx_room(struct port *port)
{
	const struct mem_port *mp = (const struct mem_port *)port;

	return mp->peer ? mp->depth_pkts - mp->peer->arrived.nb_pkts : mp->depth_pkts;
}

static uint32_t
mem_tx_burst(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns)
{
	struct mem_port *mp = (struct mem_port *)port;
	uint32_t room = mem_tx_room(port);

	(void)now_ns;
	if (n > room)
		n = room;
	if (!mp->peer) {
		port->stats.tx_dropped += n;
		pkt_free(pkts, n);
		return n;
	}
	port_count_tx(port, pkts, n);
	for (uint32_t i = 0; i < n; i++)
		pkt_queue_push(&mp->peer->arrived, pkts[i]);
	return n;
}

static uint64_t
mem_next_ns(struct port *port)
{
	const struct mem_port *mp = (const struct mem_port *)port;

	return mp->arrived.head ? 0 : NEVER_NS;
}

static void
mem_close(struct port *port)
{
	struct mem_port *mp = (struct mem_port *)port;
	struct pkt *p;

	while ((p = pkt_queue_pop(&mp->arrived)))
		pkt_free(&p, 1);
	if (mp->peer)
		mp->peer->peer = NULL;
	free(mp);
}

static const struct port_ops mem_ops = {
	.rx_burst = mem_rx_burst,
	.tx_burst = mem_tx_burst,
	.tx_room = mem_tx_room,
	.next_ns = mem_next_ns,
	.close = mem_close,
};

int
port_mem_create_pair(uint32_t depth_pkts, struct port *ends[2])
{
	struct mem_port *a = calloc(1, sizeof(*a));
	struct mem_port *b = calloc(1, sizeof(*b));

	assert(depth_pkts >= 1);
	if (!a || !b) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	*a = (struct mem_port){.port.ops = &mem_ops, .peer = b, .depth_pkts = depth_pkts};
	*b = (struct mem_port){.port.ops = &mem_ops, .peer = a, .depth_pkts = depth_pkts};
	ends[0] = &a->port;
	ends[1] = &b->port;
	return 0;
}

struct mem_pkt {
	struct pkt pkt;
	bool at_home;
};

struct mem_pool {
	struct pkt_pool pool;
	uint32_t nb_pkts;
	uint32_t nb_free;
	struct mem_pkt *pkts;
	struct pkt **free; /* a stack: the packet freed last is the warmest */
};

static uint32_t
mem_pool_alloc(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct mem_pool *mp = (struct mem_pool *)pool;

	if (n > mp->nb_free)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = mp->free[--mp->nb_free];

		((struct mem_pkt *)p)->at_home = false;
		ASAN_UNPOISON_MEMORY_REGION(p->data, p->room);
		p->len = 0;
		p->absent = 0;
		p->is_damaged = false;
		pkts[i] = p;
	}
	return n;
}

static void
mem_pool_free(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct mem_pool *mp = (struct mem_pool *)pool;

	for (uint32_t i = 0; i < n; i++) {
		struct mem_pkt *p = (struct mem_pkt *)pkts[i];

		assert(p->pkt.pool == pool);
		assert(!p->at_home);
		p->at_home = true;
		ASAN_POISON_MEMORY_REGION(p->pkt.data, p->pkt.room);
		mp->free[mp->nb_free++] = &p->pkt;
	}
}

static void
mem_pool_release(struct mem_pool *mp)
{
	for (uint32_t i = 0; mp->pkts && i < mp->nb_pkts; i++)
		if (mp->pkts[i].pkt.data)
			free(mp->pkts[i].pkt.data - PKT_DATA_SHIFT);
	free(mp->pkts);
	free(mp->free);
	free(mp);
}

struct pkt_pool *
pkt_pool_mem_create(uint32_t nb_pkts, uint32_t room_bytes)
{
	struct mem_pool *mp = calloc(1, sizeof(*mp));

	assert(nb_pkts >= 1);
	assert(room_bytes >= 1);
	if (!mp)
		return NULL;
	mp->pool = (struct pkt_pool){
		.alloc = mem_pool_alloc, .free = mem_pool_free, .room_bytes = room_bytes};
	mp->nb_pkts = nb_pkts;
	mp->pkts = calloc(nb_pkts, sizeof(*mp->pkts));
	mp->free = calloc(nb_pkts, sizeof(struct pkt *));
	if (!mp->pkts || !mp->free)
		goto fail;
	for (uint32_t i = 0; i < nb_pkts; i++) {
		struct pkt *p = &mp->pkts[i].pkt;
		void *buf;

		if (posix_memalign(&buf, DATA_ALIGN, PKT_DATA_SHIFT + room_bytes))
			goto fail;
		*p = (struct pkt){.pool = &mp->pool,
		                  .data = (uint8_t *)buf + PKT_DATA_SHIFT,
		                  .room = room_bytes};
		mem_pool_free(&mp->pool, &p, 1);
	}
	return &mp->pool;
fail:
	mem_pool_release(mp);
	return NULL;
}

uint32_t
pkt_pool_mem_nb_free(const struct pkt_pool *pool)
{
	return ((const struct mem_pool *)pool)->nb_free;
}

void
pkt_pool_mem_destroy(struct pkt_pool *pool)
{
	struct mem_pool *mp = (struct mem_pool *)pool;

	if (!pool)
		return;
	assert(mp->nb_free == mp->nb_pkts);
	mem_pool_release(mp);
}
