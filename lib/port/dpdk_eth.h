/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_DPDK_ETH_H
#define WEFT_PORT_DPDK_ETH_H

#include <stddef.h>
#include <stdint.h>

#include "pkt.h"
#include "port.h"

/**
 * @file
 * `memif:` and `pci:`: ports over DPDK's ethdev, one queue in each direction, no offloads. No
 * header of DPDK is needed to use them; EAL has been started.
 *
 * There is no descriptor to wait on: while frames move, the port asks for a turn all the time, then
 * when a tenth of the silence has passed again, up to ETH_IDLE_POLL_NS. What is handed to it must
 * be of a pool of pkt_pool_dpdk_create.
 */

/** Silence after which the port is asked less often. Source: our choice, that of a worker. */
#define ETH_BUSY_NS UINT64_C(1000000)
/** The most that a first frame waits. Source: our choice, 1 % of a core on an idle port. */
#define ETH_IDLE_POLL_NS UINT64_C(1000000)

enum memif_role { MEMIF_SERVER, MEMIF_CLIENT };

/**
 * Open one end of a shared-memory interface, to talk to VPP, testpmd or another weft. The server
 * makes the socket; either may be there first. The PMD can crash when its peer dies in the middle
 * of traffic, so between two daemons of weft a link: port is better.
 *
 * @param socket      path; abstract names are not used.
 * @param mtu_bytes   largest IP packet.
 * @param pool        for frames that arrive; must live as long as the port.
 * @param port        on success the port, the caller's until it closes it.
 * @param why         on failure what is wrong and what to do about it, in one line.
 * @return            0 or a negative errno.
 */
int port_memif_open(const char *socket, enum memif_role role, uint32_t mtu_bytes,
                    struct pkt_pool *pool, struct port **port, char *why, size_t why_size);

/**
 * Open a NIC that is bound to vfio-pci or uio, so that the kernel does not see it. EAL was started
 * with this address allowed.
 *
 * @param address  "0000:03:00.0".
 * @param mac      that it takes frames for; NULL = all frames, for a port of a switch.
 */
int port_pci_open(const char *address, const uint8_t *mac, uint32_t mtu_bytes,
                  struct pkt_pool *pool, struct port **port, char *why, size_t why_size);

#endif
