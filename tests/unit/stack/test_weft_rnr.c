/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc.h"
#include "sr.h"
#include "weft_peer.h"

/* Receiver not ready in the weft framing, both halves by hand: PSNs go on, the message comes again.
 */

#define M PEER_MTU
#define US 1000

static void
post(struct peer *p, uint64_t wr_id)
{
	struct shm_sge sge = {(uintptr_t)p->buf + 65536, 8 * M, p->mr.mr->key};

	app_post_recv(&p->qp, wr_id, &sge, 1);
}

static void
expect_refused(const struct wire_pkt *a, uint32_t ssn, uint32_t msn)
{
	cr_expect(a->weft.has_rnr);
	cr_expect_eq(a->weft.rnr_ssn, ssn, "SSN %u", a->weft.rnr_ssn);
	cr_expect_eq(a->weft.rnr_msn, msn, "MSN %u", a->weft.rnr_msn);
	cr_expect_eq(a->weft.rnr_code, 12);
}

/* ---- the receiver ---- */

Test(weft_rnr, what_finds_no_receive_is_refused_and_what_is_behind_it_goes_on)
{
	struct peer p;
	struct wire_pkt w;

	peer_open_weft(&p, NULL);
	wp_put(&p, wp_write(&p, 0, 0, 0, 8, 0));
	wp_hand(&p, wp_send(&p, 1, 1, 0, 2 * M, 0));
	expect_refused(wp_expect_ack(&p, AETH_ACK, 2, 1), 0, 1); /* at once */
	wp_hand(&p, wp_send(&p, 1, 1, 0, 2 * M, 1));
	cr_expect_eq(p.nb_out, 0); /* of the same instance: nothing new */
	w = wp_write(&p, 3, 2, 4096, 8, 0);
	w.ack_req = true;
	wp_hand(&p, w);
	expect_refused(wp_expect_ack(&p, AETH_ACK, 4, 3), 0, 1);
	wp_hand(&p, wp_read(&p, 4, 3, 0, 8, 0)); /* before it: it runs */
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 1);
	wp_hand(&p, wp_read(&p, 5, 4, 0, 8, 1)); /* behind it: it waits */
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 0);
	wp_hand(&p, wp_send(&p, 6, 5, 1, 8, 0)); /* the next is refused, the first is said */
	expect_refused(wp_expect_ack(&p, AETH_ACK, 7, 6), 0, 1);
	cr_expect_eq(p.w.nic[0]->stats.out_of_buffer, 2);

	post(&p, 70);
	post(&p, 71);
	wp_put(&p, wp_send(&p, 7, 6, 0, 2 * M, 0));
	w = wp_send(&p, 7, 6, 0, 2 * M, 1);
	w.ack_req = true;
	wp_hand(&p, w);
	peer_expect(&p.qp.rcq, 70, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.rcq);
	expect_refused(wp_expect_ack(&p, AETH_ACK, 9, 7), 1, 5);
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_ONLY), 1);
	w = wp_send(&p, 9, 7, 1, 8, 0);
	w.ack_req = true;
	wp_hand(&p, w);
	cr_expect(!wp_expect_ack(&p, AETH_ACK, 10, 8)->weft.has_rnr);
	peer_expect(&p.qp.rcq, 71, SHM_WC_SUCCESS);
	peer_close(&p);
}

/* In which order its two packets come, whether one is VOID or came too early. */
Test(weft_rnr, an_instance_that_was_refused_or_void_in_part_is_never_delivered)
{
	for (int is_void = 0; is_void < 2; is_void++) {
		struct peer p;

		peer_open_weft(&p, &(struct peer_weft){.rel = &sr_ops});
		if (is_void)
			post(&p, 5);
		wp_hand(&p,
		        is_void ? wp_void(&p, 0, 0, 0, 2 * M, 1) : wp_send(&p, 0, 0, 0, 2 * M, 1));
		if (!is_void)
			post(&p, 5);
		wp_hand(&p, wp_send(&p, 0, 0, 0, 2 * M, 0));
		pair_expect_none(&p.qp.rcq);
		wp_put(&p, wp_send(&p, 2, 1, 0, 2 * M, 0));
		wp_hand(&p, wp_send(&p, 2, 1, 0, 2 * M, 1));
		peer_expect(&p.qp.rcq, 5, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp.rcq);
		peer_close(&p);
	}
}

