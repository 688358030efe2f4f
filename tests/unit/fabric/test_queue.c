/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "prng.h"
#include "queue.h"

#define NB 64

static struct pkt pkts[QUEUES_NB][NB];
static struct queues qs;

static void
init(const double weights[QUEUES_NB])
{
	queues_init(&qs, weights, 1500);
}

/* Keep so many frames in a queue: what is popped is pushed again. */
static void
fill(uint8_t queue, uint32_t nb, uint32_t len)
{
	for (uint32_t i = 0; i < nb; i++) {
		pkts[queue][i].len = len;
		queues_push(&qs, queue, &pkts[queue][i]);
	}
}

Test(queue, strict_queues_come_first_and_the_highest_of_them_before_others)
{
	static const double weights[QUEUES_NB] = {1, 0, 1, 1, 1, 0, 1, 1};
	static const uint8_t want[] = {5, 5, 1, 1, 0, 0};
	uint8_t queue;

	init(weights);
	fill(0, 2, 100);
	fill(1, 2, 100);
	fill(5, 2, 100);
	for (size_t i = 0; i < sizeof(want); i++) {
		cr_assert_not_null(queues_pop(&qs, 0xff, 0, &queue));
		cr_expect_eq(queue, want[i], "frame %zu", i);
	}
	cr_expect_null(queues_pop(&qs, 0xff, 0, &queue));
	cr_expect_eq(queue, QUEUE_NONE);
}

Test(queue, a_paused_queue_waits_and_the_others_go_on)
{
	static const double weights[QUEUES_NB] = {1, 1, 1, 1, 1, 1, 1, 0};
	uint8_t queue;

	init(weights);
	fill(7, 1, 100);
	fill(3, 1, 100);
	cr_assert_not_null(queues_pop(&qs, 0x7f, 0, &queue));
	cr_expect_eq(queue, 3);
	cr_expect_null(queues_pop(&qs, 0x7f, 0, &queue));
	cr_assert_not_null(queues_pop(&qs, 0xff, 0, &queue));
	cr_expect_eq(queue, 7);
}

/* Bytes of the link that each queue gets of so many rounds, all of them with a backlog. */
static void
share(const double weights[QUEUES_NB], const uint32_t lens[QUEUES_NB], uint32_t overhead,
      uint64_t bytes[QUEUES_NB], uint64_t total)
{
	uint64_t sum = 0;

	init(weights);
	memset(bytes, 0, QUEUES_NB * sizeof(bytes[0]));
	for (uint8_t i = 0; i < QUEUES_NB; i++)
		if (lens[i])
			fill(i, 2, lens[i]);
	while (sum < total) {
		uint8_t queue;
		struct pkt *p = queues_pop(&qs, 0xff, overhead, &queue);

		bytes[queue] += p->len + overhead;
		sum += p->len + overhead;
		queues_push(&qs, queue, p);
	}
}

Test(queue, weighted_queues_share_bytes_in_proportion_whatever_their_frames_are)
{
	static const struct {
		double weights[QUEUES_NB];
		uint32_t lens[QUEUES_NB];
		uint32_t overhead;
	} rows[] = {
		{{1, 5.059}, {1500, 57}, 0},
		{{1, 0.638}, {1024, 57}, 0},
		{{1, 82.592}, {1500, 57}, 0},
		{{1, 1, 1, 1, 1, 1, 1, 1}, {64, 128, 256, 512, 1024, 1500, 700, 60}, 24},
		{{1, 2, 3, 4, 5, 6, 7, 8}, {1500, 60, 1500, 60, 900, 61, 1499, 1000}, 24},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		uint64_t bytes[QUEUES_NB];
		double least = INFINITY, sum = 0;
		uint64_t total;

		for (int i = 0; i < QUEUES_NB; i++) {
			sum += rows[r].weights[i];
			if (rows[r].weights[i] > 0 && rows[r].weights[i] < least)
				least = rows[r].weights[i];
		}
		total = (uint64_t)(1000 * 1500 * sum / least);
		share(rows[r].weights, rows[r].lens, rows[r].overhead, bytes, total);
		for (int i = 0; i < QUEUES_NB; i++) {
			double want = (double)total * rows[r].weights[i] / sum;
			double quantum = 1500 * rows[r].weights[i] / least;

			cr_expect_leq(fabs((double)bytes[i] - want), quantum + 1524,
			              "row %zu queue %d: %lu for %f", r, i, bytes[i], want);
		}
	}
}

/* It runs empty with each: what it took too much it still owes. */
Test(queue, who_has_one_long_frame_at_a_time_pays_for_it)
{
	static const double weights[QUEUES_NB] = {1, 1};
	uint64_t bytes[2] = {0};

	init(weights);
	fill(0, 2, 100);
	fill(1, 1, 9000);
	while (bytes[0] + bytes[1] < 1000000) {
		uint8_t queue;
		struct pkt *p = queues_pop(&qs, 0xff, 0, &queue);

		bytes[queue] += p->len;
		queues_push(&qs, queue, p);
	}
	cr_expect_leq(fabs((double)bytes[0] - (double)bytes[1]), 1500 + 9000, "%lu and %lu",
	              bytes[0], bytes[1]);
}

/* Nobody is there whom it would owe anything. */
Test(queue, debts_end_when_nothing_waits)
{
	static const double weights[QUEUES_NB] = {1, 1};
	uint8_t queue;

	init(weights);
	fill(1, 1, 9000);
	cr_assert_not_null(queues_pop(&qs, 0xff, 0, &queue));
	for (int i = 0; i < QUEUES_NB; i++)
		cr_expect_eq(qs.deficit[i], 0);
}

Test(queue, who_has_nothing_leaves_its_share_to_others_and_saves_nothing_up)
{
	static const double weights[QUEUES_NB] = {1, 1};
	uint64_t bytes[2] = {0};
	uint8_t queue;

	init(weights);
	fill(0, 2, 1000);
	for (int i = 0; i < 1000; i++) {
		struct pkt *p = queues_pop(&qs, 0xff, 0, &queue);

		cr_assert_eq(queue, 0);
		queues_push(&qs, queue, p);
	}
	fill(1, 2, 1000);
	for (int i = 0; i < 100; i++) {
		struct pkt *p = queues_pop(&qs, 0xff, 0, &queue);

		bytes[queue] += p->len;
		queues_push(&qs, queue, p);
	}
	cr_expect_leq(llabs((long long)bytes[0] - (long long)bytes[1]), 4000);
}

Test(queue, keeps_the_order_of_each_queue_and_loses_nothing)
{
	static const double weights[QUEUES_NB] = {1, 0, 3, 0.5, 0, 1, 2, 1};
	uint32_t next[QUEUES_NB] = {0}, last[QUEUES_NB] = {0}, nb = 0;
	struct prng dice;
	uint8_t queue;

	prng_seed(&dice, 3);
	init(weights);
	for (int step = 0; step < 100000; step++) {
		uint8_t i = (uint8_t)prng_below(&dice, QUEUES_NB);

		if (prng_below(&dice, 2) && next[i] - last[i] < NB) {
			struct pkt *p = &pkts[i][next[i] % NB];

			p->len = 60 + prng_below(&dice, 9000);
			p->due_ns = next[i]++;
			queues_push(&qs, i, p);
			nb++;
		} else {
			struct pkt *p = queues_pop(&qs, (uint8_t)prng_next(&dice), 24, &queue);

			if (!p)
				continue;
			cr_assert_eq(p->due_ns, last[queue]++);
			nb--;
		}
	}
	while (queues_pop(&qs, 0xff, 24, &queue))
		nb--;
	cr_expect_eq(nb, 0);
}
