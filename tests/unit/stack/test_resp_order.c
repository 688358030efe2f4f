/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/* PSNs at the responder: gaps, duplicates, replays, RNR, and what is answered in which order. */

static void
recv_one(struct peer *p, uint64_t wr_id)
{
	struct shm_sge sge = {(uintptr_t)p->buf + 4096, 8192, p->mr.mr->key};

	app_post_recv(&p->qp, wr_id, &sge, 1);
}

#define E PEER_PSN

Test(resp_order, one_nak_per_gap)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E + 2, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E + 3, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 1);
	peer_expect_frame(&p, 1, OP_ACK, E + 1, AETH_NAK_PSN, 1);
	peer_put_op(&p, OP_WRITE_ONLY, E + 4, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	/* The gap is filled; the next gap has its own NAK. */
	peer_put_op(&p, OP_WRITE_ONLY, E + 1, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E + 3, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, 2);
	peer_expect_frame(&p, 1, OP_ACK, E + 2, AETH_NAK_PSN, 2);
	cr_expect_eq(p.w.nic[0]->stats.out_of_sequence, 4);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_GAP], 4);
	peer_close(&p);
}

Test(resp_order, the_circle_of_psns_ends_where_it_should)
{
	static const struct {
		int32_t d;
		bool nak; /* else taken for a duplicate, acknowledged again */
	} rows[] = {
		{1, true}, {0x7fffff, true}, {-0x800000, false}, {-0x7fffff, false}, {-1, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;

		peer_open(&p, NULL, NULL);
		peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
		peer_go(&p);
		peer_put_op(&p, OP_WRITE_ONLY, E + 1 + (uint32_t)rows[i].d, 8, false);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 1, "row %zu", i);
		if (rows[i].nak)
			peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_NAK_PSN, 1);
		else
			peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 1);
		cr_expect_eq(p.w.nic[0]->stats.duplicate_request, !rows[i].nak);
		peer_close(&p);
	}
}

Test(resp_order, acks_are_given_when_asked_and_merge_within_a_burst)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	for (uint32_t i = 1; i < 20; i++)
		peer_put_op(&p, OP_WRITE_ONLY, E + i, 8, i % 3 == 0);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_expect_frame(&p, 0, OP_ACK, E + 18, AETH_ACK, 19);
	peer_close(&p);
}

Test(resp_order, acks_do_not_overtake_read_responses)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
	peer_put_op(&p, OP_READ_REQUEST, E + 1, 2 * PEER_MTU + 5, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 4, 8, true);
	peer_put_op(&p, OP_FETCH_ADD, E + 5, 0, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 6, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E + 7, 8, true);
	peer_put_op(&p, OP_READ_REQUEST, E + 8, 4, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 10, 8, true); /* a gap: NAK behind it all */
	peer_go(&p);
	cr_expect_eq(p.nb_out, 9);
	peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 1);
	peer_expect_frame(&p, 1, OP_READ_RESP_FIRST, E + 1, AETH_ACK, 2);
	peer_expect_frame(&p, 2, OP_READ_RESP_MIDDLE, E + 2, 0, 0);
	peer_expect_frame(&p, 3, OP_READ_RESP_LAST, E + 3, AETH_ACK, 2);
	peer_expect_frame(&p, 4, OP_ACK, E + 4, AETH_ACK, 3);
	peer_expect_frame(&p, 5, OP_ATOMIC_ACK, E + 5, AETH_ACK, 4);
	peer_expect_frame(&p, 6, OP_ACK, E + 7, AETH_ACK, 6);
	peer_expect_frame(&p, 7, OP_READ_RESP_ONLY, E + 8, AETH_ACK, 7);
	peer_expect_frame(&p, 8, OP_ACK, E + 9, AETH_NAK_PSN, 7);
	cr_expect_eq(p.out[1].w.payload_len, PEER_MTU);
	cr_expect_eq(p.out[3].w.payload_len, 5);
	peer_close(&p);
}

