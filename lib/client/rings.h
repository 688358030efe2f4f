/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RINGS_H
#define WEFT_RINGS_H

/*
 * The application's side of the shared rings: what every post and poll runs through. Nothing here
 * makes a system call, except to wake a daemon that sleeps.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "abi.h"
#include "cpu.h"

/**
 * Guards one ring against the application's other threads. Held for nanoseconds; a holder that was
 * preempted is waited for by yielding, so that it can go on.
 */
struct ring_lock {
	_Atomic uint32_t held;
};

static inline void
ring_lock(struct ring_lock *lock)
{
	uint32_t spins = 0;

	if (__libc_single_threaded) {
		/* No other thread can hold it or look: a plain store saves a locked exchange. */
		atomic_store_explicit(&lock->held, 1, memory_order_relaxed);
		return;
	}
	while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire)) {
		if (++spins % 64 == 0)
			sched_yield();
		else
			cpu_relax();
	}
}

static inline void
ring_unlock(struct ring_lock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/** A work queue, seen by its producer. */
struct ring_wq {
	struct shm_wq *shm; /**< NULL = there is none */
	uint8_t *slots;
	uint32_t mask;   /**< slots - 1 */
	uint32_t stride; /**< bytes of a slot */
	uint32_t max_wr; /**< requests that may be outstanding; at most the slots */
	uint32_t max_sge;
	uint32_t max_inline; /**< bytes; 0 for receive queues */
	/** Requests published. Changed under the lock; a flush reads it without. */
	_Atomic uint32_t tail;
	/** Requests that are no longer outstanding: polled; of an SRQ: given back, as last seen. */
	_Atomic uint32_t done;
	bool is_srq;
	struct ring_lock lock;
};

static inline uint32_t
ring_wq_tail(const struct ring_wq *wq)
{
	return atomic_load_explicit(&wq->tail, memory_order_acquire);
}

/**
 * Requests before idx are no longer outstanding. What the daemon wrote is believed only between
 * what was done before and the tail. One thread at a time: who has the queue's CQ.
 */
static inline void
ring_wq_done(struct ring_wq *wq, uint32_t idx)
{
	uint32_t tail = ring_wq_tail(wq);

	if (tail - idx < tail - atomic_load_explicit(&wq->done, memory_order_relaxed))
		atomic_store_explicit(&wq->done, idx, memory_order_release);
}

/** How far an SRQ's requests were given back, from the daemon's index within the same bounds. */
static inline uint32_t
ring_srq_done(struct ring_wq *wq)
{
	uint32_t done = atomic_load(&wq->done), head = atomic_load(&wq->shm->ring.head), tail;

	/* A poster and a flush may both be here. */
	do {
		tail = ring_wq_tail(wq);
		if (tail - head >= tail - done)
			return done;
	} while (!atomic_compare_exchange_weak(&wq->done, &done, head));
	return head;
}

/**
 * The slot of the request that will be the ahead-th behind the tail.
 *
 * @return NULL if max_wr requests are outstanding.
 */
static inline void *
ring_wq_slot(struct ring_wq *wq, uint32_t ahead)
{
	uint32_t idx = atomic_load_explicit(&wq->tail, memory_order_relaxed) + ahead;

	/* Acquire: whoever polled the completion has seen that the daemon is through with the slot.
	 */
	if (idx - atomic_load_explicit(&wq->done, memory_order_acquire) >= wq->max_wr) {
		if (!wq->is_srq || idx - ring_srq_done(wq) >= wq->max_wr)
			return NULL;
	}
	return wq->slots + (size_t)(idx & wq->mask) * wq->stride;
}

/** nb more requests are written; only the daemon doesn't know yet. @return the new tail. */
static inline uint32_t
ring_wq_advance(struct ring_wq *wq, uint32_t nb)
{
	uint32_t tail = atomic_load_explicit(&wq->tail, memory_order_relaxed) + nb;

	atomic_store_explicit(&wq->tail, tail, memory_order_release);
	return tail;
}

/** Hand the next nb slots to the daemon. */
static inline void
ring_wq_publish(struct ring_wq *wq, uint32_t nb)
{
	atomic_store_explicit(&wq->shm->ring.tail, ring_wq_advance(wq, nb), memory_order_release);
}

/**
 * Hand the next nb slots to the daemon and learn whether it wants the doorbell. The store must be
 * seen before the flag is read (the daemon does both in the other order), hence the full barrier.
 */
static inline bool
ring_wq_publish_quiet(struct ring_wq *wq, uint32_t nb)
{
	atomic_store(&wq->shm->ring.tail, ring_wq_advance(wq, nb));
	return atomic_load(&wq->shm->need_bell);
}

/** The daemon dropped everything (RESET), and its completions are gone as well. */
static inline void
ring_wq_drop(struct ring_wq *wq)
{
	atomic_store_explicit(&wq->done, ring_wq_tail(wq), memory_order_release);
}

/** Ring for queue idx, whose tail is published; fd wakes a daemon that sleeps. */
static inline void
ring_bell(struct shm_bell *bell, uint32_t idx, int fd)
{
	uint64_t bit = UINT64_C(1) << (idx % 64);

	/* A bit that is still set has not been taken yet, so whoever takes it sees the tail. */
	if (!(atomic_fetch_or(&bell->bits[idx / 64], bit) & bit))
		atomic_fetch_or(&bell->summary[idx / SHM_BELL_QPS], UINT64_C(1) << (idx / 64 % 64));
	if (__builtin_expect(atomic_load(&bell->need_wake) != 0, 0)) {
		/* EAGAIN: the counter is full, so it is readable anyway. */
		ssize_t done = write(fd, &(uint64_t){1}, sizeof(uint64_t));
		(void)done;
	}
}

/** Marks an entry whose QP is gone; not a value of enum shm_wc_status. */
#define RING_CQE_GONE 0xff

/** A completion queue, seen by its consumer. */
struct ring_cq {
	struct shm_cq *shm;
	struct shm_cqe *slots;
	uint32_t mask;  /**< slots - 1 */
	uint32_t head;  /**< entries taken */
	uint32_t given; /**< of them given back to the daemon */
	uint32_t tail;  /**< entries published, as last seen */
};

/** Take over how many entries were published: more than there are slots can't be. */
static inline void
ring_cq_see(struct ring_cq *cq, uint32_t tail)
{
	cq->tail = tail - cq->head <= cq->mask + 1 ? tail : cq->head;
}

/** The oldest entry, NULL if there is none. It stays readable until the head is published. */
static inline struct shm_cqe *
ring_cq_peek(struct ring_cq *cq)
{
	if (cq->head == cq->tail) {
		ring_cq_see(cq, atomic_load_explicit(&cq->shm->ring.tail, memory_order_acquire));
		if (cq->head == cq->tail)
			return NULL;
	}
	return &cq->slots[cq->head & cq->mask];
}

/** Done with the entry that peek returned. */
static inline void
ring_cq_pop(struct ring_cq *cq)
{
	cq->head++;
}

/**
 * Give the entries that were popped back to the daemon. Without any its cache line is left alone:
 * polling an empty ring must not slow down who fills it.
 */
static inline void
ring_cq_publish(struct ring_cq *cq)
{
	if (cq->head == cq->given)
		return;
	cq->given = cq->head;
	atomic_store_explicit(&cq->shm->ring.head, cq->head, memory_order_release);
}

/**
 * Ask for one notification; the caller must then poll once more. The daemon publishes an entry and
 * then looks at the flag, we set the flag and then look at the entries, all of it sequentially
 * consistent: one of the two sees the other.
 * A wish for any completion is not narrowed to solicited ones.
 */
static inline void
ring_cq_arm(struct ring_cq *cq, enum shm_arm arm)
{
	uint32_t none = SHM_ARM_NONE;

	if (arm == SHM_ARM_SOLICITED)
		atomic_compare_exchange_strong(&cq->shm->armed, &none, arm);
	else
		atomic_exchange(&cq->shm->armed, arm);
	/* Not the acquire load of peek, which the exchange does not order on every CPU. */
	ring_cq_see(cq, atomic_load(&cq->shm->ring.tail));
}

/** Mark all unread entries of a QP: poll skips them. */
static inline void
ring_cq_forget_qp(struct ring_cq *cq, uint32_t qpn)
{
	uint32_t tail = atomic_load_explicit(&cq->shm->ring.tail, memory_order_acquire);

	/* Not more than there are slots, whatever the tail says. */
	for (uint32_t i = cq->head, n = 0; i != tail && n <= cq->mask; i++, n++) {
		struct shm_cqe *cqe = &cq->slots[i & cq->mask];

		if (cqe->qpn == qpn)
			cqe->status = RING_CQE_GONE;
	}
}

#endif
