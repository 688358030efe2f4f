/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <endian.h>
#include <string.h>

#include "verbs_world.h"

/** A list of sends of which the n-th is the one under test. */
static struct ibv_send_wr list[8];
static struct ibv_sge sges[3];
static struct ibv_ah *ah;

static void
make_list(int nb)
{
	for (int i = 0; i < nb; i++)
		list[i] = (struct ibv_send_wr){
			.wr_id = 100 + (uint64_t)i,
			.next = i + 1 < nb ? &list[i + 1] : NULL,
			.sg_list = sges,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud.ah = ah,
		};
	for (int i = 0; i < 3; i++)
		sges[i] = (struct ibv_sge){(uintptr_t)world_buffer + 64 * (unsigned)i, 32,
		                           world_mr->lkey};
}

static void
make_ah(void)
{
	struct ibv_ah_attr attr = {
		.grh = {.sgid_index = 1, .dgid.raw = {1}, .hop_limit = 9, .traffic_class = 7},
		.is_global = 1,
		.port_num = 1,
	};

	ah = ibv_create_ah(world_pd, &attr);
	cr_assert_not_null(ah);
}

Test(post, the_bad_request_is_named_and_those_before_it_are_posted)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode opcode;
		unsigned flags;
		int num_sge;
		uint32_t length;
		int want;
	} rows[] = {
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, 2, 32, 0},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, 3, 32, EINVAL},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, 0, -1, 32, EINVAL},
		{IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 0, 32, 0},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 2, 32, 0},
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 2, 33, EINVAL},
		{IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, 0xffffffff, EINVAL},
		{IBV_QPT_RC, IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1, 8, EINVAL},
		{IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_INLINE, 1, 8, EINVAL},
		{IBV_QPT_RC, IBV_WR_SEND_WITH_INV, 0, 1, 8, 0},
		{IBV_QPT_RC, IBV_WR_LOCAL_INV, 0, 0, 8, 0},
		{IBV_QPT_RC, IBV_WR_BIND_MW, 0, 0, 8, EINVAL}, /* without a window */
		{IBV_QPT_RC, IBV_WR_TSO, 0, 1, 8, EINVAL},
		{IBV_QPT_RC, IBV_WR_ATOMIC_WRITE, 0, 1, 8, EINVAL},
		{IBV_QPT_RC, (enum ibv_wr_opcode)99, 0, 1, 8, EINVAL},
		{IBV_QPT_RC, (enum ibv_wr_opcode) - 1, 0, 1, 8, EINVAL},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1, 8, 0},
		{IBV_QPT_UC, IBV_WR_RDMA_READ, 0, 1, 8, EINVAL},
		{IBV_QPT_UC, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 1, 8, EINVAL},
		{IBV_QPT_UD, IBV_WR_SEND_WITH_IMM, 0, 1, 8, 0},
		{IBV_QPT_UD, IBV_WR_RDMA_WRITE, 0, 1, 8, EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_send_wr *bad = NULL;
		int nb_want = rows[i].want ? 1 : 3;

		world_start(NULL, rows[i].type);
		make_ah();
		make_list(3);
		list[1].opcode = rows[i].opcode;
		list[1].send_flags |= rows[i].flags;
		list[1].num_sge = rows[i].num_sge;
		sges[0].length = sges[1].length = rows[i].length;
		cr_expect_eq(ibv_post_send(world_qp, list, &bad), rows[i].want, "row %zu", i);
		cr_expect_eq(bad, rows[i].want ? &list[1] : NULL, "row %zu", i);
		for (int n = 0; n < nb_want; n++)
			cr_expect_eq(world_poll().wr_id, 100u + (unsigned)n, "row %zu", i);
		cr_expect_eq(world_view()->nb_wakes, 1, "one doorbell for all, row %zu", i);
		ibv_destroy_ah(ah);
		world_stop();
	}
}

Test(post, a_full_queue_is_enomem_at_the_first_that_does_not_fit)
{
	const struct fake_conf conf = {.idle = true};
	struct ibv_send_wr *bad = NULL;
	struct ibv_recv_wr recv[5] = {0}, *bad_recv = NULL;

	world_start(&conf, IBV_QPT_RC);
	make_list(6);
	cr_expect_eq(ibv_post_send(world_qp, list, &bad), ENOMEM);
	cr_expect_eq(bad, &list[4], "4 were asked for, 4 were granted");
	for (int i = 0; i < 4; i++)
		recv[i].next = &recv[i + 1];
	cr_expect_eq(ibv_post_recv(world_qp, recv, &bad_recv), ENOMEM);
	cr_expect_eq(bad_recv, &recv[4]);
	world_stop();
}

