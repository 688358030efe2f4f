/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sched.h"

#define SEC UINT64_C(1000000000)
#define LINE_BPS UINT64_C(100000000000)

/** One sender of the fake port: always the same packet, at its own rate. */
struct sender {
	struct sched_ent ent;
	uint32_t pkt_bytes;
	uint64_t rate_bps;
	uint64_t left;  /**< packets it has work for */
	uint64_t bytes; /**< sent */
	uint64_t turns;
};

static struct sched sched;
static struct sched_group all; /* whose all entities are, unless a test says otherwise */

static void
begin(uint64_t now_ns)
{
	sched_init(&sched, now_ns);
	sched_group_init(&all);
}

static void
sender_init(struct sender *d, uint32_t pkt_bytes, uint64_t rate_bps)
{
	*d = (struct sender){.pkt_bytes = pkt_bytes, .rate_bps = rate_bps, .left = UINT64_MAX};
	sched_ent_init(&d->ent, &all);
}

/** A port of LINE_BPS over a fake clock; looks around at least each poll_ns. Returns the time. */
static uint64_t
run(uint64_t now, uint64_t until, uint64_t poll_ns)
{
	uint64_t port_ps = now * 1000; /* when the port is free */

	while (now < until) {
		struct sched_ent *e = sched_next(&sched, now);

		if (!e) {
			uint64_t next = sched_next_ns(&sched);

			cr_assert_gt(next, now);
			next = next < now + poll_ns ? now + poll_ns : next;
			now = next < until ? next : until;
			port_ps = now * 1000;
			continue;
		}
		struct sender *d = container_of(e, struct sender, ent);

		d->turns++;
		do {
			sched_sent(e, d->pkt_bytes, d->rate_bps, now);
			d->bytes += d->pkt_bytes;
			d->left--;
			port_ps += d->pkt_bytes * (8000 * SEC / LINE_BPS);
		} while (d->left && sched_may_send(e, now));
		now = port_ps / 1000 > now ? port_ps / 1000 : now;
		sched_done(&sched, e, d->left > 0, now);
	}
	return now;
}

static double
jain(const struct sender *d, uint32_t n)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum += (double)d[i].bytes;
		squares += (double)d[i].bytes * (double)d[i].bytes;
	}
	return sum * sum / (n * squares);
}

Test(sched, an_empty_scheduler_has_no_turn_and_no_time)
{
	begin(0);
	cr_expect_null(sched_next(&sched, SEC));
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
}

Test(sched, turns_go_round_in_the_order_of_waking)
{
	struct sched_ent ents[3];

	begin(0);
	for (int i = 0; i < 3; i++) {
		sched_ent_init(&ents[i], &all);
		sched_wake(&sched, &ents[i], 0);
		sched_wake(&sched, &ents[i], 0); /* queued already */
	}
	cr_expect_eq(sched_next_ns(&sched), 0);
	for (int i = 0; i < 9; i++) {
		cr_assert_eq(sched_next(&sched, 0), &ents[i % 3]);
		sched_sent(&ents[i % 3], 100, SCHED_UNPACED, 0);
		sched_done(&sched, &ents[i % 3], i < 6, 0);
	}
	cr_expect_null(sched_next(&sched, 0));
}

Test(sched, a_turn_ends_with_the_packet_that_uses_up_the_quantum)
{
	struct sched_ent e;
	uint32_t sent = 0;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	while (sched_may_send(&e, 0)) {
		sched_sent(&e, 5000, SCHED_UNPACED, 0);
		sent += 5000;
	}
	cr_expect_eq(sent, 20000);
	sched_done(&sched, &e, true, 0);
	/* The next turn is shorter by what this one was longer. */
	cr_assert_eq(sched_next(&sched, 0), &e);
	for (sent = 0; sched_may_send(&e, 0); sent += 5000)
		sched_sent(&e, 5000, SCHED_UNPACED, 0);
	cr_expect_eq(sent, 15000);
}

Test(sched, a_packet_larger_than_the_quantum_still_gets_its_turn)
{
	struct sched_ent e;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(sched_next(&sched, 0), &e);
		cr_assert(sched_may_send(&e, 0));
		sched_sent(&e, SCHED_PKT_BYTES_MAX, SCHED_UNPACED, 0);
		cr_assert_not(sched_may_send(&e, 0));
		sched_done(&sched, &e, true, 0);
	}
}

