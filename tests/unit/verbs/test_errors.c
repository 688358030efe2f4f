/* SPDX-License-Identifier: BSD-3-Clause */
/* Constructors that fail half way, and objects that do not belong together. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <string.h>

#include "verbs_world.h"

static uint32_t
nb_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t nb = 0;

	while (readdir(dir))
		nb++;
	closedir(dir);
	return nb;
}

static struct ibv_context *
open_another(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	cr_assert(list && list[0]);
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	return context;
}

/** Slots of the connection that some object has. */
static uint32_t
nb_objects(const struct ibv_context *context)
{
	const struct weft *weft = to_weft(context);
	uint32_t nb = 0;

	for (uint32_t i = 0; i < weft->nb_slots; i++)
		nb += atomic_load(&weft->slots[i].obj) != NULL;
	return nb;
}

/** Make one of each until the daemon refuses; undo all. @return errno of the failure. */
static int
one_of_each(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = pd ? (ibv_reg_mr)(pd, world_buffer, 100, 0) : NULL;
	struct ibv_mw *mw = mr ? ibv_alloc_mw(pd, IBV_MW_TYPE_1) : NULL;
	struct ibv_comp_channel *channel = mw ? ibv_create_comp_channel(context) : NULL;
	struct ibv_cq *cq = channel ? ibv_create_cq(context, 4, NULL, channel, 0) : NULL;
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4}};
	struct ibv_srq *srq = cq ? ibv_create_srq(pd, &srq_init) : NULL;
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = srq ? ibv_create_qp(pd, &init) : NULL;
	int err = errno;

	cr_expect_null(qp);
	if (srq)
		cr_expect_eq(ibv_destroy_srq(srq), 0);
	if (cq)
		cr_expect_eq(ibv_destroy_cq(cq), 0);
	if (channel)
		cr_expect_eq(ibv_destroy_comp_channel(channel), 0);
	if (mw)
		cr_expect_eq(ibv_dealloc_mw(mw), 0);
	if (mr)
		cr_expect_eq(ibv_dereg_mr(mr), 0);
	if (pd)
		cr_expect_eq(ibv_dealloc_pd(pd), 0);
	return err;
}

Test(errors, what_fails_half_way_leaves_nothing_behind)
{
	static const struct fake_conf rows[] = {
		{.lie_op = CTL_ALLOC_PD, .lie = FAKE_REFUSE},
		{.lie_op = CTL_REG_MR, .lie = FAKE_REFUSE},
		{.lie_op = CTL_ALLOC_MW, .lie = FAKE_REFUSE},
		{.lie_op = CTL_NEW_CHANNEL, .lie = FAKE_REFUSE},
		{.lie_op = CTL_CREATE_CQ, .lie = FAKE_REFUSE},
		{.lie_op = CTL_CREATE_CQ, .lie = FAKE_BAD_RING},
		{.lie_op = CTL_CREATE_SRQ, .lie = FAKE_REFUSE},
		{.lie_op = CTL_CREATE_QP, .lie = FAKE_REFUSE},
		{.lie_op = CTL_CREATE_QP, .lie = FAKE_BAD_RING},
		/* No descriptor, or no answer: the daemon is given up. */
		{.lie_op = CTL_NEW_CHANNEL, .lie = FAKE_NO_FDS},
		{.lie_op = CTL_NEW_CHANNEL, .lie = FAKE_SILENT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int want = rows[i].lie == FAKE_REFUSE     ? EACCES
		           : rows[i].lie == FAKE_BAD_RING ? EPROTO
		                                          : ENODEV;
		struct ibv_context *context;
		uint32_t nb_before, nb_open;

		fake_start(&world_daemon, &rows[i]);
		nb_before = nb_fds();
		context = open_another();
		cr_assert_not_null(context);
		nb_open = nb_fds();
		cr_expect_eq(one_of_each(context), want, "row %zu", i);
		cr_expect_eq(nb_fds(), nb_open, "row %zu", i);
		cr_expect_eq(nb_objects(context), 0, "row %zu", i);
		cr_expect_eq(ibv_close_device(context), 0);
		cr_expect_eq(nb_fds(), nb_before, "row %zu", i);
		fake_kill(&world_daemon);
	}
}

Test(errors, a_device_that_cannot_be_opened_leaves_nothing_behind)
{
	static const enum fake_lie lies[] = {FAKE_REFUSE, FAKE_NO_FDS, FAKE_MANY_FDS, FAKE_SHORT,
	                                     FAKE_SILENT};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const struct fake_conf conf = {.lie_op = CTL_OPEN, .lie = lies[i]};
		uint32_t nb_before;

		fake_start(&world_daemon, &conf);
		nb_before = nb_fds();
		errno = 0;
		cr_expect_null(open_another(), "row %zu", i);
		cr_expect_neq(errno, 0, "row %zu", i);
		cr_expect_eq(nb_fds(), nb_before, "row %zu", i);
		fake_kill(&world_daemon);
	}
}

