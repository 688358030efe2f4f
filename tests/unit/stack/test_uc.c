/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/* Unreliable connections: what a gap costs, and what goes on after it. */

static const struct app_conf uc = {.type = SHM_QPT_UC};

#define E PEER_PSN
#define M PEER_MTU

static void
put(struct peer *p, uint8_t op, uint32_t psn, uint32_t len, uint32_t dma_len)
{
	struct wire_pkt w = peer_pkt(p, OP_UC | op, psn);

	w.payload_len = len;
	w.dma_len = dma_len;
	w.imm = 0xfeed;
	peer_put(p, &w, NULL);
}

static void
recv_one(struct peer *p, uint64_t wr_id, uint32_t len)
{
	struct shm_sge sge = {(uintptr_t)p->buf + 8192, len, p->mr.mr->key};

	app_post_recv(&p->qp, wr_id, &sge, 1);
}

struct step {
	uint8_t op, psn;
	uint32_t len, dma_len;
};

Test(uc, a_gap_or_an_odd_packet_drops_its_message_and_the_next_first_goes_on)
{
	static const struct {
		const char *name;
		struct step steps[5]; /* then a whole SEND */
		enum drop drop;
		uint32_t nb_drops;
	} rows[] = {
		{"MIDDLE lost", {{OP_SEND_FIRST, 0, M}, {OP_SEND_LAST, 2, 8}}, DROP_GAP, 1},
		{"FIRST lost",
	         {{OP_SEND_MIDDLE, 1, M}, {OP_SEND_MIDDLE, 2, M}, {OP_SEND_LAST, 3, 8}},
	         DROP_GAP,
	         3},
		{"LAST lost", {{OP_SEND_FIRST, 0, M}, {OP_SEND_MIDDLE, 1, M}}, DROP_GAP, 0},
		{"doubled",
	         {{OP_SEND_FIRST, 0, M}, {OP_SEND_FIRST, 0, M}, {OP_SEND_LAST, 1, 8}},
	         DROP_GAP,
	         0},
		{"MIDDLE first", {{OP_SEND_MIDDLE, 0, M}, {OP_SEND_LAST, 1, 8}}, DROP_SEQUENCE, 2},
		{"WRITE in a SEND",
	         {{OP_SEND_FIRST, 0, M}, {OP_WRITE_LAST, 1, 8}},
	         DROP_SEQUENCE,
	         1},
		{"short FIRST", {{OP_SEND_FIRST, 0, M - 4}, {OP_SEND_LAST, 1, 8}}, DROP_LENGTH, 2},
		{"long ONLY", {{OP_SEND_ONLY, 0, M + 4}}, DROP_LENGTH, 1},
		{"WRITE, LAST too long",
	         {{OP_WRITE_FIRST, 0, M, M + 4}, {OP_WRITE_LAST, 1, 8}},
	         DROP_LENGTH,
	         1},
		{"WRITE, out of bounds",
	         {{OP_WRITE_FIRST, 0, M, PAIR_BUF + 1}, {OP_WRITE_LAST, 1, 8}},
	         DROP_MEMORY,
	         2},
		{"WRITE beyond 2^31", {{OP_WRITE_FIRST, 0, M, 0x80000001}}, DROP_LENGTH, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t psn = 0;
		struct peer p;

		peer_open(&p, &uc, NULL);
		recv_one(&p, 1, 4096);
		recv_one(&p, 2, 4096);
		for (int k = 0; k < 5 && rows[i].steps[k].len; k++) {
			const struct step *s = &rows[i].steps[k];

			put(&p, s->op, E + s->psn, s->len, s->dma_len);
			psn = s->psn;
		}
		if (rows[i].drop == DROP_GAP && !rows[i].nb_drops && psn == 1 &&
		    rows[i].steps[1].op == OP_SEND_MIDDLE)
			psn++;
		peer_go(&p);
		if (!strcmp(rows[i].name, "doubled")) {
			peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS); /* the second FIRST began it */
		} else {
			pair_expect_none(&p.qp.rcq);
			cr_expect_eq(p.w.nic[0]->stats.drop[rows[i].drop], rows[i].nb_drops,
			             "%s: %lu drops", rows[i].name,
			             (unsigned long)p.w.nic[0]->stats.drop[rows[i].drop]);
		}
		put(&p, OP_SEND_FIRST, E + psn + 1, M, 0);
		put(&p, OP_SEND_LAST_IMM, E + psn + 2, 8, 0);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 0);
		/* The receive of the dropped message serves this one. */
		struct shm_cqe c = peer_expect(&p.qp.rcq, strcmp(rows[i].name, "doubled") ? 1 : 2,
		                               SHM_WC_SUCCESS);
		cr_expect_eq(c.byte_len, M + 8, "%s", rows[i].name);
		cr_expect_eq(c.imm, 0xfeed);
		cr_expect_eq(p.buf[8192], 0);
		cr_expect_eq(p.buf[8192 + M + 7], 7);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
		peer_close(&p);
	}
}

