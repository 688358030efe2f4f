/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_MEM_H
#define WEFT_PORT_MEM_H

#include <stdint.h>

#include "pkt.h"
#include "port.h"

/**
 * @file
 * Ports and packets of plain memory, for tests and the laboratory. One thread uses a pair.
 */

/**
 * Two ports joined back to back: what is handed to one comes out of the other, in order.
 *
 * A frame handed to an end whose peer was closed is taken and dropped (tx_dropped), as on a wire
 * with nothing at its end. Closing an end frees what it had not yet received.
 *
 * @param depth_pkts  frames on their way per direction, at least 1; more are refused.
 * @param ends        on success the two ports, the caller's until it closes each.
 * @return            0 or -ENOMEM.
 */
int port_mem_create_pair(uint32_t depth_pkts, struct port *ends[2]);

/**
 * A pool of malloc'ed packets. Each has an allocation of its own, so that a sanitizer sees a byte
 * too far, and its bytes are poisoned while it is at home.
 *
 * @param nb_pkts     at least 1.
 * @param room_bytes  of each packet, at least 1; data lies as PKT_DATA_SHIFT says.
 * @return            NULL without memory. The caller's until pkt_pool_mem_destroy.
 */
struct pkt_pool *pkt_pool_mem_create(uint32_t nb_pkts, uint32_t room_bytes);

/** Packets at home now: nb_pkts if none has leaked. */
uint32_t pkt_pool_mem_nb_free(const struct pkt_pool *pool);

/** Free a pool; every packet must have come home. NULL does nothing. */
void pkt_pool_mem_destroy(struct pkt_pool *pool);

#endif