Test(resp_order, msn_grows_at_the_end_of_each_message)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	recv_one(&p, 1);
	peer_put_op(&p, OP_SEND_FIRST, E, PEER_MTU, true);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 0);
	peer_put_op(&p, OP_SEND_LAST, E + 1, 4, true);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, 1);
	struct wire_pkt w = peer_pkt(&p, OP_WRITE_FIRST, E + 2);
	w.payload_len = PEER_MTU;
	w.dma_len = PEER_MTU + 4;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E + 2, AETH_ACK, 1);
	peer_put_op(&p, OP_WRITE_LAST, E + 3, 4, true);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E + 3, AETH_ACK, 2);
	peer_put_op(&p, OP_READ_REQUEST, E + 4, PEER_MTU + 1, false);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_READ_RESP_FIRST, E + 4, AETH_ACK, 3);
	peer_put_op(&p, OP_CMP_SWAP, E + 6, 0, false);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ATOMIC_ACK, E + 6, AETH_ACK, 4);
	peer_close(&p);
}

Test(resp_order, msn_wraps_with_24_bits)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	p.qp.qp->msn = 0xffffff;
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 0);
	peer_close(&p);
}

Test(resp_order, duplicates_of_sends_and_writes_are_acknowledged_and_not_executed)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	recv_one(&p, 1);
	recv_one(&p, 2);
	peer_put_op(&p, OP_SEND_ONLY, E, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E + 1, 8, true);
	peer_go(&p);
	peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS);
	memset(p.buf, 0x55, 8192);
	peer_put_op(&p, OP_SEND_ONLY, E, 8, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, 2);
	peer_put_op(&p, OP_WRITE_ONLY, E + 1, 8, true);
	peer_put_op(&p, OP_SEND_ONLY, E, 8, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, 2);
	for (uint32_t i = 0; i < 8192; i++)
		cr_assert_eq(p.buf[i], 0x55);
	pair_expect_none(&p.qp.rcq);
	peer_close(&p);
}

/* Soft-RoCE took the ACK for the atomic's answer, after it had sent WRITE, FETCH_ADD, WRITE again.
 */
Test(resp_order, the_ack_of_a_duplicate_names_no_psn_of_a_response)
{
	/* E to E + 8; a READ of 3 packets at E + 2. */
	static const struct {
		uint32_t again, acked;
	} rows[] = {{0, 1}, {1, 1}, {5, 5}, {7, 8}, {8, 8}};
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 1, 8, false);
	peer_put_op(&p, OP_READ_REQUEST, E + 2, 3 * PEER_MTU, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 5, 8, false);
	peer_put_op(&p, OP_FETCH_ADD, E + 6, 0, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 7, 8, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + 8, 8, true);
	peer_go(&p);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		peer_put_op(&p, OP_WRITE_ONLY, E + rows[i].again, 8, true);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1, "row %zu", i);
		peer_expect_frame(&p, 0, OP_ACK, E + rows[i].acked, AETH_ACK, 7);
	}
	/* One that waits with a later PSN is not taken back. */
	peer_put_op(&p, OP_WRITE_ONLY, E + 9, 8, true);
	peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 1);
	peer_expect_frame(&p, 0, OP_ACK, E + 9, AETH_ACK, 8);
	peer_close(&p);
}

