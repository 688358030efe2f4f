/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "bind.h"
#include "rig.h"

#define RTO_NS UINT64_C(1000000)

static struct rig rig;

static void
start(void)
{
	static const uint64_t renak_ns = 0;

	rig_init(&rig, reliability_find("gbn"), &renak_ns);
}

static void
start_renak(void)
{
	static const uint64_t renak_ns = 20000;

	rig_init(&rig, reliability_find("gbn"), &renak_ns);
}

/** Post and send n single packets. */
static void
send_writes(uint32_t n, uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++)
		rig_post(&rig, 1, false, now_ns);
	cr_assert_eq(rig_tx_all(&rig, now_ns), n);
}

static void
expect_run(const struct rel_runs *runs, uint32_t i, uint64_t first, uint32_t count)
{
	cr_assert_lt(i, runs->nb_runs);
	cr_expect_eq(runs->run[i].first, rig.tx0 + first, "run %u from %lu", i,
	             runs->run[i].first - rig.tx0);
	cr_expect_eq(runs->run[i].count, count, "run %u of %u", i, runs->run[i].count);
}

/* ---- receiver ---- */

/** What arrives and what must be said of it; 'A' placed, 'N' dropped and NAKed, 'd' dropped. */
static void
expect_rx(const int64_t *psns, const char *want, const uint64_t *cums)
{
	for (size_t i = 0; want[i]; i++) {
		struct rel_rx_out out = rig_rx(&rig, psns[i], 1, 0);
		enum rel_place place = want[i] == 'A'   ? REL_PLACE
		                       : want[i] == '2' ? REL_DUPLICATE
		                                        : REL_DROP;

		cr_expect_eq(out.place, place, "packet %zu", i);
		cr_expect_eq(out.resp, want[i] == 'N' ? REL_RESP_GAP : REL_RESP_NONE, "packet %zu",
		             i);
		cr_expect_eq(rig.head->rx_cum, rig.rx0 + cums[i], "packet %zu", i);
	}
}

Test(gbn_rx, reordering_without_loss_naks_both_gaps, .init = start)
{
	/* The arrivals 1 2 3 5 4 6 7 8, counted from 0. */
	static const int64_t psns[] = {0, 1, 2, 4, 3, 5, 6, 7};
	static const uint64_t cums[] = {1, 2, 3, 3, 4, 4, 4, 4};

	expect_rx(psns, "AAANANdd", cums);
}

Test(gbn_rx, one_nak_per_gap_until_the_expected_packet_comes, .init = start)
{
	static const int64_t psns[] = {1, 2, 3, 0, 5, 6, 1, 2, 3};
	static const uint64_t cums[] = {0, 0, 0, 1, 1, 1, 2, 3, 4};

	expect_rx(psns, "NddANdAAA", cums);
}

Test(gbn_rx, the_psn_wraps, .init = start)
{
	/* Expected FFFFFE; FFFFFE, 000000, FFFFFF, 000000, 000001 arrive. rx0 is FFFFFD. */
	static const int64_t psns[] = {0, 1, 3, 2, 3, 4};
	static const uint64_t cums[] = {1, 2, 2, 3, 4, 5};

	expect_rx(psns, "AANAAA", cums);
	cr_expect_eq(rig.head->rx_cum, PSN_BIAS + 0x1000002);
}

Test(gbn_rx, the_circle_is_ahead_up_to_half_less_one_and_behind_from_half, .init = start)
{
	static const int64_t psns[] = {0x7fffff, -0x800000, 0x7fffff, -1, 0, 0};
	static const uint64_t cums[] = {0, 0, 0, 0, 1, 1};

	expect_rx(psns, "N2d2A2", cums);
}

Test(gbn_rx, a_duplicate_does_not_open_the_gap_again, .init = start)
{
	static const int64_t psns[] = {0, 2, 0, 3, 1, 1, 3};
	static const uint64_t cums[] = {1, 1, 1, 1, 2, 2, 2};

	expect_rx(psns, "AN2dA2N", cums);
}

