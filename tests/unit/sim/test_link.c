/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "net.h" /* and with it the link.h of its folder: lib/port has another */
#include "pool.h"

/* A link by itself: when frames arrive, and which. */

#define DELAY_PS UINT64_C(1000000)

static struct events clock;
static struct sim_link ways[2];
static struct pkt_pool *pool;
static uint64_t nb_arrived[2], last_ps[2];
static uint32_t turns[8], nb_turns;

static void
deliver(struct sim_link *link, struct pkt *p, uint64_t now_ps)
{
	cr_assert_geq(now_ps, last_ps[link->way]);
	nb_arrived[link->way]++;
	last_ps[link->way] = now_ps;
	pkt_free(&p, 1);
}

static void
init(uint64_t rate_bps)
{
	cr_assert_eq(events_init(&clock, EVENTS_MANY_LOG2), 0);
	memset(ways, 0, sizeof(ways));
	memset(nb_arrived, 0, sizeof(nb_arrived));
	memset(last_ps, 0, sizeof(last_ps));
	pool = sim_pool_create(256);
	cr_assert(pool);
	for (uint8_t w = 0; w < 2; w++) {
		ways[w].clock = &clock;
		ways[w].deliver = deliver;
		ways[w].way = w;
		sim_link_init(&ways[w], rate_bps, DELAY_PS);
	}
}

static void
fini(void)
{
	struct sim_link *const both[] = {&ways[0], &ways[1]};

	link_faults_destroy(both);
	sim_link_clear(&ways[0]);
	sim_link_clear(&ways[1]);
	cr_expect_eq(sim_pool_nb_out(pool), 0);
	sim_pool_destroy(pool);
	events_fini(&clock);
}

static void
send_now(struct sim_link *link, uint32_t bytes, uint64_t now_ps)
{
	struct pkt *p;

	cr_assert_eq(pool->alloc(pool, &p, 1), 1);
	p->len = bytes;
	p->absent = bytes > 54 ? bytes - 54 : 0;
	sim_link_send(link, p, now_ps);
}

static void
run_until(uint64_t ps)
{
	while (events_step(&clock, ps))
		;
}

/* One frame behind the other, each as soon as the link is free. */
static void
send_train(struct sim_link *link, uint64_t nb, uint32_t bytes)
{
	for (uint64_t i = 0; i < nb; i++) {
		uint64_t at_ps = link->free_ps;

		run_until(at_ps);
		clock.now_ps = at_ps;
		send_now(link, bytes, at_ps);
	}
	run_until(NEVER_PS);
}

Test(sim_link, a_frame_arrives_after_its_bytes_and_the_delay_to_the_picosecond)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t bytes;
		uint64_t want_ps; /* (bytes + 24) x 8 / rate, by hand */
	} rows[] = {
		{100000000000, 1082, 88480},  {100000000000, 62, 6880},
		{400000000000, 1082, 22120},  {10000000000, 64, 70400},
		{25000000000, 9000, 2887680}, {1000000000, 1, 200000},
		{1600000000000, 1082, 5530},  {30000000000, 51, 20000}, /* 266.67 a byte */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		init(rows[i].rate_bps);
		clock.now_ps = 12345;
		cr_assert(sim_link_is_free(&ways[0], 12345));
		send_now(&ways[0], rows[i].bytes, 12345);
		cr_expect_eq(ways[0].free_ps, 12345 + rows[i].want_ps, "row %zu: %lu", i,
		             ways[0].free_ps);
		cr_expect(!sim_link_is_free(&ways[0], 12344 + rows[i].want_ps), "row %zu", i);
		cr_expect(sim_link_is_free(&ways[0], 12345 + rows[i].want_ps), "row %zu", i);
		run_until(NEVER_PS);
		cr_expect_eq(last_ps[0], 12345 + rows[i].want_ps + DELAY_PS, "row %zu: %lu", i,
		             last_ps[0]);
		fini();
	}
}

/*
 * Rates that a frame's bits don't divide: the time of a byte is rounded once, to 2^-20 ps, and
 * nothing is added up that was rounded. 10^7 frames of 1,106 bytes may be 2^-21 ps per byte off,
 * which is 5 ns of a second or more; the frames of a rate whose byte is whole, not at all.
 */
Test(sim_link, a_rate_that_divides_nothing_does_not_drift_over_millions_of_frames)
{
	static const struct {
		uint64_t rate_bps;
		double off_ps; /* of a byte, at most */
	} rows[] = {
		{100000000000, 0},
		{40000000000, 0},
		{97000000007, 0x1p-21},
		{33333333333, 0x1p-21},
	};
	const uint64_t nb = getenv("WEFT_TEST_LONG") ? 10000000 : 1000000;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		__extension__ unsigned __int128 bits = (unsigned __int128)nb * 1106 * 8 * PS_PER_S;
		uint64_t want_ps = (uint64_t)(bits / rows[i].rate_bps);
		double off_ps;

		init(rows[i].rate_bps);
		send_train(&ways[0], nb, 1082);
		off_ps = fabs((double)ways[0].free_ps - (double)want_ps);
		cr_expect_leq(off_ps, (double)nb * 1106 * rows[i].off_ps + 1,
		              "row %zu: off by %.0f ps", i, off_ps);
		cr_expect_eq(last_ps[0], ways[0].free_ps + DELAY_PS);
		cr_expect_eq(nb_arrived[0], nb);
		cr_expect_eq(ways[0].nb_pkts, nb);
		cr_expect_eq(ways[0].nb_bytes, nb * 1106);
		/* busy all the time, within the part of a picosecond of each frame */
		cr_expect_leq(ways[0].free_ps - ways[0].busy_ps, 1);
		fini();
	}
}

