/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bell.c" /* with a doorbell of our own: the NIC's needs a NIC */

/* QPs that were rung: a pointer each, in order. */
static const void *rung[256];
static uint32_t nb_rung;

static char queues[8], many[WEFT_MAX_QP]; /* any addresses */
static uint32_t times[WEFT_MAX_QP];       /* that those of many were rung */

void
qp_doorbells(struct qp *const *qps, uint32_t n, uint64_t now_ns)
{
	(void)now_ns;
	for (uint32_t i = 0; i < n; i++) {
		char *at = (char *)qps[i];

		if (at >= many && at < many + WEFT_MAX_QP)
			times[at - many]++;
		else
			rung[nb_rung++] = qps[i];
	}
}

static struct bell_client *
new_client(struct bells *bells)
{
	struct bell_client *c = calloc(1, sizeof(*c));

	c->page = aligned_alloc(64, sizeof(*c->page));
	memset(c->page, 0, sizeof(*c->page));
	bell_set(c, 0, NULL);
	cr_assert_eq(bells_add(bells, c), 0);
	return c;
}

static void
free_client(struct bells *bells, struct bell_client *c)
{
	bells_del(bells, c);
	free(c->page);
	free(c);
}

/* As an application rings. */
static void
ring(struct bell_client *c, uint32_t bit)
{
	atomic_fetch_or(&c->page->bits[bit / 64], UINT64_C(1) << bit % 64);
	atomic_fetch_or(&c->page->summary[bit / SHM_BELL_QPS], UINT64_C(1) << bit / 64 % 64);
}

Test(bell, rings_what_was_rung_once_and_nothing_else)
{
	struct bells bells = {0};
	struct bell_client *c = new_client(&bells);

	bell_set(c, 3, (struct qp *)&queues[0]);
	bell_set(c, WEFT_MAX_QP - 1, (struct qp *)&queues[1]);
	ring(c, 3);
	ring(c, WEFT_MAX_QP - 1);
	ring(c, 77); /* nobody's */
	cr_expect_eq(bells_take(&bells, true, 1000), 3);
	cr_assert_eq(nb_rung, 2);
	cr_expect_eq(rung[0], &queues[0]);
	cr_expect_eq(rung[1], &queues[1]);
	cr_expect_eq(bells_take(&bells, true, 1001), 0);
	free_client(&bells, c);
	cr_expect_null(bells.clients);
}

/* What lies behind the QPs that there are is not looked at. */
Test(bell, a_page_full_of_ones_is_work_of_many_turns)
{
	const uint32_t nb = 3 * SHM_BELL_QPS;
	struct bells bells = {0};
	struct bell_client *c = new_client(&bells);

	bell_set(c, nb - 1, NULL);
	memset((void *)c->page, 0xff, sizeof(*c->page));
	for (uint32_t n = 0; n < nb; n += BELL_TURN_BITS) {
		cr_expect(bells_rung(&bells));
		cr_expect_eq(bells_take(&bells, true, 1000), BELL_TURN_BITS);
	}
	cr_expect_eq(nb_rung, 0);
	cr_expect_eq(bells_take(&bells, true, 1000), 0);
	cr_expect(!bells_rung(&bells));
	free_client(&bells, c);
}

/* Whatever else is rung all the time: each bit has its turn. */
Test(bell, no_bit_waits_for_ever)
{
	struct bells bells = {0};
	struct bell_client *c = new_client(&bells);
	static const uint32_t nbs[] = {31, 32, 33, 64, 65, 500, 9000};

	for (uint32_t i = 0; i < WEFT_MAX_QP; i++)
		bell_set(c, i, (struct qp *)&many[i]);
	for (size_t k = 0; k < sizeof(nbs) / sizeof(nbs[0]); k++) {
		uint32_t turns = nbs[k] / BELL_TURN_BITS + 3;
		uint32_t step = nbs[k] < 100 ? 61 : 7919;

		for (uint32_t from = 0; from + nbs[k] <= 5 * SHM_BELL_QPS; from += step) {
			memset(times, 0, sizeof(times));
			for (uint32_t t = 0; t < turns; t++) {
				for (uint32_t i = 0; i < nbs[k]; i++)
					ring(c, from + i);
				bells_take(&bells, true, 1000);
			}
			for (uint32_t i = 0; i < nbs[k]; i++)
				cr_assert_gt(times[from + i], 0, "bit %u of %u from %u", i, nbs[k],
				             from);
			while (bells_take(&bells, true, 1000))
				;
		}
	}
	free_client(&bells, c);
}

