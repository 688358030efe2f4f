/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_world.h"

#include <criterion/criterion.h>
#include <time.h>

struct fake world_daemon;
struct ibv_context *world_context;
struct ibv_pd *world_pd;
struct ibv_mr *world_mr;
struct ibv_cq *world_cq;
struct ibv_qp *world_qp;
char world_buffer[4096];

void
world_set_state(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	cr_assert_eq(ibv_modify_qp(world_qp, &attr, IBV_QP_STATE), 0);
}

void
world_start(const struct fake_conf *conf, enum ibv_qp_type type)
{
	struct ibv_device **list;
	struct ibv_qp_init_attr_ex init = {
		.cap = {4, 4, 2, 2, 64},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	fake_start(&world_daemon, conf);
	list = ibv_get_device_list(NULL);
	cr_assert(list && list[0]);
	world_context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	cr_assert_not_null(world_context);
	world_pd = ibv_alloc_pd(world_context);
	cr_assert_not_null(world_pd);
	world_mr =
		(ibv_reg_mr)(world_pd, world_buffer, sizeof(world_buffer), IBV_ACCESS_LOCAL_WRITE);
	cr_assert_not_null(world_mr);
	world_cq = ibv_create_cq(world_context, 16, NULL, NULL, 0);
	cr_assert_not_null(world_cq);
	init.pd = world_pd;
	init.send_cq = init.recv_cq = world_cq;
	world_qp = ibv_create_qp_ex(world_context, &init);
	cr_assert_not_null(world_qp);
	world_set_state(IBV_QPS_RTS);
}

void
world_stop(void)
{
	cr_expect_eq(ibv_destroy_qp(world_qp), 0);
	cr_expect_eq(ibv_destroy_cq(world_cq), 0);
	cr_expect_eq(ibv_dereg_mr(world_mr), 0);
	cr_expect_eq(ibv_dealloc_pd(world_pd), 0);
	cr_expect_eq(ibv_close_device(world_context), 0);
	fake_kill(&world_daemon);
}

struct ibv_wc
world_poll(void)
{
	time_t end = time(NULL) + 5;
	struct ibv_wc wc = {0};
	int nb;

	do
		nb = ibv_poll_cq(world_cq, 1, &wc);
	while (nb == 0 && time(NULL) < end);
	cr_assert_eq(nb, 1, "no completion");
	return wc;
}
