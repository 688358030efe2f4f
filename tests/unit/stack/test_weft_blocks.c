/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "int.h"
#include "rc.h"
#include "sr.h"
#include "weft_peer.h"

/*
 * The blocks of acknowledgements: what the sender's engines are told of them, all of them in one,
 * and what none agreed on. What the receiver puts into each is in test_weft_parts.c.
 */

#define M PEER_MTU

/* One hop of 100 Gb/s: 1 ms, 12.8 MB sent, 79,872 bytes waiting. */
static const uint8_t area[INT_LEN(2)] = {0x10, 0, 0x3a, 0x01, 0x80, 0xf4,
                                         0x24, 3, 0x0d, 0x40, 1,    0x38};

/* Engines that note what they are told. */
static struct rel_ack seen_rel;
static struct cc_ack seen_cc;
static struct int_hop seen_hop;
static uint32_t nb_seen;
static struct reliability_ops rel;
static struct cc_ops cc;
static const struct cc_ops *real_cc;

static void
note_rel(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	seen_rel = *ack;
	sr_ops.on_ack(state, ack, now_ns, out);
}

static void
note_cc(void *state, struct cc_nic *nic, const struct cc_ack *ack, uint64_t now_ns)
{
	seen_cc = *ack;
	if (ack->nb_hops)
		seen_hop = ack->hops[0];
	nb_seen++;
	real_cc->on_ack(state, nic, ack, now_ns);
}

static void
open_sender(struct peer *p, uint32_t wire, uint8_t slots)
{
	rel = sr_ops;
	rel.on_ack = note_rel;
	peer_open_weft(
		p, &(struct peer_weft){.rel = &rel, .terms = {.tx_wire = wire, .tx_slots = slots}});
	real_cc = p->qp.qp->cc_ops;
	cc = *real_cc;
	cc.on_ack = note_cc;
	p->qp.qp->cc_ops = &cc;
	nb_seen = 0;
}

/* A WRITE of two packets left; the acknowledgement of its first. */
static struct wire_pkt
ack_of_first(struct peer *p)
{
	peer_post(p, SHM_WR_WRITE, 1, 2 * M);
	peer_go(p);
	cr_assert_eq(p->nb_out, 2);
	return wp_ack(p, AETH_ACK, 1, 0, 0);
}

/* ---- the sender ---- */

Test(weft_blocks, a_timestamp_echo_is_a_round_trip_without_the_time_that_it_was_held)
{
	static const struct {
		uint64_t rtt_ns, held_ns;
	} rows[] = {{5000, 0}, {5000, 3000}, {1, 900000}, {0, 10}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int wraps = 0; wraps < 2; wraps++) {
			uint64_t rtt_ns = rows[i].rtt_ns, held_ns = rows[i].held_ns, came_ns;
			struct wire_pkt a;
			struct peer p;

			open_sender(&p, WIRE_TS, 0);
			a = ack_of_first(&p);
			came_ns = p.w.now_ns + 1000; /* as peer_go has it */
			if (wraps) {                 /* the 32 bits between then and now */
				came_ns = (UINT64_C(7) << 32) + rtt_ns / 2;
				p.w.now_ns = came_ns - 1000;
			}
			a.weft.has_ts = true;
			a.weft.ts_ns = (uint32_t)(came_ns - rtt_ns - held_ns);
			a.weft.held_ns = (uint32_t)held_ns;
			wp_hand(&p, a);
			cr_assert_eq(nb_seen, 1, "row %zu", i);
			cr_expect_eq(seen_rel.rtt_ns, rtt_ns, "row %zu: %lu", i,
			             (unsigned long)seen_rel.rtt_ns);
			cr_expect_eq(seen_rel.sent_ns, came_ns - rtt_ns - held_ns, "row %zu", i);
			if (rtt_ns)
				cr_expect_eq(seen_cc.rtt_ns, rtt_ns, "row %zu: %lu", i,
				             (unsigned long)seen_cc.rtt_ns);
			peer_close(&p);
		}
}

Test(weft_blocks, marks_and_the_way_that_they_are_of_are_told)
{
	for (int ce = 0; ce < 2; ce++) {
		struct wire_pkt a;
		struct peer p;

		open_sender(&p, WIRE_CE_ECHO, 0);
		a = ack_of_first(&p);
		a.weft.ce = ce;
		wp_hand(&p, a);
		cr_assert_eq(nb_seen, 1);
		cr_expect_eq(seen_cc.ecn_echo, ce);
		cr_expect_eq(seen_cc.udp_sport, 0xc123); /* of each packet that peer_put builds */
		cr_expect_eq(seen_cc.nb_hops, 0);
		peer_close(&p);
	}
}

