/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "view.h"
#include "world.h"

/* What an operator is told of a QP is what happened to it. */

static struct world w;
static struct app_qp a, b;
static struct local_mr from, to;
static uint8_t src[32768], dst[32768];

static void
open_pair(const struct world_conf *conf)
{
	world_open(&w, conf);
	app_reg(&from, &w, 0, src, sizeof(src), 0);
	app_reg(&to, &w, 1, dst, sizeof(dst), SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE);
	app_open(&a, &w, 0, NULL);
	app_open(&b, &w, 1, NULL);
}

static void
close_pair(void)
{
	app_close(&a);
	app_close(&b);
	mr_destroy(w.nic[0], from.mr);
	mr_destroy(w.nic[1], to.mr);
	world_close(&w);
}

static void
post_write(uint32_t rkey)
{
	struct shm_send_wqe wqe = {
		.op = SHM_WR_WRITE,
		.flags = SHM_SEND_SIGNALED,
		.nb_sge = 1,
		.remote_addr = to.seg.va,
		.rkey = rkey,
	};
	struct shm_sge sge = {from.seg.va, (uint32_t)from.seg.len, from.mr->key};

	app_post_send(&a, &wqe, &sge);
}

Test(view, a_new_qp_has_neither_peer_nor_psns)
{
	struct qp_view v;

	open_pair(NULL);
	qp_view(a.qp, &v);
	cr_expect_eq(v.qpn, a.qp->qpn);
	cr_expect_str_eq(qp_state_text(v.state), "RESET");
	cr_expect_str_eq(qp_type_text(v.type), "RC");
	cr_expect_not(v.has_path);
	cr_expect_eq(v.psn_una | v.psn_nxt | v.psn_expected | v.mtu, 0);
	cr_expect_str_empty(v.why);
	close_pair();
}

Test(view, psns_and_work_in_flight_follow_the_transfer)
{
	struct shm_qp_attr attr;
	struct shm_cqe cqe;
	struct qp_view v;

	open_pair(NULL);
	app_connect(&a, &b);
	attr = app_attr(&a, &b);
	qp_view(a.qp, &v);
	cr_expect_str_eq(qp_state_text(v.state), "RTS");
	cr_expect_str_eq(v.framing, "rocev2");
	cr_expect_str_eq(v.rel, "gbn");
	cr_expect_str_eq(v.cc, "fixed");
	cr_expect(v.has_path);
	cr_expect_eq(v.dest_qpn, b.qp->qpn);
	cr_expect_eq(memcmp(&v.peer_ip, &b.qp->own_ip, sizeof(v.peer_ip)), 0);
	cr_expect_eq(v.psn_una, attr.sq_psn);
	cr_expect_eq(v.psn_nxt, attr.sq_psn);
	cr_expect_eq(v.nb_sends, 0);

	post_write(to.mr->key);
	post_write(to.mr->key);
	/* Until some of it is on the wire: the neighbour's MAC is asked for before. */
	for (int i = 0; i < 100000 && v.inflight_pkts == 0; i++) {
		world_step(&w);
		qp_view(a.qp, &v);
	}
	cr_expect_eq(v.nb_sends, 2);
	cr_expect_gt(v.inflight_pkts, 0);
	cr_expect_gt(v.inflight_bytes, (uint64_t)v.inflight_pkts);

	for (int i = 0; i < 2; i++)
		cr_assert(app_wait(&w, &a.scq, &cqe, 100000));
	qp_view(a.qp, &v);
	cr_expect_eq(v.nb_sends, 0);
	cr_expect_eq(v.inflight_pkts, 0);
	cr_expect_eq(v.psn_una, v.psn_nxt);
	cr_expect_eq(v.nb_sent, 2 * sizeof(src) / v.mtu);
	cr_expect_eq(v.psn_nxt, (attr.sq_psn + v.nb_sent) & 0xffffff);
	cr_expect_eq(v.nb_retransmits | v.nb_timeouts | v.nb_rnr, 0);
	qp_view(b.qp, &v);
	cr_expect_eq(v.psn_expected, (attr.sq_psn + 2 * sizeof(src) / v.mtu) & 0xffffff);
	close_pair();
}