Test(post, a_request_is_outstanding_until_its_completion_is_polled)
{
	struct shm_cq *ring;
	struct ibv_send_wr *bad;
	struct ibv_recv_wr recv = {0}, *bad_recv;

	world_start(NULL, IBV_QPT_RC);
	ring = to_cq(world_cq)->weft.ring.shm;
	make_list(4);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(ibv_post_recv(world_qp, &recv, &bad_recv), 0);
	/* The first two complete invisibly, with the third. */
	list[0].send_flags = list[1].send_flags = 0;
	cr_assert_eq(ibv_post_send(world_qp, list, &bad), 0);
	while (atomic_load(&ring->ring.tail) < 5)
		;
	list[3].next = NULL;
	cr_expect_eq(ibv_post_send(world_qp, &list[3], &bad), ENOMEM, "or the CQ could overrun");
	cr_expect_eq(ibv_post_recv(world_qp, &recv, &bad_recv), 0, "the fourth");
	cr_expect_eq(ibv_post_recv(world_qp, &recv, &bad_recv), ENOMEM);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(world_poll().opcode, IBV_WC_RECV);
	cr_expect_eq(ibv_post_recv(world_qp, &recv, &bad_recv), 0);
	cr_expect_eq(ibv_post_send(world_qp, &list[3], &bad), ENOMEM);
	cr_expect_eq(world_poll().wr_id, 102);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(ibv_post_send(world_qp, &list[3], &bad), 0, "three came back at once");
	cr_expect_eq(ibv_post_send(world_qp, &list[3], &bad), ENOMEM);
	world_stop();
}

Test(post, states_decide_what_may_be_posted)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
	} rows[] = {
		{IBV_QPS_RESET, EINVAL, EINVAL},
		{IBV_QPS_INIT, EINVAL, 0},
		{IBV_QPS_RTR, EINVAL, 0},
		{IBV_QPS_RTS, 0, 0},
		{IBV_QPS_SQD, 0, 0},
		{IBV_QPS_SQE, 0, 0},
		{IBV_QPS_ERR, 0, 0},
	};

	world_start(NULL, IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_send_wr *bad = NULL;
		struct ibv_recv_wr recv = {0}, *bad_recv = NULL;
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(world_qp);

		world_set_state(IBV_QPS_RESET);
		world_set_state(rows[i].state);
		make_list(1);
		cr_expect_eq(ibv_post_recv(world_qp, &recv, &bad_recv), rows[i].recv, "row %zu", i);
		cr_expect_eq(bad_recv, rows[i].recv ? &recv : NULL);
		cr_expect_eq(ibv_post_send(world_qp, list, &bad), rows[i].send, "row %zu", i);
		cr_expect_eq(bad, rows[i].send ? list : NULL);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		cr_expect_eq(ibv_wr_complete(ex), rows[i].send, "row %zu", i);
	}
	world_stop();
}

