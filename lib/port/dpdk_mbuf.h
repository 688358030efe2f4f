/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_DPDK_MBUF_H
#define WEFT_PORT_DPDK_MBUF_H

#include <rte_mbuf.h>

#include "pkt.h"

/*
 * struct pkt and struct rte_mbuf of one packet lie back to back. Only for the files of this folder
 * that know DPDK.
 */

/** Bytes of the private area: struct pkt, and then the next cache line. */
#define DPDK_PRIV_BYTES RTE_ALIGN_CEIL(sizeof(struct pkt), RTE_CACHE_LINE_SIZE)

/** The mempool behind a pool of pkt_pool_dpdk_create, for a device to fill. */
struct rte_mempool *dpdk_pool_mempool(struct pkt_pool *pool);

static inline struct pkt *
dpdk_pkt(struct rte_mbuf *m)
{
	return (struct pkt *)(void *)(m + 1);
}

static inline struct rte_mbuf *
dpdk_mbuf(struct pkt *p)
{
	return (struct rte_mbuf *)(void *)p - 1;
}

#endif
