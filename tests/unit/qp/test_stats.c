/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "world.h"

/* Counters of engines lie in the states of QPs, which come and go. */

/* A counter of an engine. */
static uint64_t
counter(const struct nic *nic, const char *name)
{
	struct nic_engine_sums sums;

	nic_engine_stats(nic, &sums);
	for (uint32_t e = 0; e < nic->nb_engine_stats; e++) {
		uint32_t i = 0;

		STAT_FOREACH (d, nic->engine_stats[e]) {
			if (strcmp(d->name, name) == 0)
				return sums.engine[e][i];
			i++;
		}
	}
	cr_assert_fail("no counter %s", name);
	return 0;
}

/* Send over a link that loses much until the sender went back at least once. */
static void
go_back(struct world *w, struct app_qp *a, struct app_qp *b, struct local_mr *from,
        struct local_mr *to)
{
	uint64_t before = counter(w->nic[0], "gbn_rewinds");
	struct shm_send_wqe wqe = {
		.op = SHM_WR_WRITE,
		.flags = SHM_SEND_SIGNALED,
		.nb_sge = 1,
		.remote_addr = to->seg.va,
		.rkey = to->mr->key,
	};
	struct shm_sge sge = {from->seg.va, (uint32_t)from->seg.len, from->mr->key};
	struct shm_cqe cqe;

	app_connect(a, b);
	for (int i = 0; counter(w->nic[0], "gbn_rewinds") == before; i++) {
		cr_assert_lt(i, 100);
		app_post_send(a, &wqe, &sge);
		cr_assert(app_wait(w, &a->scq, &cqe, 100000));
		cr_assert_eq(cqe.status, SHM_WC_SUCCESS);
	}
}

Test(stats, counters_of_engines_outlive_their_qps)
{
	static uint8_t src[32768], dst[32768];
	const struct world_conf conf = {.fault = {.seed = 7, .tx.ppm[FAULT_LOSS] = 50000}};
	struct shm_qp_attr reset = {.state = SHM_QPS_RESET};
	struct local_mr from, to;
	struct app_qp a, b;
	uint64_t first, second;
	struct world w;

	world_open(&w, &conf);
	app_reg(&from, &w, 0, src, sizeof(src), 0);
	app_reg(&to, &w, 1, dst, sizeof(dst), SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE);
	app_open(&a, &w, 0, NULL);
	app_open(&b, &w, 1, NULL);
	cr_expect_eq(counter(w.nic[0], "gbn_rewinds"), 0);
	go_back(&w, &a, &b, &from, &to);
	first = counter(w.nic[0], "gbn_rewinds");
	cr_expect_gt(first, 0, "while it lives");

	cr_expect_eq(app_to(&a, &reset, SHM_QPS_RESET), 0);
	cr_expect_eq(app_to(&b, &reset, SHM_QPS_RESET), 0);
	cr_expect_eq(counter(w.nic[0], "gbn_rewinds"), first, "after a reset");
	go_back(&w, &a, &b, &from, &to);
	second = counter(w.nic[0], "gbn_rewinds");
	cr_expect_gt(second, first, "in its second life");

	app_close(&a);
	app_close(&b);
	cr_expect_eq(counter(w.nic[0], "gbn_rewinds"), second, "when it is gone");
	cr_expect_eq(counter(w.nic[1], "gbn_rewinds"), 0, "the other side sent nothing");
	mr_destroy(w.nic[0], from.mr);
	mr_destroy(w.nic[1], to.mr);
	world_close(&w);
}
