/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BATCH_H
#define WEFT_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cq.h"
#include "mem.h"
#include "nic.h"

struct qp;

/*
 * One burst's work in stages, so that slow memory is read and written in runs and a completion
 * never precedes its data. Out: plan packets, gather payload and ICRC, hand over. In: judge
 * packets, scatter payload, write completions. Memory that is mapped here is copied at once, by
 * piece.c; what is not, and what comes behind it, waits here for the flush.
 */

#define BATCH_PKTS 32
#define BATCH_CQES 256
/** Completions that one packet may bring, beside what loops complete as long as there is room. */
#define BATCH_PKT_CQES 4
/** Most pieces that one packet's payload can fall into: 16 SGEs, each crossing segments. */
#define BATCH_PKT_RUNS 128
#define BATCH_RUNS (BATCH_PKT_RUNS + 512)
/** Longest run read from or written to unmapped memory at once, bytes. */
#define BATCH_STAGING 65536

/** A linear piece of payload: between a packet and one segment of memory. */
struct copy_run {
	uint8_t *map;          /**< the memory, if this thread can reach it */
	const struct mem *mem; /**< else: through mem->ops */
	uint64_t va;
	uint8_t *pkt;  /**< the bytes in the packet */
	struct qp *qp; /**< whose request it is */
	uint32_t len;
	union {
		uint32_t out_idx; /**< out: which packet */
		/** in: of the request, 24 bits (weft: its MSN); BATCH_ANSWER = an answer */
		uint32_t psn;
	};
	uint32_t cqe_idx; /**< in: completions from here on tell of these bytes */
	bool failed;      /**< in: the memory is gone */
};
#define BATCH_ANSWER UINT32_MAX

/** A packet whose headers are written. */
struct out_pkt {
	struct pkt *pkt;
	struct qp *qp;
	uint8_t *payload; /**< in pkt, behind the headers */
	uint32_t hdr_len;
	uint32_t payload_len;
	uint32_t crc;
	uint32_t wr_idx; /**< of a request: its slot in the SQ, free running */
	uint32_t psn;    /**< 24 bits; of a weft response the MSN of its request */
	bool is_request; /**< else an answer */
	bool to_self;    /**< to the own MAC */
	bool waits;      /**< some of its payload is gathered at the flush */
	bool failed;     /**< its memory could not be read: not sent */
};

struct pending_cqe {
	struct cq *cq;
	struct qp *qp;
	bool solicited;
	struct shm_cqe cqe;
};

struct batch {
	struct out_pkt out[BATCH_PKTS];
	uint32_t nb_out;
	uint32_t nb_planned; /**< of this turn, also those that went nowhere: what bounds it */
	uint32_t nb_runs_out, nb_runs_in;
	uint32_t nb_cqes;
	bool payload_absent;
	struct copy_run runs_out[BATCH_RUNS], runs_in[BATCH_RUNS];
	struct pending_cqe cqes[BATCH_CQES];
	uint8_t *staging;              /**< NULL if payload_absent */
	struct pkt *spare[BATCH_PKTS]; /**< taken from the pool ahead of use */
	uint32_t nb_spare;
};

/** Take spare buffers from the pool; false if it is empty. */
bool batch_refill(struct batch *b, struct pkt_pool *pool);

/** @param payload_absent  of the NIC's conf. @return NULL without memory. */
struct batch *batch_create(bool payload_absent);
void batch_destroy(struct batch *b);

/** Whether a packet of any shape still fits before the next gather, and there is a buffer for it.
 */
static inline bool
batch_out_fits(struct batch *b, struct pkt_pool *pool)
{
	return b->nb_out < BATCH_PKTS && b->nb_runs_out + BATCH_PKT_RUNS <= BATCH_RUNS &&
	       (b->nb_spare || batch_refill(b, pool));
}

/** The packet planned last. */
static inline struct out_pkt *
batch_last(struct batch *b)
{
	return &b->out[b->nb_out - 1];
}

/**
 * Add payload of the packet planned last at the flush. The memory was checked: [va, va + len) lies
 * in mem.
 *
 * @return false if it falls into too many pieces.
 */
bool batch_gather(struct batch *b, struct qp *qp, const struct mem *mem, uint64_t va, uint8_t *pkt,
                  uint32_t len);
/** Add bytes that this thread can reach at once (inline data). */
void batch_gather_ptr(struct batch *b, const uint8_t *src, uint8_t *pkt, uint32_t len);
/** Where the bytes of a packet go. */
struct batch_dst {
	struct qp *qp;
	const struct mem *mem;
	uint64_t va;
	uint32_t psn; /**< as in copy_run */
};
/** Bring a packet's payload to application memory at the next flush; false as batch_gather. */
bool batch_scatter(struct batch *b, const struct batch_dst *dst, const uint8_t *pkt, uint32_t len);
/**
 * Whether a loop may add a completion. Nothing is flushed from within a loop: a full CQ or memory
 * that is gone fails QPs, and the loop's own may be one of them. What does not fit goes on in
 * wr_settle.
 */
static inline bool
batch_cqe_fits(const struct batch *b)
{
	return b->nb_cqes + BATCH_PKT_CQES < BATCH_CQES;
}
/** Whether a packet of any kind may be judged before the next flush. */
static inline bool
batch_in_fits(const struct batch *b)
{
	return b->nb_runs_in + BATCH_PKT_RUNS <= BATCH_RUNS && batch_cqe_fits(b);
}
/** Write a completion at the next flush, after the copies before it. There must be room. */
void batch_cqe(struct nic *nic, struct qp *qp, struct cq *cq, const struct shm_cqe *cqe,
               bool solicited);

/** Scatter, then complete. Requests whose memory is gone fail their QP. */
void batch_flush_in(struct nic *nic);
/**
 * Gather payload and close the planned packets. Those to the own MAC come back at the next turn: a
 * learning switch would drop them.
 *
 * @param pkts  room for BATCH_PKTS; the caller owns what is returned.
 * @return      packets ready; those whose memory is gone were freed, and their QPs told (fail.h).
 */
uint32_t batch_flush_out(struct nic *nic, struct pkt **pkts);

#endif
