/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_LINK_H
#define WEFT_PORT_LINK_H

#include "link_hello.h"
#include "pkt.h"
#include "port.h"
#include "stat.h"

/** What a link counts beside the statistics of every port. */
struct link_stats {
	uint64_t ups;    /**< a peer came */
	uint64_t resets; /**< a peer wrote nonsense and was dropped */
	uint64_t stalls; /**< a peer did not read for PORT_LINK_STALL_NS; frames were dropped */
	uint64_t rx_too_long; /**< frames longer than our packets: MTUs differ */
};

/** Names of all that a link counts; for what its counters op gives. */
extern const struct stat_desc link_stat_descs[];

/** A full ring is waited for so long; then frames are dropped until the peer reads again. */
#define PORT_LINK_STALL_NS 100000000

/**
 * Open one end of `link:SOCKET`, a link to another process of this machine (or to another node of
 * this one). It is down until a peer opens the other end, and again when that ends or dies, until
 * the next one comes; which of the two was there first does not matter.
 *
 * Frames are copied into memory that both processes map, and out of it. What is handed over while
 * the link is down is dropped (tx_dropped). Nothing that the peer does harms more than the frames
 * on this link. A second thread looks for peers; the rest belongs to the caller's.
 *
 * @param path  of the socket: absolute, up to LINK_PATH_MAX bytes, in an existing folder. Both
 *              ends name the same.
 * @param pool  for what arrives; up to LINK_FRAME_BYTES_MAX bytes of room. Longer frames than fit
 *              are not sent.
 * @return      0 or a negative errno.
 */
int port_link_open(const char *path, struct pkt_pool *pool, struct port **port);

const struct link_stats *port_link_stats(const struct port *port);

#endif
