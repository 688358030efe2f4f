/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WR_H
#define WEFT_WR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "qp.h"

/*
 * Work requests: from the shared rings into private memory, read once and checked. Then, for sends,
 * from work requests to messages with PSNs.
 */

/** A queue's slot in shared memory, index free running. */
static inline void *
wq_slot(const struct wq *wq, uint32_t idx)
{
	return (char *)wq->ring + SHM_WQ_SLOTS + (uint64_t)(idx & (wq->nb_slots - 1)) * wq->stride;
}

/** Bring a slot, and what the application says of its queue, nearer. */
static inline void
wq_prefetch(const struct wq *wq, uint32_t idx)
{
	if (!wq->ring)
		return;
	__builtin_prefetch(wq->ring);
	__builtin_prefetch(wq_slot(wq, idx));
}

/**
 * Copy from memory that an application can write: once, so that what is checked is what is used.
 * The fence keeps the compiler from reading the original again.
 */
static inline void
shm_copy(void *dst, const void *shm, uint32_t len)
{
	memcpy(dst, shm, len);
	atomic_signal_fence(memory_order_seq_cst);
}

/** WQEs posted from index on; never more than there are slots, whatever the application wrote. */
static inline uint32_t
wq_posted(const struct wq *wq, uint32_t from)
{
	uint32_t tail, nb;

	if (!wq->ring)
		return 0;
	tail = atomic_load_explicit(&wq->ring->ring.tail, memory_order_acquire);
	nb = tail - from;
	return nb <= wq->nb_slots - (from - wq->head) ? nb : 0;
}

/** Let the application use the slots below head again. */
static inline void
wq_give_back(struct wq *wq)
{
	if (wq->ring)
		atomic_store_explicit(&wq->ring->ring.head, wq->head, memory_order_release);
}

/** The same, but for the last nb that were taken: they are in use. */
static inline void
wq_give_back_behind(struct wq *wq, uint32_t nb)
{
	if (wq->ring)
		atomic_store_explicit(&wq->ring->ring.head, wq->head - nb, memory_order_release);
}

/** Whether the application wrote a tail that cannot be. */
static inline bool
wq_is_broken(const struct wq *wq)
{
	return wq->ring &&
	       atomic_load_explicit(&wq->ring->ring.tail, memory_order_relaxed) - wq->head >
	               wq->nb_slots;
}

/**
 * Take the oldest receive WQE, false if none is posted; wq_give_back gives its slot back.
 *
 * @param wr  with room for the queue's max_sge entries.
 */
bool wq_take_recv(struct wq *wq, struct recv_wr *wr);

/** Take the oldest receive of a QP's queue, its own or the shared one; NULL if there is none, or no
 * memory. One of a queue of its own is still counted as posted. */
struct recv_wr *recv_take(struct qp *qp);
/** Such a receive is done with. */
void recv_end(struct qp *qp, struct recv_wr *wr);
/** The QP of a shared queue did not use it: it is the next that is taken. In reverse order. */
void recv_put_back(struct qp *qp, struct recv_wr *wr);

/** The private copy of an opened send. */
static inline struct send_wr *
wr_at(const struct qp *qp, uint32_t idx)
{
	return (struct send_wr *)(qp->wrs +
	                          (size_t)((idx - qp->wr_base) & qp->wr_mask) * qp->wr_size);
}

/** Whether more can be opened when slots allow: posted, or a READ in parts. */
bool wr_pending(const struct qp *qp);

/**
 * Open the next message: assign PSNs and tell the engine. A local operation (bind, invalidate) is
 * executed; a request that is refused is noted and completes in its turn.
 *
 * @return true if the engine was told of a new message; false if there is nothing to open now.
 */
bool wr_open(struct qp *qp, uint64_t now_ns);

/** Complete what can be, from the oldest send on. */
void wr_complete(struct qp *qp);

/** Whether all sends that were begun are complete. */
bool wr_is_drained(const struct qp *qp);

/** The same in the next wr_settle: when payload has been taken, or there is room again. */
void wr_complete_later(struct qp *qp);

/**
 * End a burst or a control call: flush, and go on with the QPs that had more to complete than fits.
 * Bounded: what is left then waits for the next call.
 */
void wr_settle(struct nic *nic);

/**
 * The memory of an opened send is gone. No packet of it or behind it leaves any more; when all
 * before it is complete, it completes with an error.
 *
 * @param idx  of its SQ slot, free running.
 */
void wr_spoil(struct qp *qp, uint32_t idx, enum qp_reason why);

#endif