Test(weft_blocks, hops_are_told_in_bits_bytes_and_nanoseconds)
{
	struct wire_pkt a;
	struct peer p;

	open_sender(&p, 0, 2);
	a = ack_of_first(&p);
	a.weft.nb_slots = 1;
	a.weft.int_area = area;
	wp_hand(&p, a);
	cr_assert_eq(nb_seen, 1);
	cr_assert_eq(seen_cc.nb_hops, 1);
	cr_expect_eq(seen_cc.int_path_id, 0x3a01);
	cr_expect_not(seen_cc.tbo);
	cr_expect_eq(seen_hop.rate_bps, UINT64_C(100000000000));
	cr_expect_eq(seen_hop.ts_ns, 1000000);
	cr_expect_eq(seen_hop.tx_bytes, 12800000 % (64u << 20));
	cr_expect_eq(seen_hop.queue_bytes, 312 * 4 * 64);
	peer_close(&p);
}

/* Acknowledged all the same. */
Test(weft_blocks, hops_that_can_not_be_are_not_told)
{
	for (int row = 0; row < 2; row++) {
		uint8_t bad[INT_LEN(1)];
		struct wire_pkt a;
		struct peer p;

		memcpy(bad, area, sizeof(bad));
		if (row)
			bad[4] = 0xf0; /* no such rate */
		else
			bad[0] = 0x20; /* more hops than the echo has */
		open_sender(&p, 0, 2);
		a = ack_of_first(&p);
		a.weft.nb_slots = 1;
		a.weft.int_area = bad;
		wp_hand(&p, a);
		cr_expect_eq(p.qp.qp->rel->tx_una, p.qp.qp->rel_qp.tx_first_psn + 1);
		cr_assert_eq(nb_seen, 1);
		cr_expect_eq(seen_cc.nb_hops, 0, "row %d", row);
		peer_close(&p);
	}
}

Test(weft_blocks, what_was_not_agreed_on_or_is_missing_is_dropped)
{
	enum { SACK, TS, NO_TS, HOPS, EXTENSION, NB };
	static const uint8_t ext[15] = {1, 2, 3};

	for (int row = 0; row < NB; row++) {
		struct wire_pkt a;
		struct peer p;

		open_sender(&p, row == NO_TS ? WIRE_TS : 0, row == HOPS ? 1 : 0);
		a = ack_of_first(&p);
		a.weft.has_sack = row == SACK;
		a.weft.has_ts = row == TS;
		a.weft.int_area = area;
		a.weft.nb_slots = row == HOPS ? 2 : 0;
		a.weft.ext = ext;
		a.weft.ext_len = row == EXTENSION ? 3 : 0;
		wp_hand(&p, a);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_PARTS], 1, "row %d", row);
		cr_expect_eq(nb_seen, 0, "row %d", row);
		peer_close(&p);
	}
}

/* ---- an engine's own ---- */

static uint8_t seen_ext[REL_EXT_MAX];

static void
note_ext(void *state, const struct rel_ack *ack, uint64_t now_ns, struct rel_out *out)
{
	memcpy(seen_ext, ack->ext, rel.ack_ext_len);
	nb_seen++;
	sr_ops.on_ack(state, ack, now_ns, out);
}

/* Its PSN, from every byte on. */
static void
say_ext(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	sr_ops.on_data(state, rx, now_ns, out);
	for (uint32_t i = 0; i < rel.ack_ext_len; i++)
		out->ext[i] = (uint8_t)(rx->psn + i);
}

static void
open_ext(struct peer *p, uint8_t len)
{
	rel = sr_ops;
	rel.ack_ext_len = len;
	rel.on_ack = note_ext;
	rel.on_data = say_ext;
	nb_seen = 0;
	peer_open_weft(p, &(struct peer_weft){.rel = &rel});
}

Test(weft_blocks, an_extension_has_what_the_engine_says_to_the_newest_packet)
{
	static const uint8_t lens[] = {3, 7, 11, 15};

	for (size_t i = 0; i < sizeof(lens); i++) {
		struct peer p;

		open_ext(&p, lens[i]);
		for (uint32_t n = 0; n < 4; n++) {
			struct wire_pkt w = wp_write(&p, n, n, 0, 8, 0);
			const struct wire_pkt *a;

			w.ack_req = n % 2; /* two packets are answered at once */
			wp_hand(&p, w);
			if (!w.ack_req)
				continue;
			a = wp_expect_ack(&p, AETH_ACK, n + 1, n + 1);
			cr_assert_eq(a->weft.ext_len, lens[i]);
			for (uint32_t b = 0; b < lens[i]; b++)
				cr_expect_eq(a->weft.ext[b], (uint8_t)(PEER_PSN + n + b),
				             "byte %u of %u", b, lens[i]);
		}
		peer_close(&p);
	}
}

