/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_STATE_H
#define WEFT_WEFT_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "framing.h"
#include "int.h"
#include "reliability.h"

/**
 * @file
 * State of a QP in the weft framing: two streams of messages, the own one and the peer's.
 * docs/wire.md, "Streams and messages". What only a QP with work has is leased (lease.h), a block
 * for each direction. MSNs and SSNs are unwrapped to 64 bits as PSNs are.
 */

/** Messages of the peer that are open, and SSNs: slots, a power of two. Our choice. */
#define WEFT_MSGS 256
static_assert(WEFT_MSGS <= UINT8_MAX + 1, "weft_in.base_msn, base_ssn");
/** Least slots for own messages: responses are among them. A power of two; our choice. */
#define WEFT_TX_MSGS_MIN 32
#define WEFT_MASK_WORDS (WEFT_MSGS / 64)
/** No message, no SSN. */
#define WEFT_NONE UINT64_MAX

/* ---- the peer's stream ---- */

/** A message that is not done: some packet of it, or of one before it, is missing. */
struct weft_rx_msg {
	struct rel_msg rel;
	uint32_t length;    /**< bytes; 0 of a READ REQUEST and an atomic */
	uint32_t ref;       /**< 24 bits: SSN, or MSN of the request that it answers */
	uint32_t kind;      /**< which of OPF_SEND, OPF_WRITE, OPF_READ, ... */
	uint32_t end_flags; /**< of the LAST or ONLY packet: OPF_IMM, OPF_IETH; 0 = has not come */
	uint32_t imm;       /**< immediate, or R_Key to invalidate */
	bool solicited;
	bool is_refused; /**< a packet of it found no receive, or was VOID: done, never delivered */
	uint8_t opcode;  /**< READ, atomic */
	uint32_t rkey;
	uint64_t va;
	uint32_t dma_len;  /**< READ */
	uint32_t opp_emsn; /**< 24 bits */
	uint64_t swap_add; /**< atomic; atomic response: the original value */
	uint64_t compare;
};

/** A receive, by SSN. */
struct weft_recv {
	struct recv_wr *wr;   /**< bound to it; NULL = none */
	uint64_t refused_msn; /**< the last instance that was refused; 0 = is not refused */
	bool is_touched;      /**< something was placed in it */
	bool is_done;
	/* once done */
	bool solicited;
	uint32_t length; /**< bytes */
	uint32_t imm;
	uint32_t kind;      /**< OPF_SEND or OPF_WRITE */
	uint32_t end_flags; /**< OPF_IMM, OPF_IETH */
	uint64_t msn;
};

/** A READ or atomic of the peer: it waits for its turn, runs, and waits to be answered. */
struct weft_rd_in {
	uint64_t msn, psn;
	uint64_t order_ssn; /**< it runs when all receives before this one are delivered */
	uint64_t va;        /**< atomic, once it ran: the original value */
	uint64_t swap_add, compare;
	uint32_t rkey;
	uint32_t length;
	uint8_t opcode;
};

/** Leased while a message of the peer's stream or a receive is not done with. */
struct weft_rx {
	uint64_t msgs_used[WEFT_MASK_WORDS];  /**< bit per slot of msgs */
	uint64_t recvs_used[WEFT_MASK_WORDS]; /**< bit per slot of recvs */
	struct weft_rx_msg msgs[WEFT_MSGS];   /**< by weft_msg_slot */
	struct weft_recv recvs[WEFT_MSGS];    /**< by weft_recv_slot */
	struct weft_rd_in rds[WEFT_MAX_RD_ATOMIC];
	/* of the newest packet, if weft_in.has_echo */
	uint8_t int_area[INT_LEN(INT_SLOTS_MAX)];
	uint8_t ack_ext[REL_EXT_MAX]; /**< what the engine said to it */
};

/** The receiver half of a QP. */
struct weft_in {
	struct weft_rx *rx;  /**< leased; NULL = nothing is open */
	uint64_t emsn;       /**< first message not done */
	uint64_t emsn_psn;   /**< where it begins */
	uint64_t essn;       /**< first SSN not delivered */
	uint64_t bssn;       /**< first SSN without a receive bound */
	uint16_t nb_msgs;    /**< slots of rx->msgs in use */
	uint16_t nb_refused; /**< SSNs that are refused */
	/** rx->rds, free running: [rd_head, rd_run) ran and wait to be answered, [rd_run, rd_tail)
	 * wait to run. */
	uint8_t rd_head, rd_run, rd_tail;
	/** What slot 0 stands for, so that a lone message is always in the same lines of memory. */
	uint8_t base_msn, base_ssn;