Test(sched, waking_within_its_own_turn_is_not_lost)
{
	struct sched_ent e;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_wake(&sched, &e, 0);
	sched_done(&sched, &e, false, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_done(&sched, &e, false, 0);
	cr_expect_null(sched_next(&sched, 0));
}

Test(sched, removing_works_in_every_state_and_keeps_the_pace)
{
	struct sched_ent e, other;

	begin(0);
	sched_ent_init(&e, &all);
	sched_ent_init(&other, &all);
	sched_remove(&sched, &e); /* idle */
	sched_wake(&sched, &e, 0);
	sched_wake(&sched, &other, 0);
	sched_remove(&sched, &e); /* active */
	cr_assert_eq(sched_next(&sched, 0), &other);
	sched_remove(&sched, &other); /* running */
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);

	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_sent(&e, 1000, 8000000, 0); /* 1 ms */
	sched_done(&sched, &e, true, 0);
	sched_remove(&sched, &e); /* paced */
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
	cr_expect_null(sched_next(&sched, SEC / 2000));
	sched_wake(&sched, &e, SEC / 2000);
	cr_expect_null(sched_next(&sched, SEC / 2000));
	cr_expect_eq(sched_next(&sched, SEC / 1000 + 256), &e);
}

Test(sched, removing_one_leaves_the_others_of_its_slot)
{
	struct sched_ent ents[3], *e;
	int nb = 0;

	begin(0);
	for (int i = 0; i < 3; i++) {
		sched_ent_init(&ents[i], &all);
		sched_wake(&sched, &ents[i], 0);
		cr_assert_eq(sched_next(&sched, 0), &ents[i]);
		sched_sent(&ents[i], 1000, 8000000, 0);
		sched_done(&sched, &ents[i], true, 0);
	}
	sched_remove(&sched, &ents[1]);
	cr_expect_eq(sched_next_ns(&sched), (1000000 + 255) / 256 * 256);
	while ((e = sched_next(&sched, 1000192))) {
		cr_expect_neq(e, &ents[1]);
		nb++;
	}
	cr_expect_eq(nb, 2);
}

Test(sched, removing_forgets_that_it_was_woken_in_its_turn)
{
	struct sched_ent e;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_wake(&sched, &e, 0);
	sched_remove(&sched, &e);
	cr_expect_null(sched_next(&sched, 0));
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_done(&sched, &e, false, 0);
	cr_expect_null(sched_next(&sched, 0));
}

Test(sched, what_a_turn_leaves_is_not_saved_up)
{
	struct sched_ent e;
	uint32_t sent = 0;

	begin(0);
	sched_ent_init(&e, &all);
	for (int i = 0; i < 10; i++) { /* small turns, with less than the quantum to send */
		sched_wake(&sched, &e, 0);
		cr_assert_eq(sched_next(&sched, 0), &e);
		sched_sent(&e, 100, SCHED_UNPACED, 0);
		sched_done(&sched, &e, false, 0);
	}
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	for (; sched_may_send(&e, 0); sent += 1024)
		sched_sent(&e, 1024, SCHED_UNPACED, 0);
	cr_expect_eq(sent, SCHED_QUANTUM_BYTES);
}

Test(sched, a_caller_whose_clock_lags_is_served_at_the_next_slot)
{
	struct sched_ent e;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 1000);
	cr_assert_eq(sched_next(&sched, 1000), &e);
	sched_sent(&e, 1000, 1000000000, 1000); /* 8 us */
	sched_done(&sched, &e, true, 1000);
	cr_assert_eq(sched_next(&sched, 100000), &e);
	sched_sent(&e, 1000, 1000000000, 100000); /* due at 17 us */
	sched_done(&sched, &e, true, 16000);
	cr_expect_eq(sched_next(&sched, 100000 + 256), &e);
}

Test(sched, a_thousand_senders_with_equal_work_share_evenly)
{
	static struct sender d[1000];
	static const uint64_t rates[] = {SCHED_UNPACED, LINE_BPS, LINE_BPS / 1000, LINE_BPS / 10};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t total = 0;

		begin(0);
		for (int i = 0; i < 1000; i++) {
			sender_init(&d[i], 4174, rates[r]);
			sched_wake(&sched, &d[i].ent, 0);
		}
		run(0, SEC / 10, 1);
		for (int i = 0; i < 1000; i++)
			total += d[i].bytes;
		cr_expect_gt(jain(d, 1000), 0.999, "row %zu: %f", r, jain(d, 1000));
		cr_expect_gt(total, LINE_BPS / 80 * 99 / 100, "row %zu: %lu B", r, total);
	}
}

Test(sched, bytes_are_shared_and_not_packets)
{
	static struct sender d[100];

	begin(0);
	for (int i = 0; i < 100; i++) {
		sender_init(&d[i], i % 2 ? 4174 : 128, SCHED_UNPACED);
		sched_wake(&sched, &d[i].ent, 0);
	}
	run(0, SEC / 10, 1);
	cr_expect_gt(jain(d, 100), 0.999, "%f", jain(d, 100));
}

