/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "peer.h"
#include "prng.h"
#include "sr.h"

/*
 * Two ends of the weft framing over a bad link that do anything at any time: post, drain, fail,
 * reset, end, deregister. Whether bytes are right is for the conformance suite; here completions
 * are in order, a QP that failed has completed all that it was given, and one that was reset leases
 * nothing.
 */

#define STEPS 600

struct end {
	struct app_qp *qp;
	struct local_mr other;       /* comes and goes */
	uint64_t nb_sends, nb_recvs; /* posted; wr_ids count from 1 */
	uint64_t sent, received;     /* the last that completed */
};

struct soak {
	struct pair p;
	struct end end[2];
	struct prng rng;
	uint64_t seed;
};

static uint32_t
below(struct soak *k, uint32_t n)
{
	return (uint32_t)(prng_next(&k->rng) % n);
}

/* Once in n times. */
static bool
one_in(struct soak *k, uint32_t n)
{
	return below(k, n) == 0;
}

static bool
has_room(const struct local_wq *wq)
{
	return wq->tail - atomic_load(&wq->ring->ring.head) < 64;
}

/* ---- what an application does ---- */

static uint32_t
key_of(struct soak *k, int side)
{
	return one_in(k, 3) ? k->end[side].other.mr->key : k->p.mr[side].mr->key;
}

static void
post_send(struct soak *k, int side)
{
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_WRITE_IMM, SHM_WR_SEND,
	                              SHM_WR_SEND,  SHM_WR_READ,      SHM_WR_SEND_IMM,
	                              SHM_WR_READ,  SHM_WR_FETCH_ADD};
	static const uint8_t data[WEFT_MAX_INLINE];
	struct end *e = &k->end[side];
	uint8_t op = ops[below(k, 8)];
	struct shm_send_wqe wqe = {
		.wr_id = ++e->nb_sends,
		.op = op,
		.flags = (uint8_t)((one_in(k, 3) ? 0 : SHM_SEND_SIGNALED) |
	                           (one_in(k, 6) ? SHM_SEND_FENCE : 0)),
		.remote_addr = (uintptr_t)k->p.buf[!side] + 8 * below(k, 1000),
		.rkey = key_of(k, !side),
	};
	struct shm_sge sge = pair_sge(&k->p, side, 200000 + below(k, 1000),
	                              below(k, one_in(k, 4) ? 60000 : 3000));

	if (one_in(k, 200))
		wqe.rkey ^= 0x5500;
	if (op != SHM_WR_READ && op != SHM_WR_FETCH_ADD && one_in(k, 3)) {
		app_post_inline(e->qp, wqe, data, below(k, WEFT_MAX_INLINE));
		return;
	}
	if (op == SHM_WR_FETCH_ADD)
		sge.length = 8;
	sge.lkey = key_of(k, side);
	wqe.nb_sge = 1;
	app_post_send(e->qp, &wqe, &sge);
}

static void
post_recv(struct soak *k, int side)
{
	struct end *e = &k->end[side];
	struct shm_sge sge = pair_sge(&k->p, side, 400000, one_in(k, 20) ? 100 : 60000);

	sge.lkey = key_of(k, side);
	app_post_recv(e->qp, ++e->nb_recvs, &sge, 1);
}

/* Completions are in the order of posting; a QP that failed owes none. */
static void
drain(struct soak *k)
{
	struct shm_cqe c;

	for (int side = 0; side < 2; side++) {
		struct end *e = &k->end[side];

		while (local_poll(&e->qp->scq, &c)) {
			cr_assert_gt(c.wr_id, e->sent, "seed %lu", (unsigned long)k->seed);
			e->sent = c.wr_id;
		}
		while (local_poll(&e->qp->rcq, &c)) {
			cr_assert_gt(c.wr_id, e->received, "seed %lu", (unsigned long)k->seed);
			e->received = c.wr_id;
		}
		if (e->qp->qp->state != SHM_QPS_ERR)
			continue;
		/* The last sends may have completed without a word. */
		cr_assert_eq(atomic_load(&e->qp->sq.ring->ring.head), e->qp->sq.tail, "seed %lu",
		             (unsigned long)k->seed);
		cr_assert_eq(e->received, e->nb_recvs, "seed %lu", (unsigned long)k->seed);
	}
}

static void
run(struct soak *k, uint32_t turns)
{
	world_run(&k->p.w, turns);
	drain(k);
}

/* ---- how it begins and ends ---- */

static void
change(struct soak *k, int side, uint8_t state)
{
	struct shm_qp_attr attr = {.state = state};

	qp_modify(k->end[side].qp->qp, &attr, SHM_QP_STATE, k->p.w.now_ns);
}

