/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_SCHEDULE_H
#define WEFT_TEST_REL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "bind.h"
#include "fault.h"
#include "wqe.h"

/**
 * @file
 * What happens in one run of the conformance suite of reliability engines: pure data, made of a
 * seed. Pairs of QPs connect side 0 and side 1; a way is what one end of a pair asks of the other.
 */

#define REL_PAIRS_MAX 4
#define REL_OPS_MAX 64
/** Words for atomics that all ways to a side share, beside one for each way alone. */
#define REL_SHARED_WORDS 2
/** No operation. */
#define REL_NO_OP -1

/** How a run ends. */
enum rel_end {
	REL_END_WHOLE,   /**< all completes */
	REL_END_SILENCE, /**< the link goes down for good: retries are exhausted */
	REL_END_RNR,     /**< a way's receives come to an end: RNR retries are exceeded */
	REL_END_ACCESS,  /**< a request of a way is not allowed */
	REL_NB_ENDS,
};

/** What a request asks for that it must not have. */
enum rel_fault {
	REL_NO_FAULT,
	REL_BAD_KEY,    /**< no such R_Key */
	REL_TOO_LONG,   /**< a SEND one byte longer than the receive's buffer */
	REL_MISALIGNED, /**< an atomic */
	REL_BAD_INV,    /**< a SEND invalidates what is no window */
};

/** How the QPs of a pair come to the weft framing. */
enum rel_open {
	REL_OPEN_BY_HAND, /**< the rig says what the terms are */
	REL_OPEN_CLEAN,   /**< by HELLO and OPEN; requests are posted meanwhile */
	REL_OPEN_SPOILT,  /**< OPEN over the bad link; requests are posted then */
	REL_OPEN_DARK,    /**< the link goes down when HELLO has begun, or soon after */
};

/** One work request. */
struct rel_op {
	uint8_t op;    /**< enum shm_wr_op */
	uint8_t flags; /**< enum shm_send_flag */
	uint8_t slot;  /**< WRITE, READ: of the other side's memory, of the way's own slots */
	uint8_t word;  /**< atomics: 0 = the way's own, else 1 + that of a shared one */
	uint8_t fault; /**< enum rel_fault */
	uint8_t nb_sge;
	uint32_t len;    /**< bytes */
	uint32_t gap_ns; /**< from the post before */
	int32_t after;   /**< posted when that one is complete; REL_NO_OP */
	uint64_t add;    /**< FETCH_ADD; CMP_SWAP: the new value */
	bool hits;       /**< CMP_SWAP: compares with what is there */
	uint32_t inv;    /**< SEND_INV: which of the way's windows */
};

/** Requests of one end of a pair, and how the other end posts receives for them. */
struct rel_way {
	uint32_t nb_ops;
	struct rel_op ops[REL_OPS_MAX];
	uint32_t nb_recvs; /**< operations that need one */
	uint32_t nb_windows;
	uint32_t first_psn;
	uint32_t recv_ahead;   /**< so many are posted at a time, 1 or more */
	uint32_t recv_late_ns; /**< each so long after the last or after there was room */
	int32_t recv_after;    /**< of the other way: none before it is complete; REL_NO_OP */
	uint32_t recv_max;     /**< none beyond; UINT32_MAX */
	uint8_t rnr_retry;
};

struct rel_schedule {
	uint64_t seed;
	enum framing framing;
	enum rel_end end;
	uint32_t nb_pairs;
	struct rel_way ways[REL_PAIRS_MAX][2]; /**< by the side that asks */
	int bad_side; /**< of pair 0: whose way ends with an error of its own; -1 = none */
	bool has_srq[2];

	/* memory */
	uint32_t slot_bytes;                   /**< the longest message */
	uint32_t nb_local, nb_remote, nb_recv; /**< slots: each way's, for receives each pair's */

	/* connections */
	uint8_t mtu_code;
	bool ipv6;
	uint16_t vlan;
	uint8_t timeout; /**< code */
	uint8_t retry_cnt;
	uint8_t min_rnr_timer; /**< code */
	uint8_t rd_atomic;
	uint32_t depth;

	/* of the weft framing */
	enum rel_open open;
	/* what is set by hand */
	uint32_t first_msn; /**< and SSN */
	uint32_t max_msgs;
	uint8_t ack_every, ack_delay_us;

	/* NICs */
	uint32_t window_pkts;
	uint64_t rate_bps;
	uint32_t nb_pkts;
	uint64_t step_ns;

	struct fault_params fault; /**< from when all is connected */
	uint32_t ce_ppm;           /**< frames that are marked CE, if they are ECT */
	bool is_again;             /**< QPs are reset then, and run what rel_schedule_again makes */
};

/** The schedule of a seed. */
void rel_schedule_make(struct rel_schedule *s, uint64_t seed, enum framing framing);

/**
 * Another round of the same QPs, in place of the first: other operations and PSNs, and a link that
 * stays up, so that all must complete.
 */
void rel_schedule_again(struct rel_schedule *s);

/** Whether there are windows, which must be bound while all is well. */
bool rel_has_windows(const struct rel_schedule *s);

/** Whether an operation needs a receive. */
static inline bool
rel_needs_recv(const struct rel_op *op)
{
	return SHM_OP_BIT(op->op) &
	       (SHM_OPS_SEND | SHM_OP_BIT(SHM_WR_SEND_INV) | SHM_OP_BIT(SHM_WR_WRITE_IMM));
}

static inline bool
rel_is(const struct rel_op *op, uint32_t ops)
{
	return SHM_OP_BIT(op->op) & ops;
}

/** The timeout of all QPs. */
static inline uint64_t
rel_timeout_ns(const struct rel_schedule *s)
{
	return UINT64_C(4096) << s->timeout;
}

/** For a message: how it ends, and what is special about it. */
const char *rel_end_text(enum rel_end end);

#endif
