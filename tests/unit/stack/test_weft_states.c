/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "peer.h"
#include "sr.h"

/*
 * One end changes its state, or ends, while both send: a READ half answered, a WRITE half
 * acknowledged, a SEND refused. Both ends get their completions as in RC, all memory goes back, and
 * the next connection of the same QPs knows nothing of the last.
 */

#define BULK 200000u
#define SMALL 3000u
/* Where things are, at each side alike: what is sent and read lies at 0. */
#define WRITTEN 204800u
#define READ_INTO 409600u
#define RECEIVED 614400u
#define NB 4

enum { READ = 1, WRITE, SEND, WRITE_BEHIND, WRITE_LATE };

static void
post(struct pair *p, int side, uint8_t op, uint64_t wr_id, uint64_t off, uint64_t remote_off,
     uint32_t len)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = (uintptr_t)p->buf[!side] + remote_off,
	                           .rkey = p->mr[!side].mr->key};
	struct shm_sge sge = pair_sge(p, side, off, len);

	app_post_send(&p->qp[side], &wqe, &sge);
}

static void
post_recv(struct pair *p, int side)
{
	struct shm_sge sge = pair_sge(p, side, RECEIVED, SMALL);

	app_post_recv(&p->qp[side], SEND, &sge, 1);
}

/* What is sent and read differs from side to side, and from what is there. */
static void
fill(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		memset(p->buf[side], side ? 0x99 : 0x66, PAIR_BUF);
		for (uint32_t i = 0; i < BULK; i++)
			p->buf[side][i] = (uint8_t)(i * 5 + (i >> 8) + 77 * (uint32_t)side);
	}
}

/* READ, WRITE, a SEND without a receive for it, and a WRITE behind it. */
static void
post_side(struct pair *p, int side)
{
	post(p, side, SHM_WR_READ, READ, READ_INTO, 0, BULK);
	post(p, side, SHM_WR_WRITE, WRITE, 0, WRITTEN, BULK);
	post(p, side, SHM_WR_SEND, SEND, 0, 0, SMALL);
	post(p, side, SHM_WR_WRITE, WRITE_BEHIND, 0, WRITTEN, SMALL);
}

/* The same both ways. */
static void
post_all(struct pair *p)
{
	fill(p);
	post_side(p, 0);
	post_side(p, 1);
}

static void
expect_data(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		cr_expect_eq(memcmp(p->buf[side] + READ_INTO, p->buf[!side], BULK), 0);
		cr_expect_eq(memcmp(p->buf[side] + WRITTEN, p->buf[!side], BULK), 0);
		cr_expect_eq(memcmp(p->buf[side] + RECEIVED, p->buf[!side], SMALL), 0);
	}
}

static void
change(struct pair *p, int side, uint8_t state, bool notify)
{
	struct shm_qp_attr attr = {.state = state, .en_sqd_notify = 1};

	cr_assert_eq(qp_modify(p->qp[side].qp, &attr,
	                       SHM_QP_STATE | (notify ? SHM_QP_EN_SQD_ASYNC_NOTIFY : 0),
	                       p->w.now_ns),
	             0);
}

static void
connect(struct pair *p)
{
	struct shm_qp_attr attr = peer_attr(); /* a timeout of 66 us */

	pair_connect(p, &attr);
}

static void
open_pair(struct pair *p, const struct reliability_ops *rel)
{
	pair_make(p, &(struct world_conf){.weft = true, .window_pkts = 64, .rel = rel}, NULL);
	connect(p);
	world_run(&p->w, 20); /* the MACs */
}

/* All that was posted succeeds in order, and nothing is left. */
static void
expect_success(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		for (uint64_t id = READ; id <= WRITE_BEHIND; id++)
			pair_expect(p, &p->qp[side].scq, id, SHM_WC_SUCCESS);
		pair_expect(p, &p->qp[side].rcq, SEND, SHM_WC_SUCCESS);
	}
	expect_data(p);
	world_run(&p->w, 500);
	for (int side = 0; side < 2; side++) {
		pair_expect_none(&p->qp[side].scq);
		pair_expect_none(&p->qp[side].rcq);
		pair_expect_rest(&p->w, side, 1);
	}
}

/* The requests of a side that ended: the first succeeded, perhaps one says why, all others are
 * flushed. */
static void
expect_end(struct pair *p, int side, uint8_t why)
{
	uint8_t want = SHM_WC_SUCCESS;
	struct shm_cqe c;

	for (uint64_t id = READ; id <= NB; id++) {
		cr_assert(app_wait(&p->w, &p->qp[side].scq, &c, 20000), "side %d: no completion",
		          side);
		cr_expect_eq(c.wr_id, id);
		if (want == SHM_WC_SUCCESS && c.status != SHM_WC_SUCCESS)
			want = why;
		cr_expect_eq(c.status, want, "side %d, request %lu: status %u, want %u", side,
		             (unsigned long)id, c.status, want);
		if (want == why)
			want = SHM_WC_WR_FLUSH_ERR;
	}
	cr_expect_eq(want, SHM_WC_WR_FLUSH_ERR, "a SEND that was refused succeeded");
	pair_expect_none(&p->qp[side].scq);
	pair_expect_none(&p->qp[side].rcq);
}