/* ---- faults ---- */

static void
on_turn(void *arg, bool is_up, uint64_t now_ps)
{
	cr_assert_eq(arg, &clock);
	cr_assert_lt(nb_turns, 8);
	turns[nb_turns++] = (uint32_t)(now_ps / 1000000) << 1 | is_up;
}

static void
set_faults(const struct fault_params *params)
{
	struct sim_link *const both[] = {&ways[0], &ways[1]};

	nb_turns = 0;
	cr_assert_eq(link_faults_create(both, params, &clock, pool, on_turn, &clock), 0);
}

/* Five standard deviations of a binomial count. */
static void
expect_share(uint64_t hits, uint64_t nb, double share, const char *what)
{
	double mean = (double)nb * share, dev = sqrt(mean * (1 - share));

	cr_expect_leq(fabs((double)hits - mean), 5 * dev, "%s: %lu, not %.0f of %lu", what, hits,
	              mean, nb);
}

Test(sim_link, faults_strike_the_shares_that_were_asked_for_each_way_its_own)
{
	const uint64_t nb = 300000;
	const struct fault_params params = {
		.seed = 7,
		.tx = {.ppm = {[FAULT_LOSS] = 10000,
	                       [FAULT_DUPLICATE] = 20000,
	                       [FAULT_CORRUPT] = 500,
	                       [FAULT_REORDER] = 5000},
	               .reorder_pkts = 5,
	               .reorder_ns = 1000000},
		.rx = {.ppm = {[FAULT_LOSS] = 100}},
	};
	const struct fault_stats *stats;
	uint64_t through;

	init(100000000000);
	set_faults(&params);
	send_train(&ways[0], nb, 1082);
	send_train(&ways[1], nb, 62);
	stats = link_fault_stats(&ways[0]);
	cr_assert_eq(link_fault_stats(&ways[1]), stats);
	through = nb - stats->tx[FAULT_LOSS];
	expect_share(stats->tx[FAULT_LOSS], nb, 0.01, "loss");
	expect_share(stats->tx[FAULT_DUPLICATE], through, 0.02, "duplicates");
	expect_share(stats->tx[FAULT_CORRUPT], through + stats->tx[FAULT_DUPLICATE], 0.0005,
	             "corruption");
	expect_share(stats->tx[FAULT_REORDER], through + stats->tx[FAULT_DUPLICATE], 0.005,
	             "overtaking");
	expect_share(stats->rx[FAULT_LOSS], nb, 0.0001, "loss of the other way");
	for (int kind = FAULT_LOSS + 1; kind < FAULT_NB; kind++)
		cr_expect_eq(stats->rx[kind], 0);
	cr_expect_eq(nb_arrived[0], through + stats->tx[FAULT_DUPLICATE]);
	cr_expect_eq(nb_arrived[1], nb - stats->rx[FAULT_LOSS]);
	cr_expect_eq(sim_link_nb_inside(&ways[0]), 0);
	fini();
}

Test(sim_link, one_that_goes_down_loses_what_is_on_its_way_and_what_is_sent_meanwhile)
{
	/* Down from 10 to 15 us, and from 30 to 35. */
	const struct fault_params params = {
		.down = {.at_ns = 10000, .for_ns = 5000, .every_ns = 20000},
	};
	static const uint32_t want[] = {10 << 1, 15 << 1 | 1, 30 << 1, 35 << 1 | 1};

	init(100000000000);
	set_faults(&params);
	for (uint32_t us = 0; us < 40; us++) {
		/* Sent half a microsecond before and after each: it takes one of delay. */
		run_until(us * UINT64_C(1000000) + 500000);
		clock.now_ps = us * UINT64_C(1000000) + 500000;
		send_now(&ways[0], 1082, clock.now_ps);
		send_now(&ways[1], 1082, clock.now_ps);
	}
	run_until(UINT64_C(45) * 1000000);
	cr_assert_eq(nb_turns, 4);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(turns[i], want[i], "turn %u: %u", i, turns[i]);
	/* Twice the 5 while it was down, and the one that was on its way. */
	for (int w = 0; w < 2; w++) {
		cr_expect_eq(nb_arrived[w], 40 - 2 * 6, "way %d: %lu", w, nb_arrived[w]);
		cr_expect_eq(sim_link_nb_inside(&ways[w]), 0);
	}
	cr_expect_eq(link_fault_stats(&ways[0])->tx[FAULT_DOWN], 12);
	cr_expect_eq(link_fault_stats(&ways[0])->rx[FAULT_DOWN], 12);
	fini();
}

Test(sim_link, a_fault_of_delay_comes_on_top_in_whole_nanoseconds)
{
	const struct fault_params params = {.tx = {.delay_ns = 7777}};

	init(100000000000);
	set_faults(&params);
	send_now(&ways[0], 1082, 0);
	run_until(NEVER_PS);
	/* There after 1,088.48 ns: the fault layer counts from 1,088 on. */
	cr_expect_eq(last_ps[0], (UINT64_C(1088) + 7777) * 1000, "%lu", last_ps[0]);
	fini();
}
