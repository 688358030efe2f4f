/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine.h"
#include "int.h"
#include "sr.h"
#include "weft_peer.h"

/* The optional parts of weft packets and acknowledgements, if they were agreed on. */

#define M PEER_MTU

static void
open_with(struct peer *p, uint32_t tx, uint32_t rx, uint8_t slots)
{
	peer_open_weft(p, &(struct peer_weft){.rel = &sr_ops,
	                                      .terms = {.tx_wire = tx,
	                                                .rx_wire = rx,
	                                                .tx_slots = slots,
	                                                .rx_slots = slots}});
}

Test(weft_parts, a_timestamp_is_echoed_with_the_time_that_it_was_held)
{
	struct peer p;
	struct wire_pkt w;
	const struct wire_pkt *a;

	peer_open_weft(&p, &(struct peer_weft){.terms = {.rx_wire = WIRE_TS, .ack_delay_us = 10}});
	w = wp_write(&p, 0, 0, 0, 8, 0);
	w.weft.has_ts = true;
	w.weft.ts_ns = 0xfffffff0;
	w.ack_req = true;
	wp_hand(&p, w);
	a = wp_expect_ack(&p, AETH_ACK, 1, 1);
	cr_expect(a->weft.has_ts);
	cr_expect_eq(a->weft.ts_ns, 0xfffffff0);
	cr_expect_eq(a->weft.held_ns, 0);
	w = wp_write(&p, 1, 1, 0, 8, 0);
	w.weft.has_ts = true;
	w.weft.ts_ns = 77;
	wp_hand(&p, w);
	cr_expect_eq(p.nb_out, 0);
	peer_wait(&p, 20000);
	a = wp_expect_ack(&p, AETH_ACK, 2, 2);
	cr_expect_eq(a->weft.ts_ns, 77);
	cr_expect(a->weft.held_ns >= 10000 && a->weft.held_ns < 20000, "%u", a->weft.held_ns);
	peer_close(&p);
}

Test(weft_parts, data_carries_the_time_at_which_it_leaves)
{
	struct peer p;

	open_with(&p, WIRE_TS, 0, 0);
	peer_post(&p, SHM_WR_WRITE, 1, 8);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 1);
	cr_expect(p.out[0].w.weft.has_ts);
	cr_expect_eq(p.out[0].w.weft.ts_ns, (uint32_t)p.w.now_ns);
	peer_close(&p);
}

Test(weft_parts, what_is_beyond_a_gap_is_in_the_sack_block)
{
	struct peer p;
	const struct wire_pkt *a;

	open_with(&p, 0, WIRE_SACK, 0);
	wp_hand(&p, wp_write(&p, 2, 2, 0, 8, 0));
	a = wp_expect_ack(&p, AETH_NAK_PSN, 0, 0);
	cr_expect(a->weft.has_sack);
	cr_expect_eq(a->weft.sack_off, 0);
	cr_expect_eq(a->weft.sack_bits, 4);
	wp_hand(&p, wp_write(&p, 70, 70, 0, 8, 0));
	a = wp_expect_ack(&p, AETH_NAK_PSN, 0, 0);
	cr_expect_eq(a->weft.sack_off, 64);
	cr_expect_eq(a->weft.sack_bits, 1u << 6);
	wp_hand(&p, wp_write(&p, 0, 0, 0, 8, 0));
	a = wp_expect_ack(&p, AETH_ACK, 1, 1);
	cr_expect(a->weft.has_sack);
	cr_expect_eq(a->weft.sack_bits & 2, 2); /* PSN 2 */
	peer_close(&p);
}

Test(weft_parts, what_a_sack_block_names_is_not_sent_again)
{
	struct peer p;
	struct wire_pkt a;

	open_with(&p, WIRE_SACK, 0, 0);
	peer_post(&p, SHM_WR_WRITE, 1, 8 * M);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 8);
	a = wp_ack(&p, AETH_NAK_PSN, 1, 0, 7);
	a.weft.has_sack = true;
	a.weft.sack_off = 0;
	a.weft.sack_bits = 0x7e & ~(1u << 3); /* 1 and 4 are missing */
	wp_hand(&p, a);
	cr_assert_eq(p.nb_out, 2, "%u", p.nb_out);
	cr_expect(wp_expect_pkt(&p, 0, OP_WRITE_MIDDLE, 1, 0)->weft.retransmit);
	cr_expect(wp_expect_pkt(&p, 1, OP_WRITE_MIDDLE, 4, 0)->weft.retransmit);
	peer_close(&p);
}

static void
hand_ecn(struct peer *p, struct wire_pkt w, uint8_t ecn)
{
	wp_put(p, w);
	wire_set_tos(p->in[p->nb_in - 1]->data, &p->path, ecn);
	peer_go(p);
}

Test(weft_parts, a_change_to_ce_is_echoed_at_once_and_once)
{
	struct peer p;
	struct wire_pkt w;

	peer_open_weft(&p, &(struct peer_weft){.terms = {.rx_wire = WIRE_CE_ECHO}});
	hand_ecn(&p, wp_write(&p, 0, 0, 0, 8, 0), ECN_ECT0);
	cr_expect_eq(p.nb_out, 0);
	hand_ecn(&p, wp_write(&p, 1, 1, 0, 8, 0), ECN_CE);
	cr_expect(wp_expect_ack(&p, AETH_ACK, 2, 2)->weft.ce);
	w = wp_write(&p, 2, 2, 0, 8, 0);
	w.ack_req = true;
	hand_ecn(&p, w, ECN_ECT0);
	cr_expect(!wp_expect_ack(&p, AETH_ACK, 3, 3)->weft.ce);
	peer_close(&p);
}