/* A READ of 4 MTU and 7 bytes at E, then one more message; ask again from packet first on. */
Test(resp_order, a_read_is_replayed_from_any_of_its_packets)
{
	for (uint32_t first = 0; first < 5; first++) {
		struct peer p;
		struct wire_pkt w;
		uint32_t left = 4 * PEER_MTU + 7 - first * PEER_MTU, at = first * PEER_MTU;

		peer_open(&p, NULL, NULL);
		peer_put_op(&p, OP_READ_REQUEST, E, 4 * PEER_MTU + 7, false);
		peer_put_op(&p, OP_WRITE_ONLY, E + 5, 0, true);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 6);
		w = peer_pkt(&p, OP_READ_REQUEST, E + first);
		w.va += at;
		w.dma_len = left;
		peer_put(&p, &w, NULL);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 5 - first);
		for (uint32_t i = 0; i < p.nb_out; i++) {
			const struct wire_pkt *o = &p.out[i].w;
			bool last = i == p.nb_out - 1;
			uint8_t op = last ? (i ? OP_READ_RESP_LAST : OP_READ_RESP_ONLY)
			                  : (i ? OP_READ_RESP_MIDDLE : OP_READ_RESP_FIRST);

			peer_expect_frame(&p, i, op, E + first + i, AETH_ACK, 1);
			cr_expect_eq(o->payload_len, last ? 7u : PEER_MTU);
			cr_expect_eq(memcmp(o->payload, p.buf + at + i * PEER_MTU, o->payload_len),
			             0);
		}
		cr_expect_eq(p.w.nic[0]->stats.rx_read_requests, 1);
		peer_close(&p);
	}
}

/* One turn of the stack: what leaves is not looked at. */
static void
send_once(struct peer *p)
{
	struct pkt *pkts[STACK_BURST];
	uint32_t n;

	stack_rx(p->w.nic[0], p->in, p->nb_in, p->w.now_ns);
	p->nb_in = 0;
	n = stack_tx(p->w.nic[0], pkts, STACK_BURST, p->w.now_ns);
	cr_assert_eq(n, STACK_BURST);
	pkt_free(pkts, n);
}

Test(resp_order, a_response_on_its_way_goes_back_to_what_is_asked_for_again)
{
	const uint32_t nb = 100, again = 7;
	struct peer p;
	struct wire_pkt w;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_READ_REQUEST, E, nb * PEER_MTU, false);
	peer_put_op(&p, OP_WRITE_ONLY, E + nb, 0, true);
	send_once(&p);
	w = peer_pkt(&p, OP_READ_REQUEST, E + again);
	w.va += again * PEER_MTU;
	w.dma_len = (nb - again) * PEER_MTU;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_assert_eq(p.nb_out, nb - again + 1);
	for (uint32_t i = 0; i < nb - again; i++)
		peer_expect_frame(&p, i,
		                  i == 0                ? OP_READ_RESP_FIRST
		                  : i == nb - again - 1 ? OP_READ_RESP_LAST
		                                        : OP_READ_RESP_MIDDLE,
		                  E + again + i, AETH_ACK, 1);
	peer_expect_frame(&p, nb - again, OP_ACK, E + nb, AETH_ACK, 2);
	peer_close(&p);
}

Test(resp_order, what_is_sent_again_leaves_in_front_of_later_responses)
{
	const uint32_t nb = 100;
	struct peer p;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_READ_REQUEST, E, 8, false);
	peer_put_op(&p, OP_FETCH_ADD, E + 1, 0, false);
	peer_put_op(&p, OP_READ_REQUEST, E + 2, 16, false);
	peer_go(&p);
	peer_put_op(&p, OP_READ_REQUEST, E + 3, nb * PEER_MTU, false);
	send_once(&p);
	/* The first three were lost: all are asked for again, in order. */
	peer_put_op(&p, OP_READ_REQUEST, E, 8, false);
	peer_put_op(&p, OP_FETCH_ADD, E + 1, 0, false);
	peer_put_op(&p, OP_READ_REQUEST, E + 2, 16, false);
	peer_put_op(&p, OP_READ_REQUEST, E + 3, nb * PEER_MTU, false);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 3 + nb);
	peer_expect_frame(&p, 0, OP_READ_RESP_ONLY, E, AETH_ACK, 1);
	peer_expect_frame(&p, 1, OP_ATOMIC_ACK, E + 1, AETH_ACK, 2);
	peer_expect_frame(&p, 2, OP_READ_RESP_ONLY, E + 2, AETH_ACK, 3);
	peer_expect_frame(&p, 3, OP_READ_RESP_FIRST, E + 3, AETH_ACK, 4);
	peer_expect_frame(&p, 2 + nb, OP_READ_RESP_LAST, E + 2 + nb, AETH_ACK, 4);
	peer_close(&p);
}

