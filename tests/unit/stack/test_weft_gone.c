/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "sr.h"
#include "weft_peer.h"

/*
 * Memory is deregistered in the middle of a message of the weft framing that reads or writes it:
 * both ends get the status that is theirs, and no byte is touched behind.
 */

#define M PEER_MTU
#define LEN (200u * M)
/** The registration that goes; in the buffer of either side. */
#define GONE 524288u

struct row {
	const char *name;
	uint8_t op;
	int side;            /* whose memory goes */
	uint8_t status;      /* of the request; those before it succeed, those behind are flushed */
	uint8_t recv_status; /* of side 1's receive; 0 = it has none */
	bool peer_lives;     /* the other end is not told */
	const char *why;     /* at the side whose memory goes */
};

static const struct row rows[] = {
	{"WRITE's source", SHM_WR_WRITE, 0, SHM_WC_LOC_PROT_ERR, 0, true, "access of a local"},
	{"SEND's source", SHM_WR_SEND, 0, SHM_WC_LOC_PROT_ERR, 0, true, "access of a local"},
	{"READ into", SHM_WR_READ, 0, SHM_WC_LOC_PROT_ERR, 0, true, "access of a local"},
	{"WRITE's target", SHM_WR_WRITE, 1, SHM_WC_REM_ACCESS_ERR, 0, false, "rkey, bounds"},
	{"immediate's target", SHM_WR_WRITE_IMM, 1, SHM_WC_REM_ACCESS_ERR, SHM_WC_WR_FLUSH_ERR,
         false, "rkey, bounds"},
	{"READ's source", SHM_WR_READ, 1, SHM_WC_REM_ACCESS_ERR, 0, false, "rkey, bounds"},
	{"SEND's receive", SHM_WR_SEND, 1, SHM_WC_REM_OP_ERR, SHM_WC_LOC_PROT_ERR, false,
         "access of a local"},
};

static bool
uses_recv(const struct row *r)
{
	return r->op == SHM_WR_SEND || r->op == SHM_WR_WRITE_IMM;
}

/* Where the bytes of the request come from, and go to. */
static uint8_t *
place_of(struct pair *p, const struct row *r, bool is_target)
{
	int side = (r->op == SHM_WR_READ) ^ is_target;

	return p->buf[side] + GONE;
}

/* A small WRITE, the request whose memory goes, a small WRITE. */
static void
post_three(struct pair *p, const struct row *r, const struct local_mr gone[2])
{
	struct shm_send_wqe wqe = {.wr_id = 2,
	                           .op = r->op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = (uintptr_t)p->buf[1] + GONE,
	                           .rkey = gone[1].mr->key};
	struct shm_sge sge = {(uintptr_t)p->buf[0] + GONE, LEN, gone[0].mr->key};
	struct shm_sge into = {(uintptr_t)p->buf[1] + GONE, LEN, gone[1].mr->key};

	if (uses_recv(r))
		app_post_recv(&p->qp[1], 9, &into, 1);
	pair_post(p, SHM_WR_WRITE, 1, 0, 0, 64);
	app_post_send(&p->qp[0], &wqe, &sge);
	pair_post(p, SHM_WR_WRITE, 3, 0, 64, 64);
}

static void
open_gone(struct pair *p, struct local_mr gone[2], const struct reliability_ops *rel)
{
	pair_open(p, &(struct world_conf){.weft = true, .window_pkts = 16, .rel = rel}, NULL);
	for (int i = 0; i < 2; i++)
		app_reg(&gone[i], &p->w, i, p->buf[i] + GONE, LEN, ALL_ACCESS);
	world_run(&p->w, 20); /* the MACs */
}

