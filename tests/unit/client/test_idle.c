/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <sched.h>
#include <time.h>

#include "client.h"
#include "fake.h"

/* What polls that find nothing do with the core. */

static struct fake daemon_;
static struct weft *weft;
static struct weft_cq cq;

static uint32_t nb_yields;
static uint64_t yield_ns; /* what a yield takes */

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** In front of libc's: a core that somebody else takes for so long. */
int
sched_yield(void)
{
	for (uint64_t end_ns = clock_ns() + yield_ns; clock_ns() < end_ns;)
		;
	nb_yields++;
	return 0;
}

static void
start(void)
{
	const struct fake_conf conf = {.idle = true};

	fake_start(&daemon_, &conf);
	cr_assert_eq(client_open(NULL, &weft), 0);
	cr_assert_eq(client_cq_init(&cq, weft, 16, NULL), 0);
	nb_yields = 0;
}

/** @return  yields of n polls that found nothing, after those that only pause. */
static uint32_t
poll_idle(uint32_t n)
{
	uint32_t before = nb_yields;

	for (uint32_t i = 0; i < n; i++)
		client_cq_idle(&cq, CLIENT_SPINS + i % 512);
	return nb_yields - before;
}

Test(idle, polls_pause_first_and_yield_then)
{
	uint32_t nb = 0;

	start();
	yield_ns = 0;
	for (uint32_t i = 1; i < CLIENT_SPINS; i++)
		client_cq_idle(&cq, i);
	cr_expect_eq(nb_yields, 0);
	/* Each but those that looked after the daemon, unless the machine took the core meanwhile.
	 */
	for (uint32_t tries = 0; tries < 10000 && nb < 900; tries++)
		nb = poll_idle(1000);
	cr_expect_geq(nb, 900);
	client_close(weft);
}

Test(idle, a_yield_that_cost_a_slice_is_not_repeated_for_one)
{
	uint64_t began_ns;

	start();
	yield_ns = CLIENT_YIELD_SLOW_NS + 500000;
	began_ns = clock_ns();
	while (nb_yields == 0)
		poll_idle(1);
	poll_idle(1000);
	/* However slow this machine is. */
	cr_expect_leq(nb_yields, 1 + (clock_ns() - began_ns) / CLIENT_YIELD_OFF_NS);
	yield_ns = 0;
	while (nb_yields == 1)
		poll_idle(1);
	cr_expect_geq(clock_ns() - began_ns, CLIENT_YIELD_SLOW_NS + CLIENT_YIELD_OFF_NS);
	client_close(weft);
}