Test(errors, objects_of_two_devices_do_not_go_together)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4}};
	struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_comp_channel *channel;
	struct ibv_context *other;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	world_start(NULL, IBV_QPT_RC);
	other = open_another();
	cr_assert_not_null(other);
	pd = ibv_alloc_pd(other);
	channel = ibv_create_comp_channel(other);
	cq = ibv_create_cq(other, 4, NULL, channel, 0);
	srq = ibv_create_srq(pd, &srq_init);
	cr_assert(pd && channel && cq && srq);
	const struct {
		struct ibv_cq *send_cq, *recv_cq;
		struct ibv_srq *srq;
	} rows[] = {
		{cq, world_cq, NULL},
		{world_cq, cq, NULL},
		{world_cq, world_cq, srq},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		init.send_cq = rows[i].send_cq;
		init.recv_cq = rows[i].recv_cq;
		init.srq = rows[i].srq;
		errno = 0;
		cr_expect_null(ibv_create_qp(world_pd, &init), "row %zu", i);
		cr_expect_eq(errno, EINVAL, "row %zu", i);
	}
	errno = 0;
	cr_expect_null(ibv_create_cq(world_context, 4, NULL, channel, 0));
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	cr_expect_eq(ibv_destroy_cq(cq), 0);
	cr_expect_eq(ibv_destroy_comp_channel(channel), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	cr_expect_eq(ibv_close_device(other), 0);
	world_stop();
}

Test(errors, what_is_in_use_is_busy_also_when_the_daemon_is_gone)
{
	const struct fake_conf idle = {.idle = true};
	struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4}};
	struct ibv_qp_init_attr init = {.cap = {4, 0, 1, 0, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	world_start(&idle, IBV_QPT_RC);
	ah_attr.grh.dgid.raw[15] = 1;
	channel = ibv_create_comp_channel(world_context);
	cq = ibv_create_cq(world_context, 4, NULL, channel, 0);
	srq = ibv_create_srq(world_pd, &srq_init);
	ah = ibv_create_ah(world_pd, &ah_attr);
	cr_assert(channel && cq && srq && ah);
	init.send_cq = world_cq;
	init.recv_cq = cq;
	init.srq = srq;
	qp = ibv_create_qp(world_pd, &init);
	cr_assert_not_null(qp);
	for (int gone = 0; gone < 2; gone++) {
		cr_expect_eq(ibv_destroy_comp_channel(channel), EBUSY);
		cr_expect_eq(ibv_destroy_cq(cq), EBUSY);
		cr_expect_eq(ibv_destroy_cq(world_cq), EBUSY);
		cr_expect_eq(ibv_destroy_srq(srq), EBUSY);
		cr_expect_eq(ibv_dealloc_pd(world_pd), EBUSY);
		fake_kill(&world_daemon);
	}
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	cr_expect_eq(ibv_destroy_srq(srq), 0);
	cr_expect_eq(ibv_destroy_cq(cq), 0);
	cr_expect_eq(ibv_destroy_comp_channel(channel), 0);
	cr_expect_eq(ibv_destroy_ah(ah), 0);
	world_stop();
}
