/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/* Answers at the requester: what completes, with which status, and what is sent again. */

#define Q QP_PSN
#define M PEER_MTU

static uint8_t
state(const struct peer *p, char why[256])
{
	struct shm_qp_attr q;

	qp_query(p->qp.qp, &q, why, 256);
	return q.state;
}

static void
put_resp(struct peer *p, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct wire_pkt w = peer_pkt(p, opcode, psn);

	w.payload_len = len;
	w.atomic_orig = 0x0102030405060708;
	peer_put(p, &w, NULL);
}

Test(comp, one_ack_completes_all_before_it_in_order)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	for (uint64_t i = 0; i < 5; i++)
		peer_post(&p, SHM_WR_WRITE, i, 2 * M);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 10);
	peer_put_ack(&p, AETH_ACK, Q + 6, 3); /* the first packet of the fourth */
	peer_go(&p);
	for (uint64_t i = 0; i < 3; i++)
		peer_expect(&p.qp.scq, i, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq);
	peer_put_ack(&p, 0x05, Q + 9, 5); /* with credits, which we do not use */
	peer_go(&p);
	peer_expect(&p.qp.scq, 3, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 4, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(comp, answers_outside_of_what_is_outstanding_are_dropped)
{
	static const struct {
		uint8_t syndrome;
		uint32_t psn;
	} rows[] = {
		{AETH_ACK, Q + 4}, /* not sent yet */
		{AETH_ACK, Q + 0x7fffff},
		{AETH_ACK, Q}, /* acknowledged before */
		{AETH_ACK, Q - 1},
		{AETH_ACK, Q - 0x7fffff},
		{AETH_NAK_PSN, Q + 4},
		{AETH_NAK_PSN, Q},
		{AETH_NAK_ACCESS, Q + 4},
		{AETH_NAK_ACCESS, Q},
		{AETH_RNR | 1, Q + 4},
		{0x45, Q + 1}, /* reserved */
		{0x64, Q + 1}, /* of RD */
		{0x7f, Q + 1},
		{0x85, Q + 1}, /* bit 7 is reserved */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[256];
		struct peer p;

		peer_open(&p, NULL, NULL);
		for (uint64_t k = 0; k < 4; k++)
			peer_post(&p, SHM_WR_WRITE, k, 8);
		peer_go(&p);
		peer_put_ack(&p, AETH_ACK, Q, 1);
		peer_go(&p);
		peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
		peer_put_ack(&p, rows[i].syndrome, rows[i].psn, 1);
		peer_go(&p);
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(p.nb_out, 0, "row %zu", i);
		cr_expect_eq(state(&p, why), SHM_QPS_RTS, "row %zu: %s", i, why);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_STALE], 1, "row %zu", i);
		peer_put_ack(&p, AETH_ACK, Q + 3, 4);
		peer_go(&p);
		for (uint64_t k = 1; k < 4; k++)
			peer_expect(&p.qp.scq, k, SHM_WC_SUCCESS);
		peer_close(&p);
	}
}

