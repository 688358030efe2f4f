/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"
#include "rig.h"

static struct rig rig;

static void
start(void)
{
	rig_init(&rig, reliability_find("none"), NULL);
}

Test(none, packets_leave_once_in_order_and_are_done_at_once, .init = start)
{
	rig_post(&rig, 2, false, 0);
	rig_post(&rig, 1, false, 0);
	for (int64_t i = 0; i < 3; i++) {
		struct rel_tx tx;

		cr_assert(rig.head->tx_ready);
		cr_assert_eq(rig_tx(&rig, 0, &tx), i);
		cr_expect_eq(tx.nb_psns, 1);
		cr_expect_not(tx.retransmit);
		cr_expect_not(tx.ack_req);
		cr_expect_eq(rig.head->tx_una, rig.tx0 + (uint64_t)i + 1);
		cr_expect_eq(rig.head->inflight_pkts, 0);
	}
	cr_expect_not(rig.head->tx_ready);
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
	rig_post(&rig, 1, false, 0);
	cr_expect_eq(rig_tx(&rig, 0, NULL), 3);
}

Test(none, no_window_no_timer_no_answer_matters, .init = start)
{
	struct rel_out out;

	rig.qp.window_pkts = 1;
	rig_post(&rig, 5000, false, 0);
	cr_expect_eq(rig_tx_all(&rig, 0), 5000);
	out = rig_ack(&rig, REL_ACK, 3, 0);
	cr_expect_eq(out.acked.nb_pkts, 0);
	out = rig_ack(&rig, REL_GAP, 3, 0);
	cr_expect_eq(out.lost.nb_pkts, 0);
	rig_timer(&rig, 1u << 31);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	cr_expect_not(rig.head->tx_ready);
}

/* rx_cum as the 24 bits of the wire, and never falling: hostile jumps included. */
Test(none, everything_is_placed_and_the_next_psn_expected, .init = start)
{
	static const uint32_t wire[] = {
		0xfffffd, 0xfffffe, 0xffffff, 0, 1, 5, 6, 3, 0x800003, 0x800000, 1, 0x800001, 2, 1,
	};
	uint64_t last = rig.head->rx_cum;

	for (size_t i = 0; i < sizeof(wire) / sizeof(wire[0]); i++) {
		struct rel_rx rx = {.psn = psn_unwrap(last, wire[i]), .nb_psns = 1};
		struct rel_rx_out out = {0};

		rig.ops->on_data(rig.state, &rx, 0, &out);
		cr_expect_eq(out.place, REL_PLACE);
		cr_expect_eq(out.resp, REL_RESP_NONE);
		cr_expect_eq(rig.head->rx_cum & PSN_MASK, (wire[i] + 1) & PSN_MASK, "row %zu", i);
		cr_expect_geq(rig.head->rx_cum, last, "row %zu", i);
		last = rig.head->rx_cum;
	}
}
