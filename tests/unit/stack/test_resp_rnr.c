/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "peer.h"

/* A message without a receive waits: the responder's half of RNR. */

static void
recv_one(struct peer *p, uint64_t wr_id)
{
	struct shm_sge sge = {(uintptr_t)p->buf + 4096, 8192, p->mr.mr->key};

	app_post_recv(&p->qp, wr_id, &sge, 1);
}

#define E PEER_PSN

Test(resp_rnr, rnr_refuses_a_message_and_drops_what_follows_until_it_comes_again)
{
	static const uint8_t ops[] = {OP_SEND_ONLY, OP_SEND_FIRST, OP_WRITE_ONLY_IMM};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		uint32_t len = ops[i] == OP_SEND_FIRST ? PEER_MTU : 8;
		struct peer p;

		peer_open(&p, NULL, NULL);
		peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);
		peer_put_op(&p, ops[i], E + 1, len, true);
		peer_put_op(&p, OP_WRITE_ONLY, E + 2, 8, true);
		peer_put_op(&p, OP_WRITE_ONLY, E + 9, 8, true);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 2);
		peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 1);
		peer_expect_frame(&p, 1, OP_ACK, E + 1, AETH_RNR | 12, 1);
		peer_put_op(&p, OP_WRITE_ONLY, E + 2, 8, true); /* still behind it */
		peer_put_op(&p, OP_WRITE_ONLY, E, 8, true);     /* a duplicate */
		peer_go(&p);
		cr_expect_eq(p.nb_out, 1);
		peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 1);
		peer_put_op(&p, ops[i], E + 1, len, true); /* too early */
		peer_go(&p);
		cr_expect_eq(p.nb_out, 1);
		peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_RNR | 12, 1);
		recv_one(&p, 6);
		peer_put_op(&p, ops[i], E + 1, len, true);
		peer_put_op(&p, OP_WRITE_ONLY, E + 3, 8, true); /* a gap again, and told */
		peer_go(&p);
		cr_expect_eq(p.nb_out, 2);
		peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, ops[i] == OP_SEND_FIRST ? 1 : 2);
		peer_expect_frame(&p, 1, OP_ACK, E + 2, AETH_NAK_PSN,
		                  ops[i] == OP_SEND_FIRST ? 1 : 2);
		cr_expect_eq(p.w.nic[0]->stats.out_of_buffer, 2);
		peer_close(&p);
	}
}

Test(resp_rnr, a_write_with_immediate_needs_its_receive_at_its_last_packet_only)
{
	struct peer p;
	struct wire_pkt w;
	struct shm_cqe c;

	peer_open(&p, NULL, NULL);
	w = peer_pkt(&p, OP_WRITE_FIRST, E);
	w.payload_len = PEER_MTU;
	w.dma_len = PEER_MTU + 4;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	peer_put_op(&p, OP_WRITE_LAST_IMM, E + 1, 4, true);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 2);
	peer_expect_frame(&p, 0, OP_ACK, E, AETH_ACK, 0);
	peer_expect_frame(&p, 1, OP_ACK, E + 1, AETH_RNR | 12, 0);
	recv_one(&p, 6);
	w = peer_pkt(&p, OP_WRITE_LAST_IMM, E + 1);
	w.payload_len = 4;
	w.imm = 0xabcdef01;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	peer_expect_frame(&p, 0, OP_ACK, E + 1, AETH_ACK, 1);
	c = peer_expect(&p.qp.rcq, 6, SHM_WC_SUCCESS);
	cr_expect_eq(c.op, SHM_WC_RECV_WRITE_IMM);
	cr_expect_eq(c.flags, SHM_WC_WITH_IMM);
	cr_expect_eq(c.imm, 0xabcdef01);
	cr_expect_eq(c.byte_len, PEER_MTU + 4);
	peer_close(&p);
}
