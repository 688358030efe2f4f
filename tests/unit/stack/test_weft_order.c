/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "sr.h"
#include "weft_peer.h"

/* In which order the peer's requests take effect, and own ones complete, in the weft framing. */

#define M PEER_MTU

static uint64_t
u64_at(const struct peer *p, uint64_t off)
{
	uint64_t v;

	memcpy(&v, p->buf + off, 8);
	return v;
}

static const struct wire_pkt *
first_of(const struct peer *p, uint8_t op)
{
	for (uint32_t i = 0; i < p->nb_out; i++)
		if (p->out[i].w.opcode == (OP_WEFT | op))
			return &p->out[i].w;
	cr_assert(false, "no packet of opcode 0x%x", op);
	return NULL;
}

Test(weft_order, a_read_sees_every_earlier_write)
{
	struct peer p;
	static const uint8_t bytes[8] = {9, 8, 7, 6, 5, 4, 3, 2};
	struct wire_pkt w;

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	wp_hand(&p, wp_read(&p, 1, 1, 64, 8, 0));
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 0);
	w = wp_write(&p, 0, 0, 64, 8, 0);
	peer_put(&p, &w, bytes);
	peer_go(&p);
	w = *first_of(&p, OP_READ_RESP_ONLY);
	cr_expect_eq(w.weft.req_msn, 1);
	cr_expect_arr_eq(w.payload, bytes, 8);
	peer_close(&p);
}

/* Trace 5 of docs/wire.md. */
Test(weft_order, an_atomic_runs_once_however_often_it_comes)
{
	struct peer p;
	uint64_t before;

	peer_open_weft(&p, NULL);
	before = u64_at(&p, 64);
	for (int i = 0; i < 3; i++) {
		wp_hand(&p, wp_add(&p, 0, 0, 64, 0));
		cr_expect_eq(wp_nb(&p, OP_ATOMIC_ACK), i == 0);
		if (i) /* a duplicate: acknowledged at once, not answered again */
			wp_expect_ack(&p, AETH_ACK, 1, 1);
		else
			cr_expect_eq(first_of(&p, OP_ATOMIC_ACK)->atomic_orig, before);
	}
	cr_expect_eq(u64_at(&p, 64), before + 1);
	peer_wait(&p, 70000); /* the response is repeated until it is acknowledged */
	cr_expect_geq(wp_nb(&p, OP_ATOMIC_ACK), 1);
	cr_expect_eq(first_of(&p, OP_ATOMIC_ACK)->atomic_orig, before);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	peer_wait(&p, 200000);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(u64_at(&p, 64), before + 1);
	peer_close(&p);
}

Test(weft_order, atomics_run_in_the_order_in_which_they_were_posted)
{
	struct peer p;
	uint64_t before;

	peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
	before = u64_at(&p, 64);
	wp_put(&p, wp_add(&p, 2, 2, 64, 0));
	wp_put(&p, wp_add(&p, 1, 1, 64, 0));
	peer_go(&p);
	cr_expect_eq(u64_at(&p, 64), before);
	wp_hand(&p, wp_add(&p, 0, 0, 64, 0));
	cr_expect_eq(u64_at(&p, 64), before + 3);
	cr_assert_eq(wp_nb(&p, OP_ATOMIC_ACK), 3);
	for (uint32_t i = 0, n = 0; i < p.nb_out; i++) {
		const struct wire_pkt *w = &p.out[i].w;

		if (w->opcode != (OP_WEFT | OP_ATOMIC_ACK))
			continue;
		cr_expect_eq(w->weft.req_msn, n);
		cr_expect_eq(w->atomic_orig, before + n);
		n++;
	}
	peer_close(&p);
}

Test(weft_order, a_read_waits_for_sends_before_it_and_a_send_for_reads_before_it)
{
	struct peer p;
	struct shm_sge sge;

	peer_open_weft(&p, NULL);
	wp_put(&p, wp_send(&p, 0, 0, 0, 8, 0));  /* refused */
	wp_put(&p, wp_add(&p, 1, 1, 64, 1));     /* behind it */
	wp_hand(&p, wp_send(&p, 2, 2, 1, 8, 0)); /* refused too */
	cr_expect_eq(wp_nb(&p, OP_ATOMIC_ACK), 0);
	for (uint64_t i = 0; i < 2; i++) {
		sge = (struct shm_sge){(uintptr_t)p.buf + 8192, 64, p.mr.mr->key};
		app_post_recv(&p.qp, i, &sge, 1);
	}
	wp_hand(&p, wp_send(&p, 3, 3, 0, 8, 0));
	peer_expect(&p.qp.rcq, 0, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.rcq);
	cr_expect_eq(wp_nb(&p, OP_ATOMIC_ACK), 1);
	wp_hand(&p, wp_send(&p, 4, 4, 1, 8, 0));
	peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_order, one_read_too_many_ends_the_qp)
{
	struct peer p;
	struct shm_qp_attr attr = peer_attr();

	attr.max_dest_rd_atomic = 2;
	peer_open_weft(&p, &(struct peer_weft){.attr = &attr});
	for (uint32_t i = 0; i < 3; i++)
		wp_put(&p, wp_read(&p, i, i, 0, 8, 0));
	peer_go(&p);
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 2);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS); /* the NAK overtakes no response */
	wp_hand(&p, wp_ack(&p, AETH_ACK, 2, 2, 1));
	wp_expect_ack(&p, AETH_NAK_INVALID, 3, 2);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_close(&p);
}

