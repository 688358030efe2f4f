/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "rings.h"

/** Both ends of a work queue of 8 slots in ordinary memory. */
static struct ring_wq
new_wq(uint32_t max_wr, uint32_t start)
{
	struct shm_wq *shm = aligned_alloc(64, SHM_WQ_SLOTS + 8 * 64);

	memset(shm, 0, SHM_WQ_SLOTS + 8 * 64);
	atomic_store(&shm->ring.head, start);
	atomic_store(&shm->ring.tail, start);
	return (struct ring_wq){
		.shm = shm,
		.slots = (uint8_t *)shm + SHM_WQ_SLOTS,
		.mask = 7,
		.stride = 64,
		.max_wr = max_wr,
		.tail = start,
		.done = start,
	};
}

Test(rings, a_queue_holds_exactly_what_was_granted)
{
	static const struct {
		uint32_t max_wr, start;
		bool is_srq;
	} rows[] = {
		{1, 0, false},          {5, 0, false},         {8, 0, true},
		{5, 0xfffffffe, false}, {8, 0xfffffffb, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ring_wq wq = new_wq(rows[i].max_wr, rows[i].start);
		uint8_t *first = ring_wq_slot(&wq, 0);

		wq.is_srq = rows[i].is_srq;
		for (uint32_t n = 0; n < rows[i].max_wr; n++)
			cr_expect_not_null(ring_wq_slot(&wq, n), "row %zu", i);
		cr_expect_null(ring_wq_slot(&wq, rows[i].max_wr), "row %zu", i);
		ring_wq_publish(&wq, rows[i].max_wr);
		cr_expect_eq(atomic_load(&wq.shm->ring.tail), rows[i].start + rows[i].max_wr);
		cr_expect_null(ring_wq_slot(&wq, 0), "row %zu", i);
		/* Given back is enough for an SRQ; others wait for the completion to be polled. */
		atomic_fetch_add(&wq.shm->ring.head, 1);
		cr_expect_eq(ring_wq_slot(&wq, 0) != NULL, rows[i].is_srq, "row %zu", i);
		if (!rows[i].is_srq)
			atomic_fetch_add(&wq.done, 1);
		cr_expect_not_null(ring_wq_slot(&wq, 0), "row %zu", i);
		cr_expect_null(ring_wq_slot(&wq, 1), "row %zu", i);
		cr_expect_eq(first, wq.slots + (rows[i].start & 7) * 64);
		free(wq.shm);
	}
}

Test(rings, a_queue_that_is_not_there_is_full)
{
	struct ring_wq none = {.max_wr = 0};

	cr_expect_null(ring_wq_slot(&none, 0));
}

Test(rings, a_lying_head_never_leads_out_of_the_slots)
{
	static const uint32_t heads[] = {1, 9, 0x7fffffff, 0x80000000, 0xffffffff};
	struct ring_wq wq = new_wq(8, 0);

	wq.is_srq = true;
	ring_wq_publish(&wq, 8);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		uint8_t *slot;

		atomic_store(&wq.shm->ring.head, heads[i]);
		slot = ring_wq_slot(&wq, 3);
		cr_expect(!slot || (slot >= wq.slots && slot < wq.slots + 8 * 64), "row %zu", i);
	}
	free(wq.shm);
}

Test(rings, quiet_posts_tell_whether_the_daemon_wants_the_bell)
{
	struct ring_wq wq = new_wq(8, 0);

	cr_expect_not(ring_wq_publish_quiet(&wq, 1));
	atomic_store(&wq.shm->need_bell, 1);
	cr_expect(ring_wq_publish_quiet(&wq, 2));
	cr_expect_eq(atomic_load(&wq.shm->ring.tail), 3);
	free(wq.shm);
}

