/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rc.h"
#include "sr.h"
#include "weft_peer.h"

/* Two traces of the weft framing's design, frame by frame: an end's refusal that is lost on its
 * way, and the numbers of messages across their wrap. */

#define M PEER_MTU
#define TIMEOUT_NS (UINT64_C(4096) << 4)
#define CODE 12 /* 0.64 ms */

/* ---- refusals that are lost ---- */

/* Frame i is the SEND of this SSN, in this try of it. */
static void
expect_send(const struct peer *p, uint32_t i, uint32_t psn, uint32_t ssn, bool again)
{
	const struct wire_pkt *w = wp_expect_pkt(p, i, OP_SEND_ONLY, psn, psn);

	cr_expect_eq(w->weft.ssn, ssn, "frame %u: SSN %u", i, w->weft.ssn);
	cr_expect_eq(w->weft.offset, 0);
	cr_expect_eq(w->weft.msg_len, 8 + 8 * ssn);
	cr_expect_eq(w->payload_len, 8 + 8 * ssn);
	cr_expect_eq(w->weft.retransmit, again, "frame %u", i);
	cr_expect_eq(memcmp(w->payload, p->buf, w->payload_len), 0, "frame %u", i);
}

static void
expect_no_completion(struct peer *p)
{
	pair_expect_none(&p->qp.scq);
	cr_expect_eq(p->qp.qp->state, SHM_QPS_RTS);
	cr_expect_eq(atomic_load(&p->qp.sq.ring->ring.head), 0);
}

/* The sender's side: both SENDs are refused, and all acknowledgements that say so are lost. */
Test(weft_trace, a_sender_repeats_what_was_refused_until_it_hears_so_and_completes_nothing)
{
	struct peer p;
	struct wire_pkt n;

	peer_open_weft(&p, NULL);
	peer_post(&p, SHM_WR_SEND, 1, 8);
	peer_post(&p, SHM_WR_SEND, 2, 16);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 2);
	expect_send(&p, 0, 0, 0, false);
	expect_send(&p, 1, 1, 1, false);
	for (int i = 0; i < 2; i++) { /* a timeout each: the same PSNs, as duplicates */
		peer_wait(&p, TIMEOUT_NS + 10000);
		cr_assert_eq(p.nb_out, 2, "timeout %d: %u", i, p.nb_out);
		expect_send(&p, 0, 0, 0, true);
		expect_send(&p, 1, 1, 1, true);
		expect_no_completion(&p);
	}
	/* The answer to the last duplicate gets through. */
	n = wp_refusal(&p, 2, 2, 0, 0, CODE);
	wp_hand(&p, n);
	cr_expect_eq(p.nb_out, 0);
	expect_no_completion(&p);
	peer_wait(&p, rc_rnr_ns(CODE) - 10000);
	cr_expect_eq(p.nb_out, 0, "%u in the hold", p.nb_out); /* nothing is outstanding either */
	expect_no_completion(&p);
	peer_wait(&p, 20000);
	cr_assert_eq(p.nb_out, 2);
	expect_send(&p, 0, 2, 0, false); /* new PSNs and MSNs, the same SSNs */
	expect_send(&p, 1, 3, 1, false);
	/* What was under way says the old refusal, late: it is of an earlier instance. */
	wp_hand(&p, n);
	cr_expect_eq(p.nb_out, 0);
	expect_no_completion(&p);
	wp_hand(&p, wp_ack(&p, AETH_ACK, 4, 4, 3));
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 2, SHM_WC_SUCCESS);
	cr_expect_eq(p.qp.qp->counts.rnr_naks, 1);
	peer_wait(&p, 10 * TIMEOUT_NS);
	cr_expect_eq(p.nb_out, 0);
	pair_expect_rest(&p.w, 0, 1);
	peer_close(&p);
}

/* The wire of both ends: acknowledgements to side 0 are lost for a while. */
struct wire {
	const struct pair *p;
	uint64_t until_ns;
	uint32_t nb_lost, nb_refusals, nb_dups;
};

static void
on_frame(void *arg, const struct pkt *pkt)
{
	struct wire *v = arg;
	struct wire_pkt w;
	enum wire_bad bad;

	if (wire_parse(pkt->data, pkt->len, &w, &bad) != WIRE_ROCE)
		return;
	v->nb_dups += w.opcode == (OP_WEFT | OP_SEND_ONLY) && w.weft.retransmit;
	if (w.opcode != (OP_WEFT | OP_ACK))
		return;
	cr_expect(w.weft.has_rnr || v->nb_refusals, "an acknowledgement without the refusal");
	if (v->p->w.now_ns >= v->until_ns) {
		v->nb_refusals += w.weft.has_rnr;
		return;
	}
	v->nb_lost++;
	pkt->data[w.end_off - 1] ^= 1;
}

