/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpdk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dpdk_mbuf.h"

/* Packets that a thread keeps for itself: eight full bursts. */
#define CACHE_PKTS 256
/* Of one call to the mempool; what a node receives or sends at once. */
#define FREE_BURST 32

struct dpdk_pool {
	struct pkt_pool pool;
	struct rte_mempool *mempool;
};

/* Where the data of a packet begins if no device says otherwise. */
static uint8_t *
data_begin(struct pkt *p)
{
	return (uint8_t *)p + DPDK_PRIV_BYTES + RTE_PKTMBUF_HEADROOM + PKT_DATA_SHIFT;
}

/*
 * The mbufs of a pool are all alike (one segment, one reference), so that no rte_pktmbuf_reset is
 * needed. A device may have filled one: it begins elsewhere.
 */
static uint32_t
dpdk_pool_alloc(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct dpdk_pool *dp = (struct dpdk_pool *)pool;

	if (rte_mempool_get_bulk(dp->mempool, (void **)pkts, n) != 0)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		pkts[i] = dpdk_pkt((struct rte_mbuf *)(void *)pkts[i]);
		pkts[i]->data = data_begin(pkts[i]);
		pkts[i]->room = dp->pool.room_bytes;
		pkts[i]->len = 0;
	}
	return n;
}

static void
dpdk_pool_free(struct pkt_pool *pool, struct pkt **pkts, uint32_t n)
{
	struct dpdk_pool *dp = (struct dpdk_pool *)pool;
	void *mbufs[FREE_BURST];

	for (uint32_t done = 0, run; done < n; done += run) {
		run = RTE_MIN(n - done, (uint32_t)FREE_BURST);
		for (uint32_t i = 0; i < run; i++)
			mbufs[i] = dpdk_mbuf(pkts[done + i]);
		rte_mempool_put_bulk(dp->mempool, mbufs, run);
	}
}

static void
pkt_init(struct rte_mempool *mempool, void *arg, void *obj, unsigned int idx)
{
	struct dpdk_pool *dp = arg;
	struct rte_mbuf *m = obj;

	(void)mempool;
	(void)idx;
	m->data_off += PKT_DATA_SHIFT;
	*dpdk_pkt(m) = (struct pkt){
		.pool = &dp->pool,
		.data = rte_pktmbuf_mtod(m, uint8_t *),
		.room = dp->pool.room_bytes,
	};
	assert(dpdk_pkt(m)->data == data_begin(dpdk_pkt(m)));
	assert((uintptr_t)dpdk_pkt(m)->data % 64 == PKT_DATA_SHIFT);
}

int
pkt_pool_dpdk_create(const char *name, uint32_t nb_pkts, uint32_t room_bytes,
                     struct pkt_pool **pool)
{
	/* A mempool refuses a cache that could hold more than two thirds of it. */
	uint32_t cache_pkts = nb_pkts / 4 < CACHE_PKTS ? nb_pkts / 4 : CACHE_PKTS;
	struct dpdk_pool *dp;

	static_assert(RTE_PKTMBUF_HEADROOM % 64 == 0, "data can lie as it should");
	assert(nb_pkts >= 1);
	assert(room_bytes >= 1 && room_bytes <= 65000);
	dp = calloc(1, sizeof(*dp));
	if (!dp)
		return -ENOMEM;
	dp->pool = (struct pkt_pool){
		.alloc = dpdk_pool_alloc, .free = dpdk_pool_free, .room_bytes = room_bytes};
	dp->mempool = rte_pktmbuf_pool_create(
		name, nb_pkts, cache_pkts, DPDK_PRIV_BYTES,
		(uint16_t)(RTE_PKTMBUF_HEADROOM + PKT_DATA_SHIFT + room_bytes), SOCKET_ID_ANY);
	if (!dp->mempool) {
		free(dp);
		return rte_errno == EEXIST ? -EEXIST : -ENOMEM;
	}
	rte_mempool_obj_iter(dp->mempool, pkt_init, dp);
	*pool = &dp->pool;
	return 0;
}

struct rte_mempool *
dpdk_pool_mempool(struct pkt_pool *pool)
{
	return ((struct dpdk_pool *)pool)->mempool;
}

uint32_t
pkt_pool_dpdk_nb_free(const struct pkt_pool *pool)
{
	return rte_mempool_avail_count(((const struct dpdk_pool *)pool)->mempool);
}

void
pkt_pool_dpdk_destroy(struct pkt_pool *pool)
{
	struct dpdk_pool *dp = (struct dpdk_pool *)pool;

	if (!pool)
		return;
	assert(rte_mempool_full(dp->mempool));
	rte_mempool_free(dp->mempool);
	free(dp);
}
