/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SWITCH_NODE_H
#define WEFT_SWITCH_NODE_H

#include "node.h"
#include "switch.h"

/** A switch as a node. */
struct switch_node {
	struct node node;
	struct fabric_switch *sw;
	/** For its owner: a link went down or came up, which the switch knows. NULL = nobody asks.
	 */
	void (*on_link)(struct switch_node *node, uint16_t port, bool is_up, void *arg);
	void *on_link_arg;
};

/** The switch stays the caller's, who also gives the node its name. */
void switch_node_init(struct switch_node *node, struct fabric_switch *sw);

#endif