/* The response was on its way when the next READ left: its order word says that it came. */
Test(weft_order, a_read_that_says_it_has_the_response_needs_no_acknowledgement)
{
	struct peer p;
	struct shm_qp_attr attr = peer_attr();

	attr.max_dest_rd_atomic = 1;
	peer_open_weft(&p, &(struct peer_weft){.attr = &attr});
	for (uint32_t i = 0; i < 5; i++) {
		struct wire_pkt w = wp_read(&p, i, i, 0, 8, 0);

		w.weft.opp_emsn = i;
		wp_hand(&p, w);
		cr_assert_eq(wp_nb(&p, OP_READ_RESP_ONLY), 1, "READ %u", i);
	}
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_close(&p);
}

/* ---- the sender ---- */

static void
post_flags(struct peer *p, uint8_t op, uint64_t wr_id, uint32_t len, uint32_t flags)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = op,
	                           .flags = SHM_SEND_SIGNALED | (uint8_t)flags,
	                           .nb_sge = 1,
	                           .remote_addr = 0x100000,
	                           .rkey = 0x77777777};
	struct shm_sge sge = {(uintptr_t)p->buf, len, p->mr.mr->key};

	app_post_send(&p->qp, &wqe, &sge);
}

Test(weft_order, a_fence_waits_for_reads_before_it)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	post_flags(&p, SHM_WR_READ, 1, 8, 0);
	post_flags(&p, SHM_WR_WRITE, 2, 8, SHM_SEND_FENCE);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 1);
	wp_expect_pkt(&p, 0, OP_READ_REQUEST, 0, 0);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	cr_expect_eq(p.nb_out, 0); /* acknowledged is not answered */
	pair_expect_none(&p.qp.scq);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 8, 0));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(wp_nb(&p, OP_WRITE_ONLY), 1);
	peer_close(&p);
}

Test(weft_order, order_words_say_the_next_ssn_and_what_came_of_the_peers_stream)
{
	struct peer p;
	const struct wire_pkt *w;

	peer_open_weft(&p, NULL);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
	post_flags(&p, SHM_WR_SEND, 1, 8, 0);
	post_flags(&p, SHM_WR_READ, 2, 8, 0);
	post_flags(&p, SHM_WR_SEND, 3, 8, 0);
	post_flags(&p, SHM_WR_FETCH_ADD, 4, 8, 0);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 4);
	cr_expect_eq(wp_expect_pkt(&p, 0, OP_SEND_ONLY, 0, 0)->weft.ssn, 0);
	w = wp_expect_pkt(&p, 1, OP_READ_REQUEST, 1, 1);
	cr_expect_eq(w->weft.ssn, 1);
	cr_expect_eq(w->weft.opp_emsn, 1);
	cr_expect_eq(wp_expect_pkt(&p, 2, OP_SEND_ONLY, 2, 2)->weft.ssn, 1);
	w = wp_expect_pkt(&p, 3, OP_FETCH_ADD, 3, 3);
	cr_expect_eq(w->weft.ssn, 2);
	cr_expect_eq(w->weft.opp_emsn, 1);
	peer_close(&p);
}

Test(weft_order, completions_come_in_the_order_of_posting_whatever_is_known_first)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	post_flags(&p, SHM_WR_READ, 1, 2 * M, 0);
	post_flags(&p, SHM_WR_WRITE, 2, 8, 0);
	post_flags(&p, SHM_WR_READ, 3, 0, 0);
	post_flags(&p, SHM_WR_SEND, 4, 0, 0);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 4);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 4, 4, 3));
	pair_expect_none(&p.qp.scq);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 2 * M, 0));
	pair_expect_none(&p.qp.scq);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 0, 2 * M, 1));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq);
	wp_hand(&p, wp_read_resp(&p, 2, 1, 2, 0, 0));
	peer_expect(&p.qp.scq, 3, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 4, SHM_WC_SUCCESS);
	for (uint32_t i = 0; i < 2 * M; i++)
		cr_assert_eq(p.buf[i], (uint8_t)(i % M), "byte %u", i);
	peer_close(&p);
}

Test(weft_order, an_answer_completes_its_request_without_an_acknowledgement)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	post_flags(&p, SHM_WR_WRITE, 1, 8, 0);
	post_flags(&p, SHM_WR_READ, 2, 8, 0);
	peer_go(&p);
	wp_hand(&p, wp_read_resp(&p, 0, 0, 1, 8, 0));
	pair_expect_none(&p.qp.scq); /* the WRITE is not known to be there */
	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	peer_wait(&p, 70000); /* the request's PSN is still owed, and carries nothing */
	cr_expect_geq(p.nb_out, 1);
	wp_expect_pkt(&p, 0, OP_VOID, 1, 1);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 2, 2, 1));
	peer_wait(&p, 200000);
	cr_expect_eq(p.nb_out, 0);
	peer_close(&p);
}