Test(weft_rnr, a_write_with_immediate_is_refused_and_its_next_instance_delivered)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	wp_hand(&p, wp_write_imm(&p, 0, 0, 0, 8, 1));
	expect_refused(wp_expect_ack(&p, AETH_ACK, 1, 1), 0, 0);
	post(&p, 5);
	wp_hand(&p, wp_write_imm(&p, 1, 1, 0, 8, 2));
	cr_expect_eq(peer_expect(&p.qp.rcq, 5, SHM_WC_SUCCESS).imm, 2);
	peer_close(&p);
}

/* Trace 3 of docs/wire.md: acknowledgements with N are lost; every later one says it again. */
Test(weft_rnr, a_duplicate_of_what_was_refused_is_answered_with_the_refusal)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	wp_put(&p, wp_send(&p, 0, 0, 0, 8, 0));
	wp_hand(&p, wp_send(&p, 1, 1, 1, 8, 0));
	expect_refused(wp_expect_ack(&p, AETH_ACK, 2, 2), 0, 0);
	post(&p, 1);
	post(&p, 2);
	for (int i = 0; i < 3; i++) {
		wp_put(&p, wp_send(&p, 0, 0, 0, 8, 0));
		wp_hand(&p, wp_send(&p, 1, 1, 1, 8, 0));
		expect_refused(wp_expect_ack(&p, AETH_ACK, 2, 2), 0, 0);
		pair_expect_none(&p.qp.rcq);
	}
	peer_close(&p);
}

Test(weft_rnr, what_was_delivered_is_accepted_again_and_not_placed)
{
	struct peer p;
	uint8_t payload[8] = {0x55};
	struct wire_pkt w;

	peer_open_weft(&p, NULL);
	post(&p, 1);
	wp_hand(&p, wp_send(&p, 0, 0, 0, 8, 0));
	peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS);
	p.buf[65536] = 0x77;
	w = wp_send(&p, 1, 1, 0, 8, 0); /* the same SSN in a new message */
	w.ack_req = true;
	peer_put(&p, &w, payload);
	peer_go(&p);
	wp_expect_ack(&p, AETH_ACK, 2, 2);
	cr_expect_eq(p.buf[65536], 0x77);
	pair_expect_none(&p.qp.rcq);
	peer_close(&p);
}

/* ---- the sender ---- */

static void
open_sender(struct peer *p, uint8_t rnr_retry)
{
	struct shm_qp_attr attr = peer_attr();

	attr.rnr_retry = rnr_retry;
	attr.timeout = 14; /* no timeout comes between */
	peer_open_weft(p, &(struct peer_weft){.attr = &attr});
}

