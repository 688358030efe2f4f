/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "buffer.h"
#include "prng.h"

/* A ToR of 16 ports at 100 Gb/s and 4 at 400, 32 MiB: switch-mmu.cc of the HPCC simulator. */
#define TOR_RESERVE (20 * 4096)
#define TOR_HEADROOM (16 * 37500 + 4 * 150000)

static struct buffer
tor(void)
{
	return (struct buffer){
		.total_pkts = 1 << 20,
		.total_bytes = 32 << 20,
		.shared_bytes = (32 << 20) - TOR_RESERVE - TOR_HEADROOM,
	};
}

Test(buffer, thresholds_of_an_empty_tor_are_those_of_hpccs_simulator)
{
	struct buffer b = tor();
	struct buffer_ingress host = {.beta_dt = 8}, uplink = {.beta_dt = 2};

	cr_expect_eq(b.shared_bytes, 32272512);
	cr_expect_eq(buffer_pause_threshold(&b, &host), 4034064);
	cr_expect_eq(buffer_pause_threshold(&b, &uplink), 16136256);
}

Test(buffer, a_lossless_class_takes_reserve_then_shared_then_headroom_and_then_nothing)
{
	struct buffer b = {.total_pkts = 1 << 20, .total_bytes = 100000, .shared_bytes = 80000};
	struct buffer_ingress in = {.reserve_bytes = 4000, .headroom_bytes = 5000, .beta_dt = 4};
	uint64_t shared = 0;

	for (int i = 0; i < 4; i++)
		cr_expect(buffer_take_lossless(&b, &in, 1000));
	cr_expect_eq(b.shared_used_bytes, 0, "the reserve is its own");
	/* Shared up to s <= (80000 - s') / 4, where s' is what was taken before: 16000. */
	while (in.headroom_used_bytes == 0) {
		cr_expect(buffer_take_lossless(&b, &in, 1000));
		shared = b.shared_used_bytes;
	}
	cr_expect_eq(shared, 16000);
	for (int i = 0; i < 4; i++)
		cr_expect(buffer_take_lossless(&b, &in, 1000));
	cr_expect_not(buffer_take_lossless(&b, &in, 1000), "the headroom is full");
	cr_expect_eq(in.headroom_used_bytes, 5000);
	cr_expect_eq(b.used_bytes, 4000 + 16000 + 5000);
}

Test(buffer, what_leaves_frees_headroom_first_then_shared_then_reserve)
{
	struct buffer b = {.total_pkts = 1 << 20, .total_bytes = 100000, .shared_bytes = 8000};
	struct buffer_ingress in = {.reserve_bytes = 2000, .headroom_bytes = 3000, .beta_dt = 1};

	while (buffer_take_lossless(&b, &in, 1000))
		;
	cr_expect_eq(in.used_bytes, 2000 + 4000, "half of the shared part");
	cr_expect_eq(in.headroom_used_bytes, 3000);
	buffer_give_lossless(&b, &in, 3500);
	cr_expect_eq(in.headroom_used_bytes, 0);
	cr_expect_eq(b.shared_used_bytes, 3500);
	buffer_give_lossless(&b, &in, 4000);
	cr_expect_eq(b.shared_used_bytes, 0);
	cr_expect_eq(in.used_bytes, 1500);
	buffer_give_lossless(&b, &in, 1500);
	cr_expect_eq(b.used_bytes, 0);
}

Test(buffer, pause_and_resume_lie_3072_bytes_apart)
{
	struct buffer b = {.total_pkts = 1 << 20, .total_bytes = 200000, .shared_bytes = 100000};
	struct buffer_ingress in = {.headroom_bytes = 20000, .beta_dt = 4};

	/* s >= (100000 - s) / 4 from 20000 on. */
	while (!buffer_ingress_asks(&b, &in))
		cr_assert(buffer_take_lossless(&b, &in, 1));
	cr_expect_eq(b.shared_used_bytes, 20000);
	/* s + 3072 <= (100000 - s) / 4 from 17542 on down. */
	while (buffer_ingress_asks(&b, &in))
		buffer_give_lossless(&b, &in, 1);
	cr_expect_eq(b.shared_used_bytes, 17542);
	cr_expect_not(buffer_ingress_asks(&b, &in));
}

Test(buffer, short_frames_are_bounded_as_frames)
{
	static const struct {
		double alpha;
		uint32_t want;
	} rows[] = {{1, 2048}, {0.25, 819}, {4, 3277}, {1024, 4092}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buffer b = {
			.total_pkts = 4096, .total_bytes = 1 << 24, .shared_bytes = 1 << 24};
		struct buffer_ingress in = {0};
		struct buffer_egress out = {.alpha_1024 = (uint64_t)(rows[i].alpha * 1024)};

		while (buffer_take_lossy(&b, &in, &out, 64))
			;
		/* n <= alpha (N - (n - 1)): that it takes one itself is seen with the next. */
		cr_expect_leq(out.used_pkts, rows[i].want + 1, "row %zu: %u", i, out.used_pkts);
		cr_expect_geq(out.used_pkts, rows[i].want, "row %zu: %u", i, out.used_pkts);
		cr_expect_eq(b.used_pkts, out.used_pkts);
	}
}

