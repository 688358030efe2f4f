/* SPDX-License-Identifier: BSD-3-Clause */
/* What one application does costs the others a bounded turn, and never the daemon. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "wr.h"

/* Post count WRITEs of 8 bytes without waiting. */
static void
post_many(struct pair *p, uint32_t count, uint8_t flags)
{
	struct shm_sge sge = pair_sge(p, 0, 0, 8);
	struct shm_send_wqe wqe = pair_wqe(p, SHM_WR_WRITE, 1, 0);

	wqe.flags = flags;
	for (uint32_t i = 0; i < count; i++) {
		wqe.wr_id = i;
		app_post_send(&p->qp[0], &wqe, &sge);
	}
}

Test(bounds, a_cq_smaller_than_what_completes_fails_its_qp_and_nothing_else, .timeout = 20)
{
	struct app_conf ac = {.depth = 256, .cq_depth = 16};
	struct pair p;
	char why[256];

	pair_open(&p, NULL, &ac);
	for (int round = 0; round < 4; round++) { /* every slot has been used before */
		post_many(&p, 200, 0);
		world_run(&p.w, 200);
	}
	post_many(&p, 200, SHM_SEND_SIGNALED);
	world_run(&p.w, 500);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "overrun"), "%s", why);
	cr_expect_eq(pair_events(SHM_EVENT_CQ_ERR), 1);
	cr_expect_eq(pair_events(SHM_EVENT_QP_FATAL), 1);
	cr_expect_eq(p.qp[0].qp->sq.head, p.qp[0].sq.tail);
	pair_close(&p);
}

Test(bounds, a_receive_cq_that_overruns_in_mid_burst_fails_its_qp_once, .timeout = 20)
{
	struct app_conf ac = {.depth = 256, .cq_depth = 16};
	struct pair p;
	char why[256];

	pair_open(&p, NULL, &ac);
	for (uint32_t i = 0; i < 200; i++)
		pair_recv(&p, i, 0, 64);
	for (uint32_t i = 0; i < 200; i++) {
		struct shm_sge sge = pair_sge(&p, 0, 0, 8);
		struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_SEND, i, 0);

		wqe.flags = 0;
		app_post_send(&p.qp[0], &wqe, &sge);
	}
	world_run(&p.w, 500);
	cr_expect_eq(pair_state(&p, 1, why), SHM_QPS_ERR);
	cr_expect(strstr(why, "overrun"), "%s", why);
	cr_expect_eq(p.qp[1].qp->rq.head, p.qp[1].rq.tail);
	pair_close(&p);
}

Test(bounds, thousands_of_flushes_take_several_turns_and_lose_none, .timeout = 20)
{
	struct app_conf ac = {.depth = 8192, .cq_depth = 16384};
	struct shm_qp_attr err = {.state = SHM_QPS_ERR};
	struct pair p;
	struct shm_cqe c;

	pair_open(&p, NULL, &ac);
	for (uint32_t i = 0; i < 8192; i++)
		pair_recv(&p, i, 0, 64);
	cr_assert_eq(qp_modify(p.qp[1].qp, &err, SHM_QP_STATE, p.w.now_ns), 0);
	cr_expect_lt(p.qp[1].qp->rq.head, 2048, "one call flushed %u", p.qp[1].qp->rq.head);
	world_run(&p.w, 50);
	for (uint32_t i = 0; i < 8192; i++) {
		cr_assert(local_poll(&p.qp[1].rcq, &c), "entry %u", i);
		cr_assert_eq(c.wr_id, i);
		cr_assert_eq(c.status, SHM_WC_WR_FLUSH_ERR);
	}
	pair_expect_none(&p.qp[1].rcq);
	pair_close(&p);
}

Test(bounds, packets_that_go_nowhere_count_in_their_turn, .timeout = 20)
{
	struct app_conf ac = {.type = SHM_QPT_UC};
	struct shm_qp_attr attr[2];
	struct pair p;

	pair_make(&p, NULL, &ac);
	for (int i = 0; i < 2; i++) {
		attr[i] = app_attr(&p.qp[i], &p.qp[!i]);
		attr[i].av.dgid[15] = 99; /* nobody there */
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
			cr_assert_eq(app_to(&p.qp[i], &attr[i], state), 0);
	}
	for (uint32_t i = 0; i < 60; i++)
		pair_post(&p, SHM_WR_WRITE, i, 0, 0, PAIR_BUF);
	world_run(&p.w, 10);
	p.w.now_ns += 100000000; /* the MAC is waited for so long */
	for (int turn = 0; turn < 20000; turn++) {
		uint64_t before = p.qp[0].qp->sent_count;

		world_step(&p.w);
		cr_assert_leq(p.qp[0].qp->sent_count - before, STACK_BURST);
	}
	cr_expect_gt(p.qp[0].qp->sent_count, 1000);
	pair_close(&p);
}

Test(bounds, questions_about_neighbours_hold_up_no_data, .timeout = 20)
{
	enum { NB = 5000 };
	struct app_conf ac = {.type = SHM_QPT_UC, .depth = 1, .cq_depth = 1};
	struct app_qp *qps = calloc(NB, sizeof(*qps));
	struct pair p;
	uint64_t start;

	cr_assert(qps);
	pair_open(&p, NULL, NULL);
	world_run(&p.w, 20);
	for (uint32_t i = 0; i < NB; i++) {
		struct shm_qp_attr attr;

		app_open(&qps[i], &p.w, 0, &ac);
		attr = app_attr(&qps[i], &p.qp[1]);
		attr.av.dgid[13] = 1; /* nobody there */
		attr.av.dgid[14] = (uint8_t)(i >> 8);
		attr.av.dgid[15] = (uint8_t)i;
		cr_assert_eq(app_to(&qps[i], &attr, SHM_QPS_INIT), 0);
		cr_assert_eq(app_to(&qps[i], &attr, SHM_QPS_RTR), 0);
	}
	start = p.w.now_ns;
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 100000);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_leq(p.w.now_ns - start, 30000, "%lu ns", (unsigned long)(p.w.now_ns - start));
	for (uint32_t i = 0; i < NB; i++)
		app_close(&qps[i]);
	free(qps);
	pair_close(&p);
}

Test(bounds, a_queue_full_of_local_operations_is_run_in_parts, .timeout = 20)
{
	struct app_conf ac = {.depth = 1024};
	struct shm_send_wqe wqe = {.op = SHM_WR_BIND_MW, .flags = SHM_SEND_SIGNALED};
	struct pair p;
	struct mr *mw;
	struct shm_cqe c;

	pair_open(&p, NULL, &ac);
	mw = mr_create_window(p.w.nic[0], PD, 1);
	cr_assert(mw);
	for (uint32_t i = 0; i < 1024; i++) {
		wqe.wr_id = i;
		wqe.bind.mw_rkey = mw->key;
		app_post_send(&p.qp[0], &wqe, NULL);
	}
	world_step(&p.w);
	cr_expect_leq(p.qp[0].qp->sq.head, 64, "one turn ran %u", p.qp[0].qp->sq.head);
	world_run(&p.w, 100);
	for (uint32_t i = 0; i < 1024; i++) {
		cr_assert(local_poll(&p.qp[0].scq, &c), "entry %u", i);
		cr_assert_eq(c.status, SHM_WC_SUCCESS);
	}
	cr_assert_eq(mr_destroy(p.w.nic[0], mw), 0);
	pair_close(&p);
}