Test(weft_rnr, the_hold_is_as_long_as_the_code_says_and_then_the_message_comes_anew)
{
	static const uint8_t codes[] = {1, 5, 12, 20};

	for (size_t i = 0; i < sizeof(codes); i++) {
		struct peer p;
		const struct wire_pkt *w;
		uint64_t ns = rc_rnr_ns(codes[i]);

		open_sender(&p, 7);
		peer_post(&p, SHM_WR_SEND, 1, 2 * M);
		peer_post(&p, SHM_WR_WRITE, 2, 8);
		peer_post(&p, SHM_WR_SEND, 3, 8);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 4);
		wp_expect_pkt(&p, 0, OP_SEND_FIRST, 0, 0);
		wp_expect_pkt(&p, 3, OP_SEND_ONLY, 3, 2);
		wp_hand(&p, wp_refusal(&p, 4, 3, 0, 0, codes[i]));
		cr_expect_eq(p.nb_out, 0);
		pair_expect_none(&p.qp.scq);
		peer_post(&p, SHM_WR_WRITE, 4, 8); /* no new request opens */
		peer_wait(&p, ns - 4 * US);
		cr_expect_eq(p.nb_out, 0, "code %u", codes[i]);
		peer_wait(&p, ns);
		cr_assert_eq(p.nb_out, 4, "code %u: %u", codes[i], p.nb_out);
		w = wp_expect_pkt(&p, 0, OP_SEND_FIRST, 4, 3);
		cr_expect_eq(w->weft.ssn, 0);
		wp_expect_pkt(&p, 1, OP_SEND_LAST, 5, 3);
		w = wp_expect_pkt(&p, 2, OP_SEND_ONLY, 6, 4);
		cr_expect_eq(w->weft.ssn, 1);
		wp_expect_pkt(&p, 3, OP_WRITE_ONLY, 7, 5);
		wp_hand(&p, wp_ack(&p, AETH_ACK, 8, 6, 7));
		for (uint64_t id = 1; id <= 4; id++)
			peer_expect(&p.qp.scq, id, SHM_WC_SUCCESS);
		cr_expect_eq(p.w.nic[0]->stats.rnr_nak_retry_err, 1);
		peer_close(&p);
	}
}

Test(weft_rnr, refusals_are_counted_up_to_rnr_retry)
{
	struct peer p;

	open_sender(&p, 2);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_post(&p, SHM_WR_SEND, 2, 8);
	peer_post(&p, SHM_WR_SEND, 3, 8);
	peer_go(&p);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t msn = 1 + 2 * i;

		wp_hand(&p, wp_refusal(&p, msn + 2, msn + 2, 0, msn, 1));
		/* Said again, it counts once: by each acknowledgement, and by late ones. */
		wp_hand(&p, wp_refusal(&p, msn + 2, msn + 2, 0, msn, 1));
		if (i < 2)
			cr_assert_eq(p.qp.qp->state, SHM_QPS_RTS, "refusal %u", i);
		peer_wait(&p, 50 * US);
		if (i < 2)
			cr_expect_eq(wp_nb(&p, OP_SEND_ONLY), 2);
	}
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_RNR_RETRY_EXC_ERR);
	peer_expect(&p.qp.scq, 3, SHM_WC_WR_FLUSH_ERR);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	cr_expect_eq(p.w.nic[0]->stats.rnr_nak_retry_err, 3);
	peer_close(&p);
}

Test(weft_rnr, each_message_that_gets_its_receive_starts_the_count_anew)
{
	struct peer p;
	uint32_t psn = 2;

	open_sender(&p, 1);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_post(&p, SHM_WR_SEND, 2, 8);
	peer_go(&p);
	wp_hand(&p, wp_refusal(&p, psn, psn, 0, 0, 1));
	peer_wait(&p, 50 * US); /* PSN 2 and 3: SSN 0 and 1 again */
	cr_assert_eq(wp_nb(&p, OP_SEND_ONLY), 2);
	wp_hand(&p, wp_refusal(&p, 4, 4, 1, 3, 1));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_wait(&p, 50 * US);
	cr_assert_eq(wp_nb(&p, OP_SEND_ONLY), 1);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 5, 5, 4));
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_rnr, seven_is_for_ever)
{
	struct peer p;

	open_sender(&p, 7);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_go(&p);
	for (uint32_t i = 0; i < 50; i++) {
		wp_hand(&p, wp_refusal(&p, i + 1, i + 1, 0, i, 1));
		peer_wait(&p, 50 * US);
		cr_assert_eq(wp_nb(&p, OP_SEND_ONLY), 1);
		wp_expect_pkt(&p, 0, OP_SEND_ONLY, i + 1, i + 1);
	}
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	peer_close(&p);
}

