/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_AF_XDP_H
#define WEFT_PORT_AF_XDP_H

#include <stddef.h>
#include <stdint.h>

#include "kernel_port.h"
#include "pkt.h"
#include "port.h"

/**
 * @file
 * `af_xdp:IF`: XDP sockets on an interface of the kernel. An XDP program of ours takes RoCE and
 * HELLO to them before the kernel has touched the frames.
 */

/** A frame and what the kernel puts before it must fit a page. Source: XDP_PACKET_HEADROOM. */
#define AF_XDP_FRAME_MAX_BYTES (4096 - 256)
/** So an IP packet, with an Ethernet header and a tag before it, has at most this: path MTU 2048.
 */
#define AF_XDP_MTU_MAX_BYTES (AF_XDP_FRAME_MAX_BYTES - 18)
/** Receive queues that are served. Source: our choice. */
#define AF_XDP_QUEUES_MAX 16

/** What the operator is told about an open port. */
struct af_xdp_info {
	uint32_t nb_queues;       /**< served */
	uint32_t nb_queues_of_if; /**< that the interface has: more than those are too many */
	bool is_native;           /**< the program runs in the driver */
	uint32_t if_mtu_bytes;
};

/**
 * Open an interface. Needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, and memory that may be locked: 4
 * MiB and 8 for each receive queue (CAP_IPC_LOCK or RLIMIT_MEMLOCK).
 *
 * Program and sockets are our own and not those of DPDK's net_af_xdp: the attachment ends with this
 * process, however that ends, and a worker can sleep on the sockets.
 *
 * @param name  of the interface, in this process's network namespace.
 * @param pool  for frames that arrive; must live as long as the port.
 * @param info  on success filled in.
 * @param port  on success the port, the caller's until it closes it.
 * @param why   on failure what is wrong and what to do about it, in one line.
 * @return      0 or a negative errno.
 */
int port_af_xdp_open(const char *name, enum kernel_take take, struct pkt_pool *pool,
                     struct af_xdp_info *info, struct port **port, char *why, size_t why_size);

#endif