Test(gbn_rx, a_read_advances_by_its_responses, .init = start)
{
	cr_expect_eq(rig_rx(&rig, 0, 7, 0).place, REL_PLACE);
	cr_expect_eq(rig.head->rx_cum, rig.rx0 + 7);
	cr_expect_eq(rig_rx(&rig, 0, 7, 0).place, REL_DUPLICATE);
	cr_expect_eq(rig_rx(&rig, 4, 3, 0).place, REL_DUPLICATE);
	cr_expect_eq(rig_rx(&rig, 8, 1, 0).resp, REL_RESP_GAP);
	cr_expect_eq(rig_rx(&rig, 7, 1, 0).place, REL_PLACE);
}

Test(gbn_rx, renak_repeats_the_nak_at_most_so_often, .init = start_renak)
{
	static const struct {
		uint64_t now_ns;
		int64_t psn;
		enum rel_resp resp;
	} rows[] = {
		{100, 1, REL_RESP_GAP},    {101, 2, REL_RESP_NONE},   {20099, 3, REL_RESP_NONE},
		{20100, 4, REL_RESP_GAP},  {40099, 5, REL_RESP_NONE}, {40101, 6, REL_RESP_GAP},
		{40102, 0, REL_RESP_NONE}, {40103, 2, REL_RESP_GAP},  {40104, 3, REL_RESP_NONE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(rig_rx(&rig, rows[i].psn, 1, rows[i].now_ns).resp, rows[i].resp,
		             "row %zu", i);
}

/* ---- sender ---- */

Test(gbn_tx, packets_go_in_order_and_the_last_of_a_message_asks_for_an_answer, .init = start)
{
	struct rel_tx tx;

	rig_post(&rig, 3, false, 0);
	rig_post(&rig, 1, false, 0);
	for (int64_t i = 0; i < 4; i++) {
		cr_assert_eq(rig_tx(&rig, 0, &tx), i);
		cr_expect_eq(tx.ack_req, i >= 2);
		cr_expect_not(tx.retransmit);
		cr_expect_eq(tx.nb_psns, 1);
		cr_expect_eq(rig.head->inflight_pkts, i + 1);
		cr_expect_eq(rig.head->tx_ready, i < 3);
	}
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
}

Test(gbn_tx, the_window_closes_and_an_ack_opens_it, .init = start)
{
	rig_post(&rig, 250, false, 0);
	cr_expect_eq(rig_tx_all(&rig, 0), 100);
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
	rig_ack(&rig, REL_ACK, 1, 0);
	cr_expect(rig.head->tx_ready);
	cr_expect_eq(rig_tx(&rig, 0, NULL), 100);
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
	rig_ack(&rig, REL_ACK, 101, 0);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_expect_eq(rig_tx_all(&rig, 0), 100);
}

Test(gbn_tx, an_ack_tells_each_packet_once, .init = start)
{
	struct rel_out out;

	send_writes(20, 0);
	out = rig_ack(&rig, REL_ACK, 5, 0);
	cr_expect_eq(out.acked.nb_pkts, 5);
	cr_expect_eq(out.acked.nb_runs, 1);
	expect_run(&out.acked, 0, 0, 5);
	cr_expect_eq(rig.head->tx_una, rig.tx0 + 5);
	cr_expect_eq(rig.head->inflight_pkts, 15);

	out = rig_ack(&rig, REL_ACK, 5, 0); /* again */
	cr_expect_eq(out.acked.nb_pkts, 0);
	out = rig_ack(&rig, REL_ACK, 2, 0); /* old */
	cr_expect_eq(out.acked.nb_pkts, 0);
	cr_expect_eq(rig.head->tx_una, rig.tx0 + 5);

	out = rig_ack(&rig, REL_ACK, 20, 0);
	cr_expect_eq(out.acked.nb_pkts, 15);
	expect_run(&out.acked, 0, 5, 15);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_not(out.timeout);
}

Test(gbn_tx, loss_of_a_packet_sends_it_and_all_behind_it_again, .init = start)
{
	struct rel_out out;
	struct rel_tx tx;

	/* Packets 0 to 7; 3 is lost or late: NAK(3), and 3..7 go again: five packets. */
	send_writes(8, 0);
	out = rig_ack(&rig, REL_GAP, 3, 0);
	cr_expect_eq(out.acked.nb_pkts, 3);
	expect_run(&out.acked, 0, 0, 3);
	cr_expect_eq(out.lost.nb_pkts, 5);
	expect_run(&out.lost, 0, 3, 5);
	cr_expect_not(out.timeout);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_expect(rig.head->tx_ready);
	for (int64_t i = 3; i < 8; i++) {
		cr_assert_eq(rig_tx(&rig, 0, &tx), i);
		cr_expect(tx.retransmit);
	}
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
	rig_post(&rig, 1, false, 0);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 8);
	cr_expect_not(tx.retransmit);
}

Test(gbn_tx, one_loss_costs_one_rewind, .init = start)
{
	struct rel_out out;

	send_writes(8, 0);
	rig_ack(&rig, REL_GAP, 3, 0);
	/* Nothing sent since: a second NAK finds nothing to take back. */
	out = rig_ack(&rig, REL_GAP, 3, 0);
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_eq(rig_tx_all(&rig, 0), 5);
	out = rig_ack(&rig, REL_GAP, 3, 0);
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_not(rig.head->tx_ready);
	/* Progress, and a gap of its own. */
	out = rig_ack(&rig, REL_GAP, 4, 0);
	cr_expect_eq(out.acked.nb_pkts, 1);
	cr_expect_eq(out.lost.nb_pkts, 4);
	/* An old NAK says nothing. */
	cr_expect_eq(rig_tx_all(&rig, 0), 4);
	out = rig_ack(&rig, REL_GAP, 3, 0);
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_eq(out.acked.nb_pkts, 0);
	cr_expect_eq(rig.head->inflight_pkts, 4);
}

Test(gbn_tx, a_nak_that_finds_nothing_to_take_back_does_not_silence_the_next, .init = start)
{
	struct rel_out out;

	send_writes(4, 0);
	rig_timer(&rig, RTO_NS);
	out = rig_ack(&rig, REL_GAP, 0, RTO_NS); /* late; all is about to be sent anyway */
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_eq(rig_tx_all(&rig, RTO_NS), 4);
	out = rig_ack(&rig, REL_GAP, 0, RTO_NS); /* the repeat was lost too */
	cr_expect_eq(out.lost.nb_pkts, 4);
}

Test(gbn_tx, renak_rewinds_again_for_the_same_gap_but_not_too_soon, .init = start_renak)
{
	struct rel_out out;

	send_writes(4, 0);
	out = rig_ack(&rig, REL_GAP, 1, 1000);
	cr_expect_eq(out.lost.nb_pkts, 3);
	cr_expect_eq(rig_tx_all(&rig, 1000), 3);
	out = rig_ack(&rig, REL_GAP, 1, 20999);
	cr_expect_eq(out.lost.nb_pkts, 0);
	out = rig_ack(&rig, REL_GAP, 1, 21000);
	cr_expect_eq(out.lost.nb_pkts, 3);
	cr_expect_eq(rig_tx_all(&rig, 21000), 3);
	out = rig_ack(&rig, REL_GAP, 1, 22000);
	cr_expect_eq(out.lost.nb_pkts, 0);
}

Test(gbn_tx, tail_loss_waits_for_the_timer, .init = start)
{
	struct rel_out out;

	send_writes(8, 5);
	cr_expect_eq(rig.head->deadline_ns, 5 + RTO_NS);
	out = rig_ack(&rig, REL_ACK, 7, 1000);
	cr_expect_eq(rig.head->deadline_ns, 1000 + RTO_NS);

	out = rig_timer(&rig, 999 + RTO_NS); /* early */
	cr_expect_not(out.timeout);
	cr_expect_eq(rig.head->inflight_pkts, 1);

	out = rig_timer(&rig, 1000 + RTO_NS);
	cr_expect(out.timeout);
	cr_expect_eq(out.lost.nb_pkts, 1);
	expect_run(&out.lost, 0, 7, 1);
	cr_expect_eq(rig_tx(&rig, 2 * RTO_NS, NULL), 7);
	cr_expect_eq(rig.head->deadline_ns, 3 * RTO_NS);
}

Test(gbn_tx, a_lost_nak_is_repaired_by_the_timer, .init = start)
{
	struct rel_out out;

	/* 3 was lost, NAK(3) too; the receiver says no more. */
	send_writes(8, 0);
	rig_ack(&rig, REL_ACK, 3, 10);
	out = rig_timer(&rig, 10 + RTO_NS);
	cr_expect(out.timeout);
	cr_expect_eq(out.lost.nb_pkts, 5);
	cr_expect_eq(rig_tx_all(&rig, 2 * RTO_NS), 5);
	out = rig_ack(&rig, REL_ACK, 8, 2 * RTO_NS);
	cr_expect_eq(out.acked.nb_pkts, 5);
}

Test(gbn_tx, a_timeout_lets_the_same_gap_be_told_again, .init = start)
{
	struct rel_out out;

	send_writes(8, 0);
	rig_ack(&rig, REL_GAP, 3, 0);
	rig_tx_all(&rig, 0); /* 3 is lost again */
	out = rig_timer(&rig, RTO_NS);
	cr_expect_eq(out.lost.nb_pkts, 5);
	rig_tx_all(&rig, RTO_NS);
	out = rig_ack(&rig, REL_GAP, 3, RTO_NS);
	cr_expect_eq(out.lost.nb_pkts, 5);
}

Test(gbn_tx, the_timer_starts_with_the_first_packet_and_stops_with_the_last_answer, .init = start)
{
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_post(&rig, 3, false, 0);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_tx(&rig, 100, NULL);
	cr_expect_eq(rig.head->deadline_ns, 100 + RTO_NS);
	rig_tx(&rig, 200, NULL);
	cr_expect_eq(rig.head->deadline_ns, 100 + RTO_NS);
	rig_ack(&rig, REL_ACK, 1, 300);
	cr_expect_eq(rig.head->deadline_ns, 300 + RTO_NS);
	rig_ack(&rig, REL_ACK, 1, 400); /* nothing new */
	cr_expect_eq(rig.head->deadline_ns, 300 + RTO_NS);
	rig_ack(&rig, REL_ACK, 2, 600);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_tx(&rig, 700, NULL);
	cr_expect_eq(rig.head->deadline_ns, 700 + RTO_NS);
	/* Taken back: nothing is waited for until it is sent. */
	rig_ack(&rig, REL_REWIND, 2, 800);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_tx(&rig, 900, NULL);
	cr_expect_eq(rig.head->deadline_ns, 900 + RTO_NS);
}

Test(gbn_tx, without_a_timeout_there_is_no_timer, .init = start)
{
	struct rel_out out;

	rig.qp.ack_timeout_ns = 0;
	send_writes(2, 0);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_ack(&rig, REL_ACK, 1, 0);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);

	/* Switched on and off again while packets are out. */
	rig.qp.ack_timeout_ns = RTO_NS;
	send_writes(1, 0);
	cr_expect_eq(rig.head->deadline_ns, RTO_NS);
	rig.qp.ack_timeout_ns = 0;
	out = rig_timer(&rig, RTO_NS);
	cr_expect_not(out.timeout);
	cr_expect_eq(out.lost.nb_pkts, 0);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	cr_expect_eq(rig.head->inflight_pkts, 2);
}