Test(weft_rnr, what_is_resent_of_a_refused_send_leaves_as_void)
{
	struct peer p;
	const struct wire_pkt *w;

	open_sender(&p, 7);
	peer_post(&p, SHM_WR_SEND, 1, 2 * M + 8);
	peer_go(&p);
	wp_hand(&p, wp_refusal(&p, 1, 0, 0, 0, 20));
	w = &p.out[0].w;
	wp_hand(&p, wp_ack(&p, AETH_NAK_PSN, 1, 0, 2)); /* 1 is lost: from it on again */
	cr_assert_eq(p.nb_out, 2);
	w = wp_expect_pkt(&p, 0, OP_VOID, 1, 0);
	cr_expect_eq(w->weft.offset, M);
	cr_expect_eq(w->weft.msg_len, 2 * M + 8);
	cr_expect_eq(w->weft.ssn, 0);
	wp_expect_pkt(&p, 1, OP_VOID, 2, 0);
	peer_close(&p);
}

Test(weft_rnr, a_lower_refusal_during_a_hold_sends_from_there)
{
	struct peer p;

	open_sender(&p, 7);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, SHM_WR_SEND, i, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 3);
	wp_hand(&p, wp_refusal(&p, 0, 0, 2, 2, 12));
	wp_hand(&p, wp_refusal(&p, 3, 3, 1, 1, 12));
	peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq);
	peer_wait(&p, 700 * US);
	cr_assert_eq(p.nb_out, 2);
	cr_expect_eq(wp_expect_pkt(&p, 0, OP_SEND_ONLY, 3, 3)->weft.ssn, 1);
	cr_expect_eq(wp_expect_pkt(&p, 1, OP_SEND_ONLY, 4, 4)->weft.ssn, 2);
	cr_expect_eq(p.w.nic[0]->stats.rnr_nak_retry_err, 1);
	peer_close(&p);
}

/* Trace 2 of docs/wire.md: its SENDs are refused, and the peer READs. */
Test(weft_rnr, responses_leave_during_a_hold)
{
	struct peer p;

	open_sender(&p, 7);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_go(&p);
	wp_hand(&p, wp_refusal(&p, 1, 1, 0, 0, 20));
	wp_hand(&p, wp_read(&p, 0, 0, 0, 64 * M, 0));
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_FIRST), 1);
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_MIDDLE), 62);
	cr_expect_eq(wp_nb(&p, OP_READ_RESP_LAST), 1);
	wp_expect_pkt(&p, 0, OP_READ_RESP_FIRST, 1, 1);
	pair_expect_none(&p.qp.scq);
	peer_close(&p);
}

/* ---- both ---- */

Test(weft_rnr, who_reads_before_it_posts_receives_does_not_hang)
{
	struct pair p;
	struct shm_sge s;
	struct shm_send_wqe q;

	pair_open(&p, &(struct world_conf){.weft = true, .window_pkts = 64}, NULL);
	pair_post(&p, SHM_WR_SEND, 1, 0, 0, 3000);
	world_run(&p.w, 20);
	s = (struct shm_sge){(uintptr_t)p.buf[1] + 65536, 512 * M, p.mr[1].mr->key};
	q = (struct shm_send_wqe){.wr_id = 9,
	                          .op = SHM_WR_READ,
	                          .flags = SHM_SEND_SIGNALED,
	                          .nb_sge = 1,
	                          .remote_addr = (uintptr_t)p.buf[0],
	                          .rkey = p.mr[0].mr->key};
	app_post_send(&p.qp[1], &q, &s);
	pair_expect(&p, &p.qp[1].scq, 9, SHM_WC_SUCCESS);
	cr_expect_arr_eq(p.buf[1] + 65536, p.buf[0], 512 * M);
	pair_expect_none(&p.qp[0].scq);
	pair_recv(&p, 2, 0, 4096);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 2, SHM_WC_SUCCESS);
	pair_close(&p);
}
