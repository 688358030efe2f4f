/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_NODE_H
#define WEFT_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "pkt.h"

struct node;

/** What the worker (real time) and the laboratory (virtual time) drive alike. */
struct node_ops {
	/** n packets came in on this port; they are the node's now. n is at most NODE_BURST. */
	void (*receive)(struct node *node, uint16_t port, struct pkt **pkts, uint32_t n,
	                uint64_t now_ns);
	/** There is room for max packets on this port: which go? The caller owns them then. */
	uint32_t (*send)(struct node *node, uint16_t port, struct pkt **pkts, uint32_t max,
	                 uint64_t now_ns);
	/**
	 * Ports that may have something to send, of those from 64 x word on; others need not be
	 * asked before the node has received something, or had a turn at its deadline. Optional:
	 * without it all may.
	 */
	uint64_t (*ready)(const struct node *node, uint16_t word);
	/** Deadlines that have come. Called once per turn, after receive and before send. */
	void (*tick)(struct node *node, uint64_t now_ns);
	/** When the node wants a turn without any packet: 0 = now, NEVER_NS = not at all. */
	uint64_t (*next_ns)(const struct node *node);
	/** A port's link went down or came up; at first it is up. Optional. */
	void (*link)(struct node *node, uint16_t port, bool up, uint64_t now_ns);
};

/** Packets of one receive or send. */
#define NODE_BURST 32

/** A host or a switch. First member of each kind's own struct. */
struct node {
	const struct node_ops *ops;
	const char *name; /**< of its section in the conf; owned by the driver */
	uint16_t nb_ports;
};

#endif
