/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "pair.h"

/* Two applications on one NIC: one with a single QP, one with hundreds that are never idle. */

#define MANY 300
#define DEPTH 8

struct share {
	struct pair p;
	struct nic_client clients[2][2]; /* by side, by application */
	struct app_qp tx[MANY + 1], rx[MANY + 1];
	uint64_t posted[MANY + 1], done[MANY + 1];
};

static struct share s;

/* The application whose flow it is: the last one has its own. */
static int
owner(uint32_t i)
{
	return i == MANY;
}

static void
open_all(const struct world_conf *wc, struct app_conf ac)
{
	ac.depth = DEPTH;
	pair_open(&s.p, wc, NULL);
	for (int side = 0; side < 2; side++)
		for (int app = 0; app < 2; app++)
			nic_client_init(&s.clients[side][app]);
	for (uint32_t i = 0; i <= MANY; i++) {
		ac.client = &s.clients[0][owner(i)];
		app_open(&s.tx[i], &s.p.w, 0, &ac);
		ac.client = &s.clients[1][owner(i)];
		app_open(&s.rx[i], &s.p.w, 1, &ac);
		app_connect(&s.tx[i], &s.rx[i]);
	}
	world_run(&s.p.w, 20);
}

static void
close_all(void)
{
	for (uint32_t i = 0; i <= MANY; i++) {
		app_close(&s.tx[i]);
		app_close(&s.rx[i]);
	}
	pair_close(&s.p);
	for (int side = 0; side < 2; side++)
		for (int app = 0; app < 2; app++)
			cr_expect_not(list_is_linked(&s.clients[side][app].sched.link));
}

static void
fill(uint32_t i, uint8_t op, uint32_t len)
{
	struct shm_cqe c;

	while (local_poll(&s.tx[i].scq, &c)) {
		cr_assert_eq(c.status, SHM_WC_SUCCESS);
		s.done[i]++;
	}
	while (s.posted[i] - s.done[i] < DEPTH) {
		struct shm_send_wqe wqe = pair_wqe(&s.p, op, s.posted[i], 0);
		struct shm_sge sge = pair_sge(&s.p, 0, 0, len);

		app_post_send(&s.tx[i], &wqe, &sge);
		s.posted[i]++;
	}
}

/* Requests that the one QP completes, alone or beside the others; and how many those did. */
static uint64_t
run(const struct world_conf *wc, uint8_t type, uint8_t op, uint32_t len, bool alone,
    uint64_t *others)
{
	s = (struct share){0};
	open_all(wc, (struct app_conf){.type = type});
	for (uint64_t t = 0; t < 4000; t++) {
		for (uint32_t i = alone ? MANY : 0; i <= MANY; i++)
			fill(i, op, len);
		world_step(&s.p.w);
	}
	*others = 0;
	for (uint32_t i = 0; i < MANY; i++)
		*others += s.done[i];
	close_all();
	return s.done[MANY];
}

/* Of a port that both keep busy each has half: with a way there and back in it, 0.4 is required. */
Test(share, one_qp_beside_hundreds_of_another_client_keeps_its_share)
{
	static const struct {
		const char *what;
		uint8_t type, op;
		uint32_t len;
	} rows[] = {
		{"WRITE", SHM_QPT_RC, SHM_WR_WRITE, 65536},
		{"WRITE, small", SHM_QPT_RC, SHM_WR_WRITE, 64},
		{"READ", SHM_QPT_RC, SHM_WR_READ, 65536},
		{"atomics", SHM_QPT_RC, SHM_WR_FETCH_ADD, 8},
		{"UC WRITE", SHM_QPT_UC, SHM_WR_WRITE, 16384},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct world_conf wc = {.nb_pkts = 16384, .depth = 4096};
		uint64_t others, solo, beside;

		solo = run(&wc, rows[r].type, rows[r].op, rows[r].len, true, &others);
		beside = run(&wc, rows[r].type, rows[r].op, rows[r].len, false, &others);
		cr_expect_gt(beside * 10, solo * 4, "%s: %lu of %lu", rows[r].what, beside, solo);
		cr_expect_gt(others * 10, solo * 4, "%s: %lu for all others", rows[r].what, others);
	}
}

/* Requests to nobody, all of whose timers come up at once, over and over. */
Test(share, timers_of_many_qps_are_the_work_of_many_turns)
{
	struct world_conf wc = {.nb_pkts = 16384, .depth = 4096};
	const uint64_t *timeouts;
	uint64_t most = 0;

	s = (struct share){0};
	open_all(&wc, (struct app_conf){0});
	timeouts = &s.p.w.nic[0]->stats.local_ack_timeout_err;
	for (uint32_t i = 0; i <= MANY; i++)
		fill(i, SHM_WR_WRITE, 100);
	world_run(&s.p.w, 1);
	wc.fault.tx.ppm[FAULT_LOSS] = 1000000;
	world_spoil(&s.p.w, &wc.fault);
	for (uint32_t t = 0; t < 3000; t++) {
		uint64_t before = *timeouts;

		world_step(&s.p.w);
		most = *timeouts - before > most ? *timeouts - before : most;
	}
	cr_expect_gt(*timeouts, MANY);
	cr_expect_leq(most, 32);
	close_all();
}
