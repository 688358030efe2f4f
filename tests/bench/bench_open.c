/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to connect 1,000 QPs of two NICs, in plain RoCEv2 and with HELLO and OPEN: two
 * stacks back to back over in-memory ports in one thread, a fake clock of 1 us per turn. A first
 * connection makes the two known to each other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"
#include "world.h"

#define NB_QPS 1000
/* Turns before which all must be open. */
#define TURNS_MAX 1000000

static struct app_qp qps[2][NB_QPS];

static bool
is_open(uint32_t nb)
{
	for (uint32_t i = 0; i < 2 * nb; i++) {
		const struct qp *qp = qps[i % 2][i / 2].qp;

		if (qp->state != SHM_QPS_RTS || qp->framing == QP_PENDING)
			return false;
	}
	return true;
}

/* CPU time of the stacks until the first nb are connected, and when that is on the fake clock. */
static uint64_t
connect_all(struct world *w, uint32_t nb, uint64_t *virtual_ns)
{
	uint64_t start = timing_now_ns(), from_ns = w->now_ns;
	uint32_t turns = 0;

	for (uint32_t i = 0; i < nb; i++) {
		app_connect(&qps[0][i], &qps[1][i]);
		world_step(w);
	}
	/* Looked at now and then: that takes longer than a turn. */
	while (!is_open(nb)) {
		world_run(w, 100);
		turns += 100;
		if (turns > TURNS_MAX)
			abort();
	}
	*virtual_ns = w->now_ns - from_ns;
	return timing_now_ns() - start;
}

static double
run(enum framing_wish wish, uint64_t *virtual_ns)
{
	struct world_conf wc = {.framing = {wish, wish}};
	struct app_conf ac = {.depth = 4, .max_sge = 1, .cq_depth = 16};
	struct world w;
	uint64_t cpu_ns, ignored;

	world_open(&w, &wc);
	for (uint32_t i = 0; i < 2 * NB_QPS; i++)
		app_open(&qps[i % 2][i / 2], &w, (int)(i % 2), &ac);
	connect_all(&w, 1, &ignored);
	for (uint32_t i = 0; i < 2; i++) {
		app_close(&qps[i][0]);
		app_open(&qps[i][0], &w, (int)i, &ac);
	}
	cpu_ns = connect_all(&w, NB_QPS, virtual_ns);
	for (uint32_t i = 0; i < 2 * NB_QPS; i++)
		app_close(&qps[i % 2][i / 2]);
	world_close(&w);
	return (double)cpu_ns;
}

int
main(void)
{
	static const struct {
		const char *name;
		enum framing_wish wish;
	} rows[] = {{"rocev2", FRAMING_WISH_ROCEV2}, {"auto", FRAMING_WISH_AUTO}};

	for (uint32_t i = 0; i < 2; i++) {
		double ns[TIMING_RUNS];
		uint64_t virtual_ns;

		for (uint32_t r = 0; r < TIMING_RUNS; r++)
			ns[r] = run(rows[i].wish, &virtual_ns);
		printf("1,000 QPs, framing %-7s %6.2f ms of CPU for both ends, open after %.2f "
		       "ms\n",
		       rows[i].name, timing_median(ns) / 1e6, (double)virtual_ns / 1e6);
	}
	return 0;
}
