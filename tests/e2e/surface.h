/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SURFACE_H
#define WEFT_SURFACE_H

/* What the cases of surface share: one pair of devices, whose a asks and whose b is asked. */

#include <errno.h>
#include <string.h>

#include "pair.h"

extern struct pair pair;

struct surface_case {
	const char *name; /**< NULL ends a list */
	void (*run)(void);
};
/** surface_memory.c */
extern const struct surface_case surface_memory[];

/** Open the devices that the program was called with. */
void open_pair(enum ibv_qp_type type);

/** A send that names a place in pair.b's buffer. */
static inline struct ibv_send_wr
remote(enum ibv_wr_opcode opcode, uint64_t offset, uint32_t rkey)
{
	return (struct ibv_send_wr){
		.wr_id = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)pair.b.buffer + offset, rkey},
	};
}

/** A send that names nothing. */
static inline struct ibv_send_wr
simple(enum ibv_wr_opcode opcode)
{
	return (struct ibv_send_wr){.wr_id = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
}

#endif