static void
connect(struct soak *k)
{
	struct shm_qp_attr attr = peer_attr(); /* a timeout of 66 us */

	attr.min_rnr_timer = (uint8_t)(1 + below(k, 12));
	attr.rnr_retry = one_in(k, 2) ? 7 : 1;
	attr.retry_cnt = (uint8_t)below(k, 8);
	attr.max_rd_atomic = attr.max_dest_rd_atomic = (uint8_t)(1 + below(k, 6));
	pair_connect(&k->p, &attr);
}

/* Both ends go back to RESET, which gives all back, and are connected anew. */
static void
renew(struct soak *k)
{
	drain(k);
	for (int side = 0; side < 2; side++) {
		change(k, side, SHM_QPS_RESET);
		k->end[side].sent = k->end[side].nb_sends; /* nobody hears of the rest */
		k->end[side].received = k->end[side].nb_recvs;
		pair_expect_rest(&k->p.w, side, 1);
	}
	run(k, below(k, 100));
	connect(k);
}

static void
end_one(struct soak *k, int side)
{
	switch (below(k, 3)) {
	case 0:
		change(k, side, SHM_QPS_ERR);
		break;
	case 1:
		change(k, side, SHM_QPS_RESET);
		break;
	case 2:
		drain(k);
		app_close(k->end[side].qp);
		app_open(k->end[side].qp, &k->p.w, side, NULL);
		break;
	}
	run(k, below(k, 500));
	renew(k);
}

static void
swap_memory(struct soak *k, int side)
{
	struct local_mr *m = &k->end[side].other;

	cr_assert_eq(mr_destroy(k->p.w.nic[side], m->mr), 0);
	app_reg(m, &k->p.w, side, k->p.buf[side], PAIR_BUF, ALL_ACCESS);
}

static void
step(struct soak *k, int side)
{
	struct app_qp *a = k->end[side].qp;

	switch (below(k, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		for (uint32_t n = below(k, 8); n-- && has_room(&a->sq);)
			post_send(k, side);
		break;
	case 4:
	case 5:
		for (uint32_t n = below(k, 6); n-- && has_room(&a->rq);)
			post_recv(k, side);
		break;
	case 6:
		if (one_in(k, 6))
			change(k, side, SHM_QPS_SQD);
		break;
	case 7:
		if (a->qp->state == SHM_QPS_SQD)
			change(k, side, SHM_QPS_RTS);
		break;
	case 8:
		if (one_in(k, 10))
			end_one(k, side);
		break;
	case 9:
		if (one_in(k, 4))
			swap_memory(k, side);
		break;
	case 10:
		if (a->qp->state == SHM_QPS_ERR) {
			run(k, below(k, 2000));
			renew(k);
		}
		break;
	case 11:
		run(k, below(k, 200));
		break;
	}
	run(k, 1 + below(k, 10));
}

static void
spoil(struct soak *k)
{
	struct fault_params f = {.seed = k->seed};

	for (int i = 0; i < FAULT_NB_SHARES; i++) {
		f.tx.ppm[i] = one_in(k, 2) ? below(k, 40000) : 0;
		f.rx.ppm[i] = one_in(k, 2) ? below(k, 40000) : 0;
	}
	f.tx.reorder_pkts = f.rx.reorder_pkts = 8;
	f.tx.reorder_ns = f.rx.reorder_ns = 5000;
	world_spoil(&k->p.w, &f);
}

static void
soak(uint64_t seed)
{
	static const struct reliability_ops *const rels[] = {NULL, &sr_ops, &sr_all_ops};
	struct soak k = {.seed = seed};
	struct world_conf wc = {.weft = true};

	prng_seed(&k.rng, seed);
	wc.rel = rels[below(&k, 3)];
	wc.window_pkts = 16u << below(&k, 5);
	wc.first_msn = one_in(&k, 2) ? 0xffffff - below(&k, 60) : 0;
	pair_make(&k.p, &wc, NULL);
	for (int side = 0; side < 2; side++) {
		k.end[side].qp = &k.p.qp[side];
		app_reg(&k.end[side].other, &k.p.w, side, k.p.buf[side], PAIR_BUF, ALL_ACCESS);
	}
	connect(&k);
	world_run(&k.p.w, 20); /* the MACs */
	spoil(&k);
	for (uint32_t i = 0; i < STEPS; i++)
		step(&k, (int)below(&k, 2));
	renew(&k);
	for (int side = 0; side < 2; side++)
		cr_assert_eq(mr_destroy(k.p.w.nic[side], k.end[side].other.mr), 0);
	pair_close(&k.p);
}

Test(weft_soak, whatever_two_ends_do_completions_are_in_order_and_memory_comes_back, .timeout = 600)
{
	uint64_t nb = getenv("WEFT_TEST_LONG") ? 3000 : 100;

	for (uint64_t seed = 1; seed <= nb; seed++)
		soak(seed);
}