Test(bell, who_rang_lately_is_looked_at_each_turn_and_the_others_in_turns)
{
	struct bells bells = {0};
	struct bell_client *c[100];
	uint64_t now = 1000000000;

	for (uint32_t i = 0; i < 100; i++) {
		c[i] = new_client(&bells);
		bell_set(c[i], 0, (struct qp *)&queues[0]);
	}
	cr_expect_eq(bells.nb_hot, 0);
	ring(c[70], 0);
	for (uint32_t turn = 0; turn < BELL_COLD_TURNS; turn++)
		bells_take(&bells, false, now);
	cr_expect_eq(nb_rung, 1, "within so many turns");
	cr_expect_eq(bells.nb_hot, 1);

	ring(c[70], 0);
	cr_expect_eq(bells_take(&bells, false, now + BELL_COLD_NS), 1, "at once");
	cr_expect_eq(bells_take(&bells, false, now + 2 * BELL_COLD_NS), 0);
	cr_expect_eq(bells.nb_hot, 1);
	cr_expect_eq(bells_take(&bells, false, now + 2 * BELL_COLD_NS + 1), 0);
	cr_expect_eq(bells.nb_hot, 0, "silent for longer than that");

	for (uint32_t i = 0; i < 100; i++)
		ring(c[i], 0);
	nb_rung = 0;
	cr_expect_eq(bells_take(&bells, true, now), 100, "after a sleep all are looked at");
	cr_expect_eq(nb_rung, 100);
	cr_expect_eq(bells.nb_hot, 100);
	for (uint32_t i = 0; i < 100; i += 2)
		free_client(&bells, c[i]);
	for (uint32_t i = 1; i < 100; i += 2)
		ring(c[i], 0);
	cr_expect_eq(bells_take(&bells, false, now), 50, "the others stay hot");
	for (uint32_t i = 1; i < 100; i += 2)
		free_client(&bells, c[i]);
}

Test(bell, any_order_of_rings_and_ends_loses_nothing)
{
	struct bells bells = {0};
	struct bell_client *c[40] = {0};
	uint64_t now = 1;
	uint32_t nb_due = 0;

	srand(1);
	for (uint32_t step = 0; step < 20000; step++) {
		uint32_t i = (uint32_t)rand() % 40;

		now += (uint64_t)rand() % 100000;
		if (!c[i]) {
			c[i] = new_client(&bells);
		} else if (rand() % 20 == 0) {
			nb_due -= c[i]->page->summary[0] != 0;
			free_client(&bells, c[i]);
			c[i] = NULL;
		} else {
			nb_due += c[i]->page->summary[0] == 0;
			ring(c[i], 5);
		}
		nb_due -= bells_take(&bells, rand() % 50 == 0, now);
		cr_assert_eq(bells_rung(&bells), nb_due > 0);
	}
	for (uint32_t turn = 0; turn < 2 * BELL_COLD_TURNS; turn++)
		nb_due -= bells_take(&bells, false, now);
	cr_expect_eq(nb_due, 0);
	for (uint32_t i = 0; i < 40; i++) {
		if (c[i])
			free_client(&bells, c[i]);
	}
}

