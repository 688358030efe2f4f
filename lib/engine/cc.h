/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CC_H
#define WEFT_CC_H

#include "engine.h"

#include <stdbool.h>

/**
 * @file
 * Congestion control engines: how fast a QP may send.
 *
 * One state per QP with two halves: the reaction point (sender) and the notification point
 * (receiver). The engine keeps rate and window in its head; the scheduler obeys them. It is told of
 * every acknowledgement after the reliability engine has read it, so numbers are of packets newly
 * acknowledged or newly given up, each once.
 */

/** No window: the rate alone limits. */
#define CC_NO_WINDOW UINT64_MAX

/** First member of every CC state. Engines write, the host reads after each call. */
struct cc_head {
	uint64_t rate_bps;       /**< pacing rate, > 0, headers included */
	uint64_t window_bytes;   /**< in-flight limit; CC_NO_WINDOW = rate only */
	uint64_t deadline_ns;    /**< NEVER_NS = none */
	uint32_t ack_every_pkts; /**< acknowledgement wanted at least so often; 0 = no wish */
};

/** One hop of telemetry. tx_bytes and ts_ns wrap: take differences by the functions below. */
struct int_hop {
	uint64_t rate_bps;      /**< of the egress link */
	uint32_t tx_bytes;      /**< sent so far, mod tx_wrap_bytes */
	uint32_t tx_wrap_bytes; /**< a power of two */
	uint32_t ts_ns;         /**< the switch's clock, mod 2^24 */
	uint32_t queue_bytes;   /**< waiting at the egress when the packet left */
};

/** What one acknowledgement, after the reliability engine has read it, means for the rate. */
struct cc_ack {
	uint64_t sent_count;  /**< packets sent so far, repeats included */
	uint64_t acked_count; /**< sent_count - in flight. "One RTT later": this > an old sent_count
	                       */
	uint64_t rtt_ns;      /**< 0 = no sample */
	uint32_t acked_bytes; /**< newly acknowledged; can be 0 */
	uint32_t inflight_bytes;    /**< after this acknowledgement */
	uint16_t udp_sport;         /**< path that this is about */
	uint16_t int_path_id;       /**< a change voids stored hops */
	bool ecn_echo;              /**< WIRE_CE_ECHO: CE since the last acknowledgement */
	bool tbo;                   /**< some switch on the path set the flag */
	uint8_t nb_hops;            /**< 0 = no telemetry */
	const struct int_hop *hops; /**< good during the call */
};

/** How packets were lost. */
enum cc_loss_kind {
	CC_LOSS_GAP,     /**< the peer told that they are missing */
	CC_LOSS_TRIM,    /**< their headers arrived */
	CC_LOSS_TIMEOUT, /**< silence */
};

/** Newly given up by the reliability engine. */
struct cc_loss {
	enum cc_loss_kind kind;
	uint32_t lost_bytes;
};

/** A data packet that arrived. */
struct cc_rx {
	uint32_t bytes; /**< the whole frame */
	bool ce;        /**< marked congestion experienced */
};

/** What the notification point wants to tell the sender. */
enum cc_feedback { CC_FEEDBACK_NONE, CC_FEEDBACK_CNP };

/** What all QPs of one NIC port share. */
struct cc_nic {
	uint64_t line_rate_bps;
	uint64_t granted_bps; /**< sum of rate_bps over the port's QPs with work; 0 until an engine
	                         reads it */
	void *shared;         /**< ops->nic_state_size bytes, zeroed once; the engine's */
};

/** A congestion control engine. Every state begins with a struct cc_head. */
struct cc_ops {
	struct engine_info info;

	/** An acknowledgement came. */
	void (*on_ack)(void *state, struct cc_nic *nic, const struct cc_ack *ack, uint64_t now_ns);
	/** A packet of so many bytes (headers included) was sent. Optional. */
	void (*on_sent)(void *state, struct cc_nic *nic, uint32_t bytes, uint64_t now_ns);
	/** A congestion notification packet came. Optional. */
	void (*on_cnp)(void *state, struct cc_nic *nic, uint64_t now_ns);
	/** Packets were given up. Optional. */
	void (*on_loss)(void *state, struct cc_nic *nic, const struct cc_loss *loss,
	                uint64_t now_ns);
	/** The deadline passed. Optional: NULL if the deadline is never set. */
	void (*on_timer)(void *state, struct cc_nic *nic, uint64_t now_ns);

	/** A data packet came. Optional. */
	enum cc_feedback (*on_rx)(void *state, const struct cc_rx *rx, uint64_t now_ns);

	/** Bytes of one state; the host rounds up to ENGINE_STATE_ALIGN. */
	size_t (*state_size)(const void *params, const struct engine_env *env);
	/** Make a state of zeroed or reused memory; the head is valid afterwards. */
	void (*init)(void *state, struct cc_nic *nic, const void *params,
	             const struct engine_env *env);

	size_t nic_state_size; /**< of cc_nic.shared; 0 = none */
};

/** Bytes that a hop sent between two readings. */
static inline uint32_t
int_tx_delta(const struct int_hop *now, const struct int_hop *old)
{
	return (now->tx_bytes - old->tx_bytes) & (now->tx_wrap_bytes - 1);
}

/** Nanoseconds of a hop's clock between two readings, mod 2^24. */
static inline uint32_t
int_ts_delta(const struct int_hop *now, const struct int_hop *old)
{
	return (now->ts_ns - old->ts_ns) & 0xffffff;
}

#endif
