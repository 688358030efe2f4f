/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "peer.h"

/* Congestion notification, with a congestion control that asks for it. */

static uint32_t nb_heard;

static enum cc_feedback
on_rx(void *state, const struct cc_rx *rx, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return rx->ce ? CC_FEEDBACK_CNP : CC_FEEDBACK_NONE;
}

static void
on_cnp(void *state, struct cc_nic *nic, uint64_t now_ns)
{
	(void)state;
	(void)nic;
	(void)now_ns;
	nb_heard++;
}

static void
open_noticing(struct peer *p, struct cc_ops *ops, uint8_t type)
{
	struct app_conf ac = {.type = type};

	peer_open(p, &ac, NULL);
	*ops = *p->qp.qp->cc_ops;
	ops->on_rx = on_rx;
	ops->on_cnp = on_cnp;
	p->qp.qp->cc_ops = ops;
}

/* As a switch that is full marks it: ToS is not covered by the ICRC, the IP checksum is. */
static void
mark(struct pkt *pkt)
{
	uint32_t sum = 0;

	pkt->data[15] |= 3;
	pkt->data[24] = pkt->data[25] = 0;
	for (int i = 14; i < 34; i += 2)
		sum += (uint32_t)pkt->data[i] << 8 | pkt->data[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	pkt->data[24] = (uint8_t)(sum >> 8);
	pkt->data[25] = (uint8_t)sum;
}

Test(cnp, marked_packets_are_answered_by_one_in_front_of_the_acknowledgements)
{
	struct cc_ops ops;
	struct peer p;

	open_noticing(&p, &ops, SHM_QPT_RC);
	for (uint32_t i = 0; i < 3; i++) {
		peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN + i, 8, true);
		if (i < 2)
			mark(p.in[i]);
	}
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	cr_expect_eq(p.out[0].w.opcode, OP_CNP);
	cr_expect(p.out[0].w.becn && !p.out[0].w.fecn && !p.out[0].w.ack_req);
	cr_expect_eq(p.out[0].w.dest_qpn, PEER_QPN);
	cr_expect_eq(p.out[0].w.psn, 0);
	cr_expect_eq(p.out[0].w.end_off, 14 + 60); /* IP length 60, as vendors have it */
	peer_expect_frame(&p, 1, OP_ACK, PEER_PSN + 2, AETH_ACK, 3);
	cr_expect_eq(p.w.nic[0]->stats.np_cnp_sent, 1);
	cr_expect_eq(p.w.nic[0]->stats.np_ecn_marked_roce_packets, 2);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN + 3, 8, false);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	peer_close(&p);
}

Test(cnp, is_heard_by_the_congestion_control_and_by_nothing_else)
{
	struct cc_ops ops;
	struct wire_pkt w;
	struct peer p;

	open_noticing(&p, &ops, SHM_QPT_RC);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	w = peer_pkt(&p, OP_CNP, 0);
	w.becn = true;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_expect_eq(nb_heard, 1);
	cr_expect_eq(p.w.nic[0]->stats.rp_cnp_handled, 1);
	cr_expect_eq(p.nb_out, 0);
	pair_expect_none(&p.qp.scq);
	peer_put_ack(&p, AETH_ACK, QP_PSN, 1);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(cnp, is_not_sent_for_datagrams_which_have_no_peer)
{
	struct cc_ops ops;
	struct peer p;

	open_noticing(&p, &ops, SHM_QPT_UD);
	peer_put_op(&p, OP_UD | OP_SEND_ONLY, 0, 8, false);
	mark(p.in[0]);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(p.w.nic[0]->stats.np_ecn_marked_roce_packets, 1);
	peer_close(&p);
}
