/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "verbs_world.h"

static void
send_one(uint64_t wr_id, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {.wr_id = wr_id,
	                         .opcode = opcode,
	                         .imm_data = htobe32(0xcafe),
	                         .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	cr_assert_eq(ibv_post_send(world_qp, &wr, &bad), 0);
}

static void
recv_one(uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	cr_assert_eq(ibv_post_recv(world_qp, &wr, &bad), 0);
}

Test(cq, completions_say_what_they_are)
{
	struct ibv_wc wc;

	world_start(NULL, IBV_QPT_RC);
	recv_one(1);
	send_one(2, IBV_WR_SEND_WITH_IMM);
	wc = world_poll();
	cr_expect(wc.wr_id == 1 && wc.opcode == IBV_WC_RECV && wc.status == IBV_WC_SUCCESS &&
	          wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htobe32(0xcafe) && wc.sl == 2 &&
	          wc.qp_num == world_qp->qp_num);
	wc = world_poll();
	cr_expect(wc.wr_id == 2 && wc.opcode == IBV_WC_SEND);
	cr_expect_eq(ibv_poll_cq(world_cq, 1, &wc), 0);
	cr_expect_eq(ibv_poll_cq(world_cq, 0, &wc), 0);
	world_stop();
}

Test(cq, an_empty_poll_of_either_kind_leaves_the_daemons_line_alone)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 4};
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq;
	struct shm_cq *plain, *extended;
	struct ibv_wc wc;

	world_start(NULL, IBV_QPT_RC);
	cq = ibv_create_cq_ex(world_context, &init);
	cr_assert_not_null(cq);
	plain = to_cq(world_cq)->weft.ring.shm;
	extended = to_cq(ibv_cq_ex_to_cq(cq))->weft.ring.shm;
	atomic_store(&plain->ring.head, 99);
	atomic_store(&extended->ring.head, 99);
	cr_expect_eq(ibv_poll_cq(world_cq, 1, &wc), 0);
	cr_expect_eq(ibv_start_poll(cq, &attr), ENOENT);
	cr_expect_eq(atomic_load(&plain->ring.head), 99);
	cr_expect_eq(atomic_load(&extended->ring.head), 99);
	cr_expect_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	world_stop();
}

