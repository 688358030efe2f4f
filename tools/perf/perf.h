/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_H
#define WEFT_PERF_H

#include <stdbool.h>
#include <stdint.h>

/** What is measured. The client says so, and the server does its part. */
enum perf_op { PERF_WRITE, PERF_READ, PERF_SEND, PERF_ATOMIC, PERF_OP_NB };

/** "write"; PERF_OP_NB = unknown. */
const char *perf_op_name(enum perf_op op);
enum perf_op perf_op_find(const char *name);

#define PERF_MAX_QPS 16384u
#define PERF_MAX_BYTES (UINT32_C(1) << 30)
#define PERF_MAX_ITERS UINT64_C(1000000000)
#define PERF_MAX_SECONDS 86400u
#define PERF_MAX_DEPTH 8192u
/** Registered memory of one end. Source: our choice. */
#define PERF_MAX_MEMORY (UINT64_C(4) << 30)
/** What a server takes at most for whoever connects, if it isn't told. Source: our choice. */
#define PERF_SERVER_MEMORY (UINT64_C(512) << 20)
#define PERF_SERVER_MEMORY_MIN (UINT64_C(1) << 20)
/** More than the greatest test needs. */
#define PERF_SERVER_MEMORY_MAX (UINT64_C(64) << 30)

/** A test, as both ends know it. */
struct perf_test {
	enum perf_op op;
	uint32_t size; /**< bytes of a message, 1 to PERF_MAX_BYTES; an atomic has 8 */
	uint32_t nb_qps;
	uint32_t depth;   /**< messages outstanding per QP */
	uint64_t iters;   /**< messages per QP; 0 = as many as go in seconds */
	uint32_t seconds; /**< 0 = iters counts */
	uint32_t mtu;     /**< bytes, 256 to 4096; 0 = what both ends can */
	bool is_lat;      /**< one message at a time; else bandwidth */
	bool is_checked;  /**< every byte is compared */
};

/** What the client has measured. */
struct perf_result {
	uint64_t iters;  /**< messages of all QPs */
	uint64_t ns;     /**< from the first post to the last completion */
	double peak_bps; /**< of any PERF_PEAK_NS */
	/* of a latency test, ns */
	double min_ns, max_ns, typical_ns, avg_ns, stdev_ns, p99_ns, p999_ns;
};

#define PERF_PEAK_NS 10000000u

#endif