/* Both ends go back to RESET and are connected anew: all works. */
static void
expect_fresh(struct pair *p)
{
	for (int side = 0; side < 2; side++) {
		change(p, side, SHM_QPS_RESET, false);
		pair_expect_none(&p->qp[side].scq);
		pair_expect_rest(&p->w, side, 1);
	}
	connect(p);
	post_all(p);
	for (int side = 0; side < 2; side++)
		post_recv(p, side);
	expect_success(p);
}

enum how { TO_ERR, TO_RESET, DESTROY, NB_HOWS };

/* What becomes of the requests of side 0. */
static void
end(struct pair *p, enum how how)
{
	uint64_t nb_done;
	struct shm_cqe c;

	switch (how) {
	case TO_ERR:
		post_recv(p, 0); /* too late */
		change(p, 0, SHM_QPS_ERR, false);
		peer_expect(&p->qp[0].rcq, SEND, SHM_WC_WR_FLUSH_ERR);
		expect_end(p, 0, SHM_WC_WR_FLUSH_ERR);
		break;
	case TO_RESET:
		change(p, 0, SHM_QPS_RESET, false);
		for (nb_done = 0; local_poll(&p->qp[0].scq, &c); nb_done++)
			cr_expect_eq(c.status, SHM_WC_SUCCESS);
		cr_expect_lt(nb_done, SEND);
		cr_expect_eq(atomic_load(&p->qp[0].sq.ring->ring.head), p->qp[0].sq.tail);
		pair_expect_rest(&p->w, 0, 1);
		break;
	case DESTROY:
		app_close(&p->qp[0]);
		pair_expect_rest(&p->w, 0, 0);
		app_open(&p->qp[0], &p->w, 0, NULL);
		break;
	case NB_HOWS:
		break;
	}
}

static void
run_end(enum how how, uint32_t turns, const struct reliability_ops *rel)
{
	uint8_t *before = malloc(PAIR_BUF);
	struct pair p;

	cr_assert(before);
	open_pair(&p, rel);
	post_all(&p);
	world_run(&p.w, turns);
	end(&p, how);
	memcpy(before, p.buf[0], PAIR_BUF);
	expect_end(&p, 1, SHM_WC_RETRY_EXC_ERR);
	cr_expect_eq(memcmp(before, p.buf[0], PAIR_BUF), 0, "written behind the end");
	expect_fresh(&p);
	pair_close(&p);
	free(before);
}

/* From the first packets to the last retransmission of what was refused. */
static const uint32_t moments[] = {0, 1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 200, 700, 1400};
#define NB_MOMENTS (sizeof(moments) / sizeof(moments[0]))

Test(weft_states, an_end_in_the_middle_is_told_as_in_rc_and_the_next_connection_is_fresh,
     .timeout = 60)
{
	for (enum how how = TO_ERR; how < NB_HOWS; how++)
		for (size_t i = 0; i < NB_MOMENTS; i++) {
			run_end(how, moments[i], NULL);
			run_end(how, moments[i], &sr_ops);
		}
}

Test(weft_states, sqd_ends_what_was_begun_refused_or_not_and_rts_goes_on, .timeout = 60)
{
	for (size_t i = 0; i < 2 * NB_MOMENTS; i++) {
		struct pair p;
		uint32_t opened;
		struct shm_qp_attr q;

		open_pair(&p, i % 2 ? &sr_ops : NULL);
		post_all(&p);
		world_run(&p.w, moments[i / 2]);
		change(&p, 0, SHM_QPS_SQD, true);
		opened = p.qp[0].qp->sq_open;
		post(&p, 0, SHM_WR_WRITE, WRITE_LATE, 0, RECEIVED + 4096, SMALL);
		world_run(&p.w, 300);
		for (int side = 0; side < 2; side++)
			post_recv(&p, side);
		world_run(&p.w, 5000);
		qp_query(p.qp[0].qp, &q, NULL, 0);
		cr_expect(!q.sq_draining, "moment %u", moments[i / 2]);
		cr_expect_eq(pair_events(SHM_EVENT_SQ_DRAINED), 1, "moment %u", moments[i / 2]);
		cr_expect_eq(p.qp[0].qp->sq_open, opened, "opened while draining");
		cr_expect_eq(p.buf[1][RECEIVED + 4096], 0x99);
		change(&p, 0, SHM_QPS_RTS, false);
		for (uint64_t id = READ; id <= WRITE_BEHIND; id++)
			pair_expect(&p, &p.qp[0].scq, id, SHM_WC_SUCCESS);
		pair_expect(&p, &p.qp[0].scq, WRITE_LATE, SHM_WC_SUCCESS);
		for (uint64_t id = READ; id <= WRITE_BEHIND; id++)
			pair_expect(&p, &p.qp[1].scq, id, SHM_WC_SUCCESS);
		for (int side = 0; side < 2; side++)
			pair_expect(&p, &p.qp[side].rcq, SEND, SHM_WC_SUCCESS);
		expect_data(&p);
		cr_expect_eq(memcmp(p.buf[1] + RECEIVED + 4096, p.buf[0], SMALL), 0);
		world_run(&p.w, 500);
		for (int side = 0; side < 2; side++)
			pair_expect_rest(&p.w, side, 1);
		pair_close(&p);
	}
}

