/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_TRACE_H
#define WEFT_TEST_REL_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "pkt.h"
#include "wire.h"

/**
 * @file
 * The last things that happened in a run, for whoever looks at one that went wrong.
 */

#define REL_TRACE_MAX 4096

enum rel_trace_kind {
	REL_TRACE_SENT,    /**< a frame leaves a NIC */
	REL_TRACE_ARRIVED, /**< one comes to it */
	REL_TRACE_POST,    /**< an application posts an operation: n */
	REL_TRACE_RECV,    /**< it posts a receive: n */
	REL_TRACE_DONE,    /**< an operation completes with a status: n, status */
	REL_TRACE_TAKEN,   /**< a receive does */
};

struct rel_trace_entry {
	uint64_t at_ns;
	enum rel_trace_kind kind;
	int side;
	uint32_t pair;
	uint64_t n;
	uint8_t status;
	/* frames */
	enum wire_kind wire;
	struct wire_pkt w;
};

struct rel_trace {
	uint64_t nb;
	struct rel_trace_entry entries[REL_TRACE_MAX];
};

void rel_trace_frame(struct rel_trace *t, uint64_t at_ns, enum rel_trace_kind kind, int side,
                     const struct pkt *pkt);
void rel_trace_app(struct rel_trace *t, uint64_t at_ns, enum rel_trace_kind kind, uint32_t pair,
                   int side, uint64_t n, uint8_t status);
/** The last so many events. */
void rel_trace_print(const struct rel_trace *t, uint64_t max, FILE *to);

#endif