	/* what to say */
	bool ack_due;  /**< as soon as possible */
	bool ce;       /**< a packet with CE came since the last acknowledgement */
	bool has_echo; /**< rx->int_area, ack_ext are of a packet since the last acknowledgement */
	uint8_t nb_unacked;  /**< packets since the last acknowledgement */
	uint8_t ack_every;   /**< so many are acknowledged at the latest */
	uint16_t sport;      /**< UDP source port of the newest packet */
	uint32_t ack_psn;    /**< 24 bits; that triggers the next acknowledgement */
	uint32_t ts_ns;      /**< timestamp of the newest packet */
	uint64_t ack_due_ns; /**< latest time for it; NEVER_NS = nothing to acknowledge */
	uint64_t came_ns;    /**< when the newest packet came */

	/* the lowest message that is at fault; packets from it on are dropped */
	uint64_t fault_msn; /**< WEFT_NONE = all is well */
	/** When it was found; once the NAK is sent, from when on it is repeated, if asked. */
	uint64_t fault_ns;
	uint32_t fault_psn;                    /**< 24 bits */
	uint32_t fault_rnr_ssn, fault_rnr_msn; /**< 24 bits */
	bool fault_refuses; /**< when the QP ended, these were refused, which the NAK says too */
	uint8_t fault_syndrome;
	uint8_t fault_why;         /**< enum qp_reason */
	uint8_t fault_recv_status; /**< of the message's receive; 0 = it is not to blame */
	uint16_t nb_faults;        /**< NAKs so far; 0 = what goes before it is waited for */
	bool is_mute;              /**< no acknowledgement leaves any more, but a fatal NAK */
};

/** Where a message's slot is, whether it is used or not. msn may be wrapped or not. */
static inline uint32_t
weft_msg_slot(const struct weft_in *in, uint64_t msn)
{
	return (uint32_t)(msn - in->base_msn) % WEFT_MSGS;
}

static inline uint32_t
weft_recv_slot(const struct weft_in *in, uint64_t ssn)
{
	return (uint32_t)(ssn - in->base_ssn) % WEFT_MSGS;
}

/* ---- the own stream ---- */

enum weft_tx_kind { WEFT_TX_REQUEST, WEFT_TX_READ_RESP, WEFT_TX_ATOMIC_RESP };

/** What the host keeps beside each rel_msg of the own stream. */
struct weft_tx_msg {
	union {
		uint64_t offset; /**< request: of the message in the work request, bytes */
		uint64_t va;     /**< READ response: of its first byte */
		uint64_t orig;   /**< atomic response */
	};
	uint64_t ssn;     /**< request: its own, or the next one used */
	uint32_t length;  /**< bytes */
	uint32_t wr_idx;  /**< request: index of the SQ slot, free running */
	uint32_t rkey;    /**< READ response */
	uint32_t req_msn; /**< responses: MSN of the request, 24 bits */
	uint8_t kind;     /**< enum weft_tx_kind */
	bool is_rd;       /**< request: READ or atomic */
	bool is_void;     /**< refused, or answered: what leaves from now on carries nothing */
};

/** A READ or atomic whose response is not complete. */
struct weft_rd_out {
	uint64_t msn;    /**< of the request */
	uint64_t offset; /**< READ: of this part in the work request, bytes */
	uint32_t length;
	uint32_t wr_idx;
	bool is_done;
};

/** Leased while a message is not acknowledged, or a READ or atomic not answered. */
struct weft_tx {
	uint64_t rd_seen;  /**< what had come of the peer's stream at weft_out.rd_ns */
	uint32_t rd_asked; /**< since then the peer was asked so often whether it is there */
	struct weft_rd_out rds[WEFT_MAX_RD_ATOMIC]; /**< from qp.rd_head on, qp.nb_rd of them */
	struct weft_tx_msg msgs[]; /**< slot = MSN & rel_qp.msg_mask; the rel_msgs lie behind */
};

/** The sender half of a QP. */
struct weft_out {
	struct weft_tx *tx; /**< leased; NULL = nothing is open */
	uint64_t ssn;       /**< of the next message that uses a receive */
	uint64_t ssn_una;   /**< first that is not known to have a receive */
	uint32_t conf_idx;  /**< SQ index: requests before it are acknowledged, and not refused */
	uint32_t nb_resps;  /**< responses that are open */
	uint64_t count;     /**< WIRE_COUNT: packets that the peer has accepted */
	/* refusal (RNR) */
	uint64_t hold_ns;   /**< no new request before; 0 = no hold */
	uint32_t again_idx; /**< SQ index of the next to be sent again ... */
	uint32_t again_end; /**< ... up to here */
	uint64_t rd_ns;     /**< last progress of a response, or of what it waits behind */
};

#endif
