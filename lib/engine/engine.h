/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include "param.h"
#include "stat.h"

#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * What the three kinds of engines have in common.
 *
 * An engine is a pure state machine behind a table of functions. reliability.h decides what is
 * sent again and when data counts as here, cc.h how fast, lb.h which way.
 *
 * - Facts and the present time come in as arguments; decisions go out through the head of the
 *   state and through out-structs. An engine reads no clock, allocates nothing, logs nothing and
 *   has no globals; its random numbers come from a prng.h state that it keeps and seeds with
 *   env.seed. The same calls give the same answers, on every machine.
 * - The host allocates state_size() bytes, aligned to ENGINE_STATE_ALIGN, once per QP (switch LB:
 *   once per switch), calls init, and frees them when it likes: there is no destructor.
 * - Of what init gets, params stay good and unchanged as long as the state, so an engine may keep
 *   the pointer; env is good during the call only.
 * - The first member of every state is the head of its kind. The engine writes it, the host reads
 *   it after each call. deadline_ns in a head asks for on_timer; the host calls it at or after
 *   that time, often some microseconds after, and then the deadline lies in the future again.
 * - Times are nanoseconds of one clock that never runs back, sizes bytes, rates bit/s, whatever
 *   units the wire has. PSNs and MSNs are unwrapped to 64 bits by the host, which starts them at
 *   PSN_BIAS (2^24) + the wire's value, so that psn - n can't underflow.
 * - The host checks before it calls: engines may trust every range documented here, but not the
 *   order or freshness of what they hear. A promise that the host breaks is an assert.
 * - Out-structs arrive preset (zero unless said otherwise); an engine writes what differs.
 */

/** No timer wanted. */
#define NEVER_NS UINT64_MAX

/** Alignment of every engine state in bytes: the three of a QP share their cache lines. */
#define ENGINE_STATE_ALIGN 16

/** What one part expects of another; checked once, when a QP or a topology is bound. */
enum engine_trait {
	TRAIT_WEFT = 1u << 0,      /**< framing: placement and MSN in every packet */
	TRAIT_ECN = 1u << 1,       /**< fabric: switches mark CE */
	TRAIT_INT = 1u << 2,       /**< fabric: switches write INT hops */
	TRAIT_TBO = 1u << 3,       /**< fabric: switches set the TBO flag in INT (Odin) */
	TRAIT_TRIM = 1u << 4,      /**< fabric: switches trim to the header instead of dropping */
	TRAIT_FLOW_ECMP = 1u << 5, /**< fabric: one UDP source port stays on one path */
	TRAIT_LANES = 1u << 6,     /**< host LB: lane = PSN mod K, one path per lane */
};

/** All traits that a fabric can have; what a conf file without `fabric` is taken to allow. */
#define TRAITS_FABRIC (TRAIT_ECN | TRAIT_INT | TRAIT_TBO | TRAIT_TRIM | TRAIT_FLOW_ECMP)

/** What an engine wants in packets. The host ORs the three engines' wishes into OPEN. */
enum engine_wire {
	WIRE_ECT = 1u << 0,      /**< data sent as ECT; CE answered by CNPs (all rocev2 can do) */
	WIRE_CE_ECHO = 1u << 1,  /**< C in acknowledgements */
	WIRE_INT = 1u << 2,      /**< INT area in data, echoed in acknowledgements */
	WIRE_TS = 1u << 3,       /**< timestamp in data, echoed with the time it was held */
	WIRE_SACK = 1u << 4,     /**< 64-bit SACK block in acknowledgements */
	WIRE_PATH = 1u << 5,     /**< path header in data */
	WIRE_TRIM = 1u << 6,     /**< tags of dcp: data may be trimmed */
	WIRE_COUNT = 1u << 7,    /**< acknowledgements carry rx_count */
	WIRE_ACK_EACH = 1u << 8, /**< an acknowledgement for each packet */
};

/** Facts about one QP or one switch that hold from binding to the end. */
struct engine_env {
	uint64_t line_rate_bps; /**< of the own port, > 0 */
	uint64_t base_rtt_ns;   /**< of an empty path, > 0; configured, not measured */
	uint64_t seed;          /**< of the engine's own PRNG; from the run's seed and the QPN */
	uint32_t mtu_bytes;     /**< PMTU: payload of a full packet, 256 to 4096 */
	/** Line rate x base RTT in MTU packets, rounded up, >= 1. For state_size it is the most
	 * that it can be, and mtu_bytes the least: init may see fewer packets, not more. */
	uint32_t bdp_pkts;
	uint32_t window_pkts; /**< most that rel_qp.window_pkts can be: length of bitmaps */
	uint32_t max_msgs;    /**< slots of messages per direction, a power of two */
	uint16_t nb_hops;     /**< switch: ports; host: paths to choose from, >= 1 */
	uint16_t base_sport;  /**< host LB: first UDP source port */
	uint8_t stage;        /**< switch: level in the fat tree, leaf = 0 */
};

/** A run of packets of one stream: PSNs first to first + count - 1. */
struct psn_range {
	uint64_t first;
	uint32_t count;
};

/**
 * The path header in host order.
 *
 * Written by a host LB for each packet, read by the receiver half of the peer's reliability engine.
 */
struct path_info {
	uint64_t first_psn; /**< FPSN: first PSN of the lane on its present path */
	uint16_t lanes;     /**< K */
	uint16_t offset;    /**< O of the lane: UDP source port = base + lane + O */
	uint8_t back; /**< 1..254: check PSN - back x K; 0 = 1 by the paper's rule; 255 = nothing */
};

/** Who an engine is and what it needs; first member of every ops struct. */
struct engine_info {
	const char *name;                /**< as conf files and logs name it */
	const char *source;              /**< the paper or standard it follows */
	uint32_t needs;                  /**< enum engine_trait */
	uint32_t offers;                 /**< enum engine_trait, to its partner engines */
	uint32_t wire;                   /**< enum engine_wire */
	size_t params_size;              /**< of the params struct; 0 = none */
	const struct param_desc *params; /**< ends with a NULL name; NULL = none */
	const struct stat_desc *stats;   /**< offsets into the state; NULL = none */
};

#endif
