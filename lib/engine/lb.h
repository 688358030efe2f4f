/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LB_H
#define WEFT_LB_H

#include "engine.h"

#include <stdbool.h>

/**
 * @file
 * Load balancing engines: which way a packet goes.
 *
 * A host engine has one state per QP and chooses the UDP source port; a switch engine has one state
 * per switch and chooses an egress of the ECMP group. Both are asked for each packet.
 */

enum lb_where { LB_HOST, LB_SWITCH };

/** First member of every LB state. Engines write, the host reads after each call. */
struct lb_head {
	uint64_t deadline_ns; /**< NEVER_NS = none */
};

/** Most hops of one ECMP group of a switch. Our choice. */
#define LB_GROUP_MAX 64

/** One next hop to choose from. Host: a path. Switch: an egress port of the ECMP group. */
struct lb_hop {
	uint16_t id;          /**< port or path number */
	bool up;              /**< link up, path not given up */
	bool paused;          /**< PFC, or no credits */
	uint32_t queue_bytes; /**< waiting at this egress, in all queues */
};

/**
 * What a choice may look at. Of switches so far: flow_hash, len_bytes, in_port and queue; the rest
 * is for engines that hear of congestion elsewhere (ARN), and zero until there is one.
 */
struct lb_pkt {
	uint64_t psn;       /**< host: unwrapped; switch: 24 bits as on the wire */
	uint32_t flow_hash; /**< five-tuple, salted per device */
	uint32_t dst;       /**< switch: destination host */
	uint32_t len_bytes; /**< frame */
	uint16_t in_port;   /**< switch */
	uint8_t queue;      /**< switch: class */
	bool retransmit;    /**< host */
	bool adapted;       /**< switch: ToS bit 4, already moved by AFI */
};

/**
 * The choice. Preset: zero; queue and adapted as in the packet. Switches take only the hop, and
 * call neither on_queue nor on_notice, until there is an engine that has them.
 */
struct lb_choice {
	uint16_t hop;          /**< index into hops[] */
	uint16_t udp_sport;    /**< host */
	uint8_t queue;         /**< switch: queue at the egress; AFI's reserved channel */
	bool adapted;          /**< switch: set the adapted bit */
	struct path_info path; /**< host: if info.wire has WIRE_PATH */
};

/** What became known of packets or of a path. */
enum lb_signal { LB_ACKED, LB_LOST, LB_TIMEOUT, LB_CE };

struct lb_feedback {
	enum lb_signal signal;
	struct psn_range range; /**< count 0 = packets not known */
	uint16_t udp_sport;     /**< path of the acknowledgement; 0 = not known */
	uint64_t rtt_ns;        /**< 0 = no sample */
};

/** Queue state at one egress after an enqueue or dequeue. */
struct lb_queue {
	uint16_t port;
	uint8_t queue;
	uint32_t dst;               /**< of the packet that moved */
	uint32_t bytes;             /**< waiting now */
	uint32_t free_credit_bytes; /**< room downstream; UINT32_MAX = no credits on this fabric */
};

/** Kind of a congestion notice between switches. */
enum lb_notice_kind { LB_NOTICE_NONE, LB_NOTICE_ROOT, LB_NOTICE_CLEAR };

/** Switch-to-switch congestion notice (ARN). */
struct lb_notice {
	enum lb_notice_kind kind;
	uint32_t id;       /**< unique per root */
	uint32_t dst;      /**< destination host whose packets wait */
	uint16_t port;     /**< of the root */
	uint8_t queue;     /**< class of the root */
	uint8_t stage;     /**< level of the root */
	uint64_t to_ports; /**< out: bit mask of ports to send it on */
};

/** A load balancing engine. Every state begins with a struct lb_head. */
struct lb_ops {
	struct engine_info info;
	enum lb_where where;

	/**
	 * Choose for one packet.
	 *
	 * @param hops, nb_hops  what there is to choose from, at least one; in a switch at most
	 * LB_GROUP_MAX. A hop keeps its place among them while it is down, so that the others
	 * keep theirs.
	 */
	void (*select)(void *state, const struct lb_pkt *pkt, const struct lb_hop *hops,
	               uint16_t nb_hops, uint64_t now_ns, struct lb_choice *out);

	/** Host: something became known. Optional. */
	void (*on_feedback)(void *state, const struct lb_feedback *fb, uint64_t now_ns);

	/** Switch: a queue grew or shrank. Optional. */
	void (*on_queue)(void *state, const struct lb_queue *q, uint64_t now_ns,
	                 struct lb_notice *out);
	/** Switch: a notice came. Optional. */
	void (*on_notice)(void *state, uint16_t in_port, const struct lb_notice *in,
	                  uint64_t now_ns, struct lb_notice *out);
	/** The deadline passed; out is NULL on a host. Optional. */
	void (*on_timer)(void *state, uint64_t now_ns, struct lb_notice *out);

	/** Bytes of one state; the host rounds up to ENGINE_STATE_ALIGN. */
	size_t (*state_size)(const void *params, const struct engine_env *env);
	/** Make a state of zeroed or reused memory. */
	void (*init)(void *state, const void *params, const struct engine_env *env);
};

#endif
