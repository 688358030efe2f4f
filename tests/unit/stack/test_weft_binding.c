/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "sr.h"
#include "weft_peer.h"

/* Which receive a message of the weft framing gets: that of its SSN, in whatever order packets
 * come. */

#define M PEER_MTU
#define ROOM (4 * M)

static struct shm_sge
place(const struct peer *p, uint32_t i)
{
	return (struct shm_sge){(uintptr_t)p->buf + (uint64_t)i * ROOM, ROOM, p->mr.mr->key};
}

static void
post(struct peer *p, uint64_t wr_id)
{
	struct shm_sge sge = place(p, (uint32_t)wr_id);

	app_post_recv(&p->qp, wr_id, &sge, 1);
}

static void
srq_post(struct peer *p, struct app_srq *srq, uint64_t wr_id)
{
	struct shm_sge sge = place(p, (uint32_t)wr_id);

	app_srq_post(srq, wr_id, &sge, 1);
}

/* A peer whose QP has a shared queue: the world must be there before it. */
struct shared {
	struct peer p;
	struct app_srq srq;
	struct app_qp other; /* a second QP of the queue */
};

static void
attach(struct app_qp *a, struct peer *p, struct app_srq *srq)
{
	app_open(a, &p->w, 0, &(struct app_conf){.srq = srq});
}

static void
open_shared(struct shared *s, const struct peer_weft *pw)
{
	struct shm_qp_attr attr = peer_attr();
	struct weft_terms terms = {.tx_first_psn = QP_PSN, .window_pkts = 256, .max_msgs = 256};

	peer_open_weft(&s->p, pw);
	app_close(&s->p.qp);
	app_srq_open(&s->srq, &s->p.w, 0, 64, 4);
	attach(&s->p.qp, &s->p, &s->srq);
	attach(&s->other, &s->p, &s->srq);
	attr.rq_psn = PEER_PSN;
	attr.sq_psn = QP_PSN;
	attr.dest_qpn = PEER_QPN;
	attr.av = (struct shm_av){.sgid_index = 1, .hop_limit = 64};
	memcpy(attr.av.dgid, s->p.w.nic[1]->gids.entry[1].ip.b, 16);
	for (int i = 0; i < 2; i++) {
		struct app_qp *a = i ? &s->other : &s->p.qp;

		attr.dest_qpn = PEER_QPN + (uint32_t)i;
		for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
			cr_assert_eq(app_to(a, &attr, state), 0);
			if (state != SHM_QPS_RTR)
				continue;
			a->qp->framing = QP_PENDING;
			framing_weft(a->qp, &terms, s->p.w.now_ns);
		}
	}
	world_run(&s->p.w, 10);
	world_nb_events = 0;
}

static void
close_shared(struct shared *s)
{
	app_close(&s->other);
	app_close(&s->p.qp);
	app_srq_close(&s->srq);
	app_open(&s->p.qp, &s->p.w, 0, NULL); /* for peer_close */
	peer_close(&s->p);
}

static const struct peer_weft any_order = {.rel = &sr_ops};

Test(weft_binding, each_message_has_the_receive_of_its_ssn_in_whatever_order_it_comes)
{
	static const uint8_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};

	for (size_t o = 0; o < 4; o++) {
		struct peer p;

		peer_open_weft(&p, &any_order);
		for (uint64_t i = 0; i < 5; i++)
			post(&p, i);
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t n = orders[o][i];
			uint8_t payload[8] = {(uint8_t)(0xa0 + n)};
			struct wire_pkt w = wp_send(&p, n, n, n, 8, 0);

			peer_put(&p, &w, payload);
			peer_go(&p);
		}
		for (uint32_t n = 0; n < 4; n++) {
			peer_expect(&p.qp.rcq, n, SHM_WC_SUCCESS);
			cr_expect_eq(p.buf[(size_t)n * ROOM], 0xa0 + n, "order %zu, receive %u", o,
			             n);
		}
		pair_expect_none(&p.qp.rcq);
		peer_close(&p);
	}
}

