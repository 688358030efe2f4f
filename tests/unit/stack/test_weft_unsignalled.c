/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "weft_peer.h"

/*
 * Requests without a completion, and with their data in the queue itself, among others, while the
 * peer refuses: what is sent again has its bytes still, and only who asked is told.
 */

#define INLINE_LEN 40u

/* A request of the list that the tests post: wr_id is its place from 1 on. */
static const struct {
	uint8_t op;
	bool is_signalled, is_inline;
} list[] = {
	{SHM_WR_SEND, false, true},      {SHM_WR_WRITE, false, true},
	{SHM_WR_SEND, true, false},      {SHM_WR_SEND_IMM, true, true},
	{SHM_WR_READ, false, false},     {SHM_WR_WRITE_IMM, false, true},
	{SHM_WR_SEND_INV, false, false}, {SHM_WR_WRITE, true, true},
};
#define NB (sizeof(list) / sizeof(list[0]))

/* The bytes of the request at place i. */
static void
fill(uint8_t *data, uint64_t i)
{
	for (uint32_t k = 0; k < INLINE_LEN; k++)
		data[k] = (uint8_t)(17 * i + k);
}

/* Data that is not in the queue lies at place i of the buffer. */
static void
post(struct app_qp *a, uint8_t *buf, uint32_t key, uint64_t i, struct shm_send_wqe wqe,
     bool is_inline)
{
	struct shm_sge sge = {(uintptr_t)buf + i * 64, INLINE_LEN, key};
	uint8_t data[INLINE_LEN];

	wqe.wr_id = i + 1;
	if (is_inline) {
		fill(data, i);
		app_post_inline(a, wqe, data, INLINE_LEN);
		return;
	}
	fill(buf + i * 64, i);
	wqe.nb_sge = 1;
	app_post_send(a, &wqe, &sge);
}

static void
open_list(struct peer *p, uint8_t rnr_retry, bool sig_all)
{
	struct shm_qp_attr attr = peer_attr();

	attr.rnr_retry = rnr_retry;
	attr.timeout = 14; /* no timeout comes between */
	peer_open_weft(p, &(struct peer_weft){.attr = &attr,
	                                      .app = &(struct app_conf){.sig_all = sig_all}});
	for (uint64_t i = 0; i < NB; i++)
		post(&p->qp, p->buf, p->mr.mr->key, i,
		     (struct shm_send_wqe){.op = list[i].op,
		                           .flags = list[i].is_signalled ? SHM_SEND_SIGNALED : 0,
		                           .remote_addr = 0x100000,
		                           .rkey = 0x77777777},
		     list[i].is_inline);
	peer_go(p);
}

/* Frame i carries the request at this place. */
static void
expect_pkt(const struct peer *p, uint32_t i, uint8_t op, uint32_t n, uint64_t place)
{
	const struct wire_pkt *w = wp_expect_pkt(p, i, op, n, n);
	uint8_t data[INLINE_LEN];

	fill(data, place);
	cr_expect_eq(w->payload_len, INLINE_LEN, "frame %u", i);
	cr_expect_arr_eq(w->payload, data, INLINE_LEN, "frame %u", i);
}

static uint32_t
given_back(const struct peer *p)
{
	return atomic_load(&p->qp.sq.ring->ring.head);
}

