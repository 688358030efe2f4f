/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/*
 * What is taken from the system at a time: a huge page where there are some for the asking, because
 * packets are all over the place. Our choice.
 */
#define SLAB_BYTES (UINT64_C(2) << 20)

#define HEAD_BYTES 64

struct slab_head {
	struct slab_head *next;
};

struct sim_pool {
	struct pkt_pool pool;
	struct pkt *free; /* by next */
	struct slab_head *slabs;
	size_t stride; /* from packet to packet */
	uint64_t nb_out;
};

static bool
grow(struct sim_pool *sp)
{
	struct slab_head *slab;
	void *memory;

	if (posix_memalign(&memory, SLAB_BYTES, SLAB_BYTES) != 0)
		return false;
	madvise(memory, SLAB_BYTES, MADV_HUGEPAGE);
	slab = memory;
	slab->next = sp->slabs;
	sp->slabs = slab;
	for (uint64_t at = HEAD_BYTES; at + sp->stride <= SLAB_BYTES; at += sp->stride) {
		struct pkt *p = (struct pkt *)((uint8_t *)memory + at);

		*p = (struct pkt){
			.next = sp->free,
			.pool = &sp->pool,
			.data = (uint8_t *)(p + 1) + PKT_DATA_SHIFT,
			.room = sp->pool.room_bytes,
		};
		sp->free = p;
	}
	return true;
}

static uint32_t
pool_alloc(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct sim_pool *sp = (struct sim_pool *)pool;

	for (uint32_t i = 0; i < n; i++) {
		if (!sp->free && !grow(sp)) {
			pool->free(pool, pkts, i);
			return 0;
		}
		pkts[i] = sp->free;
		sp->free = pkts[i]->next;
		sp->nb_out++;
		pkts[i]->len = 0;
		pkts[i]->absent = 0;
		pkts[i]->is_damaged = false;
	}
	return n;
}

/* The last to come is the first to go: it is still in the cache. */
static void
pool_free(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct sim_pool *sp = (struct sim_pool *)pool;

	for (uint32_t i = 0; i < n; i++) {
		assert(pkts[i]->pool == pool);
		pkts[i]->next = sp->free;
		sp->free = pkts[i];
	}
	assert(sp->nb_out >= n);
	sp->nb_out -= n;
}

struct pkt_pool *
sim_pool_create(uint32_t room_bytes)
{
	struct sim_pool *sp = calloc(1, sizeof(*sp));

	static_assert(sizeof(struct pkt) % 64 == 0, "data lies as PKT_DATA_SHIFT says");
	if (!sp)
		return NULL;
	sp->pool =
		(struct pkt_pool){.alloc = pool_alloc, .free = pool_free, .room_bytes = room_bytes};
	sp->stride = (sizeof(struct pkt) + PKT_DATA_SHIFT + room_bytes + 63) & ~(size_t)63;
	return &sp->pool;
}

uint64_t
sim_pool_nb_out(const struct pkt_pool *pool)
{
	return ((const struct sim_pool *)pool)->nb_out;
}

void
sim_pool_destroy(struct pkt_pool *pool)
{
	struct sim_pool *sp = (struct sim_pool *)pool;

	if (!pool)
		return;
	for (struct slab_head *slab = sp->slabs, *next; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	free(sp);
}