Test(weft_binding, messages_complete_in_order_after_all_before_them)
{
	struct peer p;

	peer_open_weft(&p, &any_order);
	post(&p, 0);
	post(&p, 1);
	wp_put(&p, wp_send(&p, 3, 2, 1, 8, 0)); /* behind a WRITE that has not come */
	wp_put(&p, wp_send(&p, 0, 0, 0, M + 8, 1));
	peer_go(&p);
	pair_expect_none(&p.qp.rcq);
	wp_hand(&p, wp_send(&p, 0, 0, 0, M + 8, 0));
	peer_expect(&p.qp.rcq, 0, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.rcq);
	wp_hand(&p, wp_write(&p, 2, 1, 8 * ROOM, 8, 0));
	peer_expect(&p.qp.rcq, 1, SHM_WC_SUCCESS);
	peer_close(&p);
}

/* Trace 1 of docs/wire.md's source: the later of two SENDs comes first to a queue of one. */
Test(weft_binding, a_shared_receive_is_reserved_for_the_message_that_comes_later)
{
	struct shared s;
	struct peer *p = &s.p;
	const struct wire_pkt *a;

	open_shared(&s, &any_order);
	srq_post(p, &s.srq, 0);
	wp_hand(p, wp_send(p, 1, 1, 1, 8, 0));
	a = wp_expect_ack(p, AETH_NAK_PSN, 0, 0);
	cr_expect(a->weft.has_rnr);
	cr_expect_eq(a->weft.rnr_ssn, 1);
	cr_expect_eq(a->weft.rnr_msn, 1);
	wp_hand(p, wp_send(p, 0, 0, 0, 8, 0));
	peer_expect(&p->qp.rcq, 0, SHM_WC_SUCCESS);
	pair_expect_none(&p->qp.rcq);
	a = wp_expect_ack(p, AETH_ACK, 2, 2);
	cr_expect(a->weft.has_rnr);
	srq_post(p, &s.srq, 1);
	wp_hand(p, wp_send(p, 1, 1, 1, 8, 0)); /* the old instance again: still refused */
	a = wp_expect_ack(p, AETH_ACK, 2, 2);
	cr_expect(a->weft.has_rnr);
	pair_expect_none(&p->qp.rcq);
	{
		struct wire_pkt w = wp_send(p, 2, 2, 1, 8, 0);

		w.ack_req = true;
		wp_hand(p, w);
	}
	a = wp_expect_ack(p, AETH_ACK, 3, 3);
	cr_expect(!a->weft.has_rnr);
	peer_expect(&p->qp.rcq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p->w.nic[0]->stats.out_of_buffer, 1);
	close_shared(&s);
}

Test(weft_binding, reserved_receives_go_back_in_their_order_when_the_qp_fails)
{
	struct shared s;
	struct peer *p = &s.p;
	struct shm_qp_attr err = {.state = SHM_QPS_ERR};

	open_shared(&s, &any_order);
	for (uint64_t i = 0; i < 5; i++)
		srq_post(p, &s.srq, i);
	wp_put(p, wp_send(p, 0, 0, 0, 8, 0));
	wp_put(p, wp_send(p, 4, 3, 3, 2 * M, 1)); /* reserves 1 and 2, begins 3 */
	peer_go(p);
	peer_expect(&p->qp.rcq, 0, SHM_WC_SUCCESS);
	cr_assert_eq(qp_modify(p->qp.qp, &err, SHM_QP_STATE, p->w.now_ns), 0);
	peer_go(p);
	peer_expect(&p->qp.rcq, 3, SHM_WC_WR_FLUSH_ERR);
	pair_expect_none(&p->qp.rcq);
	for (uint32_t n = 0; n < 3; n++) { /* another QP has them: 1, 2, then 4 */
		struct wire_pkt w = wp_send(p, n, n, n, 8, 0);

		w.dest_qpn = s.other.qp->qpn;
		wp_put(p, w);
	}
	peer_go(p);
	peer_expect(&s.other.rcq, 1, SHM_WC_SUCCESS);
	peer_expect(&s.other.rcq, 2, SHM_WC_SUCCESS);
	peer_expect(&s.other.rcq, 4, SHM_WC_SUCCESS);
	close_shared(&s);
}

