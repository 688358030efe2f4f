/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SWITCH_NODE_H
#define WEFT_SWITCH_NODE_H

#include "node.h"
#include "switch.h"

/** A switch as a node. */
struct switch_node {
	struct node node;
	struct fabric_switch *sw;
};

/** The switch stays the caller's, who also gives the node its name. */
void switch_node_init(struct switch_node *node, struct fabric_switch *sw);

#endif
