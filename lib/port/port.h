/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include <stdint.h>

#include "pkt.h"

struct port;

/** How one kind of port does it. None of these blocks, allocates or logs. */
struct port_ops {
	/** Take up to max frames that arrived; the caller owns them. Returns how many. */
	uint32_t (*rx_burst)(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns);
	/** Hand n frames over; returns how many were taken, in order. The rest stays the caller's. */
	uint32_t (*tx_burst)(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns);
	/** How many frames tx_burst would take now, at least; up to UINT32_MAX. */
	uint32_t (*tx_room)(struct port *port);
	/** When a frame that the port itself holds back is due; NEVER_NS if none. Optional. */
	uint64_t (*next_ns)(struct port *port);
	/** Free what open made. The peer of a pair may still be in use. */
	void (*close)(struct port *port);
};

/** An attachment of a node to a link. First member of every kind's own struct. */
struct port {
	const struct port_ops *ops;
	struct {
		uint64_t rx_packets, rx_bytes;
		uint64_t tx_packets, tx_bytes;
		uint64_t tx_dropped; /**< frames that found no room */
	} stats;
};

#endif