Test(comp, each_fatal_nak_has_its_status_and_the_rest_is_flushed)
{
	static const struct {
		uint8_t syndrome, status;
		const char *why;
	} rows[] = {
		{AETH_NAK_INVALID, SHM_WC_REM_INV_REQ_ERR, "refused a request as invalid"},
		{AETH_NAK_ACCESS, SHM_WC_REM_ACCESS_ERR, "refused access"},
		{AETH_NAK_OPERATION, SHM_WC_REM_OP_ERR, "could not carry out"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_cqe c;
		char why[256];
		struct peer p;

		peer_open(&p, NULL, NULL);
		for (uint64_t k = 0; k < 4; k++)
			peer_post(&p, SHM_WR_WRITE, k, 8);
		peer_go(&p);
		peer_put_ack(&p, rows[i].syndrome, Q + 1, 1);
		peer_go(&p);
		peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS); /* a NAK acknowledges what is before */
		c = peer_expect(&p.qp.scq, 1, rows[i].status);
		cr_expect_neq(c.vendor_err, 0);
		peer_expect(&p.qp.scq, 2, SHM_WC_WR_FLUSH_ERR);
		peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(state(&p, why), SHM_QPS_ERR);
		cr_expect(strstr(why, rows[i].why), "%s", why);
		cr_expect(strstr(why, "last word: NAK"), "%s", why);
		/* What is posted later is flushed. */
		peer_post(&p, SHM_WR_WRITE, 9, 8);
		app_post_recv(&p.qp, 10, NULL, 0);
		peer_go(&p);
		peer_expect(&p.qp.scq, 9, SHM_WC_WR_FLUSH_ERR);
		peer_expect(&p.qp.rcq, 10, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(p.nb_out, 0);
		peer_close(&p);
	}
}

Test(comp, a_sequence_nak_sends_again_from_there_once)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	for (uint64_t k = 0; k < 4; k++)
		peer_post(&p, SHM_WR_WRITE, k, 8);
	peer_go(&p);
	peer_put_ack(&p, AETH_NAK_PSN, Q + 2, 2);
	peer_put_ack(&p, AETH_NAK_PSN, Q + 2, 2);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_expect_frame(&p, 0, OP_WRITE_ONLY, Q + 2, 0, 0);
	peer_expect_frame(&p, 1, OP_WRITE_ONLY, Q + 3, 0, 0);
	cr_expect(p.out[1].w.ack_req);
	peer_put_ack(&p, AETH_NAK_PSN, Q + 2, 2); /* an echo */
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq);
	peer_close(&p);
}

Test(comp, an_ack_beyond_an_unanswered_read_sends_the_read_again)
{
	static const uint8_t ops[] = {SHM_WR_READ, SHM_WR_FETCH_ADD, SHM_WR_CMP_SWAP};
	static const uint8_t wire[] = {OP_READ_REQUEST, OP_FETCH_ADD, OP_CMP_SWAP};

	for (size_t i = 0; i < 3; i++) {
		struct peer p;

		peer_open(&p, NULL, NULL);
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		peer_post(&p, ops[i], 2, 8);
		peer_post(&p, SHM_WR_WRITE, 3, 8);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 3);
		peer_put_ack(&p, AETH_ACK, Q + 2, 3);
		peer_go(&p);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.scq);
		cr_expect_eq(p.nb_out, 2);
		peer_expect_frame(&p, 0, wire[i], Q + 1, 0, 0);
		peer_expect_frame(&p, 1, OP_WRITE_ONLY, Q + 2, 0, 0);
		cr_expect_eq(p.w.nic[0]->stats.implied_nak_seq_err, 1);
		put_resp(&p, i ? OP_ATOMIC_ACK : OP_READ_RESP_ONLY, Q + 1, i ? 0 : 8);
		peer_put_ack(&p, AETH_ACK, Q + 2, 3);
		peer_go(&p);
		peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 3, SHM_WC_SUCCESS);
		if (i)
			cr_expect_eq(*(uint64_t *)p.buf, 0x0102030405060708);
		peer_close(&p);
	}
}

Test(comp, a_read_response_acknowledges_what_is_before_the_read)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_post(&p, SHM_WR_READ, 2, 2 * M);
	peer_go(&p);
	put_resp(&p, OP_READ_RESP_FIRST, Q + 1, M);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq);
	put_resp(&p, OP_READ_RESP_LAST, Q + 2, M);
	peer_go(&p);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(comp, a_lost_read_response_is_asked_for_again_from_the_middle)
{
	struct peer p;
	const struct wire_pkt *w;

	peer_open(&p, NULL, NULL);
	peer_post(&p, SHM_WR_READ, 1, 5 * M + 3);
	peer_post(&p, SHM_WR_WRITE, 2, 8);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_READ_REQUEST, Q, 0, 0);
	peer_expect_frame(&p, 1, OP_WRITE_ONLY, Q + 6, 0, 0);
	put_resp(&p, OP_READ_RESP_FIRST, Q, M);
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 1, M);
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 3, M); /* 2 is missing */
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 4, M);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	w = &p.out[0].w;
	peer_expect_frame(&p, 0, OP_READ_REQUEST, Q + 2, 0, 0);
	cr_expect_eq(w->va, 0x100000 + 2 * M);
	cr_expect_eq(w->dma_len, 3 * M + 3);
	cr_expect_eq(w->rkey, 0x77777777);
	peer_expect_frame(&p, 1, OP_WRITE_ONLY, Q + 6, 0, 0);
	cr_expect_eq(p.buf[2 * M], (uint8_t)(2 * M * 7 + (2 * M >> 8)), "placed out of order");
	put_resp(&p, OP_READ_RESP_FIRST, Q + 2, M);
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 3, M);
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 4, M);
	put_resp(&p, OP_READ_RESP_LAST, Q + 5, 3);
	peer_put_ack(&p, AETH_ACK, Q + 6, 2);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	for (uint32_t i = 0; i < 5 * M; i++)
		cr_assert_eq(p.buf[i], (uint8_t)(i % M));
	/* Once more, late: of a READ that is answered. */
	put_resp(&p, OP_READ_RESP_MIDDLE, Q + 3, M);
	peer_go(&p);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_close(&p);
}

