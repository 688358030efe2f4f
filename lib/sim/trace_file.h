/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_TRACE_FILE_H
#define WEFT_SIM_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * @file
 * Flows from a file: rows of time, source, destination and bytes. Times have a unit ("1.5us") or
 * are whole nanoseconds; hosts are numbers or names ("h3"); bytes may have a unit ("64K"). A first
 * row that begins with "time" is a heading. Rows need not be in order of time.
 */

/** Rows at most, and what they may hold. Our choice. */
#define TRACE_FLOWS_MAX (1u << 22)
#define TRACE_TIME_MAX_NS UINT64_C(1000000000000000)
#define TRACE_BYTES_MAX (UINT64_C(1) << 40)

struct trace_flow {
	uint64_t at_ns;    /**< from the workload's start on */
	uint64_t bytes;    /**< 1 to TRACE_BYTES_MAX */
	uint32_t src, dst; /**< not the same; whether there are such hosts is the user's to check */
	uint32_t line;
};

struct trace_file {
	char *name;
	uint32_t nb; /**< at least 1 */
	uint32_t room;
	struct trace_flow *flows; /**< in order of time; of the same time, of lines */
};

/**
 * Read one.
 *
 * @param in         any bytes; stays the caller's.
 * @param name       of the file, for messages; copied.
 * @param why, size  gets one line on error: "NAME:LINE: what is wrong; what would do".
 * @return           NULL if it is none, or without memory.
 */
struct trace_file *trace_file_read(FILE *in, const char *name, char *why, size_t size);
/** NULL does nothing. */
void trace_file_free(struct trace_file *trace);

#endif