Test(rings, the_bell_names_its_queue_and_wakes_only_who_sleeps)
{
	static const uint32_t queues[] = {0, 1, 63, 64, 700, SHM_BELL_QPS, WEFT_MAX_QP - 1};
	struct shm_bell *bell = aligned_alloc(64, sizeof(*bell));
	int fd = eventfd(0, EFD_NONBLOCK);
	uint64_t count;

	memset(bell, 0, sizeof(*bell));
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		ring_bell(bell, queues[i], fd);
	cr_expect_eq(atomic_load(&bell->summary[0]), 0x403);
	cr_expect_eq(atomic_load(&bell->summary[1]), 1);
	cr_expect_eq(atomic_load(&bell->summary[31]), UINT64_C(1) << 63);
	cr_expect_eq(atomic_load(&bell->bits[0]), 0x8000000000000003);
	cr_expect_eq(atomic_load(&bell->bits[10]), UINT64_C(1) << 60);
	cr_expect_lt(read(fd, &count, sizeof(count)), 0);

	/* A bit that was not taken needs no second summary. */
	atomic_store(&bell->summary[0], 0);
	ring_bell(bell, 700, fd);
	cr_expect_eq(atomic_load(&bell->summary[0]), 0);

	atomic_store(&bell->need_wake, 1);
	ring_bell(bell, 5, fd);
	cr_expect_eq(read(fd, &count, sizeof(count)), (ssize_t)sizeof(count));
	cr_expect_eq(count, 1);
	free(bell);
	close(fd);
}

static struct ring_cq
new_cq(uint32_t start)
{
	struct shm_cq *shm = aligned_alloc(64, SHM_CQ_SLOTS + 4 * sizeof(struct shm_cqe));

	memset(shm, 0, SHM_CQ_SLOTS + 4 * sizeof(struct shm_cqe));
	atomic_store(&shm->ring.head, start);
	atomic_store(&shm->ring.tail, start);
	return (struct ring_cq){
		.shm = shm,
		.slots = (struct shm_cqe *)((uint8_t *)shm + SHM_CQ_SLOTS),
		.mask = 3,
		.head = start,
		.given = start,
		.tail = start,
	};
}

/** As the daemon does. */
static void
complete(struct ring_cq *cq, uint64_t wr_id, uint32_t qpn)
{
	uint32_t tail = atomic_load(&cq->shm->ring.tail);

	cq->slots[tail & 3] = (struct shm_cqe){.wr_id = wr_id, .qpn = qpn};
	atomic_store(&cq->shm->ring.tail, tail + 1);
}

Test(rings, completions_come_in_order_across_the_wrap)
{
	struct ring_cq cq = new_cq(0xfffffffd);

	for (uint64_t n = 0; n < 10; n++) {
		struct shm_cqe *cqe;

		complete(&cq, n, 1);
		cqe = ring_cq_peek(&cq);
		cr_assert_not_null(cqe);
		cr_expect_eq(cqe->wr_id, n);
		ring_cq_pop(&cq);
		cr_expect_null(ring_cq_peek(&cq));
		ring_cq_publish(&cq);
	}
	cr_expect_eq(atomic_load(&cq.shm->ring.head), 7);
	free(cq.shm);
}

Test(rings, the_head_is_stored_only_if_something_was_taken)
{
	struct ring_cq cq = new_cq(0);

	atomic_store(&cq.shm->ring.head, 99);
	cr_expect_null(ring_cq_peek(&cq));
	ring_cq_publish(&cq);
	cr_expect_eq(atomic_load(&cq.shm->ring.head), 99);
	complete(&cq, 1, 1);
	cr_assert_not_null(ring_cq_peek(&cq));
	ring_cq_pop(&cq);
	ring_cq_publish(&cq);
	cr_expect_eq(atomic_load(&cq.shm->ring.head), 1);
	free(cq.shm);
}

Test(rings, entries_of_a_destroyed_qp_are_marked_and_others_are_not)
{
	struct ring_cq cq = new_cq(2);

	complete(&cq, 0, 1);
	complete(&cq, 1, 2);
	complete(&cq, 2, 1);
	ring_cq_forget_qp(&cq, 1);
	cr_expect_eq(cq.slots[2].status, RING_CQE_GONE);
	cr_expect_eq(cq.slots[3].status, SHM_WC_SUCCESS);
	cr_expect_eq(cq.slots[0].status, RING_CQE_GONE);
	free(cq.shm);
}

