/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <infiniband/verbs.h>

#include "wqe.h"

/** By verbs' names, so that the ABI's values are checked as well. */
Test(wqe, each_operation_belongs_to_its_transports_and_ends_in_its_completion)
{
	static const struct {
		enum ibv_wr_opcode op;
		enum ibv_wc_opcode done_as;
		bool rc, uc, ud;
	} rows[] = {
		{IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, true, true, false},
		{IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, true, false},
		{IBV_WR_SEND, IBV_WC_SEND, true, true, true},
		{IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true, true},
		{IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, true, false, false},
		{IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, true, false, false},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, true, false, false},
		{IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV, true, true, false},
		{IBV_WR_BIND_MW, IBV_WC_BIND_MW, true, true, false},
		{IBV_WR_SEND_WITH_INV, IBV_WC_SEND, true, false, false},
		{IBV_WR_TSO, IBV_WC_SEND, false, false, false},
		{(enum ibv_wr_opcode)33, IBV_WC_SEND, false, false, false},
	};

	cr_expect_eq(sizeof(rows) / sizeof(rows[0]), SHM_WR_NB + 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(shm_op_allowed(IBV_QPT_RC, rows[i].op), rows[i].rc, "row %zu", i);
		cr_expect_eq(shm_op_allowed(IBV_QPT_UC, rows[i].op), rows[i].uc, "row %zu", i);
		cr_expect_eq(shm_op_allowed(IBV_QPT_UD, rows[i].op), rows[i].ud, "row %zu", i);
		cr_expect_eq(shm_wc_op_of((uint8_t)rows[i].op), rows[i].done_as, "row %zu", i);
		cr_expect_not(shm_op_allowed(IBV_QPT_RAW_PACKET, rows[i].op));
		cr_expect_not(shm_op_allowed(0, rows[i].op));
	}
}

Test(wqe, capacities_are_good_up_to_each_limit)
{
	static const struct shm_qp_cap none;
	static const struct shm_qp_cap most = {WEFT_MAX_WR, WEFT_MAX_WR, WEFT_MAX_SGE, WEFT_MAX_SGE,
	                                       WEFT_MAX_INLINE};

	cr_expect(shm_qp_cap_ok(&none));
	cr_expect(shm_qp_cap_ok(&most));
	for (size_t i = 0; i < sizeof(most) / sizeof(uint32_t); i++) {
		struct shm_qp_cap cap = most;

		((uint32_t *)&cap)[i]++;
		cr_expect_not(shm_qp_cap_ok(&cap), "member %zu", i);
		((uint32_t *)&cap)[i] = UINT32_MAX;
		cr_expect_not(shm_qp_cap_ok(&cap), "member %zu", i);
	}
}

Test(wqe, slots_have_room_for_entries_or_inline_data)
{
	cr_expect_eq(sq_stride(0, 0), 64);
	cr_expect_eq(sq_stride(4, 0), 128);
	cr_expect_eq(sq_stride(5, 0), 192);
	cr_expect_eq(sq_stride(1, 64), 128);
	cr_expect_eq(sq_stride(1, 65), 192);
	cr_expect_eq(sq_stride(WEFT_MAX_SGE, WEFT_MAX_INLINE), 320);
	cr_expect_eq(rq_stride(0), 16);
	cr_expect_eq(rq_stride(3), 64);
}