Test(gbn_tx, answers_that_come_after_the_rewind_save_the_repeats, .init = start)
{
	struct rel_out out;

	send_writes(8, 0);
	rig_timer(&rig, RTO_NS);
	cr_assert_eq(rig_tx(&rig, RTO_NS, NULL), 0);
	cr_assert_eq(rig_tx(&rig, RTO_NS, NULL), 1);
	/* The first flight was not lost, only slow. */
	out = rig_ack(&rig, REL_ACK, 5, RTO_NS);
	cr_expect_eq(out.acked.nb_pkts, 5);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	cr_expect_eq(rig_tx(&rig, RTO_NS, NULL), 5);
	cr_expect_eq(rig.head->inflight_pkts, 1);
}

Test(gbn_tx, runs_beyond_the_eighth_are_counted_only, .init = start)
{
	struct rel_out out;

	/* READs cut the runs. */
	for (int i = 0; i < 10; i++) {
		rig_post(&rig, 2, false, 0);
		rig_post(&rig, 3, true, 0);
	}
	cr_expect_eq(rig_tx_all(&rig, 0), 30);
	out = rig_ack(&rig, REL_GAP, 0, 0);
	cr_expect_eq(out.lost.nb_pkts, 30);
	cr_expect_eq(out.lost.nb_runs, REL_RUNS_MAX);
	expect_run(&out.lost, 0, 0, 3); /* the READ continues the run by its first PSN */
	expect_run(&out.lost, 1, 5, 3);
}