Test(sched, one_limited_sender_among_busy_ones_gets_its_rate)
{
	static struct sender d[101];
	static const struct {
		uint64_t rate_bps;
		uint32_t pkt_bytes;
		uint64_t poll_ns;
	} rows[] = {
		{100000000, 4174, 1},   {100000000, 1100, 1},     {100000000, 4174, 50000},
		{100000000, 66, 50000}, {500000000, 4174, 10000}, {7777777, 4174, 1},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		double got, want = (double)rows[r].rate_bps;

		begin(0);
		for (int i = 0; i < 101; i++) {
			sender_init(&d[i], 4174, LINE_BPS);
			if (i == 0)
				sender_init(&d[0], rows[r].pkt_bytes, rows[r].rate_bps);
			sched_wake(&sched, &d[i].ent, 0);
		}
		run(0, SEC, rows[r].poll_ns);
		got = (double)d[0].bytes * 8;
		cr_expect(got > want * 0.99 && got < want * 1.01, "row %zu: %.0f b/s", r, got);
		cr_expect_gt(jain(d + 1, 100), 0.999);
	}
}

Test(sched, rates_are_true_over_the_whole_range_when_alone)
{
	static const uint64_t rates[] = {
		1000, 64000, 1000000, 333333333, 10000000000, 93700000000, 99000000000,
	};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		/* Long enough for 10,000 packets; the port looks up every 3 us. */
		uint64_t span = 10000 * (8 * SEC * 4174 / rates[r]);
		double got, want = (double)rates[r];
		struct sender d;

		begin(SEC);
		sender_init(&d, 4174, rates[r]);
		sched_wake(&sched, &d.ent, SEC);
		run(SEC, SEC + span, 3000);
		got = (double)d.bytes * 8e9 / (double)span;
		cr_expect(got > want * 0.999 && got < want * 1.001, "%.0f for %.0f", got, want);
	}
}

/* Times from within a slot to many rounds ahead, asked for at the times that sched_next_ns names.
 */
Test(sched, the_calendar_is_late_by_one_slot_at_most_at_any_distance)
{
	static const uint64_t starts[] = {0, 255, 256, 1048575, 1048576, 77 * SEC + 13};
	static const uint64_t gaps[] = {
		1, 255, 256, 257, 1048575, 1048576, 1048577, 2097152, 20 * SEC + 1,
	};

	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
			uint64_t now = starts[s], due;
			struct sched_ent e;

			begin(now);
			sched_ent_init(&e, &all);
			sched_wake(&sched, &e, now);
			cr_assert_eq(sched_next(&sched, now), &e);
			sched_sent(&e, 1, 8 * SEC / gaps[g], now);
			sched_done(&sched, &e, true, now);
			due = e.next_ns;
			while (!sched_next(&sched, now)) {
				uint64_t next = sched_next_ns(&sched);

				cr_assert_gt(next, now, "start %zu gap %zu", s, g);
				now = next;
			}
			cr_expect(now >= due && now < due + 256, "start %zu gap %zu: %lu", s, g,
			          now - due);
		}
	}
}

Test(sched, a_clock_that_jumps_finds_all_that_became_due)
{
	static struct sender d[500];

	begin(0);
	for (int i = 0; i < 500; i++) {
		sender_init(&d[i], 1000, 8000000 / (1 + (uint64_t)i % 10)); /* 1 to 10 ms */
		sched_wake(&sched, &d[i].ent, 0);
	}
	run(0, SEC / 1000, 1);
	/* 5.5 ms after the first packets: half of the senders may send their second. */
	for (int round = 0; round < 2; round++) {
		struct sched_ent *e;
		int nb = 0;

		while ((e = sched_next(&sched, 5500000)))
			nb++; /* keeps its turn, so it does not come again */
		cr_expect_eq(nb, round == 0 ? 250 : 0, "%d", nb);
	}
	cr_expect_gt(sched_next_ns(&sched), 5500000);
}

/* A round later all slots are due, the one that is a whole round old too. */
Test(sched, a_jump_of_a_round_and_more_skips_no_slot)
{
	for (uint64_t jump = 4000; jump < 4200; jump++) {
		struct sched_ent e;

		begin(0);
		sched_ent_init(&e, &all);
		sched_wake(&sched, &e, 0);
		cr_assert_eq(sched_next(&sched, 0), &e);
		sched_sent(&e, 64, 1000000000, 0); /* 512 ns, tick 2 */
		sched_done(&sched, &e, true, 0);
		cr_assert_eq(sched_next_ns(&sched), 512);
		cr_expect_eq(sched_next(&sched, jump * 256), &e, "%lu", jump);
	}
}

