/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "pair.h"

/* Many QPs of one application come to grief within one turn: more than its completions hold. */

#define NB 300u

/* Side 1's UD QPs of one application; each holds a receive that was too short for a datagram. */
struct many {
	struct pair p;
	struct app_qp qps[NB];
};

static struct many *
many_open(void)
{
	static const struct app_conf ud = {.type = SHM_QPT_UD};
	struct many *m = calloc(1, sizeof(*m));

	cr_assert(m);
	pair_open(&m->p, NULL, &ud);
	for (uint32_t i = 0; i < NB; i++) {
		struct shm_sge small = pair_sge(&m->p, 1, 0, 8);
		struct shm_sge sge = pair_sge(&m->p, 0, 0, 100);
		struct shm_send_wqe wqe = pair_wqe(&m->p, SHM_WR_SEND, i, 0);
		struct app_qp *a = &m->qps[i];
		struct shm_qp_attr attr;
		struct shm_cqe c;

		app_open(a, &m->p.w, 1, &ud);
		attr = app_attr(a, &m->p.qp[0]);
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
			cr_assert_eq(app_to(a, &attr, state), 0);
		app_post_recv(a, i, &small, 1);
		wqe.ud.av = app_attr(&m->p.qp[0], a).av;
		wqe.ud.qpn = a->qp->qpn;
		wqe.ud.qkey = attr.qkey;
		app_post_send(&m->p.qp[0], &wqe, &sge);
		cr_assert(app_wait(&m->p.w, &m->p.qp[0].scq, &c, 1000));
		world_run(&m->p.w, 20);
		cr_assert(a->qp->recv, "QP %u", i);
	}
	return m;
}

static void
many_close(struct many *m)
{
	for (uint32_t i = 0; i < NB; i++)
		app_close(&m->qps[i]);
	pair_close(&m->p);
	free(m);
}

/* The receive in hand of each completes once, however little room for completions a turn has. */
static void
expect_all(struct many *m, uint8_t status)
{
	world_run(&m->p.w, 20);
	for (uint32_t i = 0; i < NB; i++) {
		struct shm_cqe c = pair_expect(&m->p, &m->qps[i].rcq, i, status);

		cr_expect_eq(c.qpn, m->qps[i].qp->qpn);
		pair_expect_none(&m->qps[i].rcq);
	}
}

Test(crowd, queues_with_tails_that_cannot_be_end_all_their_qps, .timeout = 20)
{
	struct many *m = many_open();

	for (uint32_t i = 0; i < NB; i++) {
		atomic_store(&m->qps[i].sq.ring->ring.tail, 0x80000000);
		qp_doorbell(m->qps[i].qp, m->p.w.now_ns);
	}
	expect_all(m, SHM_WC_WR_FLUSH_ERR);
	many_close(m);
}

Test(crowd, each_receive_tells_why_it_failed, .timeout = 20)
{
	struct many *m = many_open();

	for (uint32_t i = 0; i < NB; i++)
		qp_fail_recv(m->qps[i].qp, QP_REASON_LOCAL_PROT, SHM_WC_LOC_PROT_ERR, 0);
	expect_all(m, SHM_WC_LOC_PROT_ERR);
	many_close(m);
}

Test(crowd, each_send_tells_why_it_failed, .timeout = 20)
{
	struct many *m = calloc(1, sizeof(*m));
	struct shm_sge sge;

	cr_assert(m);
	pair_open(&m->p, NULL, NULL);
	sge = pair_sge(&m->p, 0, 0, 100);
	for (uint32_t i = 0; i < NB; i++) {
		struct shm_send_wqe wqe = pair_wqe(&m->p, SHM_WR_WRITE, i, 0);
		struct app_qp *a = &m->qps[i];
		struct shm_qp_attr attr;

		app_open(a, &m->p.w, 0, NULL);
		attr = app_attr(a, &m->p.qp[1]);
		attr.dest_qpn = 0xfffffe; /* nobody answers */
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
			cr_assert_eq(app_to(a, &attr, state), 0);
		app_post_send(a, &wqe, &sge);
		app_post_send(a, &wqe, &sge);
	}
	world_run(&m->p.w, 100);
	for (uint32_t i = 0; i < NB; i++)
		qp_fail(m->qps[i].qp, QP_REASON_RETRY, SHM_WC_RETRY_EXC_ERR, 0);
	world_run(&m->p.w, 20);
	for (uint32_t i = 0; i < NB; i++) {
		pair_expect(&m->p, &m->qps[i].scq, i, SHM_WC_RETRY_EXC_ERR);
		pair_expect(&m->p, &m->qps[i].scq, i, SHM_WC_WR_FLUSH_ERR);
		pair_expect_none(&m->qps[i].scq);
	}
	many_close(m);
}