Test(buffer, short_lossless_frames_pause_as_frames_three_apart)
{
	struct buffer b = {.total_pkts = 4096, .total_bytes = 1 << 24, .shared_bytes = 1 << 23};
	struct buffer_ingress in = {.headroom_bytes = 20000, .beta_dt = 8};

	/* n >= (4096 - n) / 8, whole, from 455 on. */
	while (!buffer_ingress_asks(&b, &in))
		cr_assert(buffer_take_lossless(&b, &in, 64));
	cr_expect_eq(in.used_pkts, 455);
	/* n + 3 <= (4096 - n) / 8 from 452 on down. */
	while (buffer_ingress_asks(&b, &in))
		buffer_give_lossless(&b, &in, 64);
	cr_expect_eq(in.used_pkts, 452);
	/* Others have all: only who holds nothing may begin. */
	b.total_pkts = b.used_pkts;
	cr_expect(buffer_ingress_asks(&b, &in));
	while (in.used_pkts > 0)
		buffer_give_lossless(&b, &in, 64);
	cr_expect_not(buffer_ingress_asks(&b, &in));
}

Test(buffer, equal_queues_pause_at_b_over_n_plus_beta)
{
	struct buffer b = {
		.total_pkts = 1 << 20, .total_bytes = 82000000, .shared_bytes = 82000000};
	struct buffer_ingress in[128];
	uint64_t q = 0;

	for (int i = 0; i < 128; i++)
		in[i] = (struct buffer_ingress){.beta_dt = 8};
	for (bool paused = false; !paused; q += 100)
		for (int i = 0; i < 128; i++) {
			if (!buffer_take_lossless(&b, &in[i], 100))
				paused = true;
			paused |= buffer_ingress_asks(&b, &in[i]);
		}
	/* Odin: 82 MB, 128 queues, beta 8: 602.9 KB. */
	cr_expect_lt(q, 603200, "%lu", q);
	cr_expect_gt(q, 602700, "%lu", q);
}

Test(buffer, a_lossy_queue_may_have_alpha_times_what_is_free)
{
	static const struct {
		double alpha;
		uint64_t want;
	} rows[] = {{1, 40000}, {0.25, 16000}, {4, 64000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buffer b = {
			.total_pkts = 1 << 20, .total_bytes = 80000, .shared_bytes = 80000};
		struct buffer_ingress in = {0};
		struct buffer_egress out = {.alpha_1024 = (uint64_t)(rows[i].alpha * 1024)};

		while (buffer_take_lossy(&b, &in, &out, 10))
			;
		/* q <= alpha (B - q): q = B alpha / (1 + alpha). */
		cr_expect_lt(out.used_bytes, rows[i].want + 20, "row %zu: %lu", i, out.used_bytes);
		cr_expect_gt(out.used_bytes, rows[i].want - 20, "row %zu: %lu", i, out.used_bytes);
		cr_expect_eq(in.held_bytes, out.used_bytes);
	}
}

Test(buffer, a_reserve_is_there_although_others_have_all_that_is_shared)
{
	struct buffer b = {.total_pkts = 1 << 20, .total_bytes = 84000, .shared_bytes = 80000};
	struct buffer_ingress in = {0};
	struct buffer_egress greedy = {.alpha_1024 = 1 << 20},
			     quiet = {.alpha_1024 = 1024, .reserve_bytes = 4000};

	while (buffer_take_lossy(&b, &in, &greedy, 10))
		;
	cr_expect(buffer_take_lossy(&b, &in, &quiet, 4000));
	cr_expect_not(buffer_take_lossy(&b, &in, &quiet, 1000));
}

Test(buffer, is_empty_when_all_has_left_in_any_order)
{
	struct buffer b = {.total_pkts = 1 << 20, .total_bytes = 300000, .shared_bytes = 200000};
	struct buffer_ingress in[4];
	struct buffer_egress out[4];
	struct {
		uint32_t bytes;
		uint8_t in, out;
		bool lossless;
	} held[512];
	uint32_t nb = 0;
	struct prng dice;

	prng_seed(&dice, 7);
	for (int i = 0; i < 4; i++) {
		in[i] = (struct buffer_ingress){
			.reserve_bytes = 3000, .headroom_bytes = 9000, .beta_dt = 8};
		out[i] = (struct buffer_egress){.reserve_bytes = 3000, .alpha_1024 = 512};
	}
	for (int step = 0; step < 200000 || nb > 0; step++) {
		if (step < 200000 && nb < 512 && prng_below(&dice, 2)) {
			uint8_t i = (uint8_t)prng_below(&dice, 4),
				o = (uint8_t)prng_below(&dice, 4);
			uint32_t bytes = 1 + prng_below(&dice, 2000);
			bool lossless = i < 2;

			if (lossless ? buffer_take_lossless(&b, &in[i], bytes)
			             : buffer_take_lossy(&b, &in[i], &out[o], bytes)) {
				held[nb].bytes = bytes;
				held[nb].in = i;
				held[nb].out = o;
				held[nb++].lossless = lossless;
			}
		} else if (nb > 0) {
			uint32_t k = prng_below(&dice, nb);

			if (held[k].lossless)
				buffer_give_lossless(&b, &in[held[k].in], held[k].bytes);
			else
				buffer_give_lossy(&b, &in[held[k].in], &out[held[k].out],
				                  held[k].bytes);
			held[k] = held[--nb];
		}
		cr_assert_leq(b.shared_used_bytes, b.shared_bytes);
		cr_assert_leq(b.used_bytes, b.total_bytes);
	}
	cr_expect_eq(b.used_bytes, 0);
	cr_expect_eq(b.shared_used_bytes, 0);
	cr_expect_gt(b.used_bytes_max, 100000, "it was full: %lu", b.used_bytes_max);
}