Test(rings, a_lying_tail_does_not_make_forgetting_endless)
{
	struct ring_cq cq = new_cq(0);

	atomic_store(&cq.shm->ring.tail, 0x80000000);
	ring_cq_forget_qp(&cq, 0);
	free(cq.shm);
}

Test(rings, more_entries_than_slots_are_none)
{
	static const struct {
		uint32_t tail;
		bool has_one;
	} rows[] = {{7, false},  {8, true},  {11, true},
	            {12, false}, {6, false}, {0x80000007, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ring_cq cq = new_cq(7);

		atomic_store(&cq.shm->ring.tail, rows[i].tail);
		cr_expect_eq(ring_cq_peek(&cq) != NULL, rows[i].has_one, "row %zu", i);
		ring_cq_arm(&cq, SHM_ARM_ANY);
		cr_expect_eq(ring_cq_peek(&cq) != NULL, rows[i].has_one, "row %zu", i);
		free(cq.shm);
	}
}

Test(rings, a_lying_completion_gives_back_nothing_that_was_not_posted)
{
	static const struct {
		uint32_t idx, done;
	} rows[] = {{1, 1}, {5, 5}, {0, 0}, {6, 0}, {0x80000000, 0}, {0xffffffff, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ring_wq wq = new_wq(8, 0);

		ring_wq_publish(&wq, 5);
		ring_wq_done(&wq, rows[i].idx);
		cr_expect_eq(atomic_load(&wq.done), rows[i].done, "row %zu", i);
		free(wq.shm);
	}
}

Test(rings, arming_for_any_is_not_narrowed_to_solicited)
{
	struct ring_cq cq = new_cq(0);

	ring_cq_arm(&cq, SHM_ARM_SOLICITED);
	cr_expect_eq(atomic_load(&cq.shm->armed), SHM_ARM_SOLICITED);
	ring_cq_arm(&cq, SHM_ARM_ANY);
	cr_expect_eq(atomic_load(&cq.shm->armed), SHM_ARM_ANY);
	ring_cq_arm(&cq, SHM_ARM_SOLICITED);
	cr_expect_eq(atomic_load(&cq.shm->armed), SHM_ARM_ANY);
	free(cq.shm);
}

#define NB_PER_THREAD 50000
static struct ring_wq shared;

static void *
post_many(void *arg)
{
	for (uint32_t n = 0; n < NB_PER_THREAD; n++) {
		uint64_t *slot = NULL;

		while (!slot) {
			ring_lock(&shared.lock);
			slot = ring_wq_slot(&shared, 0);
			if (slot) {
				slot[0] = (uintptr_t)arg;
				slot[1] = n;
				ring_wq_publish(&shared, 1);
			}
			ring_unlock(&shared.lock);
			if (!slot)
				sched_yield();
		}
	}
	return NULL;
}

Test(rings, posts_of_several_threads_arrive_whole_and_in_each_threads_order)
{
	uint64_t next[3] = {0};
	pthread_t threads[3];

	shared = new_wq(6, 0xfffffff0);
	shared.is_srq = true;
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, post_many, (void *)i);
	for (uint32_t head = 0xfffffff0, n = 0; n < 3 * NB_PER_THREAD; n++, head++) {
		uint64_t *slot = (uint64_t *)(shared.slots + (head & 7) * 64);

		while (atomic_load_explicit(&shared.shm->ring.tail, memory_order_acquire) == head)
			sched_yield();
		cr_assert_lt(slot[0], 3);
		cr_assert_eq(slot[1], next[slot[0]]++);
		atomic_store_explicit(&shared.shm->ring.head, head + 1, memory_order_release);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	free(shared.shm);
}