/* As a switch would have filled it. */
static void
make_area(uint8_t area[INT_LEN(INT_SLOTS_MAX)], uint32_t slots, uint32_t hops)
{
	memset(area, 0, INT_LEN(slots));
	area[0] = (uint8_t)(hops << 4);
	area[2] = 0x3a;
	area[3] = 0x01;
	for (uint32_t i = 0; i < 8 * slots; i++)
		area[4 + i] = (uint8_t)(0x81 + i); /* rate code 8 */
}

Test(weft_parts, the_int_area_comes_back_with_as_many_hops_as_it_has)
{
	for (uint8_t slots = 1; slots <= 7; slots++)
		for (uint8_t hops = 0; hops <= slots; hops++) {
			struct peer p;
			struct wire_pkt w;
			const struct wire_pkt *a;
			uint8_t area[INT_LEN(INT_SLOTS_MAX)];

			open_with(&p, 0, 0, slots);
			make_area(area, slots, hops);
			w = wp_write(&p, 0, 0, 0, 8, 0);
			w.weft.nb_slots = slots;
			w.weft.int_area = area;
			w.ack_req = true;
			wp_hand(&p, w);
			a = wp_expect_ack(&p, AETH_ACK, 1, 1);
			cr_expect_eq(a->weft.nb_slots, hops, "%u of %u: %u", hops, slots,
			             a->weft.nb_slots);
			if (hops && a->weft.nb_slots == hops)
				cr_expect_arr_eq(a->weft.int_area, area, INT_LEN(hops));
			w = wp_write(&p, 1, 1, 0, 8, 0); /* the echo is of its own packet */
			w.weft.nb_slots = slots;
			w.ack_req = true;
			wp_hand(&p, w);
			cr_expect_eq(wp_expect_ack(&p, AETH_ACK, 2, 2)->weft.nb_slots, 0);
			peer_close(&p);
		}
}

Test(weft_parts, an_area_that_says_more_hops_than_it_has_is_none)
{
	struct peer p;
	struct wire_pkt w;
	uint8_t area[INT_LEN(INT_SLOTS_MAX)];

	open_with(&p, 0, 0, 2);
	make_area(area, 2, 2);
	area[0] = 0xf0;
	w = wp_write(&p, 0, 0, 0, 8, 0);
	w.weft.nb_slots = 2;
	w.weft.int_area = area;
	w.ack_req = true;
	wp_hand(&p, w);
	cr_expect_eq(wp_expect_ack(&p, AETH_ACK, 1, 1)->weft.nb_slots, 0);
	peer_close(&p);
}

/* An engine that looks at what it is given. */
static struct path_info seen_path;
static uint32_t seen_owd_ns, nb_seen;
static uint8_t seen_retry, seen_ext[3];
static bool seen_retransmit, seen_sync;

static void
look(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	if (rx->path)
		seen_path = *rx->path;
	seen_owd_ns = rx->owd_ns;
	seen_retry = rx->retry;
	seen_retransmit = rx->retransmit;
	seen_sync = rx->sync;
	if (rx->ext)
		memcpy(seen_ext, rx->ext, 3);
	nb_seen++;
	sr_ops.on_data(state, rx, now_ns, out);
}

Test(weft_parts, the_engine_gets_the_path_header_the_marks_and_block_x)
{
	static const uint8_t ext[3] = {7, 8, 9};
	struct reliability_ops ops = sr_ops;
	struct peer p;
	struct wire_pkt w;

	ops.on_data = look;
	ops.data_ext_len = 3;
	peer_open_weft(
		&p, &(struct peer_weft){.rel = &ops,
	                                .terms = {.rx_wire = WIRE_PATH | WIRE_TS, .rx_lanes = 2}});
	w = wp_write(&p, 0, 0, 0, 8, 0);
	w.weft.has_lane = w.weft.has_ts = true;
	w.weft.lane = (struct wire_lane){.lanes = 4, .offset = 3, .first_psn = PEER_PSN, .back = 2};
	w.weft.ts_ns = (uint32_t)p.w.now_ns + 1000 - 500;
	w.weft.retry = 5;
	w.weft.retransmit = w.weft.sync = true;
	w.weft.ext_len = 3;
	w.weft.ext = ext;
	wp_hand(&p, w);
	cr_assert_eq(nb_seen, 1);
	cr_expect_eq(seen_path.lanes, 4);
	cr_expect_eq(seen_path.offset, 3);
	cr_expect_eq(seen_path.first_psn, p.qp.qp->rel_qp.rx_first_psn);
	cr_expect_eq(seen_path.back, 2);
	cr_expect_eq(seen_owd_ns, 500);
	cr_expect_eq(seen_retry, 5);
	cr_expect(seen_retransmit && seen_sync);
	cr_expect_arr_eq(seen_ext, ext, 3);
	w.weft.lane.lanes = 8; /* another K than was agreed on */
	w.psn = (w.psn + 1) & 0xffffff;
	w.msn = 1;
	wp_hand(&p, w);
	cr_expect_eq(nb_seen, 1);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_PARTS], 1);
	peer_close(&p);
}