Test(weft_trace, both_ends_agree_on_it)
{
	static const struct reliability_ops *const rels[] = {NULL, &sr_ops};

	for (int i = 0; i < 2; i++) {
		struct wire wire = {0};
		struct shm_qp_attr attr = peer_attr();
		struct pair p;

		wire.p = &p;
		pair_make(&p,
		          &(struct world_conf){
				  .weft = true, .rel = rels[i], .tap = on_frame, .tap_arg = &wire},
		          NULL);
		pair_connect(&p, &attr);
		world_run(&p.w, 20); /* the MACs */
		wire.until_ns = p.w.now_ns + 5 * TIMEOUT_NS / 2;
		pair_post(&p, SHM_WR_SEND, 1, 0, 0, 100);
		pair_post(&p, SHM_WR_SEND, 2, 100, 0, 100);
		world_run(&p.w, 1000);
		cr_expect_geq(wire.nb_lost, 3);
		cr_expect_geq(wire.nb_dups, 4);
		cr_expect_geq(wire.nb_refusals, 1);
		pair_expect_none(&p.qp[0].scq);
		cr_expect_eq(p.w.nic[1]->stats.out_of_buffer, 4); /* two messages, twice */
		pair_recv(&p, 11, 4096, 100);
		pair_recv(&p, 12, 8192, 100);
		for (uint64_t id = 1; id <= 2; id++) {
			pair_expect(&p, &p.qp[0].scq, id, SHM_WC_SUCCESS);
			pair_expect(&p, &p.qp[1].rcq, 10 + id, SHM_WC_SUCCESS);
			cr_expect_eq(memcmp(p.buf[1] + 4096 * id, p.buf[0] + 100 * (id - 1), 100),
			             0);
		}
		pair_close(&p);
	}
}

/* ---- MSNs across their wrap ---- */

/* Messages from MSN 0xffffff on; windows of 16. */
static void
open_before_the_wrap(struct peer *p)
{
	peer_open_weft(p, &(struct peer_weft){.rel = &sr_ops,
	                                      .terms = {.max_msgs = 16},
	                                      .first_msn = 0xffffff});
}

static struct wire_pkt
asking(struct wire_pkt w)
{
	w.ack_req = true;
	return w;
}

Test(weft_trace, the_message_behind_0xffffff_is_0_and_the_window_goes_with_it)
{
	struct peer p;
	const uint64_t *drop;
	const struct wire_pkt *a;

	open_before_the_wrap(&p);
	drop = p.w.nic[0]->stats.drop;
	wp_hand(&p, asking(wp_write(&p, 0, 0, 0, 8, 0)));
	a = wp_expect_ack(&p, AETH_ACK, 1, 1);
	cr_expect_eq(a->msn, 0);
	wp_hand(&p, asking(wp_write(&p, 1, 1, 0, 8, 0)));
	a = wp_expect_ack(&p, AETH_ACK, 2, 2);
	cr_expect_eq(a->msn, 1);

	/* eMSN is 1: up to 0x10 there is room, 0x11 is too far, and 0xffffff is old. */
	wp_hand(&p, wp_write(&p, 17, 17, 0, 8, 0));
	cr_expect_eq(drop[DROP_MESSAGE], 0);
	wp_hand(&p, wp_write(&p, 18, 18, 0, 8, 0));
	cr_expect_eq(drop[DROP_MESSAGE], 1);
	wp_hand(&p, wp_write(&p, 18, 0, 0, 8, 0)); /* a new PSN, no duplicate */
	cr_expect_eq(drop[DROP_MESSAGE], 2);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
	cr_expect_eq(drop[DROP_MESSAGE], 2);
	wp_expect_ack(&p, AETH_ACK, 2, 2);
	peer_close(&p);
}

Test(weft_trace, a_message_before_the_wrap_that_comes_last_is_done_first)
{
	struct peer p;

	open_before_the_wrap(&p);
	wp_hand(&p, wp_write(&p, 2, 2, 0, 8, 0));
	wp_expect_ack(&p, AETH_NAK_PSN, 0, 0); /* eMSN 0xffffff */
	wp_hand(&p, wp_write(&p, 1, 1, 0, 8, 0));
	wp_expect_ack(&p, AETH_NAK_PSN, 0, 0);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
	wp_expect_ack(&p, AETH_ACK, 3, 3);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_MESSAGE], 0);
	pair_expect_rest(&p.w, 0, 1);
	peer_close(&p);
}

Test(weft_trace, the_own_messages_wrap_as_well)
{
	struct peer p;

	open_before_the_wrap(&p);
	for (uint64_t id = 0; id < 3; id++)
		peer_post(&p, SHM_WR_WRITE, id, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(wp_expect_pkt(&p, i, OP_WRITE_ONLY, i, i)->msn, (i - 1) & 0xffffff);
	wp_hand(&p, wp_ack(&p, AETH_NAK_ACCESS, 2, 1, 2)); /* of message 0 */
	peer_expect(&p.qp.scq, 0, SHM_WC_SUCCESS);
	peer_expect(&p.qp.scq, 1, SHM_WC_REM_ACCESS_ERR);
	peer_expect(&p.qp.scq, 2, SHM_WC_WR_FLUSH_ERR);
	peer_close(&p);
}