Test(cq, extended_polling_reads_one_after_the_other)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 4,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_qp_init_attr qp_init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp, *first;

	world_start(NULL, IBV_QPT_RC);
	cq = ibv_create_cq_ex(world_context, &init);
	cr_assert_not_null(cq);
	qp_init.send_cq = qp_init.recv_cq = ibv_cq_ex_to_cq(cq);
	qp = ibv_create_qp(world_pd, &qp_init);
	cr_assert_not_null(qp);
	first = world_qp;
	world_qp = qp;
	world_set_state(IBV_QPS_RTS);
	recv_one(1);
	send_one(2, IBV_WR_SEND_WITH_IMM);

	for (int i = 0; i < 1000000 && ibv_start_poll(cq, &attr) == ENOENT; i++)
		;
	cr_expect(cq->wr_id == 1 && cq->status == IBV_WC_SUCCESS);
	cr_expect_eq(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	cr_expect_eq(ibv_wc_read_imm_data(cq), htobe32(0xcafe));
	cr_expect_eq(ibv_wc_read_qp_num(cq), qp->qp_num);
	cr_expect_eq(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	cr_expect_eq(ibv_wc_read_completion_ts(cq), 12345);
	cr_expect_eq(ibv_wc_read_slid(cq), 0);
	while (ibv_next_poll(cq) == ENOENT)
		;
	cr_expect_eq(cq->wr_id, 2);
	cr_expect_eq(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	cr_expect_eq(ibv_start_poll(cq, &attr), ENOENT);
	attr.comp_mask = 1;
	cr_expect_eq(ibv_start_poll(cq, &attr), EINVAL);

	world_qp = first;
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	cr_expect_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	init.wc_flags |= IBV_WC_EX_WITH_CVLAN;
	cr_expect_null(ibv_create_cq_ex(world_context, &init));
	init.wc_flags = 0;
	init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cr_expect_null(ibv_create_cq_ex(world_context, &init));
	world_stop();
}

Test(cq, entries_survive_a_resize)
{
	world_start(NULL, IBV_QPT_RC);
	for (uint64_t i = 0; i < 10; i++) {
		if (i >= 4)
			cr_expect_eq(world_poll().wr_id, i - 4);
		send_one(i, IBV_WR_RDMA_WRITE);
	}
	cr_expect_eq(ibv_resize_cq(world_cq, 100), 0);
	cr_expect_geq(world_cq->cqe, 100);
	for (uint64_t i = 6; i < 10; i++)
		cr_expect_eq(world_poll().wr_id, i);
	cr_expect_eq(ibv_resize_cq(world_cq, 0), EINVAL);
	cr_expect_eq(ibv_resize_cq(world_cq, (1 << 20) + 1), EINVAL);
	world_stop();
}

Test(cq, a_destroyed_or_reset_qp_leaves_no_completions)
{
	struct ibv_wc wc;

	world_start(NULL, IBV_QPT_RC);
	send_one(1, IBV_WR_RDMA_WRITE);
	while (atomic_load(&to_cq(world_cq)->weft.ring.shm->ring.tail) == 0)
		;
	world_set_state(IBV_QPS_RESET);
	cr_expect_eq(ibv_poll_cq(world_cq, 1, &wc), 0);
	world_set_state(IBV_QPS_RTS);
	send_one(2, IBV_WR_RDMA_WRITE);
	cr_expect_eq(world_poll().wr_id, 2);
	world_stop();
}

Test(cq, notifications_come_once_per_arming_and_name_their_cq)
{
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_cq *cq, *got;
	struct ibv_qp *first;
	void *user;
	int mark;

	world_start(NULL, IBV_QPT_RC);
	channel = ibv_create_comp_channel(world_context);
	cr_assert_not_null(channel);
	cq = ibv_create_cq(world_context, 8, &mark, channel, 0);
	cr_assert_not_null(cq);
	cr_expect_eq(ibv_destroy_comp_channel(channel), EBUSY);
	init.send_cq = init.recv_cq = cq;
	first = world_qp;
	world_qp = ibv_create_qp(world_pd, &init);
	cr_assert_not_null(world_qp);
	world_set_state(IBV_QPS_RTS);

	cr_expect_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	cr_expect_eq(ibv_get_cq_event(channel, &got, &user), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(ibv_req_notify_cq(cq, 0), 0);
	send_one(1, IBV_WR_RDMA_WRITE);
	send_one(2, IBV_WR_RDMA_WRITE);
	cr_expect_eq(poll(&(struct pollfd){.fd = channel->fd, .events = POLLIN}, 1, 5000), 1);
	cr_expect_eq(ibv_get_cq_event(channel, &got, &user), 0);
	cr_expect(got == cq && user == &mark);
	usleep(10000);
	cr_expect_eq(ibv_get_cq_event(channel, &got, &user), -1, "armed once, notified once");
	ibv_ack_cq_events(cq, 1);

	cr_expect_eq(ibv_destroy_qp(world_qp), 0);
	world_qp = first;
	cr_expect_eq(ibv_destroy_cq(cq), 0);
	cr_expect_eq(ibv_destroy_comp_channel(channel), 0);
	world_stop();
}

static void *
acknowledge_later(void *arg)
{
	usleep(50000);
	ibv_ack_cq_events(arg, 3);
	return NULL;
}

Test(cq, destroying_waits_for_what_is_not_acknowledged)
{
	struct ibv_cq *cq;
	pthread_t thread;

	world_start(NULL, IBV_QPT_RC);
	cq = ibv_create_cq(world_context, 8, NULL, NULL, 0);
	to_cq(cq)->weft.obj.nb_comp_events = 3;
	pthread_create(&thread, NULL, acknowledge_later, cq);
	cr_expect_eq(ibv_destroy_cq(cq), 0);
	pthread_join(thread, NULL);
	world_stop();
}

Test(cq, creation_checks_its_arguments)
{
	world_start(NULL, IBV_QPT_RC);
	cr_expect_null(ibv_create_cq(world_context, 0, NULL, NULL, 0));
	cr_expect_null(ibv_create_cq(world_context, -1, NULL, NULL, 0));
	cr_expect_null(ibv_create_cq(world_context, 1, NULL, NULL, 1));
	cr_expect_null(ibv_create_cq(world_context, 1, NULL, NULL, -1));
	cr_expect_null(ibv_create_cq(world_context, (1 << 20) + 1, NULL, NULL, 0));
	cr_expect_eq(ibv_destroy_cq(world_cq), EBUSY);
	world_stop();
}
