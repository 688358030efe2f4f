/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_FLOW_H
#define WEFT_SIM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * A flow: so many bytes that an application moves from one host to another, by one or several work
 * requests on a QP.
 *
 * Times of the laboratory are picoseconds since the run began: a byte at 400 Gb/s takes 20. Nodes
 * see whole nanoseconds.
 */

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_S UINT64_C(1000000000000)
/** Not at all. */
#define NEVER_PS UINT64_MAX

enum flow_verb { FLOW_WRITE, FLOW_SEND, FLOW_READ, FLOW_NB_VERBS };

/** "WRITE" and so on. */
extern const char *const flow_verb_names[FLOW_NB_VERBS];

/** Take a QP that no flow is using, or make one. */
#define FLOW_QP_FRESH UINT32_MAX

struct flow_conf {
	uint32_t src, dst;  /**< hosts, not the same; data go from src to dst, also of a READ */
	uint64_t bytes;     /**< of payload, at least 1 */
	uint32_t msg_bytes; /**< most of one work request; 1 to 2^30 */
	uint32_t workload;  /**< index of whoever asked for it */
	uint32_t qp;        /**< flows of the same workload, src, dst and qp share a QP, in order */
	uint8_t verb;       /**< enum flow_verb */
	uint64_t tag;       /**< the workload's own */
};

enum flow_status {
	FLOW_RUNS,   /**< not done when the run ended */
	FLOW_DONE,   /**< all work requests completed */
	FLOW_FAILED, /**< its QP went to error */
};

/** What became of a flow. */
struct flow {
	struct flow_conf conf;
	uint64_t start_ps;     /**< handed to the QP */
	uint64_t delivered_ps; /**< last byte placed at dst; NEVER_PS = not yet */
	uint64_t end_ps;       /**< last work request completed; NEVER_PS = not yet */
	uint64_t ideal_ps;     /**< start to end in an empty fabric: plan_ideal_ps and the ACK */
	uint64_t delivered_bytes;
	uint8_t status; /**< enum flow_status */
	uint8_t why;    /**< FLOW_FAILED: enum qp_reason */
};

#endif