Test(comp, a_response_that_does_not_fit_its_request_ends_the_qp)
{
	static const struct {
		uint8_t op; /* posted behind a WRITE */
		uint32_t len;
		uint8_t response;
		uint32_t resp_len;
	} rows[] = {
		{SHM_WR_READ, 8, OP_READ_RESP_ONLY, 7},
		{SHM_WR_READ, 8, OP_READ_RESP_ONLY, 9},
		{SHM_WR_READ, 8, OP_READ_RESP_ONLY, 0},
		{SHM_WR_READ, 0, OP_READ_RESP_ONLY, 1},
		{SHM_WR_READ, 8, OP_READ_RESP_FIRST, 8},
		{SHM_WR_READ, 2 * M, OP_READ_RESP_ONLY, M},
		{SHM_WR_READ, 2 * M, OP_READ_RESP_LAST, M},
		{SHM_WR_READ, 2 * M, OP_READ_RESP_FIRST, M - 4},
		{SHM_WR_READ, 2 * M, OP_READ_RESP_FIRST, M + 4},
		{SHM_WR_READ, 8, OP_ATOMIC_ACK, 0},
		{SHM_WR_FETCH_ADD, 8, OP_READ_RESP_ONLY, 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[256];
		struct peer p;

		peer_open(&p, NULL, NULL);
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		peer_post(&p, rows[i].op, 2, rows[i].len);
		peer_post(&p, SHM_WR_WRITE, 3, 8);
		peer_go(&p);
		memset(p.buf, 0x5a, PAIR_BUF);
		put_resp(&p, rows[i].response, Q + 1, rows[i].resp_len);
		peer_go(&p);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 2, SHM_WC_BAD_RESP_ERR);
		peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(state(&p, why), SHM_QPS_ERR, "row %zu", i);
		cr_expect(strstr(why, "does not fit"), "%s", why);
		for (uint32_t b = 0; b < 4 * M; b++)
			cr_assert_eq(p.buf[b], 0x5a, "row %zu: placed", i);
		peer_close(&p);
	}
}

Test(comp, a_response_into_memory_that_is_gone_is_a_local_error_of_that_request)
{
	static const uint8_t ops[] = {SHM_WR_READ, SHM_WR_FETCH_ADD};

	for (size_t i = 0; i < 2; i++) {
		struct local_mr other;
		struct peer p;
		char why[256];

		peer_open(&p, NULL, NULL);
		app_reg(&other, &p.w, 0, p.buf, 4096, ALL_ACCESS);
		struct shm_sge sge = {(uintptr_t)p.buf, 8, other.mr->key};
		struct shm_send_wqe wqe = {
			.wr_id = 2, .op = ops[i], .flags = SHM_SEND_SIGNALED, .nb_sge = 1};
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		app_post_send(&p.qp, &wqe, &sge);
		peer_go(&p);
		cr_assert_eq(mr_destroy(p.w.nic[0], other.mr), 0);
		put_resp(&p, i ? OP_ATOMIC_ACK : OP_READ_RESP_ONLY, Q + 1, i ? 0 : 8);
		peer_go(&p);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_expect(&p.qp.scq, 2, SHM_WC_LOC_PROT_ERR);
		cr_expect_eq(state(&p, why), SHM_QPS_ERR);
		cr_expect_eq(p.buf[1], 7);
		peer_close(&p);
	}
}
