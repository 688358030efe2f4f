/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* Completion queues and shared receive queues as applications see them. */

static uint32_t
notified(void)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < world_nb_events && i < 64; i++)
		nb += world_events[i].notify;
	return nb;
}

Test(cq, without_room_is_dead_told_once_and_its_qps_end)
{
	struct app_conf ac = {.depth = 16, .cq_depth = 8};
	struct pair p;
	struct shm_cqe c;
	char why[256];

	pair_open(&p, NULL, &ac);
	for (uint64_t i = 0; i < 12; i++)
		pair_post(&p, SHM_WR_WRITE, i, 0, 0, 8);
	world_run(&p.w, 100);
	cr_expect_eq(atomic_load(&p.qp[0].scq.ring->overrun), 1);
	cr_expect_eq(pair_events(SHM_EVENT_CQ_ERR), 1);
	cr_expect_eq(pair_events(SHM_EVENT_QP_FATAL), 1);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "queue overrun"), "%s", why);
	for (uint64_t i = 0; i < 8; i++)
		pair_expect(&p, &p.qp[0].scq, i, SHM_WC_SUCCESS);
	/* It stays dead with room again. */
	pair_post(&p, SHM_WR_WRITE, 20, 0, 0, 8);
	world_run(&p.w, 20);
	cr_expect(!local_poll(&p.qp[0].scq, &c));
	cr_expect_eq(p.qp[1].qp->state, SHM_QPS_RTS);
	pair_close(&p);
}

Test(cq, holds_exactly_as_many_as_it_has_slots)
{
	struct app_conf ac = {.depth = 16, .cq_depth = 8};
	struct pair p;

	pair_open(&p, NULL, &ac);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 0; i < 8; i++)
			pair_post(&p, SHM_WR_WRITE, i, 0, 0, 8);
		world_run(&p.w, 100);
		for (uint64_t i = 0; i < 8; i++)
			pair_expect(&p, &p.qp[0].scq, i, SHM_WC_SUCCESS);
	}
	pair_close(&p);
}

Test(cq, resize_keeps_what_is_unread_and_armed)
{
	struct pair p;
	struct local_cq *cq = &p.qp[0].scq;
	struct shm_cq *small, *big;

	pair_open(&p, NULL, NULL);
	for (uint64_t i = 0; i < 20; i++)
		pair_post(&p, SHM_WR_WRITE, i, 0, 0, 8);
	world_run(&p.w, 100);
	for (uint64_t i = 0; i < 3; i++)
		pair_expect(&p, cq, i, SHM_WC_SUCCESS);
	atomic_store(&cq->ring->armed, SHM_ARM_ANY);
	small = aligned_alloc(64, SHM_CQ_SLOTS + 16 * sizeof(struct shm_cqe));
	big = aligned_alloc(64, SHM_CQ_SLOTS + 512 * sizeof(struct shm_cqe));
	memset(small, 0, SHM_CQ_SLOTS);
	memset(big, 0, SHM_CQ_SLOTS);
	cr_expect_eq(cq_resize(cq->cq, &(struct cq_resize){small, 16}), -EINVAL);
	cr_expect_eq(cq_resize(cq->cq, &(struct cq_resize){big, 512}), 0);
	free(cq->ring);
	free(small);
	cq->ring = big;
	cq->nb_slots = 512;
	cr_expect_eq(atomic_load(&big->armed), SHM_ARM_ANY);
	pair_post(&p, SHM_WR_WRITE, 20, 0, 0, 8);
	for (uint64_t i = 3; i <= 20; i++)
		pair_expect(&p, cq, i, SHM_WC_SUCCESS);
	pair_close(&p);
}