static uint64_t
counter(const char *name)
{
	STAT_FOREACH (d, rig.ops->info.stats) {
		if (!strcmp(d->name, name))
			return stat_read(d, rig.state);
	}
	cr_assert_fail("no counter %s", name);
	return 0;
}

Test(gbn_tx, rewinds_and_ignored_naks_are_counted, .init = start)
{
	send_writes(4, 0);
	cr_expect_eq(counter("gbn_rewinds"), 0);
	rig_ack(&rig, REL_GAP, 1, 0);
	rig_tx_all(&rig, 0);
	cr_expect_eq(counter("gbn_rewinds"), 1);
	cr_expect_eq(counter("gbn_naks_ignored"), 0);
	rig_ack(&rig, REL_GAP, 1, 0);
	rig_ack(&rig, REL_GAP, 1, 0);
	cr_expect_eq(counter("gbn_naks_ignored"), 2);
	rig_timer(&rig, RTO_NS);
	cr_expect_eq(counter("gbn_rewinds"), 2);
}

/* ---- RNR ---- */

Test(gbn_tx, a_rewind_of_the_host_loses_nothing_and_works_every_time, .init = start)
{
	struct rel_out out;

	send_writes(5, 0);
	for (int i = 0; i < 3; i++) {
		out = rig_ack(&rig, REL_REWIND, 2, 0);
		cr_expect_eq(out.acked.nb_pkts, i == 0 ? 2 : 0);
		cr_expect_eq(out.lost.nb_pkts, 0);
		cr_expect_eq(rig.head->inflight_pkts, 0);
		cr_expect(rig.head->tx_ready);
		cr_expect_eq(rig_tx_all(&rig, 0), 3);
	}
	/* What follows the refused packet was dropped silently; a gap there is a new gap. */
	out = rig_ack(&rig, REL_GAP, 2, 0);
	cr_expect_eq(out.lost.nb_pkts, 3);
	/* A rewind to what is acknowledged already goes to where we are. */
	rig_tx_all(&rig, 0);
	rig_ack(&rig, REL_ACK, 4, 0);
	rig_ack(&rig, REL_REWIND, 2, 0);
	cr_expect_eq(rig_tx(&rig, 0, NULL), 4);
}

