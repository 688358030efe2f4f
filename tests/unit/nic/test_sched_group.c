/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sched.h"

/* Turns by group: who has more senders has no larger share. */

#define SEC UINT64_C(1000000000)
#define LINE_BPS UINT64_C(100000000000)
#define MANY 1000

struct sender {
	struct sched_ent ent;
	uint32_t pkt_bytes;
	uint64_t rate_bps;
	uint64_t bytes; /* sent */
	uint64_t cost;
};

static struct sched sched;
static struct sched_group groups[MANY];
static struct sender senders[MANY + 1];
static const struct sched_ent *last[MANY]; /* of each group */

static void
begin(void)
{
	sched_init(&sched, 0);
	for (int i = 0; i < MANY; i++) {
		sched_group_init(&groups[i]);
		last[i] = NULL;
	}
}

static struct sender *
add(uint32_t i, uint32_t group, uint32_t pkt_bytes, uint64_t rate_bps)
{
	struct sender *d = &senders[i];

	*d = (struct sender){.pkt_bytes = pkt_bytes, .rate_bps = rate_bps};
	sched_ent_init(&d->ent, &groups[group]);
	sched_wake(&sched, &d->ent, 0);
	return d;
}

/* A busy port of LINE_BPS over a fake clock. */
static void
run(uint64_t until)
{
	uint64_t port_ps = 0;

	while (port_ps / 1000 < until) {
		uint64_t now = port_ps / 1000;
		struct sched_ent *e = sched_next(&sched, now);
		struct sender *d = container_of(e, struct sender, ent);

		if (!e) {
			cr_assert_gt(sched_next_ns(&sched), now);
			port_ps = sched_next_ns(&sched) * 1000;
			continue;
		}
		if (e != last[e->group - groups])
			d->cost += SCHED_TURN_COST_BYTES;
		last[e->group - groups] = e;
		do {
			sched_sent(e, d->pkt_bytes, d->rate_bps, now);
			d->bytes += d->pkt_bytes;
			d->cost += d->pkt_bytes + SCHED_PKT_COST_BYTES;
			port_ps += d->pkt_bytes * (8000 * SEC / LINE_BPS);
		} while (sched_may_send(e, now));
		sched_done(&sched, e, true, now);
	}
}

static uint64_t
bytes_of(uint32_t first, uint32_t nb)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i < first + nb; i++)
		sum += senders[i].bytes;
	return sum;
}

static uint64_t
cost_of(uint32_t first, uint32_t nb)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i < first + nb; i++)
		sum += senders[i].cost;
	return sum;
}

static void
expect_equal(uint64_t a, uint64_t b, const char *what, size_t row)
{
	cr_expect(a > b / 100 * 98 && a < b / 98 * 100, "%s, row %zu: %lu and %lu", what, row, a,
	          b);
}

Test(sched_group, one_sender_beside_a_thousand_of_another_group_has_half_of_the_port)
{
	static const uint64_t rates[] = {SCHED_UNPACED, LINE_BPS};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		uint64_t least = UINT64_MAX, most = 0;

		begin();
		for (uint32_t i = 0; i < MANY; i++)
			add(i, 0, 4174, rates[r]);
		add(MANY, 1, 4174, rates[r]);
		run(SEC / 10);
		expect_equal(cost_of(0, MANY), senders[MANY].cost, "1,000 and 1", r);
		/* And the rest, for that many cost more. */
		cr_expect_geq(senders[MANY].bytes, bytes_of(0, MANY));
		cr_expect_leq(senders[MANY].bytes, bytes_of(0, MANY) / 2 * 3);
		cr_expect_gt(bytes_of(0, MANY + 1), LINE_BPS / 80 / 100 * 99);
		/* And the thousand share theirs. */
		for (uint32_t i = 0; i < MANY; i++) {
			least = senders[i].bytes < least ? senders[i].bytes : least;
			most = senders[i].bytes > most ? senders[i].bytes : most;
		}
		cr_expect_leq(most - least, SCHED_QUANTUM_BYTES + 4174);
	}
}

Test(sched_group, groups_of_unequal_packets_share_what_these_cost)
{
	static const struct {
		uint32_t a, b;
	} rows[] = {{66, 4174}, {4174, 66}, {4174, 9216}, {9216, 1100}, {65536, 66}};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		begin();
		for (uint32_t i = 0; i < 100; i++)
			add(i, 0, rows[r].a, SCHED_UNPACED);
		add(100, 1, rows[r].b, SCHED_UNPACED);
		run(SEC / 10);
		expect_equal(cost_of(0, 100), senders[100].cost, "sizes", r);
	}
}

Test(sched_group, a_thousand_groups_share_evenly)
{
	uint64_t share = LINE_BPS / 8 / 10 / MANY;

	begin();
	for (uint32_t i = 0; i < MANY; i++)
		add(i, i, 1100, SCHED_UNPACED);
	run(SEC / 10);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert(senders[i].bytes + 2 * SCHED_QUANTUM_BYTES > share &&
		                  senders[i].bytes < share + 2 * SCHED_QUANTUM_BYTES,
		          "%u: %lu of %lu", i, senders[i].bytes, share);
}

/* A group whose senders are held back to less than its share keeps that; the other has the rest. */
Test(sched_group, what_a_paced_group_does_not_use_the_others_have)
{
	uint64_t want = LINE_BPS / 8 / 10 / 5; /* 20 senders at 1 % each */

	begin();
	for (uint32_t i = 0; i < 20; i++)
		add(i, 0, 1100, LINE_BPS / 100);
	for (uint32_t i = 20; i < 520; i++)
		add(i, 1, 4174, SCHED_UNPACED);
	run(SEC / 10);
	cr_expect(bytes_of(0, 20) > want / 100 * 99 && bytes_of(0, 20) < want / 100 * 101,
	          "%lu of %lu", bytes_of(0, 20), want);
	cr_expect_gt(bytes_of(0, 520), LINE_BPS / 80 / 100 * 99);
}

