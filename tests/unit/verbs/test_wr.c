/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <endian.h>
#include <string.h>

#include "verbs_world.h"

static struct ibv_qp_ex *ex;

static void
start(enum ibv_qp_type type)
{
	world_start(NULL, type);
	ex = ibv_qp_to_qp_ex(world_qp);
	cr_assert_not_null(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static struct shm_send_wqe
take(void)
{
	cr_assert_eq(world_poll().wr_id, 5);
	return *(struct shm_send_wqe *)&world_view()->wqe;
}

Test(wr, every_operation_fills_its_own_fields)
{
	struct shm_send_wqe wqe;
	char data[40];
	const struct ibv_data_buf bufs[] = {{data, 40}, {data, 24}};
	const struct ibv_sge sges[] = {{1, 2, 3}, {4, 5, 6}};

	start(IBV_QPT_RC);
	memset(data, 'x', sizeof(data));
	ibv_wr_start(ex);
	ibv_wr_rdma_write_imm(ex, 7, 8, htobe32(9));
	ibv_wr_set_sge_list(ex, 2, sges);
	cr_expect_eq(ibv_wr_complete(ex), 0);
	wqe = take();
	cr_expect(wqe.op == SHM_WR_WRITE_IMM && wqe.rkey == 7 && wqe.remote_addr == 8 &&
	          wqe.imm == 9 && wqe.nb_sge == 2 && wqe.flags == SHM_SEND_SIGNALED);
	cr_expect_eq(memcmp((void *)world_view()->behind, sges, sizeof(sges)), 0);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	cr_expect_eq(ibv_wr_complete(ex), 0);
	wqe = take();
	cr_expect(wqe.op == SHM_WR_SEND && wqe.inline_len == 64 && wqe.nb_sge == 0 &&
	          wqe.flags == (SHM_SEND_SIGNALED | SHM_SEND_INLINE));
	cr_expect_eq(world_view()->behind[63], 'x');

	ibv_wr_start(ex);
	ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4);
	ibv_wr_set_sge(ex, 1, 2, 8);
	cr_expect_eq(ibv_wr_complete(ex), 0);
	wqe = take();
	cr_expect(wqe.op == SHM_WR_CMP_SWAP && wqe.rkey == 1 && wqe.remote_addr == 2 &&
	          wqe.atomic.compare_add == 3 && wqe.atomic.swap == 4 && wqe.nb_sge == 1);

	ibv_wr_start(ex);
	ibv_wr_send_inv(ex, 0x12345678);
	cr_expect_eq(ibv_wr_complete(ex), 0);
	wqe = take();
	cr_expect(wqe.op == SHM_WR_SEND_INV && wqe.imm == 0x12345678 && wqe.nb_sge == 0);
	world_stop();
}

Test(wr, one_failure_refuses_the_batch_and_the_next_one_is_fresh)
{
	static char big[65];
	const struct ibv_sge three[3] = {{0}};

	start(IBV_QPT_RC);
	for (int which = 0; which < 5; which++) {
		int want = EINVAL;

		ibv_wr_start(ex);
		ibv_wr_send(ex);
		switch (which) {
		case 0:
			ibv_wr_set_inline_data(ex, big, sizeof(big));
			break;
		case 1:
			ibv_wr_set_sge_list(ex, 3, three);
			break;
		case 2:
			ibv_wr_set_ud_addr(ex, NULL, 1, 1);
			break;
		case 3:
			for (int i = 0; i < 4; i++)
				ibv_wr_send(ex);
			want = ENOMEM;
			break;
		case 4:
			ibv_wr_send_tso(ex, big, 1, 1);
			want = EOPNOTSUPP;
			break;
		}
		/* Setters behind a failure do nothing, whatever they are given. */
		ibv_wr_set_sge(ex, 1, 2, 3);
		ibv_wr_set_inline_data(ex, big, 1);
		ibv_wr_send(ex);
		cr_expect_eq(ibv_wr_complete(ex), want, "case %d", which);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_abort(ex);
		cr_expect_eq(world_view()->nb_wakes, (unsigned)which, "case %d", which);
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		cr_expect_eq(ibv_wr_complete(ex), 0, "case %d", which);
		take();
	}
	world_stop();
}

Test(wr, a_batch_is_one_doorbell)
{
	start(IBV_QPT_RC);
	ibv_wr_start(ex);
	for (int i = 0; i < 4; i++)
		ibv_wr_rdma_write(ex, 1, 2);
	cr_expect_eq(ibv_wr_complete(ex), 0);
	for (int i = 0; i < 4; i++)
		take();
	cr_expect_eq(world_view()->nb_wakes, 1);
	world_stop();
}

Test(wr, operations_that_a_type_has_not_are_refused_at_creation)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t ops;
		bool want;
	} rows[] = {
		{IBV_QPT_RC, 0x3ff, true},
		{IBV_QPT_RC, IBV_QP_EX_WITH_TSO, false},
		{IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE, false},
		{IBV_QPT_RC, UINT64_C(1) << 40, false},
		{IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND, true},
		{IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ, false},
		{IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM, true},
		{IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE, false},
	};

	start(IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_qp_init_attr_ex init = {
			.cap = {1, 1, 1, 1, 0},
			.qp_type = rows[i].type,
			.send_cq = world_cq,
			.recv_cq = world_cq,
			.pd = world_pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = rows[i].ops,
		};
		struct ibv_qp *qp;

		errno = 0;
		qp = ibv_create_qp_ex(world_context, &init);
		cr_expect_eq(qp != NULL, rows[i].want, "row %zu", i);
		cr_expect_eq(errno, rows[i].want ? 0 : EOPNOTSUPP, "row %zu", i);
		if (qp)
			ibv_destroy_qp(qp);
	}
	world_stop();
}
