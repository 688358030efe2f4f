/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_ORACLE_H
#define WEFT_TEST_REL_ORACLE_H

#include "rel_schedule.h"

/**
 * @file
 * What a run's applications must see, whatever the link did and whichever engine is at work. It
 * knows the schedule, what was posted, completions and memory, and nothing of QPs or packets.
 *
 * Memory: each side has one block with all that its applications own, and its double, which holds
 * what the block must hold. The double changes when something is posted or completes.
 */

/** What became of a run. */
struct rel_verdict {
	bool is_bad;
	char why[200]; /**< the first thing wrong */
};

/** A message of a way's operation that needs a receive, or a receive that was posted. */
struct rel_recv {
	uint64_t wr_id;
	bool is_posted;
};

/** What an application saw of a way. */
struct rel_seen {
	uint32_t nb_posted, nb_done;  /**< operations; done ones are complete, well or not */
	uint32_t nb_tried;            /**< those posted before it was seen to have failed */
	uint32_t nb_good;             /**< of those, the first that completed well */
	uint8_t status;               /**< of the first that did not; 0 = none */
	bool is_explained;            /**< one of them says more than that it was flushed */
	uint32_t nb_received;         /**< messages, in order */
	uint32_t recv_op;             /**< operation of the next */
	uint32_t nb_checked;          /**< operations whose WRITEs were looked at */
	int32_t last_write[8];        /**< operation that wrote a slot last; REL_NO_OP */
	uint64_t word;                /**< the way's own word after all that was posted */
	uint64_t old[REL_OPS_MAX];    /**< atomics: what must come back; of shared ones what did */
	uint8_t *before[REL_OPS_MAX]; /**< WRITE, if it may fail: what was there */
};

/** Receives of a QP, or of a side's SRQ. */
struct rel_recvs {
	uint64_t nb_posted, nb_taken; /**< private: completions come in order */
	bool is_flushed;
	struct rel_recv slots[REL_PAIRS_MAX * 8];
};

struct rel_oracle {
	const struct rel_schedule *s;
	struct rel_verdict verdict;
	struct rel_seen seen[REL_PAIRS_MAX][2];   /**< by who asks */
	struct rel_recvs recvs[REL_PAIRS_MAX][2]; /**< by who receives; SRQ: of pair 0 */
	uint8_t *mem[2], *want[2];
	size_t mem_bytes;
	size_t stride, words;
};

/** @param s  must live as long. */
void rel_oracle_open(struct rel_oracle *o, const struct rel_schedule *s);
void rel_oracle_close(struct rel_oracle *o);

/* Where things are, in mem[side]. All of it may be registered. */
uint8_t *rel_local(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i);
/** At the other side: what operation i is about. */
uint8_t *rel_remote(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i);
/** Of a receive at this side. */
uint8_t *rel_buffer(const struct rel_oracle *o, uint32_t pair, int side, uint32_t slot);
/** Immediate data of an operation. */
uint32_t rel_imm(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i);

/**
 * The next operation of a way is about to be posted: its memory is made ready.
 *
 * @param[out] compare  what a CMP_SWAP compares with.
 */
void rel_oracle_post(struct rel_oracle *o, uint32_t pair, int side, uint64_t *compare);
/** It was: an inline one needs its memory no more. */
void rel_oracle_posted(struct rel_oracle *o, uint32_t pair, int side);
/** A receive is about to be posted at a side. @return the slot of its buffer. */
uint32_t rel_oracle_recv(struct rel_oracle *o, uint32_t pair, int side, uint64_t *wr_id);
/** A completion of a way's send queue. All receives that have completed were told before. */
void rel_oracle_sent(struct rel_oracle *o, uint32_t pair, int side, const struct shm_cqe *cqe);
/** A completion of the receive queue of a pair's end. inv_key: of its windows, by SEND_INV. */
void rel_oracle_received(struct rel_oracle *o, uint32_t pair, int side, const struct shm_cqe *cqe,
                         const uint32_t *inv_keys);

/** Whether all that was to come has come. */
bool rel_oracle_is_done(const struct rel_oracle *o);
/** Nothing more comes. states: of the QPs, enum shm_qp_state. */
void rel_oracle_end(struct rel_oracle *o, uint8_t states[REL_PAIRS_MAX][2]);

/** Something else is wrong. Only the first is kept. */
void rel_bad(struct rel_verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
