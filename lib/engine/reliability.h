/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RELIABILITY_H
#define WEFT_RELIABILITY_H

#include "engine.h"

#include <stdbool.h>

/**
 * @file
 * Reliability engines: what is sent (again), and when data counts as here.
 *
 * One state per QP holds the sender half of the own stream and the receiver half of the peer's
 * stream. A stream is a sequence of packets numbered by PSN, cut into messages. Engines know
 * packets and messages; they know no SEND, READ, RNR, receive WQE, completion or access right. What
 * only the standard's RC has is host code, except for three marks that concern gbn alone:
 * rel_msg.one_pkt, nb_psns in rel_tx and rel_rx, and REL_REWIND.
 *
 * The host asks tx_next for what to send when window, pace and a buffer allow a packet; what it is
 * told, it sends. So an engine never decides when, and repeats obey window and pace like new data.
 * One packet is always allowed when nothing is in flight. Time in which a packet was not allowed is
 * none in which an answer was due, however long (a pause of its class by PFC, say): a deadline for
 * an answer runs from a packet that left, so that silence is counted once for each that did.
 *
 * Giving up is the host's too: no packet newly acknowledged for (retry_cnt + 1) x ack_timeout_ns
 * while something was outstanding ends the QP. Engines repeat for ever.
 */

/** A message: one run of PSNs. The host's; engines read it while its MSN is open. */
struct rel_msg {
	uint64_t msn;       /**< under rocev2 numbered by the host alone */
	uint64_t first_psn; /**< receiving: REL_PSN_UNKNOWN until a packet tells it */
	uint32_t nb_psns;   /**< >= 1 */
	bool one_pkt;       /**< gbn: one packet spends all PSNs (a READ under rocev2) */
};

/** Where a message of the peer's stream begins is not known yet. */
#define REL_PSN_UNKNOWN UINT64_MAX

/**
 * What the host knows of the two streams; engines may read it at any time.
 *
 * The pointer given to init stays good as long as the state. The own stream's PSNs from tx_una of
 * the head to tx_end_psn - 1 have a message, found by rel_msg_of.
 */
struct rel_qp {
	uint64_t rx_first_psn;   /**< from init on: first PSN of the peer's stream */
	uint64_t tx_first_psn;   /**< from start on: first PSN of the own stream */
	uint64_t tx_end_psn;     /**< first PSN of the own stream that has no message yet */
	uint64_t tx_first_msn;   /**< oldest message not acknowledged; = tx_end_msn if none */
	uint64_t tx_end_msn;     /**< first MSN not opened yet */
	uint64_t ack_timeout_ns; /**< 0 = none; can change between calls (SQD) */
	uint32_t window_pkts;    /**< from start on: next - una <= this; a PSN >= rx_cum + this:
	                            REL_DROP */
	uint32_t msg_mask;       /**< slots - 1 */
	/** Own messages, slot = msn & msg_mask. Moves, or is nowhere, while none is open. */
	const struct rel_msg *tx_msgs;
};

/** First member of every reliability state. Engines write, the host reads after each call. */
struct rel_head {
	uint64_t deadline_ns;   /**< call on_timer at or after this; NEVER_NS = none */
	uint64_t tx_una;        /**< own stream: all below are acknowledged; never falls */
	uint64_t rx_cum;        /**< peer's stream: all below are here; never falls */
	uint64_t rx_count;      /**< WIRE_COUNT: packets accepted so far */
	uint64_t sack_bits;     /**< WIRE_SACK: bit i = PSN sack_base + i is here */
	uint64_t sack_base;     /**< rx_cum + a multiple of 64, near the newest arrival */
	uint32_t inflight_pkts; /**< sent, and neither acknowledged nor given up */
	bool tx_ready;          /**< tx_next is worth asking */
};

/** The next packet to put on the wire. The host finds its message by the PSN. Preset: nb_psns 1. */
struct rel_tx {
	uint64_t psn;     /**< tx_una <= psn < tx_end_psn */
	uint32_t nb_psns; /**< 1; gbn: the rest of a READ when one_pkt */
	bool retransmit;  /**< sent before: bit R, LB, counters */
	bool ack_req;     /**< wish for bit A; the host sets more of its own */
	bool sync;        /**< mp-rdma: bit S */
	uint8_t retry;    /**< dcp: try of the message, 0..127 */
	uint8_t *ext;     /**< room for ops->data_ext_len bytes, to be filled */
};

