/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads on the objects of one protection domain. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "verbs_world.h"

enum { NB_POSTERS = 3, NB_POLLERS = 2, NB_EACH = 1000, NB_ROUNDS = 50 };

static struct ibv_qp *qps[NB_POSTERS];
static _Atomic uint32_t nb_seen;
/** Held while completions are looked at: two pollers may overtake each other with theirs. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_of[NB_POSTERS];

static void *
post_own(void *arg)
{
	uintptr_t who = (uintptr_t)arg;

	for (uint64_t n = 0; n < NB_EACH;) {
		struct ibv_send_wr wr = {.wr_id = who << 32 | n,
		                         .opcode = IBV_WR_RDMA_WRITE,
		                         .send_flags = IBV_SEND_SIGNALED},
				   *bad;
		int err = ibv_post_send(qps[who], &wr, &bad);

		cr_assert(err == 0 || err == ENOMEM);
		if (err)
			sched_yield();
		n += !err;
	}
	return NULL;
}

static void *
poll_shared(void *arg)
{
	struct ibv_wc wc[4];

	(void)arg;
	while (nb_seen < NB_POSTERS * NB_EACH) {
		pthread_mutex_lock(&looking);
		int nb = ibv_poll_cq(world_cq, 4, wc);

		cr_assert_geq(nb, 0);
		for (int i = 0; i < nb; i++) {
			uint64_t who = wc[i].wr_id >> 32, n = (uint32_t)wc[i].wr_id;

			cr_assert_lt(who, NB_POSTERS);
			cr_assert_eq(wc[i].qp_num, qps[who]->qp_num);
			cr_assert_eq(n, next_of[who]++, "thread %lu out of turn", who);
		}
		nb_seen += (uint32_t)nb;
		pthread_mutex_unlock(&looking);
	}
	return NULL;
}

Test(threads, each_posts_to_a_qp_of_its_own_and_all_completions_come_in_order)
{
	struct ibv_qp_init_attr init = {.cap = {4, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *first;
	pthread_t threads[NB_POSTERS + NB_POLLERS];

	world_start(NULL, IBV_QPT_RC);
	first = world_qp;
	init.send_cq = init.recv_cq = world_cq;
	for (int i = 0; i < NB_POSTERS; i++) {
		world_qp = qps[i] = ibv_create_qp(world_pd, &init);
		cr_assert_not_null(world_qp);
		world_set_state(IBV_QPS_RTS);
	}
	for (uintptr_t i = 0; i < NB_POSTERS; i++)
		pthread_create(&threads[i], NULL, post_own, (void *)i);
	for (int i = 0; i < NB_POLLERS; i++)
		pthread_create(&threads[NB_POSTERS + i], NULL, poll_shared, NULL);
	for (int i = 0; i < NB_POSTERS + NB_POLLERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NB_POSTERS; i++)
		cr_expect_eq(ibv_destroy_qp(qps[i]), 0);
	world_qp = first;
	world_stop();
}

static struct ibv_cq_ex *extended;
static _Atomic bool resetting;
static _Atomic uint32_t nb_polls; /**< begun */

/** As programs do: each completion is replaced by a new request before the next is looked at. */
static void *
post_while_polling(void *arg)
{
	struct ibv_poll_cq_attr attr = {0};

	(void)arg;
	while (resetting) {
		struct ibv_send_wr send = {.opcode = IBV_WR_RDMA_WRITE,
		                           .send_flags = IBV_SEND_SIGNALED},
				   *bad_send;
		struct ibv_recv_wr recv = {0}, *bad_recv;

		ibv_post_send(world_qp, &send, &bad_send);
		if (ibv_start_poll(extended, &attr) == 0) {
			nb_polls++;
			usleep(50); /* the other one is at it now */
			ibv_post_recv(world_qp, &recv, &bad_recv);
			ibv_post_send(world_qp, &send, &bad_send);
			ibv_end_poll(extended);
		}
	}
	return NULL;
}

Test(threads, one_resets_a_qp_while_another_posts_to_it_within_a_poll, .timeout = 60)
{
	struct ibv_cq_init_attr_ex cq_init = {.cqe = 16};
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *first;
	pthread_t thread;

	world_start(NULL, IBV_QPT_RC);
	first = world_qp;
	extended = ibv_create_cq_ex(world_context, &cq_init);
	cr_assert_not_null(extended);
	init.send_cq = ibv_cq_ex_to_cq(extended);
	init.recv_cq = world_cq;
	world_qp = ibv_create_qp(world_pd, &init);
	cr_assert_not_null(world_qp);
	world_set_state(IBV_QPS_RTS);
	resetting = true;
	pthread_create(&thread, NULL, post_while_polling, NULL);
	for (uint32_t i = 0; i < NB_ROUNDS; i++) {
		for (uint32_t before = nb_polls; nb_polls == before;)
			sched_yield();
		world_set_state(IBV_QPS_RESET);
		world_set_state(IBV_QPS_RTS);
	}
	resetting = false;
	pthread_join(thread, NULL);
	cr_expect_eq(ibv_destroy_qp(world_qp), 0);
	cr_expect_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), 0);
	world_qp = first;
	world_stop();
}
