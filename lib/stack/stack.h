/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_STACK_H
#define WEFT_STACK_H

#include <stdint.h>

#include "nic.h"

/** Packets of one burst, each way. */
#define STACK_BURST 32

/** The way in: n frames (at most STACK_BURST), which are the stack's now. */
void stack_rx(struct nic *nic, struct pkt **pkts, uint32_t n, uint64_t now_ns);

/** Deadlines that have come, and frames that the NIC sent to itself. */
void stack_tick(struct nic *nic, uint64_t now_ns);

/** The way out: up to max frames, which are the caller's then. Returns how many. */
uint32_t stack_tx(struct nic *nic, struct pkt **pkts, uint32_t max, uint64_t now_ns);

/** When the stack wants a turn without any frame: 0 = now, NEVER_NS = not at all. */
uint64_t stack_next_ns(const struct nic *nic);

#endif
