/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "sr.h"
#include "trim.h"
#include "weft_peer.h"

/* Packets that a switch has cut behind their MSN: sent back by their receiver, and told to the
 * sender's engine. */

#define M PEER_MTU

/* Selective repeat that lets its packets be trimmed, and notes what it is told of them. */
static struct rel_rx seen_rx;
static struct rel_msg seen_msg;
static struct rel_ack seen_ack;
static uint32_t nb_rx, nb_ack;

static void
note_trimmed(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	(void)state;
	(void)now_ns;
	seen_rx = *rx;
	if (rx->msg)
		seen_msg = *rx->msg;
	nb_rx++;
	out->resp = REL_RESP_BOUNCE;
}

static void
note_bounce(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	if (ack->kind != REL_TRIMMED) {
		sr_ops.on_ack(state, ack, now_ns, out);
		return;
	}
	seen_ack = *ack;
	nb_ack++;
}

static struct reliability_ops ops;

static void
open_trimmed(struct peer *p)
{
	ops = sr_ops;
	ops.info.wire |= WIRE_TRIM;
	ops.on_trimmed = note_trimmed;
	ops.on_ack = note_bounce;
	peer_open_weft(p,
	               &(struct peer_weft){.rel = &ops,
	                                   .terms = {.tx_wire = WIRE_TRIM, .rx_wire = WIRE_TRIM}});
}

/* Cut the packet that was put last. */
static void
trim(struct peer *p)
{
	struct pkt *pkt = p->in[p->nb_in - 1];

	cr_assert(wire_may_trim(pkt->data, pkt->len, 14, false));
	pkt->len = wire_trim(pkt->data, 14, false);
	cr_assert_eq(pkt->len, 57);
}

static void
put_trimmed(struct peer *p, struct wire_pkt w)
{
	w.weft.tag = DCP_DATA;
	wp_put(p, w);
	trim(p);
}

Test(weft_trim, a_trimmed_packet_goes_back_to_its_sender)
{
	struct peer p;
	struct wire_pkt w;

	open_trimmed(&p);
	w = wp_send(&p, 3, 2, 0, 4 * M, 1);
	w.weft.retry = 5;
	put_trimmed(&p, w);
	peer_go(&p);
	cr_assert_eq(nb_rx, 1);
	cr_expect_eq(seen_rx.psn, p.qp.qp->rel_qp.rx_first_psn + 4);
	cr_expect_eq(seen_rx.retry, 5);
	cr_expect_null(seen_rx.msg); /* nothing of it has come */
	cr_assert_eq(p.nb_out, 1);
	cr_expect_eq(p.out[0].w.opcode, OP_WEFT | OP_BOUNCE);
	cr_expect_eq(p.out[0].w.dest_qpn, PEER_QPN);
	cr_expect_eq(p.out[0].w.psn, (PEER_PSN + 4) & 0xffffff);
	cr_expect_eq(p.out[0].w.msn, 2);
	cr_expect_eq(p.out[0].w.weft.retry, 5);
	cr_expect_eq(p.w.nic[0]->stats.rx_trimmed, 1);
	peer_close(&p);
}

Test(weft_trim, the_engine_learns_of_which_message_it_is_if_that_is_known)
{
	struct peer p;

	open_trimmed(&p);
	wp_put(&p, wp_write(&p, 0, 0, 0, 4 * M, 1));
	put_trimmed(&p, wp_write(&p, 0, 0, 0, 4 * M, 2));
	peer_go(&p);
	cr_assert_not_null(seen_rx.msg);
	cr_expect_eq(seen_msg.nb_psns, 4);
	cr_expect_eq(seen_msg.first_psn, p.qp.qp->rel_qp.rx_first_psn);
	peer_close(&p);
}