Test(uc, without_a_receive_a_message_is_dropped_and_no_one_is_told)
{
	struct peer p;

	peer_open(&p, &uc, NULL);
	put(&p, OP_SEND_ONLY, E, 8, 0);
	put(&p, OP_SEND_FIRST, E + 1, M, 0);
	put(&p, OP_SEND_LAST, E + 2, 8, 0);
	put(&p, OP_WRITE_ONLY_IMM, E + 3, 8, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_NO_RECV], 4);
	cr_expect_eq(p.w.nic[0]->stats.out_of_buffer, 3);
	recv_one(&p, 3, 100);
	put(&p, OP_WRITE_ONLY_IMM, E + 4, 8, 8);
	peer_go(&p);
	cr_expect_eq(peer_expect(&p.qp.rcq, 3, SHM_WC_SUCCESS).op, SHM_WC_RECV_WRITE_IMM);
	peer_close(&p);
}

Test(uc, a_message_longer_than_its_receive_ends_the_qp)
{
	struct peer p;

	peer_open(&p, &uc, NULL);
	recv_one(&p, 1, M);
	recv_one(&p, 2, M);
	put(&p, OP_SEND_FIRST, E, M, 0);
	put(&p, OP_SEND_LAST, E + 1, 1, 0);
	peer_go(&p);
	peer_expect(&p.qp.rcq, 1, SHM_WC_LOC_LEN_ERR);
	peer_expect(&p.qp.rcq, 2, SHM_WC_WR_FLUSH_ERR);
	cr_expect_eq(p.nb_out, 0);
	peer_close(&p);
}

Test(uc, writes_place_their_bytes_and_psns_wrap)
{
	struct peer p;

	peer_open(&p, &uc, NULL);
	put(&p, OP_WRITE_FIRST, E, M, 3 * M);
	put(&p, OP_WRITE_MIDDLE, E + 1, M, 0);
	put(&p, OP_WRITE_LAST, E + 2, M, 0);
	put(&p, OP_WRITE_ONLY, E + 3, 0, 0);
	peer_go(&p);
	for (uint32_t i = 0; i < 3 * M; i++)
		cr_assert_eq(p.buf[i], (uint8_t)(i % M));
	cr_expect_eq(p.buf[3 * M], (uint8_t)(3 * M * 7 + (3 * M >> 8)));
	peer_close(&p);
}

Test(uc, sends_complete_when_sent)
{
	struct peer p;

	peer_open(&p, &uc, NULL);
	peer_post(&p, SHM_WR_SEND, 1, 2 * M + 1);
	peer_post(&p, SHM_WR_WRITE, 2, 8);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 4);
	peer_expect_frame(&p, 0, OP_UC | OP_SEND_FIRST, QP_PSN, 0, 0);
	peer_expect_frame(&p, 3, OP_UC | OP_WRITE_ONLY, QP_PSN + 3, 0, 0);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect(!p.out[i].w.ack_req);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	peer_close(&p);
}
