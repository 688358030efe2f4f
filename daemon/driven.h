/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DRIVEN_H
#define WEFT_DRIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"
#include "port.h"

/**
 * @file
 * A node and its ports, driven turn by turn. Everything belongs to the thread that does it.
 */

/** Sees the frames of a node as they pass between it and its ports; for captures. */
struct tap {
	/** Frames stay whose they are. is_out: the node sends them. */
	void (*frames)(struct tap *tap, uint16_t port, bool is_out, struct pkt *const *pkts,
	               uint32_t n, uint64_t now_ns);
};

struct driven {
	struct node *node;
	struct port **ports; /**< port i of the node is ports[i] */
	struct tap *tap;     /**< NULL = none */
};

/**
 * One turn: what came in, what is due, what goes out.
 *
 * @param is_blocked  Set if a port has no room.
 * @return            packets moved.
 */
uint32_t driven_turn(const struct driven *driven, bool *is_blocked, uint64_t now_ns);

/**
 * When the node or a port wants a turn by itself; up to now_ns = at once, NEVER_NS = not at all.
 *
 * @param is_blocked  A port has no room: the node's wish for a turn at once does not count, since
 *                    that is just what did not help.
 */
uint64_t driven_next_ns(const struct driven *driven, bool is_blocked, uint64_t now_ns);

/** Tell the ports that their reader is about to sleep, or did. @return whether frames wait. */
bool driven_doze(const struct driven *driven, bool dozing);

#endif