/** A packet of the peer's stream that passed all checks of the framing. */
struct rel_rx {
	uint64_t psn;
	uint64_t msn;                 /**< 0 under rocev2 */
	const struct rel_msg *msg;    /**< NULL under rocev2, and in on_trimmed if not known yet */
	const struct path_info *path; /**< WIRE_PATH, else NULL */
	const uint8_t *ext;           /**< ops->data_ext_len bytes */
	uint32_t nb_psns;             /**< 1; gbn: the responses of a READ under rocev2 */
	uint32_t owd_ns; /**< WIRE_TS: arrival - timestamp mod 2^32; only differences mean something
	                  */
	uint8_t retry;   /**< dcp: try of the message */
	bool retransmit; /**< bit R */
	bool sync;       /**< bit S */
};

/** Whether a packet's payload is taken. */
enum rel_place {
	REL_PLACE,     /**< accepted; the host may still refuse it or have placed it before */
	REL_DROP,      /**< as if it had been lost */
	REL_DUPLICATE, /**< had it before; the host acknowledges at once (rocev2: replays) */
};

/** How a packet is answered. */
enum rel_resp {
	REL_RESP_NONE,    /**< acknowledge by the host's rule: bit A, ack_every, ack_delay */
	REL_RESP_ACK,     /**< acknowledge now */
	REL_RESP_GAP,     /**< NAK sequence error: this packet is beyond rx_cum */
	REL_RESP_MISSING, /**< send these again: miss_first, + miss_stride, ... */
	REL_RESP_RESTART, /**< send this packet's message again, next try */
	REL_RESP_BOUNCE,  /**< on_trimmed: send the header back */
};

/** Most bytes of block X in data and in acknowledgements. */
#define REL_EXT_MAX 16
/** Most packets that one REL_RESP_MISSING names. */
#define REL_MISSING_MAX 16

/**
 * What the receiver half decided. Preset: zero, that is REL_PLACE and REL_RESP_NONE.
 *
 * The rest of an answer (rx_cum, rx_count, sack_*) is taken from the head after the call.
 */
struct rel_rx_out {
	enum rel_place place;
	enum rel_resp resp;
	uint64_t miss_first;
	uint32_t miss_stride;
	uint32_t miss_count;      /**< 1 to REL_MISSING_MAX */
	uint8_t ext[REL_EXT_MAX]; /**< ops->ack_ext_len bytes */
};

/** What an answer says. */
enum rel_ack_kind {
	REL_ACK,     /**< all below cum are there */
	REL_GAP,     /**< all below cum are there, cum is not, psn (beyond it) is */
	REL_MISSING, /**< psn is wanted again */
	REL_RESTART, /**< message msn is wanted again */
	REL_TRIMMED, /**< own packet (psn, msn, retry) came back as a header; cum is not set */
	REL_REWIND,  /**< the host's: send all from cum on again, nothing was lost (rocev2 RNR) */
};

/** An answer to the own stream, unwrapped. The host has checked that what it names was sent. */
struct rel_ack {
	enum rel_ack_kind kind;
	uint64_t cum; /**< may be older than tx_una */
	uint64_t psn; /**< by kind; REL_ACK: what triggered it, if the wire says so, else cum - 1 */
	uint64_t msn; /**< REL_RESTART, REL_TRIMMED */
	uint64_t count; /**< WIRE_COUNT: packets that the peer accepted so far; never falls */
	uint64_t sack_base;
	uint64_t sack_bits; /**< WIRE_SACK; 0 = says nothing */
	uint64_t sent_ns;   /**< WIRE_TS: when the triggering packet left; 0 = not known */
	uint64_t rtt_ns;    /**< 0 = no sample */
	const uint8_t *ext; /**< ops->ack_ext_len bytes */
	uint8_t retry;      /**< REL_TRIMMED: a stale bounce names an older try */
};

/** Most runs that are told apart in one answer. */
#define REL_RUNS_MAX 8