/* However many applications ring all the time: a turn stays short, and each has its share. */
Test(bell, a_turn_is_short_whoever_rings_and_goes_on_where_the_last_one_ended)
{
	enum { NB = 50 };
	struct bells bells = {0};
	struct bell_client *c[NB];
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < NB; i++) {
		c[i] = new_client(&bells);
		for (uint32_t bit = 0; bit < 64; bit++)
			c[i]->qps[bit] = (struct qp *)&many[i];
		ring(c[i], 0);
	}
	bells_take(&bells, true, 1000);
	memset(times, 0, sizeof(times));
	for (uint32_t turn = 0; turn < 1000; turn++) {
		uint32_t taken;

		for (uint32_t i = 0; i < NB; i++)
			for (uint32_t bit = 0; bit < 64; bit++)
				ring(c[i], bit);
		taken = bells_take(&bells, false, 1000 + turn);
		cr_assert(taken >= BELL_TURN_BITS_ALL &&
		          taken < BELL_TURN_BITS_ALL + BELL_TURN_BITS);
	}
	for (uint32_t i = 0; i < NB; i++) {
		least = times[i] < least ? times[i] : least;
		most = times[i] > most ? times[i] : most;
	}
	cr_expect_gt(least, 0);
	cr_expect_leq(most - least, 2 * BELL_TURN_BITS, "%u to %u", least, most);
	for (uint32_t i = 0; i < NB; i++)
		free_client(&bells, c[i]);
}

static uint32_t nb_too_fast;

static void
count_too_fast(struct bell_client *client)
{
	(void)client;
	nb_too_fast++;
}

Test(bell, who_rings_too_often_is_served_at_his_rate_and_others_as_before)
{
	struct bells bells = {0};
	struct bell_client *fast = new_client(&bells), *other = new_client(&bells);
	uint64_t begin = UINT64_C(1000000000), span = UINT64_C(1000000000);

	fast->qps[0] = (struct qp *)&many[0];
	other->qps[0] = (struct qp *)&many[1];
	fast->ns_per_ring = 1000000; /* 1,000 per second */
	fast->too_fast = count_too_fast;
	for (uint64_t now = begin; now < begin + span; now += 10000) {
		ring(fast, 0);
		ring(other, 0);
		bells_take(&bells, false, now);
	}
	/* A second's, the burst that it has at first, and one. */
	cr_expect(times[0] >= 1000 && times[0] <= 1012, "%u", times[0]);
	cr_expect_geq(times[1], 100000 - BELL_COLD_TURNS);
	cr_expect_eq(nb_too_fast, 1, "told once");
	free_client(&bells, other);
	free_client(&bells, fast);
	cr_expect(bells.nb_waits >= 900 && bells.nb_waits <= 1000, "%lu", bells.nb_waits);
}

Test(bell, a_worker_sleeps_until_the_next_that_waits_is_due)
{
	struct bells bells = {0};
	struct bell_client *a = new_client(&bells), *b = new_client(&bells);

	a->ns_per_ring = 300000000;
	b->ns_per_ring = 200000000;
	ring(a, 0);
	ring(b, 0);
	cr_expect_eq(bells_take(&bells, true, 1000000000), 2);
	cr_expect_eq(bells_next_ns(&bells), UINT64_MAX);
	ring(a, 0);
	cr_expect(bells_rung(&bells), "nobody has looked at it");
	cr_expect_eq(bells_take(&bells, true, 1000000001), 0);
	cr_expect(!bells_rung(&bells), "it waits");
	cr_expect_eq(bells_next_ns(&bells), 1000000000 - BELL_BURST_NS + 300000000);
	ring(b, 0);
	cr_expect_eq(bells_take(&bells, true, 1000000002), 0);
	cr_expect_eq(bells_next_ns(&bells), 1000000000 - BELL_BURST_NS + 200000000);
	cr_expect_eq(bells_take(&bells, true, bells_next_ns(&bells)), 1);
	cr_expect_eq(bells_next_ns(&bells), 1000000000 - BELL_BURST_NS + 300000000);
	free_client(&bells, a);
	cr_expect_eq(bells_next_ns(&bells), UINT64_MAX, "one that ends waits no more");
	cr_expect_eq(bells.nb_waiting, 0);
	free_client(&bells, b);
}

Test(bell, a_sleeper_asks_all_to_be_woken)
{
	struct bells bells = {0};
	struct bell_client *a = new_client(&bells), *b = new_client(&bells);

	bells_need_wake(&bells, true);
	cr_expect_eq(a->page->need_wake, 1);
	cr_expect_eq(b->page->need_wake, 1);
	bells_need_wake(&bells, false);
	cr_expect_eq(a->page->need_wake, 0);
	cr_expect_eq(b->page->need_wake, 0);
	free_client(&bells, a);
	free_client(&bells, b);
}
