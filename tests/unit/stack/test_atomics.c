/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"

/* Exactly once: additions of several QPs to one counter over a link that loses 5 %. */

#define NB_QPS 4
#define DEPTH 16

struct adder {
	struct app_qp from, to;
	uint64_t result[DEPTH];
	uint64_t posted, done, last;
	struct local_mr mr;
};

static void
open_adder(struct adder *a, struct world *w)
{
	app_open(&a->from, w, 0, NULL);
	app_open(&a->to, w, 1, NULL);
	app_reg(&a->mr, w, 0, a->result, sizeof(a->result), SHM_ACCESS_LOCAL_WRITE);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		struct shm_qp_attr x = app_attr(&a->from, &a->to), y = app_attr(&a->to, &a->from);

		x.max_rd_atomic = x.max_dest_rd_atomic = DEPTH;
		y.max_rd_atomic = y.max_dest_rd_atomic = DEPTH;
		x.timeout = 2; /* 16 us: five round trips */
		cr_assert_eq(app_to(&a->from, &x, state), 0);
		cr_assert_eq(app_to(&a->to, &y, state), 0);
	}
}

static void
post(struct adder *a, uint64_t remote, uint32_t rkey)
{
	struct shm_send_wqe wqe = {.wr_id = a->posted,
	                           .op = SHM_WR_FETCH_ADD,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = remote,
	                           .rkey = rkey,
	                           .atomic.compare_add = 1};
	struct shm_sge sge = {(uintptr_t)&a->result[a->posted++ % DEPTH], 8, a->mr.mr->key};

	app_post_send(&a->from, &wqe, &sge);
}

/* Each sum seen must be above the one that this QP saw before, or some addition was made twice. */
static void
take(struct adder *a)
{
	struct shm_cqe c;

	while (local_poll(&a->from.scq, &c)) {
		uint64_t old = a->result[c.wr_id % DEPTH];

		cr_assert_eq(c.status, SHM_WC_SUCCESS);
		cr_assert_eq(c.wr_id, a->done);
		cr_assert(!a->done || old > a->last);
		a->last = old;
		a->done++;
	}
}

Test(atomics, additions_under_loss_add_up_exactly, .timeout = 600)
{
	uint64_t each = 100000, left = NB_QPS;
	struct world_conf wc = {
		.fault = {.seed = 5, .tx.ppm[FAULT_LOSS] = 50000, .rx.ppm[FAULT_LOSS] = 50000}};
	static struct adder adders[NB_QPS];
	_Alignas(8) static uint64_t counter;
	struct local_mr shared;
	struct world w;

	world_open(&w, &wc);
	app_reg(&shared, &w, 1, &counter, 8, ALL_ACCESS);
	for (int i = 0; i < NB_QPS; i++)
		open_adder(&adders[i], &w);
	for (uint64_t turn = 0; left; turn++) {
		cr_assert_lt(turn, 200 * each, "hangs");
		left = 0;
		for (int i = 0; i < NB_QPS; i++) {
			while (adders[i].posted < each && adders[i].posted < adders[i].done + DEPTH)
				post(&adders[i], (uintptr_t)&counter, shared.mr->key);
			take(&adders[i]);
			left += adders[i].done < each;
		}
		world_step(&w);
	}
	cr_expect_eq(counter, NB_QPS * each);
	cr_expect_eq(w.nic[1]->stats.rx_atomic_requests, NB_QPS * each);
	for (int i = 0; i < NB_QPS; i++) {
		app_close(&adders[i].from);
		app_close(&adders[i].to);
		mr_destroy(w.nic[0], adders[i].mr.mr);
	}
	mr_destroy(w.nic[1], shared.mr);
	world_close(&w);
}