/* Side 0 stays in RTR: it answers before its application has named a PSN of its own. */
static void
open_answering(struct pair *p)
{
	struct shm_qp_attr attr;

	pair_make(p, &(struct world_conf){.weft = true, .window_pkts = 64}, NULL);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int side = 0; side < 2; side++) {
			attr = app_attr(&p->qp[side], &p->qp[!side]);
			attr.timeout = 4;
			if (side || state <= SHM_QPS_RTR)
				cr_assert_eq(app_to(&p->qp[side], &attr, state), 0);
			if (side && state == SHM_QPS_RTR)
				app_agree(&p->qp[0], &p->qp[1]);
		}
	world_run(&p->w, 20); /* the MACs */
}

Test(weft_states, an_end_that_only_answers_gives_back_as_much, .timeout = 60)
{
	for (enum how how = TO_ERR; how < NB_HOWS; how++)
		for (size_t i = 0; i < NB_MOMENTS; i++) {
			struct pair p;

			open_answering(&p);
			fill(&p);
			post_side(&p, 1);
			world_run(&p.w, moments[i]);
			if (how == DESTROY) {
				app_close(&p.qp[0]);
				pair_expect_rest(&p.w, 0, 0);
				app_open(&p.qp[0], &p.w, 0, NULL);
			} else {
				change(&p, 0, how == TO_ERR ? SHM_QPS_ERR : SHM_QPS_RESET, false);
			}
			pair_expect_none(&p.qp[0].scq);
			expect_end(&p, 1, SHM_WC_RETRY_EXC_ERR);
			expect_fresh(&p);
			pair_close(&p);
		}
}

enum why { RNR_RETRY, BAD_KEY, SHORT_RECV, SILENCE, NB_WHYS };

/* The first request fails for this reason. @return its status. */
static uint8_t
post_doomed(struct pair *p, enum why why)
{
	struct shm_send_wqe wqe = pair_wqe(p, SHM_WR_WRITE, 0, WRITTEN);
	struct shm_sge sge = pair_sge(p, 0, 0, SMALL), small = pair_sge(p, 1, RECEIVED, 8);

	switch (why) {
	case RNR_RETRY:
		post(p, 0, SHM_WR_SEND, 0, 0, 0, SMALL);
		return SHM_WC_RNR_RETRY_EXC_ERR;
	case BAD_KEY:
		wqe.rkey ^= 0x5a5a00;
		app_post_send(&p->qp[0], &wqe, &sge);
		return SHM_WC_REM_ACCESS_ERR;
	case SHORT_RECV:
		app_post_recv(&p->qp[1], 0, &small, 1);
		post(p, 0, SHM_WR_SEND, 0, 0, 0, SMALL);
		return SHM_WC_REM_INV_REQ_ERR;
	case SILENCE:
		change(p, 1, SHM_QPS_ERR, false);
		post(p, 0, SHM_WR_WRITE, 0, 0, WRITTEN, SMALL);
		return SHM_WC_RETRY_EXC_ERR;
	case NB_WHYS:
		break;
	}
	return SHM_WC_SUCCESS;
}

Test(weft_states, whatever_ended_a_connection_the_next_one_is_fresh)
{
	for (enum why why = RNR_RETRY; why < NB_WHYS; why++) {
		struct shm_qp_attr attr = peer_attr();
		struct shm_cqe c;
		struct pair p;

		pair_make(&p, &(struct world_conf){.weft = true}, NULL);
		attr.rnr_retry = 1;
		pair_connect(&p, &attr);
		pair_expect(&p, &p.qp[0].scq, 0, post_doomed(&p, why));
		cr_expect_eq(p.qp[0].qp->state, SHM_QPS_ERR);
		while (local_poll(&p.qp[1].rcq, &c))
			cr_expect_neq(c.status, SHM_WC_SUCCESS);
		expect_fresh(&p);
		pair_close(&p);
	}
}
