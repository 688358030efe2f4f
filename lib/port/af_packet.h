/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_AF_PACKET_H
#define WEFT_PORT_AF_PACKET_H

#include <stddef.h>

#include "kernel_port.h"
#include "pkt.h"
#include "port.h"

/**
 * @file
 * `af_packet:IF`: a packet socket on an interface of the kernel. Works on every kind of interface
 * and with every MTU; the kernel handles each frame as well, which costs some microseconds.
 */

/**
 * Open an interface. Needs CAP_NET_RAW. The socket is our own and not that of DPDK's net_af_packet:
 * that one waits without end in poll() when the interface does not take what it sends.
 *
 * @param name  of the interface, in this process's network namespace.
 * @param pool  for frames that arrive; must live as long as the port. Frames larger than its room
 *              are dropped (rx_dropped).
 * @param port  on success the port, the caller's until it closes it. is_down tells whether the
 *              interface is up.
 * @param why   on failure what is wrong and what to do about it, in one line.
 * @return      0 or a negative errno.
 */
int port_af_packet_open(const char *name, enum kernel_take take, struct pkt_pool *pool,
                        struct port **port, char *why, size_t why_size);

#endif