static void
check_ends(struct pair *p, const struct row *r)
{
	struct shm_cqe c;
	char why[256];

	pair_expect(p, &p->qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_assert(app_wait(&p->w, &p->qp[0].scq, &c, 20000), "%s: nothing", r->name);
	cr_expect_eq(c.wr_id, 2, "%s", r->name);
	cr_expect_eq(c.status, r->status, "%s: status %u, want %u", r->name, c.status, r->status);
	pair_expect(p, &p->qp[0].scq, 3, SHM_WC_WR_FLUSH_ERR);
	world_run(&p->w, 100);
	if (r->side && uses_recv(r))
		peer_expect(&p->qp[1].rcq, 9, r->recv_status);
	pair_expect_none(&p->qp[1].rcq);
	cr_expect_eq(pair_state(p, r->side, why), SHM_QPS_ERR, "%s", r->name);
	cr_expect(strstr(why, r->why), "%s: %s", r->name, why);
	cr_expect_eq(pair_state(p, !r->side, why), r->peer_lives ? SHM_QPS_RTS : SHM_QPS_ERR, "%s",
	             r->name);
}

/* @param turns  after which it goes; some of the message has come by then, some not. */
static void
run(const struct row *r, uint32_t turns, const struct reliability_ops *rel)
{
	uint8_t *target, *source, *at_that_moment = malloc(LEN);
	struct local_mr gone[2];
	struct pair p;

	cr_assert(at_that_moment);
	open_gone(&p, gone, rel);
	source = place_of(&p, r, false);
	target = place_of(&p, r, true);
	for (uint32_t i = 0; i < LEN; i++) {
		source[i] = (uint8_t)(i % 100);
		target[i] = 0xff;
	}
	post_three(&p, r, gone);
	world_run(&p.w, turns);
	memcpy(at_that_moment, target, LEN);
	cr_expect_eq(target[0], 0, "%s: nothing came in %u turns", r->name, turns);
	cr_expect_eq(target[LEN - 1], 0xff, "%s: all came in %u turns", r->name, turns);
	cr_assert_eq(mr_destroy(p.w.nic[r->side], gone[r->side].mr), 0);
	if (source == p.buf[r->side] + GONE) /* another's by now */
		memset(source, 0x77, LEN);
	check_ends(&p, r);
	if (target == p.buf[r->side] + GONE)
		cr_expect_eq(memcmp(target, at_that_moment, LEN), 0, "%s: written behind", r->name);
	else
		cr_expect(!memchr(target, 0x77, LEN), "%s: read behind", r->name);
	cr_expect_eq(target[LEN - 1], 0xff, "%s", r->name);
	cr_assert_eq(mr_destroy(p.w.nic[!r->side], gone[!r->side].mr), 0);
	pair_close(&p);
	free(at_that_moment);
}

Test(weft_gone, both_ends_know_why_and_nothing_is_read_or_written_behind)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t turns = 4; turns < 12; turns++) {
			run(&rows[i], turns, NULL);
			run(&rows[i], turns, &sr_ops);
		}
}

/* ---- what is sent again ---- */

/* The first of them. */
static void
lose_naks(void *arg, const struct pkt *pkt)
{
	uint32_t *nb = arg;
	struct wire_pkt w;
	enum wire_bad bad;

	if (wire_parse(pkt->data, pkt->len, &w, &bad) != WIRE_ROCE ||
	    w.opcode != (OP_WEFT | OP_ACK))
		return;
	if (w.syndrome == AETH_NAK_ACCESS && !(*nb)++)
		pkt->data[w.end_off - 1] ^= 1;
}

/* Its request is acknowledged: nothing is outstanding to which the peer would repeat it. */
Test(weft_gone, a_nak_for_a_read_that_is_lost_is_not_retry_exceeded)
{
	uint32_t nb_naks = 0;
	struct world_conf wc = {
		.weft = true, .window_pkts = 16, .tap = lose_naks, .tap_arg = &nb_naks};
	struct local_mr gone[2];
	struct shm_qp_attr attr;
	struct pair p;

	pair_make(&p, &wc, NULL);
	attr = app_attr(&p.qp[0], &p.qp[1]);
	attr.timeout = 10;
	pair_connect(&p, &attr);
	for (int i = 0; i < 2; i++)
		app_reg(&gone[i], &p.w, i, p.buf[i] + GONE, LEN, ALL_ACCESS);
	world_run(&p.w, 20);
	post_three(&p, &rows[5], gone); /* READ's source */
	world_run(&p.w, 6);
	cr_assert_eq(mr_destroy(p.w.nic[1], gone[1].mr), 0);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_REM_ACCESS_ERR);
	cr_expect_gt(nb_naks, 1);
	cr_assert_eq(mr_destroy(p.w.nic[0], gone[0].mr), 0);
	pair_close(&p);
}

Test(weft_gone, a_response_that_is_to_be_sent_again_is_a_fault_of_its_request)
{
	struct local_mr gone;
	const struct wire_pkt *nak;
	struct wire_pkt w;
	struct peer p;

	peer_open_weft(&p, NULL);
	app_reg(&gone, &p.w, 0, p.buf, 4 * M, ALL_ACCESS);
	wp_hand(&p, wp_write(&p, 0, 0, 8 * M, 8, 0));
	w = wp_read(&p, 1, 1, 0, 3 * M, 0);
	w.rkey = gone.mr->key;
	wp_hand(&p, w);
	cr_expect_eq(p.nb_out, 3);
	wp_hand(&p, wp_write(&p, 2, 2, 8 * M, 8, 0)); /* done: the NAK must not include it */
	cr_assert_eq(mr_destroy(p.w.nic[0], gone.mr), 0);
	wp_hand(&p, wp_ack(&p, AETH_NAK_PSN, 1, 0, 2)); /* the second is missing */
	peer_wait(&p, 1000);
	cr_assert_eq(p.nb_out, 1, "%u", p.nb_out);
	nak = wp_expect_ack(&p, AETH_NAK_ACCESS, 3, 1);
	cr_expect_eq(nak->weft.value, (PEER_PSN + 2) & 0xffffff); /* the last that came */
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	cr_expect_eq(pair_events(SHM_EVENT_QP_ACCESS_ERR), 1);
	peer_close(&p);
}

