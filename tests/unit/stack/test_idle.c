/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an idle connected QP costs, however much it did before; and that work
 * waits, and is not lost, while the system has no memory for it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "world.h"

#define NB_PAIRS 5000
/* Of 2 KB; what the daemon has for a QP (struct qp_obj, its place in two
 * tables) takes the rest. */
#define BYTES_MAX (2048 - 300)

static struct world w;
static struct local_mr mr[2];
static uint8_t buf[2][4096];

static void
begin(void)
{
	world_open(&w, NULL);
	for (int i = 0; i < 2; i++)
		app_reg(&mr[i], &w, i, buf[i], sizeof(buf[i]), 15);
}

static void
end(void)
{
	for (int i = 0; i < 2; i++)
		mr_destroy(w.nic[i], mr[i].mr);
	world_close(&w);
}

static void
post(struct app_qp *a, uint8_t op)
{
	struct shm_sge sge = {(uintptr_t)buf[0], 64, mr[0].mr->key};
	struct shm_send_wqe wqe = {.op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = (uintptr_t)buf[1],
	                           .rkey = mr[1].mr->key};

	app_post_send(a, &wqe, &sge);
}

static void
post_recv(struct app_qp *b)
{
	struct shm_sge sge = {(uintptr_t)buf[1], 64, mr[1].mr->key};

	app_post_recv(b, 1, &sge, 1);
}

static double
bytes_per_qp(void)
{
	uint64_t bytes = 0, nb = 0;

	for (int i = 0; i < 2; i++) {
		bytes += slab_set_bytes(&w.nic[i]->slabs);
		bytes += (w.nic[i]->qps.mask + UINT64_C(1)) * sizeof(struct keytab_slot);
		nb += w.nic[i]->qps.nb_objs;
	}
	return (double)bytes / (double)nb;
}

/* Time goes by without work. */
static void
rest(uint32_t turns)
{
	uint64_t step_ns = w.conf.step_ns;

	w.conf.step_ns = 50000000;
	world_run(&w, turns);
	w.conf.step_ns = step_ns;
}

Test(idle, ten_thousand_connected_qps_take_less_than_two_kilobytes_each, .init = begin, .fini = end)
{
	static struct app_qp a[NB_PAIRS], b[NB_PAIRS];
	static const uint8_t ops[] = {SHM_WR_SEND, SHM_WR_READ, SHM_WR_WRITE};
	struct app_conf conf = {.depth = 2, .max_sge = 1, .cq_depth = 4};
	uint64_t now;
	struct shm_cqe cqe;

	for (uint32_t i = 0; i < NB_PAIRS; i++) {
		app_open(&a[i], &w, 0, &conf);
		app_open(&b[i], &w, 1, &conf);
		app_connect(&a[i], &b[i]);
		post_recv(&b[i]);
	}
	cr_expect_lt(bytes_per_qp(), BYTES_MAX, "never used: %.0f bytes", bytes_per_qp());
	for (uint32_t k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < NB_PAIRS; i++)
			post(&a[i], ops[k]); /* all at once */
		for (uint32_t i = 0; i < NB_PAIRS; i++) {
			cr_assert(app_wait(&w, &a[i].scq, &cqe, 100000));
			cr_assert_eq(cqe.status, SHM_WC_SUCCESS);
		}
	}
	rest(1000);
	cr_expect_lt(bytes_per_qp(), BYTES_MAX, "used: %.0f bytes", bytes_per_qp());
	for (uint32_t i = 0; i < NB_PAIRS; i++) {
		app_close(&a[i]);
		app_close(&b[i]);
	}
	rest(1000);
	now = slab_set_bytes(&w.nic[0]->slabs) + slab_set_bytes(&w.nic[1]->slabs);
	cr_expect_eq(now, 0, "%llu bytes are left", (unsigned long long)now);
}

/* Not under a sanitizer, which needs address space of its own. */
#ifndef __SANITIZE_ADDRESS__
Test(idle, without_memory_work_waits_and_nothing_is_lost, .init = begin, .fini = end)
{
	struct app_conf conf = {.depth = 4, .max_sge = 1};
	struct rlimit limit, none;
	struct app_qp a, b;
	struct shm_cqe cqe;
	bool early;

	app_open(&a, &w, 0, &conf);
	app_open(&b, &w, 1, &conf);
	app_connect(&a, &b);
	post_recv(&b);
	cr_assert_eq(getrlimit(RLIMIT_AS, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	memset(buf[0], 0x5a, 64);
	cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
	post(&a, SHM_WR_SEND);
	early = app_wait(&w, &a.scq, &cqe, 5000);
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	cr_expect_not(early);
	cr_expect_gt(w.nic[0]->stats.no_memory, 0);
	cr_assert(app_wait(&w, &a.scq, &cqe, 100000));
	cr_expect_eq(cqe.status, SHM_WC_SUCCESS);
	cr_assert(app_wait(&w, &b.rcq, &cqe, 1000));
	cr_expect_eq(cqe.status, SHM_WC_SUCCESS);
	cr_expect_eq(memcmp(buf[0], buf[1], 64), 0);
	app_close(&a);
	app_close(&b);
}
#endif