Test(view, repeats_are_counted_for_the_qp_that_made_them)
{
	const struct world_conf conf = {.fault = {.seed = 7, .tx.ppm[FAULT_LOSS] = 50000}};
	struct shm_cqe cqe;
	struct qp_view v;

	open_pair(&conf);
	app_connect(&a, &b);
	for (int i = 0; i < 40; i++) {
		post_write(to.mr->key);
		cr_assert(app_wait(&w, &a.scq, &cqe, 1000000));
		cr_assert_eq(cqe.status, SHM_WC_SUCCESS);
	}
	qp_view(a.qp, &v);
	cr_expect_gt(v.nb_retransmits, 0);
	cr_expect_eq(v.nb_retransmits, w.nic[0]->stats.retransmits);
	cr_expect_eq(v.nb_timeouts, w.nic[0]->stats.local_ack_timeout_err);
	qp_view(b.qp, &v);
	cr_expect_eq(v.nb_retransmits, 0);
	close_pair();
}

Test(view, work_is_what_was_posted_until_then)
{
	struct qp_work work, later;
	struct shm_cqe cqe;

	open_pair(NULL);
	app_connect(&a, &b);
	cr_expect_not(qp_work_now(w.nic[0], a.qp->qpn ^ 1, &work));
	cr_assert(qp_work_now(w.nic[0], a.qp->qpn, &work));
	cr_expect_eq(qp_work_left(w.nic[0], &work), 0);
	post_write(to.mr->key);
	post_write(to.mr->key);
	cr_expect_eq(qp_work_left(w.nic[0], &work), 0, "what comes later does not count");
	cr_assert(qp_work_now(w.nic[0], a.qp->qpn, &work));
	post_write(to.mr->key);
	cr_assert(qp_work_now(w.nic[0], a.qp->qpn, &later));
	cr_expect_eq(qp_work_left(w.nic[0], &work), 2);
	cr_expect_eq(qp_work_left(w.nic[0], &later), 3);
	for (int i = 0; i < 3; i++)
		cr_assert(app_wait(&w, &a.scq, &cqe, 100000));
	cr_expect_eq(qp_work_left(w.nic[0], &work), 0);
	cr_expect_eq(qp_work_left(w.nic[0], &later), 0);
	post_write(to.mr->key ^ 0x100);
	cr_assert(qp_work_now(w.nic[0], a.qp->qpn, &work));
	cr_assert(app_wait(&w, &a.scq, &cqe, 100000));
	cr_expect_eq(qp_work_left(w.nic[0], &work), 0, "a QP that failed has nothing to do");
	close_pair();
}

Test(view, a_failed_qp_says_why)
{
	struct shm_cqe cqe;
	struct qp_view v;

	open_pair(NULL);
	app_connect(&a, &b);
	post_write(to.mr->key ^ 0x100);
	cr_assert(app_wait(&w, &a.scq, &cqe, 100000));
	qp_view(a.qp, &v);
	cr_expect_str_eq(qp_state_text(v.state), "ERR");
	cr_expect_eq(v.reason, QP_REASON_NAK_ACCESS);
	cr_expect(strstr(v.why, "refused access"), "%s", v.why);
	cr_expect_eq(v.dest_qpn, b.qp->qpn, "whom it talked to is still known");
	cr_expect_eq(w.nic[0]->stats.req_remote_access_errors, 1);
	cr_expect_eq(w.nic[1]->stats.resp_remote_access_errors, 1);
	cr_expect_eq(w.nic[0]->stats.resp_remote_access_errors, 0);
	close_pair();
}

Test(view, a_list_has_each_qp_once_and_no_more_than_asked)
{
	struct app_qp more[5];
	uint32_t qpns[8];

	world_open(&w, NULL);
	for (int i = 0; i < 5; i++)
		app_open(&more[i], &w, 0, NULL);
	cr_expect_eq(qp_list(w.nic[0], qpns, 8), 5);
	for (int i = 0; i < 5; i++) {
		int seen = 0;

		for (int j = 0; j < 5; j++)
			seen += qpns[j] == more[i].qp->qpn;
		cr_expect_eq(seen, 1);
	}
	cr_expect_eq(qp_list(w.nic[0], qpns, 3), 3);
	cr_expect_eq(qp_list(w.nic[1], qpns, 3), 0);
	for (int i = 0; i < 5; i++)
		app_close(&more[i]);
	world_close(&w);
}
