/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_FAULT_WIRE_H
#define WEFT_TEST_FAULT_WIRE_H

#include "fault.h"

/** Bytes of a numbered frame. */
#define FAULT_WIRE_LEN 100

/** A node's end with faults, and the bare other end. */
struct fault_wire {
	struct pkt_pool *pool;
	struct port *node, *far;
	uint32_t nb_pkts;
};

struct fault_wire fault_wire_open(const struct fault_params *params, uint32_t depth_pkts);
/** Whatever is still held anywhere must go home with the ports. */
void fault_wire_close(struct fault_wire *w);

/** A frame that carries its number and is zero otherwise. */
void fault_wire_send(struct fault_wire *w, struct port *from, uint32_t number, uint64_t now_ns);
/** A frame of these bytes. */
void fault_wire_send_bytes(struct fault_wire *w, struct port *from, const uint8_t *bytes,
                           uint32_t len, uint64_t now_ns);
/** The numbers of frames that arrived. @return how many. */
uint32_t fault_wire_receive(struct port *to, uint32_t *numbers, uint32_t max, uint64_t now_ns);
/** Send total frames, one per microsecond, and collect all that arrive until long after. */
uint32_t fault_wire_run(struct fault_wire *w, bool outwards, uint32_t total, uint32_t *numbers,
                        uint32_t max);

#endif
