/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "pkt.h"
#include "stat.h"

struct port;

/** How one kind of port does it. None of these blocks, allocates or logs. */
struct port_ops {
	/** Take up to max frames that arrived; the caller owns them. Returns how many. */
	uint32_t (*rx_burst)(struct port *port, struct pkt **pkts, uint32_t max, uint64_t now_ns);
	/** Hand n frames over; returns how many it took, in order. The rest stays the caller's. */
	uint32_t (*tx_burst)(struct port *port, struct pkt **pkts, uint32_t n, uint64_t now_ns);
	/** How many frames tx_burst would take now, at least; up to UINT32_MAX. */
	uint32_t (*tx_room)(struct port *port);
	/**
	 * When rx_burst must be called for frames that the port itself holds, on their way in or
	 * out: 0 = now, NEVER_NS = it holds none. Optional.
	 */
	uint64_t (*next_ns)(struct port *port);
	/**
	 * A descriptor that is readable while frames wait in rx_burst, or when there is room after
	 * tx_room had none, for a driver that sleeps; -1 = none. The same from open to close, and
	 * the port's. Optional: a port without it gets frames, and room, only from the driver's own
	 * thread.
	 */
	int (*wait_fd)(const struct port *port);
	/**
	 * The driver is about to wait on wait_fd (true), or does so no longer (false).
	 *
	 * @return whether frames or room wait already: then it must not sleep. Optional: wait_fd
	 * alone tells.
	 */
	bool (*doze)(struct port *port, bool dozing);
	/**
	 * What this kind counts, for operators: table, and the state that it is of; NULL = nothing.
	 * Optional. The fault layer answers for what it wraps: port_fault_stats has its own.
	 */
	const struct stat_desc *(*counters)(const struct port *port, const void **state);
	/** Free what open made. The peer of a pair may still be in use. */
	void (*close)(struct port *port);
};

/** An attachment of a node to a link. First member of every kind's own struct. */
struct port {
	const struct port_ops *ops;
	const char *name; /**< for people, its opener's: interface, socket...; NULL = none */
	bool is_down;     /**< kept by the kind: no carrier, no peer; what is sent now is dropped */
	bool told_down;   /**< kept by the driver: what the node was last told */
	/** Kept by the kind itself. */
	struct {
		uint64_t rx_packets, rx_bytes;
		uint64_t rx_dropped; /**< frames that no packet can hold, or that came damaged */
		uint64_t tx_packets, tx_bytes;
		uint64_t tx_dropped; /**< frames taken that could not go: no peer, no link */
	} stats;
};

/** For kinds: count frames that rx_burst is about to return. */
static inline void
port_count_rx(struct port *port, struct pkt *const *pkts, uint32_t n)
{
	port->stats.rx_packets += n;
	for (uint32_t i = 0; i < n; i++)
		port->stats.rx_bytes += pkts[i]->len;
}

/** For kinds: count frames before tx_burst hands them over; afterwards they may be gone. */
static inline void
port_count_tx(struct port *port, struct pkt *const *pkts, uint32_t n)
{
	port->stats.tx_packets += n;
	for (uint32_t i = 0; i < n; i++)
		port->stats.tx_bytes += pkts[i]->len;
}

#endif