Test(resp_order, a_repeat_that_asks_for_something_else_is_dropped)
{
	static const struct {
		uint32_t psn, len, key;
		int64_t va;
	} rows[] = {
		{0, 3 * PEER_MTU + 1, 0, 0},        /* longer */
		{1, 2 * PEER_MTU, 0, 0},            /* elsewhere */
		{1, 2 * PEER_MTU + 1, 0, PEER_MTU}, /* longer than what is left */
		{0, 3 * PEER_MTU, 1, 0},            /* another key */
		{0, 3 * PEER_MTU, 0, 8},            /* another address */
		{3, 8, 0, 0},                       /* that PSN was a WRITE */
		{(uint32_t)-1, 8, 0, 0},            /* before the first */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;
		struct wire_pkt w;

		peer_open(&p, NULL, NULL);
		peer_put_op(&p, OP_READ_REQUEST, E, 3 * PEER_MTU, false);
		peer_put_op(&p, OP_WRITE_ONLY, E + 3, 0, true);
		peer_go(&p);
		w = peer_pkt(&p, OP_READ_REQUEST, E + rows[i].psn);
		w.va += (uint64_t)rows[i].va;
		w.rkey ^= rows[i].key;
		w.dma_len = rows[i].len;
		peer_put(&p, &w, NULL);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 0, "row %zu", i);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_STALE], 1, "row %zu", i);
		cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
		peer_close(&p);
	}
}

Test(resp_order, atomics_are_executed_once_and_answered_with_the_first_value)
{
	struct peer p;
	uint64_t v = 100;

	peer_open(&p, NULL, NULL);
	memcpy(p.buf, &v, 8);
	for (uint32_t i = 0; i < 4; i++)
		peer_put_op(&p, OP_FETCH_ADD, E + i, 0, false);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 4);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 4; i++) {
			peer_put_op(&p, OP_FETCH_ADD, E + i, 0, false);
			peer_go(&p);
			cr_assert_eq(p.nb_out, 1);
			peer_expect_frame(&p, 0, OP_ATOMIC_ACK, E + i, AETH_ACK, i + 1);
			cr_expect_eq(p.out[0].w.atomic_orig, 100 + i);
		}
	memcpy(&v, p.buf, 8);
	cr_expect_eq(v, 104);
	/* max_dest_rd_atomic are kept: the fifth pushes out the first. */
	peer_put_op(&p, OP_FETCH_ADD, E + 4, 0, false);
	peer_go(&p);
	peer_put_op(&p, OP_FETCH_ADD, E, 0, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	peer_put_op(&p, OP_FETCH_ADD, E + 1, 0, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	/* A READ where an atomic was is none. */
	peer_put_op(&p, OP_READ_REQUEST, E + 2, 8, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	memcpy(&v, p.buf, 8);
	cr_expect_eq(v, 105);
	peer_close(&p);
}

Test(resp_order, compare_swap_writes_only_on_a_match)
{
	struct peer p;
	uint64_t v = 0x1122334455667788;

	peer_open(&p, NULL, NULL);
	memcpy(p.buf, &v, 8);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire_pkt w = peer_pkt(&p, OP_CMP_SWAP, E + i);

		w.compare = 0x1122334455667788;
		w.swap_add = 0x99;
		peer_put(&p, &w, NULL);
		peer_go(&p);
		cr_assert_eq(p.nb_out, 1);
		cr_expect_eq(p.out[0].w.atomic_orig, i ? 0x99 : 0x1122334455667788);
		memcpy(&v, p.buf, 8);
		cr_expect_eq(v, 0x99);
	}
	peer_close(&p);
}
