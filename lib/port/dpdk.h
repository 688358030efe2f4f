/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_DPDK_H
#define WEFT_PORT_DPDK_H

#include <stdint.h>

#include "pkt.h"
#include "port.h"

/**
 * @file
 * Ports and packets of DPDK. No header of DPDK is needed to use them; the daemon has called
 * rte_eal_init before the first pool. Create, destroy, open and close from one thread.
 */

/** Frames on their way in one direction of a ring port, if the conf does not say. */
#define PORT_RING_DEPTH_PKTS 1024
#define PORT_RING_DEPTH_MAX_PKTS (1u << 20)

/**
 * A pool of mbufs: struct pkt lies in the private area of each, so that a port of ethdev needs no
 * second allocation. Any EAL thread may allocate and free at any time.
 *
 * @param name        unique in this process, up to 25 characters.
 * @param nb_pkts     at least 1; best is 2^k - 1.
 * @param room_bytes  of each packet, 1 to 65000; data lies as PKT_DATA_SHIFT says, with headroom
 * before.
 * @param pool        on success the pool; the caller's until pkt_pool_dpdk_destroy.
 * @return            0, -EEXIST (the name is taken), -ENOMEM (EAL has not enough: see -m).
 */
int pkt_pool_dpdk_create(const char *name, uint32_t nb_pkts, uint32_t room_bytes,
                         struct pkt_pool **pool);

/** Packets at home now. Exact only while no other thread uses the pool. */
uint32_t pkt_pool_dpdk_nb_free(const struct pkt_pool *pool);

/** Free a pool; every packet must have come home. NULL does nothing. */
void pkt_pool_dpdk_destroy(struct pkt_pool *pool);

/**
 * Open one end of `ring:NAME`, a link between two nodes of this process. The first open of a name
 * makes the link, the second takes its other end.
 *
 * Frames go over by pointer and may be of any pool that the receiving thread may free to. Each end
 * belongs to one thread. What is handed to an end whose other end is not open is dropped
 * (tx_dropped). An end that was closed can be opened again.
 *
 * @param depth_pkts  frames on their way per direction, 1 to PORT_RING_DEPTH_MAX_PKTS; the first
 * open sets it.
 * @param port        on success the end, the caller's until it closes it.
 * @return            0, -EBUSY (both ends are open already) or -ENOMEM.
 */
int port_ring_open(const char *name, uint32_t depth_pkts, struct port **port);

#endif