Test(weft_trim, a_trimmed_packet_out_of_the_windows_is_dropped)
{
	struct peer p;

	open_trimmed(&p);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
	put_trimmed(&p, wp_write(&p, 257, 1, 0, 8, 0));
	put_trimmed(&p, wp_write(&p, 1, 257, 0, 8, 0));
	put_trimmed(&p, wp_write(&p, 1, 0, 0, 8, 0));
	peer_go(&p);
	cr_expect_eq(nb_rx, 0);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_MESSAGE], 3);
	peer_close(&p);
}

Test(weft_trim, a_trimmed_packet_that_is_not_the_peers_is_dropped)
{
	struct peer p;
	struct wire_path other;
	struct wire_pkt w;
	struct wire_addr addr = {.ttl = 64, .dmac = {2, 0, 0, 0, 0, 1}, .smac = {2, 0, 0, 0, 0, 9}};

	open_trimmed(&p);
	addr.dst = p.w.nic[0]->gids.entry[1].ip;
	addr.src = p.w.nic[1]->gids.entry[1].ip;
	addr.src.b[15] ^= 0x40;
	wire_path_init(&other, &addr);
	w = wp_write(&p, 0, 0, 0, 8, 0);
	w.weft.tag = DCP_DATA;
	peer_put_on(&p, &other, &w, NULL);
	trim(&p);
	peer_go(&p);
	cr_expect_eq(nb_rx, 0);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_ADDRESS], 1);
	peer_close(&p);
}

Test(weft_trim, who_did_not_ask_for_trimming_drops_it)
{
	struct peer p;

	peer_open_weft(&p, NULL);
	put_trimmed(&p, wp_write(&p, 0, 0, 0, 8, 0));
	peer_go(&p);
	cr_expect_eq(p.nb_out, 0);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_PARTS], 1);
	peer_close(&p);
}

/* ---- the sender ---- */

/* The QP's packet i comes back. */
static void
put_bounce(struct peer *p, const struct peer_frame *f)
{
	struct pkt *pkt;
	struct wire_pkt w;
	enum wire_bad bad;

	cr_assert_eq(p->w.pool->alloc(p->w.pool, &pkt, 1), 1);
	memcpy(pkt->data, f->bytes, f->w.end_off);
	pkt->len = wire_trim(pkt->data, 14, false);
	cr_assert_eq(wire_parse(pkt->data, pkt->len, &w, &bad), WIRE_ROCE);
	pkt->len = wire_bounce(pkt->data, &w, p->qp.qp->qpn);
	p->in[p->nb_in++] = pkt;
}

Test(weft_trim, data_and_acknowledgements_have_their_tags)
{
	struct peer p;
	struct wire_pkt w;

	open_trimmed(&p);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_expect_eq(p.out[0].w.weft.tag, DCP_DATA);
	w = wp_write(&p, 0, 0, 0, 8, 0);
	w.ack_req = true;
	wp_hand(&p, w);
	cr_expect_eq(wp_expect_ack(&p, AETH_ACK, 1, 1)->weft.tag, DCP_ACK);
	peer_close(&p);
}

Test(weft_trim, a_bounce_tells_the_engine_which_packet_was_cut)
{
	struct peer p;
	struct peer_frame sent[3];

	open_trimmed(&p);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_post(&p, SHM_WR_WRITE, 2, 2 * M);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 3);
	memcpy(sent, p.out, sizeof(sent));
	put_bounce(&p, &sent[2]);
	peer_go(&p);
	cr_assert_eq(nb_ack, 1);
	cr_expect_eq(seen_ack.psn, p.qp.qp->rel_qp.tx_first_psn + 2);
	cr_expect_eq(seen_ack.msn, p.qp.qp->rel_qp.tx_first_msn + 1);
	cr_expect_eq(seen_ack.retry, 0);

	wp_hand(&p, wp_ack(&p, AETH_ACK, 1, 1, 0)); /* the first is there: its bounce is stale */
	put_bounce(&p, &sent[0]);
	peer_go(&p);
	cr_expect_eq(nb_ack, 1);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_STALE], 1);
	peer_close(&p);
}