Test(weft_gone, a_request_that_is_to_be_sent_again_is_a_local_error)
{
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_SEND};

	for (size_t i = 0; i < 2; i++) {
		struct shm_send_wqe wqe = {
			.wr_id = 2, .op = ops[i], .flags = SHM_SEND_SIGNALED, .nb_sge = 1};
		struct local_mr gone;
		struct shm_sge sge;
		struct peer p;

		peer_open_weft(&p, NULL);
		app_reg(&gone, &p.w, 0, p.buf, 4 * M, ALL_ACCESS);
		sge = (struct shm_sge){(uintptr_t)p.buf, 3 * M, gone.mr->key};
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		app_post_send(&p.qp, &wqe, &sge);
		peer_post(&p, SHM_WR_WRITE, 3, 8);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 5);
		cr_assert_eq(mr_destroy(p.w.nic[0], gone.mr), 0);
		wp_hand(&p, wp_ack(&p, AETH_NAK_PSN, 2, 1, 3));
		cr_expect_eq(p.nb_out, 0);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 2, SHM_WC_LOC_PROT_ERR);
		peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
		peer_close(&p);
	}
}

Test(weft_gone, the_place_of_an_atomics_answer_may_go_as_well)
{
	struct shm_send_wqe wqe = {
		.wr_id = 1, .op = SHM_WR_FETCH_ADD, .flags = SHM_SEND_SIGNALED, .nb_sge = 1};
	struct local_mr gone;
	struct shm_sge sge;
	struct wire_pkt w;
	struct peer p;
	uint8_t before[8];

	peer_open_weft(&p, NULL);
	app_reg(&gone, &p.w, 0, p.buf, M, ALL_ACCESS);
	sge = (struct shm_sge){(uintptr_t)p.buf, 8, gone.mr->key};
	memcpy(before, p.buf, 8);
	app_post_send(&p.qp, &wqe, &sge);
	peer_go(&p);
	cr_expect_eq(wp_nb(&p, OP_FETCH_ADD), 1);
	cr_assert_eq(mr_destroy(p.w.nic[0], gone.mr), 0);
	w = wp_pkt(&p, OP_ATOMIC_ACK, 0, 0);
	w.weft.req_msn = 0;
	wp_hand(&p, w);
	peer_expect(&p.qp.scq, 1, SHM_WC_LOC_PROT_ERR);
	cr_expect_arr_eq(p.buf, before, 8);
	cr_expect_eq(p.nb_out, 0); /* the peer is not told */
	peer_close(&p);
}

/* Its memory goes in the hold: the next instance would read it. */
Test(weft_gone, a_send_that_was_refused_is_a_local_error_when_its_turn_comes_again)
{
	struct shm_send_wqe wqe = {
		.wr_id = 2, .op = SHM_WR_SEND, .flags = SHM_SEND_SIGNALED, .nb_sge = 1};
	struct local_mr gone;
	struct shm_sge sge;
	struct peer p;

	peer_open_weft(&p, NULL);
	app_reg(&gone, &p.w, 0, p.buf, 4 * M, ALL_ACCESS);
	sge = (struct shm_sge){(uintptr_t)p.buf, 2 * M, gone.mr->key};
	peer_post(&p, SHM_WR_SEND, 1, 8);
	app_post_send(&p.qp, &wqe, &sge);
	peer_post(&p, SHM_WR_WRITE, 3, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 4);
	wp_hand(&p, wp_refusal(&p, 4, 3, 0, 0, 1));
	cr_assert_eq(mr_destroy(p.w.nic[0], gone.mr), 0);
	peer_wait(&p, 20000);
	cr_expect_eq(wp_nb(&p, OP_SEND_ONLY), 1); /* the first one's is still there */
	cr_expect_eq(p.nb_out, 1);
	pair_expect_none(&p.qp.scq);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 5, 4, 4));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_LOC_PROT_ERR);
	peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
	peer_close(&p);
}
