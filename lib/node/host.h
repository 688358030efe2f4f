/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include "nic.h"
#include "node.h"

/** A host stack as a node with one port. */
struct host {
	struct node node;
	struct nic *nic;
};

/** The NIC stays the caller's. */
void host_init(struct host *host, struct nic *nic);

#endif