Test(cq, moves_many_entries_in_parts_while_it_goes_on, .timeout = 20)
{
	const uint32_t nb = 3 * CQ_RESIZE_CQES;
	struct app_conf ac = {.depth = 16384, .cq_depth = 16384};
	struct cq_resize to = {.nb_slots = 32768};
	struct pair p;
	struct local_cq *cq = &p.qp[0].scq;
	uint64_t nb_posted = 0, nb_taken = 0;
	uint32_t nb_calls = 0;
	int rc;

	pair_open(&p, NULL, &ac);
	while (nb_posted < nb)
		pair_post(&p, SHM_WR_WRITE, nb_posted++, 0, 0, 8);
	world_run(&p.w, 3000);
	to.ring = aligned_alloc(64, SHM_CQ_SLOTS + to.nb_slots * sizeof(struct shm_cqe));
	cr_assert(to.ring);
	memset(to.ring, 0, SHM_CQ_SLOTS);
	while ((rc = cq_resize(cq->cq, &to)) == -EAGAIN) {
		nb_calls++;
		/* Meanwhile some are taken and some come. */
		for (int i = 0; i < 10; i++) {
			pair_post(&p, SHM_WR_WRITE, nb_posted++, 0, 0, 8);
			pair_expect(&p, cq, nb_taken++, SHM_WC_SUCCESS);
		}
		world_run(&p.w, 20);
	}
	cr_expect_eq(rc, 0);
	cr_expect_geq(nb_calls, 2);
	free(cq->ring);
	cq->ring = to.ring;
	cq->nb_slots = to.nb_slots;
	pair_post(&p, SHM_WR_WRITE, nb_posted++, 0, 0, 8);
	while (nb_taken < nb_posted)
		pair_expect(&p, cq, nb_taken++, SHM_WC_SUCCESS);
	pair_expect_none(cq);
	pair_close(&p);
}

Test(cq, notifies_once_for_what_it_was_armed_for)
{
	static const struct {
		uint32_t armed;
		uint8_t flags;
		bool fails; /* the receive */
		uint32_t notified;
	} rows[] = {
		{SHM_ARM_NONE, SHM_SEND_SOLICITED, false, 0},      {SHM_ARM_ANY, 0, false, 1},
		{SHM_ARM_ANY, SHM_SEND_SOLICITED, false, 1},       {SHM_ARM_SOLICITED, 0, false, 0},
		{SHM_ARM_SOLICITED, SHM_SEND_SOLICITED, false, 1}, {SHM_ARM_SOLICITED, 0, true, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct app_conf ac = {.channel = 5};
		struct pair p;

		pair_open(&p, NULL, &ac);
		atomic_store(&p.qp[1].rcq.ring->armed, rows[i].armed);
		for (uint64_t k = 0; k < 3; k++) {
			struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_SEND, k, 0);
			struct shm_sge sge = pair_sge(&p, 0, 0, 64);

			pair_recv(&p, k, 0, rows[i].fails ? 8 : 64);
			wqe.flags |= rows[i].flags;
			app_post_send(&p.qp[0], &wqe, &sge);
		}
		world_run(&p.w, 100);
		cr_expect_eq(notified(), rows[i].notified, "row %zu: %u", i, notified());
		for (uint32_t k = 0; k < world_nb_events; k++)
			if (world_events[k].notify)
				cr_expect_eq(world_events[k].type, 5, "the channel");
		if (rows[i].notified)
			cr_expect_eq(atomic_load(&p.qp[1].rcq.ring->armed), SHM_ARM_NONE);
		pair_close(&p);
	}
}

/* ---- shared receive queues ---- */

static void
fill(struct app_srq *srq, struct pair *p, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++) {
		struct shm_sge sge = pair_sge(p, 1, i * 256, 256);

		app_srq_post(srq, i, &sge, 1);
	}
}