/** Packets of which something became known: an exact number, and the first few runs. */
struct rel_runs {
	uint32_t nb_pkts; /**< packets, not PSNs: an answered READ counts one */
	uint32_t nb_runs; /**< up to REL_RUNS_MAX; 0 if only numbers are known */
	struct psn_range run[REL_RUNS_MAX];
};

/**
 * What the sender half learned, for CC and LB.
 *
 * Preset: the two nb_pkts and nb_runs are 0 and timeout is false; the runs themselves are not
 * cleared. Packets count in acked once and for all; in lost each time they are given up.
 */
struct rel_out {
	struct rel_runs acked; /**< newly acknowledged */
	struct rel_runs lost;  /**< newly given up, to be sent again */
	bool timeout;          /**< lost by silence */
};

/**
 * A reliability engine. Every state begins with a struct rel_head.
 *
 * init is called at RTR: from then on the receiver half works. start is called at RTS (rocev2) or
 * when OPEN is agreed (weft): only then is the sender half called.
 */
struct reliability_ops {
	struct engine_info info;

	/**
	 * What goes next. Asked when head.tx_ready and the host could send now.
	 *
	 * @param[out] tx  what to send. It is sent: the head counts it already (and none.c has
	 * moved tx_una past it).
	 * @return         false if nothing may go now (window, BDP cap); tx_ready is then false
	 * until a call changes that.
	 */
	bool (*tx_next)(void *state, uint64_t now_ns, struct rel_tx *tx);
	/** A message was opened: qp->tx_end_psn and tx_end_msn include it already. */
	void (*on_post)(void *state, const struct rel_msg *msg, uint64_t now_ns);
	/** An answer came. */
	void (*on_ack)(void *state, const struct rel_ack *ack, uint64_t now_ns,
	               struct rel_out *out);
	/** The deadline passed. Called early or without need it does nothing. Sender half only. */
	void (*on_timer)(void *state, uint64_t now_ns, struct rel_out *out);

	/** A packet came. Decides once; the host does what out says. */
	void (*on_data)(void *state, const struct rel_rx *rx, uint64_t now_ns,
	                struct rel_rx_out *out);
	/** A packet came trimmed to its header. Optional: NULL unless WIRE_TRIM. */
	void (*on_trimmed)(void *state, const struct rel_rx *rx, uint64_t now_ns,
	                   struct rel_rx_out *out);

	/** Bytes of one state; the host rounds up to ENGINE_STATE_ALIGN. */
	size_t (*state_size)(const void *params, const struct engine_env *env);
	/** Make a state of zeroed or reused memory. qp->rx_first_psn is set. */
	void (*init)(void *state, const void *params, const struct engine_env *env,
	             const struct rel_qp *qp);
	/** The sender half may begin: qp->tx_first_psn and window_pkts are set, nothing is open. */
	void (*start)(void *state, uint64_t now_ns);

	uint8_t data_ext_len; /**< block X of data: 0 (all of ours), 3, 7, 11 or 15 */
	uint8_t ack_ext_len;  /**< block X of acknowledgements, the same */
};

/**
 * Count packets into runs.
 *
 * @param first, count  PSNs first to first + count - 1, one packet each. A run that continues the
 *                      last one extends it; runs beyond REL_RUNS_MAX are only counted.
 */
static inline void
rel_runs_add(struct rel_runs *runs, uint64_t first, uint32_t count)
{
	struct psn_range *last = runs->nb_runs ? &runs->run[runs->nb_runs - 1] : NULL;

	runs->nb_pkts += count;
	if (last && last->first + last->count == first)
		last->count += count;
	else if (runs->nb_runs < REL_RUNS_MAX)
		runs->run[runs->nb_runs++] = (struct psn_range){first, count};
}

/**
 * The open message of the own stream that holds a PSN.
 *
 * @param psn  in an open message: at or after the first PSN of tx_first_msn, below tx_end_psn.
 * Cost: a binary search over the open messages.
 */
static inline const struct rel_msg *
rel_msg_of(const struct rel_qp *qp, uint64_t psn)
{
	uint64_t lo = qp->tx_first_msn, hi = qp->tx_end_msn;

	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (qp->tx_msgs[mid & qp->msg_mask].first_psn <= psn)
			lo = mid;
		else
			hi = mid;
	}
	return &qp->tx_msgs[lo & qp->msg_mask];
}

#endif