Test(weft_unsignalled, what_is_refused_keeps_its_slot_and_is_sent_again_with_its_bytes)
{
	for (int sig_all = 0; sig_all < 2; sig_all++) {
		struct peer p;

		open_list(&p, 7, sig_all);
		cr_assert_eq(p.nb_out, NB);
		expect_pkt(&p, 0, OP_SEND_ONLY, 0, 0);
		wp_hand(&p, wp_refusal(&p, NB, NB, 0, 0, 1));
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(given_back(&p), 0); /* the WRITE behind it is here, and must wait */
		peer_wait(&p, 20000);
		cr_assert_eq(p.nb_out, 5, "%u", p.nb_out);
		expect_pkt(&p, 0, OP_SEND_ONLY, 8, 0);
		expect_pkt(&p, 1, OP_SEND_ONLY, 9, 2);
		expect_pkt(&p, 2, OP_SEND_ONLY_IMM, 10, 3);
		expect_pkt(&p, 3, OP_WRITE_ONLY_IMM, 11, 5);
		expect_pkt(&p, 4, OP_SEND_ONLY_INV, 12, 6);

		/* The first has its receive now; up to the next SEND all is complete. */
		wp_hand(&p, wp_refusal(&p, 13, 13, 2, 10, 1));
		if (sig_all) {
			peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
			peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
		}
		peer_expect(&p.qp.scq, 3, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(given_back(&p), 3);
		peer_wait(&p, 20000);
		cr_assert_eq(p.nb_out, 3, "%u", p.nb_out);
		expect_pkt(&p, 0, OP_SEND_ONLY_IMM, 13, 3);
		expect_pkt(&p, 1, OP_WRITE_ONLY_IMM, 14, 5);
		expect_pkt(&p, 2, OP_SEND_ONLY_INV, 15, 6);

		wp_hand(&p, wp_ack(&p, AETH_ACK, 16, 16, 15));
		peer_expect(&p.qp.scq, 4, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.scq); /* the READ is not answered */
		cr_expect_eq(given_back(&p), 4);
		wp_hand(&p, wp_read_resp(&p, 0, 0, 4, INLINE_LEN, 0));
		for (uint64_t id = 5; id <= NB; id++)
			if (sig_all || id == NB)
				peer_expect(&p.qp.scq, id, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(given_back(&p), NB);
		cr_expect_eq(p.buf[4 * 64 + 5], 5); /* what it READ */
		pair_expect_rest(&p.w, 0, 1);
		peer_close(&p);
	}
}

/* An error is told whether asked for or not, and so is what it flushes. */
Test(weft_unsignalled, a_refusal_too_many_is_told_of_each)
{
	struct peer p;

	open_list(&p, 0, false);
	wp_hand(&p, wp_refusal(&p, NB, NB, 0, 0, 1));
	peer_expect(&p.qp.scq, 1, SHM_WC_RNR_RETRY_EXC_ERR);
	for (uint64_t id = 2; id <= NB; id++)
		peer_expect(&p.qp.scq, id, SHM_WC_WR_FLUSH_ERR);
	pair_expect_none(&p.qp.scq);
	cr_expect_eq(given_back(&p), NB);
	peer_close(&p);
}

/* A short queue whose slots are used again and again, and a receiver that is never ready. */
Test(weft_unsignalled, of_many_through_a_short_queue_each_comes_once_with_its_bytes)
{
	enum { NB_SENDS = 200, DEPTH = 8 };
	struct app_conf ac = {.depth = DEPTH};
	uint64_t nb_posted = 0, nb_recvs = 0, nb_done = 0, next_id = 0;
	uint8_t data[INLINE_LEN];
	struct shm_cqe c;
	struct pair p;

	pair_open(&p, &(struct world_conf){.weft = true}, &ac);
	for (uint32_t turn = 0; nb_done < NB_SENDS; turn++) {
		const struct shm_wq *ring = p.qp[0].sq.ring;

		cr_assert_lt(turn, 200000, "%lu came", (unsigned long)nb_done);
		while (nb_posted < NB_SENDS &&
		       p.qp[0].sq.tail - atomic_load(&ring->ring.head) < DEPTH) {
			struct shm_send_wqe wqe = {.op = nb_posted % 3 ? SHM_WR_SEND
			                                               : SHM_WR_SEND_IMM,
			                           .flags = nb_posted % 5 ? 0 : SHM_SEND_SIGNALED,
			                           .imm = (uint32_t)nb_posted};

			post(&p.qp[0], p.buf[0], p.mr[0].mr->key, nb_posted, wqe, nb_posted % 4);
			nb_posted++;
		}
		if (turn % 37 == 0 && nb_recvs < nb_done + DEPTH) {
			pair_recv(&p, nb_recvs, nb_recvs * 64, INLINE_LEN);
			nb_recvs++;
		}
		world_step(&p.w);
		while (local_poll(&p.qp[0].scq, &c)) {
			cr_expect_eq(c.wr_id, next_id + 1, "%lu", (unsigned long)c.wr_id);
			cr_expect_eq(c.status, SHM_WC_SUCCESS);
			next_id += 5;
		}
		while (local_poll(&p.qp[1].rcq, &c)) {
			cr_expect_eq(c.wr_id, nb_done);
			cr_expect_eq(c.status, SHM_WC_SUCCESS);
			cr_expect_eq(c.imm, nb_done % 3 ? 0 : nb_done);
			fill(data, nb_done);
			cr_expect_arr_eq(p.buf[1] + nb_done * 64, data, INLINE_LEN, "%lu",
			                 (unsigned long)nb_done);
			nb_done++;
		}
	}
	world_run(&p.w, 100);
	cr_expect_geq(p.w.nic[1]->stats.out_of_buffer, NB_SENDS / DEPTH);
	for (int side = 0; side < 2; side++)
		pair_expect_rest(&p.w, side, 1);
	pair_close(&p);
}
