/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many QPs: two NICs back to back over in-memory ports in one thread, a fake clock. 1,000 active of
 * 10,000 connected QPs against 16 of 16, in the same run: what cache and TLB misses cost. Each
 * writes messages of 4 KB to memory that all share, so that payload costs both the same. Posting
 * and polling, in which an application misses in its own rings, are counted apart: it has a core of
 * its own (many.sh: the same through a daemon).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"
#include "world.h"

#define NB_QPS 10000
#define NB_MSGS 64000
#define LEN 4096
#define DEPTH 16
#define GROUP 16 /* flows that are rung at once */

struct flow {
	struct app_qp tx, rx;
	uint32_t posted, done;
};

static struct world w;
static struct local_mr mr[2];
static uint8_t *buf[2];

static void
post(struct flow *f)
{
	struct shm_sge sge = {mr[0].seg.va, LEN, mr[0].mr->key};
	struct shm_send_wqe wqe = {.op = SHM_WR_WRITE,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = mr[1].seg.va,
	                           .rkey = mr[1].mr->key};

	local_wq_put(&f->tx.sq, &wqe, sizeof(wqe), &sge, sizeof(sge));
	local_wq_publish(&f->tx.sq);
	f->posted++;
}

struct cost {
	double stack, app; /* ns per message */
};

/* The application's share of a round: what has completed is taken, and posted anew. */
static uint32_t
go_on(struct flow *f, uint32_t each)
{
	struct shm_cqe cqe;
	uint32_t nb_done = 0;

	while (f->posted < each && f->posted - f->done < DEPTH)
		post(f);
	while (local_poll(&f->tx.scq, &cqe)) {
		if (cqe.status)
			abort();
		f->done++;
		nb_done++;
	}
	return nb_done;
}

/* Every step-th flow writes its share of the messages, GROUP of them in turns. */
static struct cost
pump(struct flow *flows, uint32_t nb_active, uint32_t step)
{
	uint64_t start = timing_wall_ns(), stack_ns = 0, total_ns;
	uint32_t each = NB_MSGS / nb_active, nb = each * nb_active, left = nb;

	for (uint32_t i = 0; left; i = i + GROUP < nb_active ? i + GROUP : 0) {
		struct qp *rung[GROUP];
		uint32_t n = 0;
		uint64_t t;

		for (; n < GROUP && i + n < nb_active; n++) {
			struct flow *f = &flows[(i + n) * step];

			left -= go_on(f, each);
			rung[n] = f->tx.qp;
		}
		t = timing_wall_ns();
		qp_doorbells(rung, n, w.now_ns);
		world_run(&w, 8);
		stack_ns += timing_wall_ns() - t;
	}
	total_ns = timing_wall_ns() - start;
	for (uint32_t i = 0; i < nb_active; i++)
		flows[i * step].posted = flows[i * step].done = 0;
	return (struct cost){(double)stack_ns / nb, (double)(total_ns - stack_ns) / nb};
}

static void
open_flow(struct flow *f)
{
	struct app_conf conf = {.depth = DEPTH, .max_sge = 1, .cq_depth = DEPTH};
	struct app_qp *ends[2] = {&f->tx, &f->rx};
	struct shm_qp_attr attr[2];

	app_open(&f->tx, &w, 0, &conf);
	app_open(&f->rx, &w, 1, &conf);
	attr[0] = app_attr(&f->tx, &f->rx);
	attr[1] = app_attr(&f->rx, &f->tx);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			attr[i].path_mtu = SHM_MTU_4096;
			attr[i].timeout = 14;
			if (app_to(ends[i], &attr[i], state))
				abort();
		}
}

static void
close_flow(struct flow *f)
{
	app_close(&f->tx);
	app_close(&f->rx);
}

int
main(void)
{
	static struct flow few[16], many[NB_QPS];
	double ns[4][TIMING_RUNS], a, b;

	world_open(&w, NULL);
	for (int i = 0; i < 2; i++) {
		buf[i] = aligned_alloc(4096, LEN);
		memset(buf[i], i, LEN);
		app_reg(&mr[i], &w, i, buf[i], LEN, 15);
	}
	for (uint32_t i = 0; i < 16; i++)
		open_flow(&few[i]);
	for (uint32_t i = 0; i < NB_QPS; i++)
		open_flow(&many[i]);
	pump(few, 16, 1);
	pump(many, NB_QPS / 10, 10);
	for (uint32_t r = 0; r < TIMING_RUNS; r++) {
		struct cost a_few = pump(few, 16, 1), a_lot = pump(many, NB_QPS / 10, 10);

		ns[0][r] = a_few.stack;
		ns[1][r] = a_lot.stack;
		ns[2][r] = a_few.app;
		ns[3][r] = a_lot.app;
	}
	a = timing_median(ns[0]);
	b = timing_median(ns[1]);
	printf("both ends, WRITE of %u bytes, ns per message, medians of %u\n", LEN, TIMING_RUNS);
	printf("16 QPs: stack %.0f, application %.0f; 1,000 active of %u: stack %.0f, "
	       "application %.0f\n",
	       a, timing_median(ns[2]), NB_QPS, b, timing_median(ns[3]));
	printf("throughput of the stack: %.2f x that of 16 QPs (goal >= 0.85)\n", a / b);
	for (uint32_t i = 0; i < 16; i++)
		close_flow(&few[i]);
	for (uint32_t i = 0; i < NB_QPS; i++)
		close_flow(&many[i]);
	for (int i = 0; i < 2; i++) {
		mr_destroy(w.nic[i], mr[i].mr);
		free(buf[i]);
	}
	world_close(&w);
	return 0;
}