Test(weft_blocks, an_extension_is_told_to_the_engine_and_its_length_must_be_right)
{
	static const uint8_t ext[15] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
	static const uint8_t lens[] = {0, 3, 7, 11, 15};

	for (size_t i = 1; i < sizeof(lens); i++)
		for (size_t k = 0; k < sizeof(lens); k++) {
			struct wire_pkt a;
			struct peer p;

			open_ext(&p, lens[i]);
			a = ack_of_first(&p);
			a.weft.ext = ext;
			a.weft.ext_len = lens[k];
			wp_hand(&p, a);
			cr_expect_eq(nb_seen, i == k, "%u for %u", lens[k], lens[i]);
			cr_expect_eq(p.w.nic[0]->stats.drop[DROP_PARTS], i != k);
			if (i == k)
				cr_expect_arr_eq(seen_ext, ext, lens[i]);
			peer_close(&p);
		}
}

/* ---- all in one ---- */

#define ALL (WIRE_TS | WIRE_SACK | WIRE_CE_ECHO)

Test(weft_blocks, one_acknowledgement_tells_the_sender_all_of_it)
{
	struct wire_pkt a;
	struct peer p;

	open_sender(&p, ALL, 2);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_post(&p, SHM_WR_SEND, 2, 8);
	peer_post(&p, SHM_WR_WRITE, 3, 8);
	peer_post(&p, SHM_WR_WRITE, 4, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 4);
	a = wp_refusal(&p, 2, 2, 0, 1, 1);
	a.weft.has_ts = a.weft.has_sack = a.weft.ce = true;
	a.weft.ts_ns = (uint32_t)p.w.now_ns + 1000 - 6000 - 500;
	a.weft.held_ns = 500;
	a.weft.sack_bits = 2; /* the last; the WRITE before it is missing */
	a.weft.nb_slots = 1;
	a.weft.int_area = area;
	wp_hand(&p, a);
	cr_assert_eq(nb_seen, 1);
	cr_expect_eq(seen_rel.cum, p.qp.qp->rel_qp.tx_first_psn + 2);
	cr_expect_eq(seen_rel.sack_base, seen_rel.cum);
	cr_expect_eq(seen_rel.sack_bits, 2);
	cr_expect_eq(seen_rel.rtt_ns, 6000);
	cr_expect(seen_cc.ecn_echo);
	cr_expect_eq(seen_cc.nb_hops, 1);
	cr_expect_eq(seen_hop.queue_bytes, 312 * 4 * 64);
	peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
	pair_expect_none(&p.qp.scq); /* refused */
	peer_wait(&p, rc_rnr_ns(1) + 5000);
	cr_expect_eq(wp_nb(&p, OP_SEND_ONLY), 1);
	peer_close(&p);
}

Test(weft_blocks, one_acknowledgement_of_the_receiver_has_all_of_it)
{
	const struct wire_pkt *a;
	struct wire_pkt w;
	struct peer p;

	peer_open_weft(
		&p, &(struct peer_weft){.rel = &sr_ops, .terms = {.rx_wire = ALL, .rx_slots = 2}});
	w = wp_send(&p, 2, 2, 0, 8, 0); /* beyond a gap, and without a receive */
	w.weft.has_ts = true;
	w.weft.ts_ns = 0xfffffffe;
	w.weft.nb_slots = 2;
	w.weft.int_area = area;
	wp_put(&p, w);
	wire_set_tos(p.in[0]->data, &p.path, ECN_CE);
	peer_go(&p);
	cr_assert_geq(p.nb_out, 1);
	a = &p.out[0].w; /* another may follow, of which nothing is new */
	cr_assert_eq(a->opcode, OP_WEFT | OP_ACK);
	cr_expect_eq(a->syndrome, AETH_NAK_PSN);
	cr_expect(a->weft.has_rnr && a->weft.has_sack && a->weft.has_ts && a->weft.ce);
	cr_expect_eq(a->weft.rnr_ssn, 0);
	cr_expect_eq(a->weft.rnr_msn, 2);
	cr_expect_eq(a->weft.rnr_code, 12);
	cr_expect_eq(a->weft.sack_off, 0);
	cr_expect_eq(a->weft.sack_bits, 4);
	cr_expect_eq(a->weft.ts_ns, 0xfffffffe);
	cr_expect_eq(a->weft.held_ns, 0);
	cr_assert_eq(a->weft.nb_slots, 1);
	cr_expect_arr_eq(a->weft.int_area, area, INT_LEN(1));
	cr_expect_eq(a->udp_sport, 0xc123); /* that of the packet */
	peer_close(&p);
}
