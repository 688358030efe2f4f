/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application's threads and a daemon on the same rings, under the thread sanitizer. A program
 * of its own, because that sanitizer does not start inside Criterion. Exits with 0 if everything
 * arrived once and in order; the sanitizer exits with 66 if it saw a race.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rings.h"

enum { NB_SLOTS = 16, NB_THREADS = 3, NB_EACH = 20000 };

static struct ring_wq sq;
static struct ring_cq cq;
static struct ring_lock cq_lock;
static struct shm_bell bell;

static void *
zeroed(size_t bytes)
{
	void *mem = aligned_alloc(64, bytes);

	if (!mem)
		abort();
	return memset(mem, 0, bytes);
}

/** Post NB_EACH requests, several at a time, each naming its thread and its place. */
static void *
post(void *arg)
{
	uint64_t who = (uintptr_t)arg, next = 0;

	while (next < NB_EACH) {
		uint32_t nb = 0;

		ring_lock(&sq.lock);
		while (nb < 3 && next < NB_EACH) {
			struct shm_send_wqe *wqe = ring_wq_slot(&sq, nb);

			if (!wqe)
				break;
			*wqe = (struct shm_send_wqe){.wr_id = who << 32 | next++};
			nb++;
		}
		if (nb) {
			ring_wq_publish(&sq, nb);
			ring_bell(&bell, 77, -1);
		}
		ring_unlock(&sq.lock);
		if (!nb)
			sched_yield();
	}
	return NULL;
}

/** The daemon: woken by the bell only, completes what it finds. */
static void *
serve(void *arg)
{
	uint32_t head = 0, tail = 0;

	(void)arg;
	while (head < NB_THREADS * NB_EACH) {
		if (!atomic_exchange(&bell.summary[0], 0) ||
		    !atomic_exchange(&bell.bits[77 / 64], 0)) {
			sched_yield();
			continue;
		}
		while (head != atomic_load_explicit(&sq.shm->ring.tail, memory_order_acquire)) {
			const struct shm_send_wqe *wqe =
				(void *)(sq.slots + (head % NB_SLOTS) * sq.stride);

			while (tail - atomic_load_explicit(&cq.shm->ring.head,
			                                   memory_order_acquire) ==
			       NB_SLOTS)
				sched_yield();
			cq.slots[tail % NB_SLOTS] = (struct shm_cqe){.wr_id = wqe->wr_id};
			atomic_store_explicit(&cq.shm->ring.tail, ++tail, memory_order_release);
			atomic_exchange(&cq.shm->armed, SHM_ARM_NONE);
			atomic_store_explicit(&sq.shm->ring.head, ++head, memory_order_release);
		}
	}
	return NULL;
}

static uint64_t next_of[NB_THREADS], nb_seen;

static void *
poll_all(void *arg)
{
	bool done = false;

	(void)arg;
	while (!done) {
		struct shm_cqe *cqe;

		ring_lock(&cq_lock);
		ring_cq_arm(&cq, SHM_ARM_ANY);
		while ((cqe = ring_cq_peek(&cq))) {
			uint64_t who = cqe->wr_id >> 32, n = cqe->wr_id & 0xffffffff;

			if (who >= NB_THREADS || next_of[who]++ != n) {
				printf("thread %lu, request %lu came out of turn\n",
				       (unsigned long)who, (unsigned long)n);
				exit(1);
			}
			nb_seen++;
			ring_cq_pop(&cq);
		}
		ring_cq_publish(&cq);
		done = nb_seen == NB_THREADS * NB_EACH;
		ring_unlock(&cq_lock);
		sched_yield();
	}
	return NULL;
}

int
main(void)
{
	pthread_t threads[NB_THREADS + 3];
	struct shm_wq *shm_sq = zeroed(SHM_WQ_SLOTS + NB_SLOTS * 64);
	struct shm_cq *shm_cq = zeroed(SHM_CQ_SLOTS + NB_SLOTS * sizeof(struct shm_cqe));

	sq = (struct ring_wq){.shm = shm_sq,
	                      .slots = (uint8_t *)shm_sq + SHM_WQ_SLOTS,
	                      .mask = NB_SLOTS - 1,
	                      .stride = 64,
	                      .max_wr = NB_SLOTS - 3,
	                      .is_srq = true};
	cq = (struct ring_cq){.shm = shm_cq,
	                      .slots = (struct shm_cqe *)((uint8_t *)shm_cq + SHM_CQ_SLOTS),
	                      .mask = NB_SLOTS - 1};
	for (uintptr_t i = 0; i < NB_THREADS; i++)
		pthread_create(&threads[i], NULL, post, (void *)i);
	pthread_create(&threads[NB_THREADS], NULL, serve, NULL);
	pthread_create(&threads[NB_THREADS + 1], NULL, poll_all, NULL);
	pthread_create(&threads[NB_THREADS + 2], NULL, poll_all, NULL);
	for (int i = 0; i < NB_THREADS + 3; i++)
		pthread_join(threads[i], NULL);
	free(shm_sq);
	free(shm_cq);
	return 0;
}
