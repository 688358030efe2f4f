/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"
#include "psn.h"

/*
 * A peer in the weft framing that says what no honest one would, or at a bad moment. Each of these
 * was found by the fuzzer of the stack.
 */

static void
open_weft(struct peer *p, uint8_t nb_slots)
{
	struct weft_terms terms = {
		.tx_first_psn = QP_PSN,
		.window_pkts = 256,
		.max_msgs = 256,
		.tx_slots = nb_slots,
		.rx_slots = nb_slots,
	};

	peer_open(p, NULL, NULL);
	p->qp.qp->framing = QP_PENDING;
	framing_weft(p->qp.qp, &terms, p->w.now_ns);
}

static struct wire_pkt
pkt(const struct peer *p, uint8_t operation, uint32_t nb)
{
	struct wire_pkt w = peer_pkt(p, OP_WEFT | operation, PEER_PSN + nb);

	w.msn = nb;
	return w;
}

static void
put_ack(struct peer *p, uint8_t syndrome, uint32_t cum, uint32_t msn, uint32_t value)
{
	struct wire_pkt w = pkt(p, OP_ACK, 0);

	w.psn = cum & PSN_MASK;
	w.msn = msn;
	w.syndrome = syndrome;
	w.weft.value = value & PSN_MASK;
	peer_put(p, &w, NULL);
}

/* It is of the connection before: nothing of this one can have been acknowledged. */
Test(weft_hostile, an_acknowledgement_does_not_say_what_framing_a_peer_has)
{
	struct peer p;

	peer_open(&p, NULL, NULL);
	p.qp.qp->framing = QP_PENDING;
	put_ack(&p, AETH_ACK, QP_PSN + 1, 1, QP_PSN);
	peer_go(&p);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_RTS);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_FRAMING], 1);
	peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true); /* that does: no auto here */
	peer_go(&p);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_close(&p);
}

/* gbn's own receiver half never says what it asks for here, so its sender half does not listen. */
Test(weft_hostile, an_answer_that_the_engine_does_not_believe_completes_nothing)
{
	struct peer p;
	struct shm_cqe cqe;

	open_weft(&p, 0);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	put_ack(&p, 0x66, QP_PSN + 1, 1, 0);
	peer_go(&p);
	cr_expect_not(local_poll(&p.qp.scq, &cqe));
	peer_wait(&p, 100000); /* the timeout */
	peer_expect_frame(&p, 0, OP_WEFT | OP_WRITE_ONLY, QP_PSN, 0, 0);
	put_ack(&p, AETH_ACK, QP_PSN + 1, 1, QP_PSN);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

Test(weft_hostile, a_fatal_nak_for_what_it_acknowledges_ends_the_qp_behind_it)
{
	struct peer p;

	open_weft(&p, 0);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	put_ack(&p, 0x66, QP_PSN + 1, 1, 0);
	put_ack(&p, AETH_NAK_INVALID, QP_PSN + 1, 0, QP_PSN);
	peer_go(&p);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_close(&p);
}

Test(weft_hostile, a_qp_that_fails_forgets_what_it_has_refused)
{
	struct peer p;
	struct wire_pkt w;
	struct shm_sge sge;

	open_weft(&p, 0);
	sge = (struct shm_sge){(uintptr_t)p.buf, 64, p.mr.mr->key};
	w = pkt(&p, OP_SEND_ONLY, 0);
	w.payload_len = w.weft.msg_len = 8;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 1);
	cr_expect(p.out[0].w.weft.has_rnr);

	/* Both have one now, the first only when it comes again; then all ends. */
	app_post_recv(&p.qp, 7, &sge, 1);
	app_post_recv(&p.qp, 8, &sge, 1);
	w = pkt(&p, OP_SEND_ONLY, 1);
	w.payload_len = w.weft.msg_len = 8;
	w.weft.ssn = 1;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	w = pkt(&p, OP_WRITE_ONLY, 2);
	w.payload_len = w.dma_len = 8;
	w.rkey ^= 1;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_expect_eq(p.qp.qp->state, SHM_QPS_ERR);
	peer_wait(&p, 100000);
	peer_expect(&p.qp.rcq, 7, SHM_WC_WR_FLUSH_ERR);
	peer_close(&p);
}

Test(weft_hostile, telemetry_of_a_message_of_one_packet_is_echoed)
{
	static const uint8_t area[INT_LEN(2)] = {0x10, 0, 0x3a, 0x01, 0x80, 0xf4,
	                                         0x24, 3, 0x0d, 0x40, 1,    0x38};
	struct peer p;
	struct wire_pkt w;
	const struct wire_weft *f;

	open_weft(&p, 2);
	w = pkt(&p, OP_WRITE_ONLY, 0);
	w.payload_len = w.dma_len = 8;
	w.ack_req = true;
	w.weft.nb_slots = 2;
	w.weft.int_area = area;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 1);
	f = &p.out[0].w.weft;
	cr_assert_eq(p.out[0].w.opcode, OP_WEFT | OP_ACK);
	cr_assert_eq(f->nb_slots, 1);
	cr_expect_arr_eq(f->int_area, area, INT_LEN(1));
	peer_close(&p);
}
