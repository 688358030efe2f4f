/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FRAMING_H
#define WEFT_FRAMING_H

#include <stdint.h>

struct qp;

/**
 * @file
 * How an RC QP's packets look: plain RoCEv2 from RTR on, or undecided until its peer has agreed to
 * the weft framing (open.h) or turned out to speak RoCEv2 only. Once decided it never changes.
 */
enum qp_framing {
	QP_PLAIN,   /**< RoCEv2; all UC and UD QPs */
	QP_PENDING, /**< not agreed yet: nothing is sent, requests wait in their queue */
	QP_WEFT,    /**< docs/wire.md */
};

/**
 * What responses of a weft QP have at least until they are given up. The application's timeout and
 * retry_cnt are for its requests: it may want none, or not have said yet. Our choice.
 */
#define RESPONSE_TIMEOUT_NS (UINT64_C(4096) << 14)
#define RESPONSE_RETRIES 7

/** What the two ends of a QP agreed on in OPEN; nothing of it changes afterwards. */
struct weft_terms {
	uint32_t tx_first_psn; /**< 24 bits: what the peer expects first */
	uint32_t window_pkts;  /**< the smaller wish: outstanding PSNs of either stream */
	uint32_t max_msgs;     /**< the smaller wish, a power of two from 16 to 32,768 */
	/** enum engine_wire: TS, PATH, ECT as optional parts of packets; SACK, CE_ECHO of answers.
	 * Of the own stream's packets and the answers to them; of the peer's. */
	uint32_t tx_wire, rx_wire;
	uint8_t tx_slots, rx_slots; /**< INT slots of the own stream's packets, of the peer's */
	uint8_t tx_lanes, rx_lanes; /**< log2 K of the path header */
	uint8_t ack_every;          /**< what the peer wants, packets; 0 = by the engine's rule */
	uint8_t ack_delay_us;       /**< what the peer wants; 0 = A, ack_every and engines do */
};

/**
 * The peer agreed: the sender half starts, and what waits is sent. From RTR on, while QP_PENDING.
 */
void framing_weft(struct qp *qp, const struct weft_terms *terms, uint64_t now_ns);

/** It will be plain RoCEv2: the same. */
void framing_plain(struct qp *qp, uint64_t now_ns);

/** The sender half of a plain QP starts: at RTS, or when a pending one turns out to be plain. */
void framing_start_plain(struct qp *qp, uint64_t now_ns);

#endif