/* ---- READ under rocev2 ---- */

Test(gbn_read, one_packet_spends_all_psns_and_counts_as_one, .init = start)
{
	struct rel_out out;
	struct rel_tx tx;

	rig_post(&rig, 1, false, 0);
	rig_post(&rig, 500, true, 0); /* more than the window has packets */
	rig_post(&rig, 1, false, 0);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 0);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 1);
	cr_expect_eq(tx.nb_psns, 500);
	cr_expect(tx.ack_req);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 501);
	cr_expect_eq(tx.nb_psns, 1);
	cr_expect_eq(rig.head->inflight_pkts, 3);

	out = rig_ack(&rig, REL_ACK, 1, 0);
	cr_expect_eq(out.acked.nb_pkts, 1);
	for (uint64_t cum = 2; cum < 501; cum++) {
		out = rig_ack(&rig, REL_ACK, cum, cum);
		cr_assert_eq(out.acked.nb_pkts, 0);
		cr_assert_eq(rig.head->inflight_pkts, 2);
		cr_assert_eq(rig.head->deadline_ns, cum + RTO_NS);
	}
	out = rig_ack(&rig, REL_ACK, 501, 0);
	cr_expect_eq(out.acked.nb_pkts, 1);
	expect_run(&out.acked, 0, 1, 1);
	cr_expect_eq(rig.head->inflight_pkts, 1);
	out = rig_ack(&rig, REL_ACK, 502, 0);
	cr_expect_eq(out.acked.nb_pkts, 1);
	cr_expect_eq(rig.head->inflight_pkts, 0);
}

Test(gbn_read, a_lost_response_asks_for_the_rest_only, .init = start)
{
	struct rel_out out;
	struct rel_tx tx;

	rig_post(&rig, 10, true, 0);
	rig_post(&rig, 2, false, 0);
	cr_assert_eq(rig_tx_all(&rig, 0), 3);
	rig_ack(&rig, REL_ACK, 4, 0); /* responses 0 to 3 */
	out = rig_ack(&rig, REL_GAP, 4, 0);
	cr_expect_eq(out.acked.nb_pkts, 0);
	cr_expect_eq(out.lost.nb_pkts, 3);
	expect_run(&out.lost, 0, 0, 1);
	expect_run(&out.lost, 1, 10, 2);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 4);
	cr_expect_eq(tx.nb_psns, 6);
	cr_expect(tx.retransmit);
	cr_assert_eq(rig_tx(&rig, 0, &tx), 10);
	cr_expect_eq(rig.head->inflight_pkts, 2);
	/* The responses to the repeat, with the WRITE behind it. */
	out = rig_ack(&rig, REL_ACK, 11, 0);
	cr_expect_eq(out.acked.nb_pkts, 2);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_expect_eq(rig_tx(&rig, 0, &tx), 11);
	cr_expect(tx.retransmit);
}