Test(sched, a_rate_below_the_least_is_served_as_the_least)
{
	struct sender d;

	begin(0);
	sender_init(&d, 125, 1);
	sched_wake(&sched, &d.ent, 0);
	run(0, 100 * SEC + 1, 1);
	cr_expect(d.bytes >= 99 * 125 && d.bytes <= 101 * 125, "%lu", d.bytes);
}

Test(sched, after_a_stall_only_one_burst_is_caught_up)
{
	static const struct {
		uint64_t rate_bps;
		uint64_t burst_bytes;
	} rows[] = {
		{1000000, SCHED_BURST_BYTES},
		{1000000000, SCHED_BURST_BYTES},
		{LINE_BPS, LINE_BPS / 8 * SCHED_BURST_NS / SEC},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct sched_ent e;
		uint64_t bytes = 0, now = 10 * SEC;

		begin(0);
		sched_ent_init(&e, &all);
		sched_wake(&sched, &e, 0);
		cr_assert_eq(sched_next(&sched, 0), &e);
		sched_sent(&e, 1000, rows[r].rate_bps, 0);
		sched_done(&sched, &e, true, 0);
		/* The driver sleeps 10 s with the entity waiting; then time stands still. */
		while (sched_next(&sched, now)) {
			while (sched_may_send(&e, now)) {
				sched_sent(&e, 1000, rows[r].rate_bps, now);
				bytes += 1000;
			}
			sched_done(&sched, &e, true, now);
		}
		cr_expect(bytes >= rows[r].burst_bytes && bytes <= rows[r].burst_bytes + 1000,
		          "row %zu: %lu", r, bytes);
	}
}

Test(sched, unpaced_time_earns_nothing_for_the_paced_time_after_it)
{
	struct sched_ent e;
	uint32_t nb = 0;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_sent(&e, 1000, SCHED_UNPACED, SEC);
	for (; sched_may_send(&e, SEC); nb++)
		sched_sent(&e, 1000, 1000000, SEC);
	cr_expect_eq(nb, 1);
}

Test(sched, time_without_work_earns_nothing)
{
	struct sched_ent e;
	uint64_t now = 10 * SEC;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_sent(&e, 1000, 1000000, 0);
	sched_done(&sched, &e, false, 0);
	sched_wake(&sched, &e, now);
	cr_assert_eq(sched_next(&sched, now), &e);
	sched_sent(&e, 1000, 1000000, now);
	cr_expect_not(sched_may_send(&e, now + 7999999));
	cr_expect(sched_may_send(&e, now + 8000000));
}

Test(sched, an_idle_sender_does_not_get_round_its_pace_by_waking_again)
{
	struct sched_ent e;
	uint64_t bytes = 0;

	begin(0);
	sched_ent_init(&e, &all);
	for (uint64_t now = 0; now < SEC / 10; now += 1000) {
		sched_wake(&sched, &e, now);
		if (!sched_next(&sched, now))
			continue;
		sched_sent(&e, 1000, 100000000, now);
		bytes += 1000;
		sched_done(&sched, &e, false, now);
	}
	cr_expect_leq(bytes, 1250000 + 1000);
	cr_expect_geq(bytes, 1200000);
}

Test(sched, a_change_of_rate_counts_from_the_next_packet)
{
	struct sched_ent e;

	begin(0);
	sched_ent_init(&e, &all);
	sched_wake(&sched, &e, 0);
	cr_assert_eq(sched_next(&sched, 0), &e);
	sched_sent(&e, 1000, 8000000000, 0);
	cr_expect(sched_may_send(&e, 1000));
	sched_sent(&e, 1000, 8000000, 1000);
	cr_expect_not(sched_may_send(&e, 1000999));
	cr_expect(sched_may_send(&e, 1001000));
	sched_sent(&e, 1000, SCHED_UNPACED, 1001000);
	cr_expect(sched_may_send(&e, 1001000));
}

Test(sched, thousands_of_senders_with_tiny_rates_all_get_theirs)
{
	enum { NB = 8000 };
	static struct sender d[NB];

	begin(0);
	for (int i = 0; i < NB; i++) {
		sender_init(&d[i], 1100, 100000 + 1000 * (uint64_t)(i % 100));
		sched_wake(&sched, &d[i].ent, 0);
	}
	run(0, 10 * SEC, 2000);
	for (int i = 0; i < NB; i++) {
		double got = (double)d[i].bytes * 8 / 10, want = (double)d[i].rate_bps;

		cr_assert(got > want * 0.98 && got < want * 1.02, "%d: %.0f for %.0f", i, got,
		          want);
	}
}