Test(weft_binding, reserved_receives_go_back_when_the_qp_is_reset_or_ends)
{
	for (int destroy = 0; destroy < 2; destroy++) {
		struct shared s;
		struct peer *p = &s.p;
		struct shm_qp_attr reset = {.state = SHM_QPS_RESET};

		open_shared(&s, &any_order);
		for (uint64_t i = 0; i < 3; i++)
			srq_post(p, &s.srq, i);
		wp_hand(p, wp_send(p, 3, 2, 2, 2 * M, 1)); /* reserves 0 and 1 */
		if (destroy) {
			app_close(&p->qp);
			attach(&p->qp, p, &s.srq);
		} else {
			cr_assert_eq(qp_modify(p->qp.qp, &reset, SHM_QP_STATE, p->w.now_ns), 0);
		}
		for (uint32_t n = 0; n < 2; n++) {
			struct wire_pkt w = wp_send(p, n, n, n, 8, 0);

			w.dest_qpn = s.other.qp->qpn;
			wp_put(p, w);
		}
		peer_go(p);
		peer_expect(&s.other.rcq, 0, SHM_WC_SUCCESS);
		peer_expect(&s.other.rcq, 1, SHM_WC_SUCCESS);
		close_shared(&s);
	}
}

Test(weft_binding, reserving_counts_for_the_limit_event)
{
	struct shared s;
	struct peer *p = &s.p;

	open_shared(&s, &any_order);
	for (uint64_t i = 0; i < 4; i++)
		srq_post(p, &s.srq, i);
	cr_assert_eq(srq_set_limit(s.srq.srq, 2), 0);
	wp_hand(p, wp_send(p, 1, 1, 1, 8, 0)); /* 2 are left */
	cr_expect_eq(pair_events(SHM_EVENT_SRQ_LIMIT_REACHED), 0);
	wp_hand(p, wp_send(p, 2, 2, 2, 8, 0)); /* 1 */
	cr_expect_eq(pair_events(SHM_EVENT_SRQ_LIMIT_REACHED), 1);
	wp_hand(p, wp_send(p, 3, 3, 3, 8, 0));
	cr_expect_eq(pair_events(SHM_EVENT_SRQ_LIMIT_REACHED), 1);
	close_shared(&s);
}

Test(weft_binding, a_write_with_immediate_takes_its_receive_with_its_last_packet)
{
	struct peer p;
	struct wire_pkt w;
	struct shm_cqe c;

	peer_open_weft(&p, &any_order);
	wp_put(&p, wp_write(&p, 0, 0, 8 * ROOM, 2 * M + 4, 0));
	w = wp_write(&p, 0, 0, 8 * ROOM, 2 * M + 4, 1);
	w.ack_req = true;
	wp_hand(&p, w); /* no receive is posted, and none needed yet */
	cr_expect(!wp_expect_ack(&p, AETH_ACK, 2, 0)->weft.has_rnr);
	post(&p, 0);
	w = wp_write(&p, 0, 0, 8 * ROOM, 2 * M + 4, 2);
	w.opcode = OP_WEFT | OP_WRITE_LAST_IMM;
	w.imm = 0xabcdef01;
	wp_hand(&p, w);
	c = peer_expect(&p.qp.rcq, 0, SHM_WC_SUCCESS);
	cr_expect_eq(c.op, SHM_WC_RECV_WRITE_IMM);
	cr_expect_eq(c.flags, SHM_WC_WITH_IMM);
	cr_expect_eq(c.imm, 0xabcdef01);
	cr_expect_eq(c.byte_len, 2 * M + 4);
	peer_close(&p);
}