Test(post, requests_arrive_as_they_were_meant)
{
	struct ibv_send_wr *bad;
	const struct shm_sge *sge;
	struct shm_send_wqe wqe;
	uint8_t behind[64];

#define TAKE()                                                                                     \
	do {                                                                                       \
		cr_assert_eq(ibv_post_send(world_qp, list, &bad), 0);                              \
		cr_assert_eq(world_poll().wr_id, 100);                                             \
		wqe = *(struct shm_send_wqe *)&world_view()->wqe;                                  \
		memcpy(behind, (void *)world_view()->behind, sizeof(behind));                      \
	} while (0)

	world_start(NULL, IBV_QPT_RC);
	make_list(1);
	list[0].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	list[0].imm_data = htobe32(0x12345678);
	list[0].num_sge = 2;
	list[0].send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_IP_CSUM;
	list[0].wr.rdma.remote_addr = 0x1122334455667788;
	list[0].wr.rdma.rkey = 0xabcdef01;
	TAKE();
	cr_expect_eq(wqe.op, SHM_WR_WRITE_IMM);
	cr_expect_eq(wqe.flags, SHM_SEND_FENCE | SHM_SEND_SIGNALED | SHM_SEND_SOLICITED);
	cr_expect_eq(wqe.imm, 0x12345678, "host order");
	cr_expect_eq(wqe.remote_addr, 0x1122334455667788);
	cr_expect_eq(wqe.rkey, 0xabcdef01);
	cr_expect_eq(wqe.nb_sge, 2);
	sge = (const struct shm_sge *)behind;
	cr_expect_eq(sge[1].addr, (uintptr_t)world_buffer + 64);
	cr_expect_eq(sge[1].length, 32);
	cr_expect_eq(sge[1].lkey, world_mr->lkey);

	make_list(1);
	list[0].opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	list[0].wr.atomic.remote_addr = 8;
	list[0].wr.atomic.rkey = 9;
	list[0].wr.atomic.compare_add = 10;
	list[0].wr.atomic.swap = 11;
	TAKE();
	cr_expect(wqe.op == SHM_WR_CMP_SWAP && wqe.remote_addr == 8 && wqe.rkey == 9 &&
	          wqe.atomic.compare_add == 10 && wqe.atomic.swap == 11);

	make_list(1);
	list[0].opcode = IBV_WR_SEND_WITH_INV;
	list[0].invalidate_rkey = 0x12345678;
	TAKE();
	cr_expect_eq(wqe.imm, 0x12345678, "a key is not turned around");

	make_list(1);
	list[0].send_flags |= IBV_SEND_INLINE;
	list[0].num_sge = 2;
	memset(world_buffer, 'a', 32);
	memset(world_buffer + 64, 'b', 32);
	TAKE();
	cr_expect_eq(wqe.nb_sge, 0);
	cr_expect_eq(wqe.inline_len, 64);
	cr_expect_eq(memcmp(behind, world_buffer, 32), 0);
	cr_expect_eq(memcmp(behind + 32, world_buffer + 64, 32), 0);
	world_stop();

	world_start(NULL, IBV_QPT_UD);
	make_ah();
	make_list(1);
	list[0].wr.ud.remote_qpn = 77;
	list[0].wr.ud.remote_qkey = 88;
	TAKE();
	cr_expect(wqe.ud.qpn == 77 && wqe.ud.qkey == 88 && wqe.ud.av.sgid_index == 1 &&
	          wqe.ud.av.dgid[0] == 1 && wqe.ud.av.hop_limit == 9 &&
	          wqe.ud.av.traffic_class == 7);
	cr_expect_eq(ibv_dealloc_pd(world_pd), EBUSY, "an address handle stands on it");
	ibv_destroy_ah(ah);
	world_stop();
}

Test(post, a_ud_send_without_an_address_handle_is_refused)
{
	struct ibv_send_wr *bad;

	world_start(NULL, IBV_QPT_UD);
	ah = NULL;
	make_list(1);
	cr_expect_eq(ibv_post_send(world_qp, list, &bad), EINVAL);
	world_stop();
}

Test(post, windows_of_type_2_are_bound_by_a_request_and_type_1_by_a_call)
{
	struct ibv_send_wr *bad;
	struct ibv_mw *one, *two;
	struct ibv_mw_bind bind = {
		.wr_id = 100,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {.addr = 5, .length = 6, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE},
	};
	uint32_t first;

	world_start(NULL, IBV_QPT_RC);
	one = ibv_alloc_mw(world_pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(world_pd, IBV_MW_TYPE_2);
	cr_assert(one && two);
	bind.bind_info.mr = world_mr;
	first = one->rkey;
	cr_expect_eq(ibv_bind_mw(world_qp, one, &bind), 0);
	cr_expect_eq(one->rkey, ibv_inc_rkey(first));
	cr_expect_eq(world_poll().opcode, IBV_WC_BIND_MW);
	cr_expect_eq(world_view()->wqe.bind.mw_rkey, one->rkey, "the new key");
	cr_expect_eq(world_view()->wqe.bind.mr_lkey, world_mr->lkey);
	cr_expect_eq(ibv_bind_mw(world_qp, two, &bind), EINVAL);

	make_list(1);
	list[0].opcode = IBV_WR_BIND_MW;
	list[0].bind_mw.mw = two;
	list[0].bind_mw.rkey = ibv_inc_rkey(two->rkey);
	list[0].bind_mw.bind_info = bind.bind_info;
	cr_expect_eq(ibv_post_send(world_qp, list, &bad), 0);
	cr_expect_eq(world_poll().opcode, IBV_WC_BIND_MW);
	cr_expect_eq(world_view()->wqe.bind.mw_rkey, ibv_inc_rkey(two->rkey), "the wanted key");
	list[0].bind_mw.rkey = two->rkey + 0x100;
	cr_expect_eq(ibv_post_send(world_qp, list, &bad), EINVAL, "another window's key");
	list[0].bind_mw.mw = one;
	list[0].bind_mw.rkey = one->rkey;
	cr_expect_eq(ibv_post_send(world_qp, list, &bad), EINVAL, "a window of type 1");
	cr_expect_eq(ibv_dealloc_mw(one), 0);
	cr_expect_eq(ibv_dealloc_mw(two), 0);
	cr_expect_null(ibv_alloc_mw(world_pd, (enum ibv_mw_type)3));
	world_stop();
}