Test(srq, serves_several_qps_in_the_order_of_messages_and_tells_its_limit_once)
{
	struct app_srq srq;
	struct app_qp tx[3], rx[3];
	struct app_conf ac = {.srq = &srq};
	struct pair p;

	pair_open(&p, NULL, NULL);
	app_srq_open(&srq, &p.w, 1, 32, 2);
	for (int i = 0; i < 3; i++) {
		app_open(&tx[i], &p.w, 0, NULL);
		app_open(&rx[i], &p.w, 1, &ac);
		app_connect(&tx[i], &rx[i]);
	}
	fill(&srq, &p, 0, 12);
	cr_expect_eq(srq_set_limit(srq.srq, 33), -EINVAL);
	cr_expect_eq(srq_set_limit(srq.srq, 8), 0);
	for (uint32_t k = 0; k < 12; k++) {
		struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_SEND, k, 0);
		struct shm_sge sge = pair_sge(&p, 0, k, 200);

		app_post_send(&tx[k % 3], &wqe, &sge);
		pair_expect(&p, &tx[k % 3].scq, k, SHM_WC_SUCCESS);
		pair_expect(&p, &rx[k % 3].rcq, k, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(p.buf[1] + k * 256, p.buf[0] + k, 200), 0);
		/* 12 posted, fewer than 8 are left from the fifth message on. */
		cr_expect_eq(pair_events(SHM_EVENT_SRQ_LIMIT_REACHED), k >= 4, "message %u", k);
	}
	/* Armed above what is posted: at once. */
	world_nb_events = 0;
	srq_set_limit(srq.srq, 3);
	cr_expect_eq(pair_events(SHM_EVENT_SRQ_LIMIT_REACHED), 1);
	cr_expect_eq(srq_destroy(srq.srq), -EBUSY);
	for (int i = 0; i < 3; i++) {
		app_close(&tx[i]);
		app_close(&rx[i]);
	}
	app_srq_close(&srq);
	pair_close(&p);
}

Test(srq, keeps_its_receives_when_a_qp_ends_and_says_that_it_took_its_last)
{
	struct app_srq srq;
	struct app_qp tx, rx;
	struct app_conf ac = {.srq = &srq};
	struct pair p;
	struct shm_qp_attr err = {.state = SHM_QPS_ERR};

	pair_open(&p, NULL, NULL);
	app_srq_open(&srq, &p.w, 1, 8, 2);
	app_open(&tx, &p.w, 0, NULL);
	app_open(&rx, &p.w, 1, &ac);
	app_connect(&tx, &rx);
	fill(&srq, &p, 0, 4);
	qp_modify(rx.qp, &err, SHM_QP_STATE, p.w.now_ns);
	world_run(&p.w, 10);
	cr_expect_eq(pair_events(SHM_EVENT_QP_LAST_WQE_REACHED), 1);
	pair_expect_none(&rx.rcq);
	cr_expect_eq(atomic_load(&srq.wq.ring->ring.head), 0);
	app_close(&tx);
	app_close(&rx);
	app_srq_close(&srq);
	pair_close(&p);
}

Test(srq, keys_of_its_receives_belong_to_its_own_pd)
{
	for (int of_srq = 0; of_srq < 2; of_srq++) {
		struct app_srq srq;
		struct app_qp tx, rx;
		struct app_conf ac = {.srq = &srq};
		struct local_mr mr;
		struct pair p;

		pair_open(&p, NULL, NULL);
		app_srq_open(&srq, &p.w, 1, 8, 2);
		srq.srq->pd = PD + 1;
		app_open(&tx, &p.w, 0, NULL);
		app_open(&rx, &p.w, 1, &ac);
		app_connect(&tx, &rx);
		app_reg(&mr, &p.w, 1, p.buf[1], 4096, ALL_ACCESS);
		mr.mr->pd = PD + 1;
		struct shm_sge into = {(uintptr_t)p.buf[1], 256,
		                       of_srq ? mr.mr->key : p.mr[1].mr->key};
		struct shm_sge sge = pair_sge(&p, 0, 0, 100);
		struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_SEND, 1, 0);
		app_srq_post(&srq, 4, &into, 1);
		app_post_send(&tx, &wqe, &sge);
		pair_expect(&p, &rx.rcq, 4, of_srq ? SHM_WC_SUCCESS : SHM_WC_LOC_PROT_ERR);
		app_close(&tx);
		app_close(&rx);
		app_srq_close(&srq);
		mr_destroy(p.w.nic[1], mr.mr);
		pair_close(&p);
	}
}