Test(gbn_read, late_responses_shorten_what_is_asked_again, .init = start)
{
	struct rel_out out;
	struct rel_tx tx;

	rig_post(&rig, 10, true, 0);
	cr_assert_eq(rig_tx_all(&rig, 0), 1);
	out = rig_timer(&rig, RTO_NS);
	cr_expect(out.timeout);
	cr_expect_eq(out.lost.nb_pkts, 1);
	rig_ack(&rig, REL_ACK, 3, RTO_NS);
	cr_expect_eq(rig.head->inflight_pkts, 0);
	cr_assert_eq(rig_tx(&rig, RTO_NS, &tx), 3);
	cr_expect_eq(tx.nb_psns, 7);
	/* And if all come, the repeat's answers are duplicates. */
	rig_timer(&rig, rig.head->deadline_ns);
	out = rig_ack(&rig, REL_ACK, 10, 2 * RTO_NS);
	cr_expect_eq(out.acked.nb_pkts, 1);
	cr_expect_not(rig.head->tx_ready);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
}

Test(gbn_read, responses_that_go_on_behind_a_gap_are_no_silence, .init = start)
{
	rig_post(&rig, 10, true, 0);
	cr_assert_eq(rig_tx_all(&rig, 0), 1);
	rig_ack(&rig, REL_ACK, 4, 0);
	rig_answer(&rig, REL_GAP, 4, 5, 0); /* 4 is lost */
	cr_assert_eq(rig_tx_all(&rig, 0), 1);
	cr_expect_eq(rig.head->deadline_ns, RTO_NS);
	for (uint64_t psn = 6; psn < 10; psn++) {
		rig_answer(&rig, REL_GAP, 4, psn, psn * 1000);
		cr_expect_eq(rig.head->deadline_ns, psn * 1000 + RTO_NS);
		cr_expect_eq(rig.head->inflight_pkts, 1);
		rig_answer(&rig, REL_GAP, 4, psn, psn * 1000 + 500); /* says nothing new */
		cr_expect_eq(rig.head->deadline_ns, psn * 1000 + RTO_NS);
	}
}

Test(gbn_read, responses_to_a_repeat_too_many_are_no_silence, .init = start)
{
	rig_post(&rig, 10, true, 0);
	rig_post(&rig, 1, false, 0);
	cr_assert_eq(rig_tx_all(&rig, 0), 2);
	rig_timer(&rig, RTO_NS);
	cr_assert_eq(rig_tx_all(&rig, RTO_NS), 2);
	rig_answer(&rig, REL_ACK, 10, 9, RTO_NS); /* it was slow, and comes again */
	for (uint64_t psn = 0; psn < 10; psn++) {
		rig_answer(&rig, REL_ACK, psn + 1, psn, RTO_NS + psn * 1000);
		cr_expect_eq(rig.head->deadline_ns, 2 * RTO_NS + psn * 1000);
	}
	rig_ack(&rig, REL_ACK, 11, 2 * RTO_NS);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS);
	rig_answer(&rig, REL_ACK, 11, 10, 3 * RTO_NS);
	cr_expect_eq(rig.head->deadline_ns, NEVER_NS, "nothing is waited for");
}

Test(gbn_read, psns_outstanding_stay_below_half_the_circle, .init = start)
{
	rig_post(&rig, 1u << 22, true, 0);
	rig_post(&rig, (1u << 22) - 1, true, 0);
	rig_post(&rig, 1, false, 0);
	cr_expect_eq(rig_tx_all(&rig, 0), 2); /* 2^23 - 1 */
	cr_expect_eq(rig_tx(&rig, 0, NULL), -1);
	rig_ack(&rig, REL_ACK, 1, 0);
	cr_expect(rig.head->tx_ready);
	cr_expect_eq(rig_tx(&rig, 0, NULL), (1 << 23) - 1);
}