/* A sender with little to send does not cost its group the turn. */
Test(sched_group, a_turn_goes_on_with_the_next_of_the_group_until_it_is_used_up)
{
	enum {
		PKT = SCHED_GROUP_QUANTUM_BYTES / 2 - SCHED_PKT_COST_BYTES - SCHED_TURN_COST_BYTES +
		      10
	};

	begin();
	for (uint32_t i = 0; i < 3; i++)
		add(i, 0, PKT, SCHED_UNPACED);
	add(6, 1, PKT, SCHED_UNPACED);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(sched_next(&sched, 0), &senders[i].ent, "%u", i);
		sched_sent(&senders[i].ent, PKT, SCHED_UNPACED, 0);
		sched_done(&sched, &senders[i].ent, i > 0, 0);
	}
	cr_assert_lt(groups[0].deficit, 0);
	cr_expect_eq(sched_next(&sched, 0), &senders[6].ent);
	sched_done(&sched, &senders[6].ent, false, 0);
	/* The other group is gone; this one's next turn is shorter by the debt. */
	cr_expect_eq(sched_next(&sched, 0), &senders[2].ent);
	cr_expect_eq(groups[0].deficit, SCHED_GROUP_QUANTUM_BYTES - 20 - SCHED_TURN_COST_BYTES);
}

Test(sched_group, a_debt_is_carried_over_time_without_work_but_no_credit)
{
	enum { PKT = SCHED_GROUP_QUANTUM_BYTES };

	begin();
	add(0, 0, 1000, SCHED_UNPACED);
	cr_assert_eq(sched_next(&sched, 0), &senders[0].ent);
	sched_sent(&senders[0].ent, PKT, SCHED_UNPACED, 0);
	sched_done(&sched, &senders[0].ent, false, 0);
	cr_expect_not(list_is_linked(&groups[0].link));
	sched_wake(&sched, &senders[0].ent, SEC);
	cr_expect_eq(groups[0].deficit,
	             SCHED_GROUP_QUANTUM_BYTES - SCHED_PKT_COST_BYTES - SCHED_TURN_COST_BYTES);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(sched_next(&sched, SEC), &senders[0].ent);
		sched_sent(&senders[0].ent, 10, SCHED_UNPACED, SEC);
		sched_done(&sched, &senders[0].ent, false, SEC);
		sched_wake(&sched, &senders[0].ent, SEC);
		cr_expect_eq(groups[0].deficit, SCHED_GROUP_QUANTUM_BYTES);
	}
}

Test(sched_group, removing_the_last_active_sender_takes_its_group_out)
{
	struct sender *a, *b, *paced;

	begin();
	a = add(0, 0, 1000, SCHED_UNPACED);
	b = add(1, 0, 1000, SCHED_UNPACED);
	paced = add(2, 1, 1000, SCHED_UNPACED);
	sched_remove(&sched, &a->ent);
	cr_assert_eq(sched_next(&sched, 0), &b->ent);
	sched_remove(&sched, &b->ent); /* in its turn */
	cr_expect_not(list_is_linked(&groups[0].link));
	cr_assert_eq(sched_next(&sched, 0), &paced->ent);
	sched_sent(&paced->ent, 1000, 8000000, 0); /* 1 ms */
	sched_done(&sched, &paced->ent, true, 0);
	cr_expect_not(list_is_linked(&groups[1].link), "waits in the calendar");
	cr_expect_eq(sched_next_ns(&sched), (1000000 + 255) / 256 * 256);
	sched_remove(&sched, &paced->ent);
	cr_expect_eq(sched_next_ns(&sched), UINT64_MAX);
	/* The groups are as good as new. */
	sched_wake(&sched, &b->ent, SEC);
	sched_wake(&sched, &paced->ent, SEC);
	cr_expect_eq(sched_next(&sched, SEC), &b->ent);
	sched_done(&sched, &b->ent, false, SEC);
	cr_expect_eq(sched_next(&sched, SEC), &paced->ent);
}

/* Any order of work, ends and removals: whoever waits is served, and nobody else. */
Test(sched_group, any_order_of_waking_and_removing_loses_nobody)
{
	static bool waits[200];
	uint64_t now = 0;
	uint32_t seed = 1, nb = 0;

	begin();
	for (uint32_t i = 0; i < 200; i++) {
		add(i, i % 7, 1000, SCHED_UNPACED);
		sched_remove(&sched, &senders[i].ent);
	}
	for (uint32_t step = 0; step < 200000; step++) {
		uint32_t i = (seed = seed * 1664525 + 1013904223) >> 8;
		struct sender *d = &senders[i % 200];
		struct sched_ent *e;

		switch (i / 200 % 4) {
		case 0:
		case 1:
			sched_wake(&sched, &d->ent, now);
			nb += !waits[d - senders];
			waits[d - senders] = true;
			break;
		case 2:
			e = sched_next(&sched, now);
			cr_assert_eq(e != NULL, nb != 0);
			if (!e)
				break;
			d = container_of(e, struct sender, ent);
			cr_assert(waits[d - senders]);
			sched_sent(e, 100 + i % 9000, SCHED_UNPACED, now);
			waits[d - senders] = i / 800 % 2;
			nb -= !waits[d - senders];
			sched_done(&sched, e, waits[d - senders], now);
			break;
		case 3:
			sched_remove(&sched, &d->ent);
			nb -= waits[d - senders];
			waits[d - senders] = false;
			break;
		}
		now += i % 50;
		cr_assert_eq(sched_next_ns(&sched), nb ? 0 : UINT64_MAX);
	}
}
