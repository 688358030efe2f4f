/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "prng.h"

/*
 * Everything at once over a bad link: SEND, WRITE, READ and atomics of random sizes and lists, both
 * ways, with losses, doubles, bit errors and overtaking. What must come out is computed beside it.
 */

#define SLOT 65536u /* bytes that one message may fill */
#define NB_SLOTS 16
#define NB_MSGS 400
#define GUARD 64

static uint64_t seed_now;

struct expect {
	uint64_t wr_id;
	uint8_t op;   /* enum shm_wr_op */
	uint32_t len; /* bytes that must be where seed says */
	uint64_t seed;
};

/* One direction: requests from side src to the other side's memory. */
struct flow {
	struct app_qp *from, *to;
	int src;
	uint8_t *local, *remote; /* NB_SLOTS of SLOT + GUARD bytes */
	struct local_mr lmr, rmr;
	struct expect q[NB_SLOTS]; /* outstanding, oldest first */
	uint32_t head, tail;
	uint32_t recv_head, recv_tail;
	uint64_t nb_posted, nb_done, nb_recv;
	uint64_t sum; /* of the atomics, added so far */
	struct prng rng;
};

static void
fill(uint8_t *p, uint32_t len, uint64_t seed)
{
	struct prng r;

	prng_seed(&r, seed);
	for (uint32_t i = 0; i < len; i++)
		p[i] = i % 8 ? (uint8_t)(p[i - 1] * 5 + 3) : (uint8_t)prng_next(&r);
}

static void
check(const uint8_t *p, uint32_t len, uint64_t seed, const char *what, uint64_t id)
{
	static uint8_t want[SLOT + GUARD];

	fill(want, len, seed);
	memset(want + len, 0xee, sizeof(want) - len);
	if (!memcmp(p, want, sizeof(want)))
		return;
	for (uint32_t i = 0; i < sizeof(want); i++)
		cr_assert_eq(p[i], want[i], "%s %lu of %u bytes: byte %u", what, (unsigned long)id,
		             len, i);
}

static uint8_t *
slot(uint8_t *base, uint64_t i)
{
	return base + (i % NB_SLOTS) * (SLOT + GUARD);
}

/* Cut len bytes at p into up to n entries of random length. */
static uint32_t
cut(struct prng *rng, struct shm_sge *sge, uint32_t n, uint8_t *p, uint32_t len, uint32_t key)
{
	uint32_t nb = 0;

	for (; nb < n - 1 && len; nb++) {
		uint32_t piece = (uint32_t)(prng_next(rng) % (len + 1));

		sge[nb] = (struct shm_sge){(uintptr_t)p, piece, key};
		p += piece;
		len -= piece;
	}
	sge[nb++] = (struct shm_sge){(uintptr_t)p, len, key};
	return nb;
}

static uint32_t
random_len(struct prng *rng)
{
	static const uint32_t upto[] = {1, 64, 1025, 4097, SLOT + 1};

	return (uint32_t)(prng_next(rng) % upto[prng_next(rng) % 5]);
}

static void
post(struct flow *f)
{
	static const uint8_t ops[] = {SHM_WR_WRITE,    SHM_WR_WRITE_IMM, SHM_WR_SEND,
	                              SHM_WR_SEND_IMM, SHM_WR_READ,      SHM_WR_READ,
	                              SHM_WR_FETCH_ADD};
	uint64_t id = f->nb_posted++;
	struct expect *e = &f->q[f->tail++ % NB_SLOTS];
	struct shm_sge sge[16];
	uint8_t *local = slot(f->local, id), *remote = slot(f->remote, id);
	struct shm_send_wqe wqe = {.wr_id = id,
	                           .flags = SHM_SEND_SIGNALED,
	                           .op = ops[prng_next(&f->rng) % 7],
	                           .imm = (uint32_t)id,
	                           .remote_addr = (uintptr_t)remote,
	                           .rkey = f->rmr.mr->key};

	*e = (struct expect){id, wqe.op, random_len(&f->rng), prng_next(&f->rng)};
	memset(local, 0xee, SLOT + GUARD);
	memset(remote, 0xee, SLOT + GUARD);
	if (wqe.op == SHM_WR_FETCH_ADD) {
		e->len = 8;
		wqe.remote_addr = (uintptr_t)slot(f->remote, NB_SLOTS - 1) + SLOT + GUARD;
		wqe.atomic.compare_add = e->seed;
	}
	fill(wqe.op == SHM_WR_READ ? remote : local, wqe.op == SHM_WR_FETCH_ADD ? 0 : e->len,
	     e->seed);
	wqe.nb_sge = (uint16_t)cut(&f->rng, sge, 1 + (uint32_t)(prng_next(&f->rng) % 16), local,
	                           e->len, f->lmr.mr->key);
	if (wqe.op == SHM_WR_SEND || wqe.op == SHM_WR_SEND_IMM || wqe.op == SHM_WR_WRITE_IMM) {
		struct shm_sge into[16];
		uint32_t nb = cut(&f->rng, into, 1 + (uint32_t)(prng_next(&f->rng) % 16), remote,
		                  SLOT, f->rmr.mr->key);

		app_post_recv(f->to, id, into, nb);
	}
	app_post_send(f->from, &wqe, sge);
}

static void
take_recvs(struct flow *f)
{
	struct shm_cqe c;

	while (local_poll(&f->to->rcq, &c)) {
		cr_assert_eq(c.status, SHM_WC_SUCCESS, "seed %lu: receive %lu: %u",
		             (unsigned long)seed_now, (unsigned long)c.wr_id, c.status);
		cr_assert_geq(c.wr_id, f->nb_recv, "receive %lu twice or late",
		              (unsigned long)c.wr_id);
		if (c.flags & SHM_WC_WITH_IMM)
			cr_assert_eq(c.imm, (uint32_t)c.wr_id);
		for (uint32_t i = f->head; i != f->tail; i++) {
			const struct expect *e = &f->q[i % NB_SLOTS];

			if (e->wr_id != c.wr_id)
				continue;
			cr_assert_eq(c.byte_len, e->len);
			check(slot(f->remote, e->wr_id), e->len, e->seed, "receive", e->wr_id);
		}
		f->nb_recv = c.wr_id + 1;
	}
}

static void
take_sends(struct flow *f)
{
	struct shm_cqe c;

	while (local_poll(&f->from->scq, &c)) {
		const struct expect *e = &f->q[f->head % NB_SLOTS];
		uint8_t *local = slot(f->local, c.wr_id), *remote = slot(f->remote, c.wr_id);
		uint64_t old;

		cr_assert_eq(c.status, SHM_WC_SUCCESS, "seed %lu: send %lu: %u",
		             (unsigned long)seed_now, (unsigned long)c.wr_id, c.status);
		cr_assert_neq(f->head, f->tail);
		cr_assert_eq(c.wr_id, e->wr_id, "completion %lu, due is %lu",
		             (unsigned long)c.wr_id, (unsigned long)e->wr_id);
		if (e->op == SHM_WR_FETCH_ADD) {
			memcpy(&old, local, 8);
			cr_assert_eq(old, f->sum, "atomic %lu", (unsigned long)e->wr_id);
			f->sum += e->seed;
		} else {
			check(local, e->len, e->seed, "local", e->wr_id);
			check(remote, e->len, e->seed, "remote", e->wr_id);
		}
		f->head++;
		f->nb_done++;
	}
}

static void
open_flow(struct flow *f, struct world *w, struct app_qp *from, struct app_qp *to, uint64_t seed)
{
	size_t len = NB_SLOTS * (SLOT + GUARD) + 8;

	*f = (struct flow){.from = from, .to = to, .src = from->side};
	prng_seed(&f->rng, seed);
	f->local = malloc(len);
	f->remote = malloc(len);
	cr_assert(f->local && f->remote);
	memset(f->local, 0xee, len);
	memset(f->remote, 0, len);
	app_reg(&f->lmr, w, from->side, f->local, len, ALL_ACCESS);
	app_reg(&f->rmr, w, to->side, f->remote, len, ALL_ACCESS);
	if ((uintptr_t)(f->remote + len - 8) & 7)
		abort();
}

static void
close_flow(struct flow *f, struct world *w)
{
	mr_destroy(w->nic[f->src], f->lmr.mr);
	mr_destroy(w->nic[!f->src], f->rmr.mr);
	free(f->local);
	free(f->remote);
}

struct row {
	uint64_t seed;
	uint32_t ppm[FAULT_NB_SHARES];
	uint8_t mtu;
	bool ipv6;
	const char *story;
};

/* Packets that came are those that were sent, but for what the link did to them. */
static void
check_counts(struct world *w)
{
	const struct fault_stats *fs = port_fault_stats(w->port[0]);
	const struct nic_stats *a = &w->nic[0]->stats, *b = &w->nic[1]->stats;

	cr_expect_eq(b->rx_packets, a->tx_packets - fs->tx[FAULT_LOSS] + fs->tx[FAULT_DUPLICATE],
	             "%lu, %lu", (unsigned long)b->rx_packets, (unsigned long)a->tx_packets);
	cr_expect_eq(a->rx_packets, b->tx_packets - fs->rx[FAULT_LOSS] + fs->rx[FAULT_DUPLICATE]);
}

static void
spoil(struct world *w, const struct row *row)
{
	struct fault_params fault = {.seed = row->seed};

	memcpy(fault.tx.ppm, row->ppm, sizeof(row->ppm));
	memcpy(fault.rx.ppm, row->ppm, sizeof(row->ppm));
	fault.tx.reorder_pkts = fault.rx.reorder_pkts = 8;
	fault.tx.reorder_ns = fault.rx.reorder_ns = 5000;
	world_spoil(w, &fault);
	for (int i = 0; i < 2; i++)
		memset(&w->nic[i]->stats, 0, sizeof(w->nic[i]->stats));
}

static void
run(const struct row *row)
{
	struct world_conf wc = {.ipv6 = row->ipv6};
	struct app_conf ac = {.max_sge = 16};
	struct app_qp qp[2];
	struct flow flow[2];
	struct world w;

	seed_now = row->seed;
	world_open(&w, &wc);
	for (int i = 0; i < 2; i++)
		app_open(&qp[i], &w, i, &ac);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			struct shm_qp_attr attr = app_attr(&qp[i], &qp[!i]);

			attr.path_mtu = row->mtu;
			attr.timeout = 4; /* 65 us */
			cr_assert_eq(app_to(&qp[i], &attr, state), 0);
		}
	world_run(&w, 20); /* the MACs */
	spoil(&w, row);
	for (int i = 0; i < 2; i++)
		open_flow(&flow[i], &w, &qp[i], &qp[!i], row->seed + (uint64_t)i);
	for (uint64_t turn = 0; flow[0].nb_done + flow[1].nb_done < 2 * NB_MSGS; turn++) {
		cr_assert_lt(turn, 3000000, "seed %lu hangs: %lu and %lu done",
		             (unsigned long)row->seed, (unsigned long)flow[0].nb_done,
		             (unsigned long)flow[1].nb_done);
		for (int i = 0; i < 2; i++) {
			while (flow[i].nb_posted < NB_MSGS &&
			       flow[i].tail - flow[i].head < NB_SLOTS)
				post(&flow[i]);
			take_recvs(&flow[i]);
			take_sends(&flow[i]);
		}
		world_step(&w);
	}
	world_run(&w, 500);
	for (int i = 0; i < 2; i++) {
		uint64_t sum;

		pair_expect_none(&qp[i].scq);
		pair_expect_none(&qp[i].rcq);
		memcpy(&sum, slot(flow[i].remote, NB_SLOTS - 1) + SLOT + GUARD, 8);
		cr_expect_eq(sum, flow[i].sum, "seed %lu", (unsigned long)row->seed);
		cr_expect_eq(qp[i].qp->state, SHM_QPS_RTS);
	}
	check_counts(&w);
	for (int i = 0; i < 2; i++) {
		app_close(&qp[i]);
		close_flow(&flow[i], &w);
	}
	world_close(&w); /* finds packets that have leaked */
}

/* Seeds of a long run; a sanitizer takes ten times as long for each. */
#ifdef __SANITIZE_ADDRESS__
#define MORE_SEEDS 200
#else
#define MORE_SEEDS 2000
#endif

Test(faults, every_byte_and_every_completion_is_right, .timeout = 600)
{
	static const struct row rows[] = {
		{1, {0}, 3, false, "nothing lost"},
		{2, {10000, 0, 0, 0}, 3, false, "1 % lost"},
		{3, {0, 10000, 0, 0}, 3, false, "1 % doubled"},
		{4, {0, 0, 10000, 0}, 3, false, "1 % damaged"},
		{5, {0, 0, 0, 10000}, 3, false, "1 % overtaken"},
		{6, {10000, 10000, 10000, 10000}, 3, false, "all of it"},
		{7, {10000, 10000, 10000, 10000}, 1, false, "at MTU 256"},
		{8, {10000, 10000, 10000, 10000}, 5, true, "at MTU 4096, IPv6"},
		{9, {50000, 50000, 50000, 50000}, 5, false, "a very bad link"},
	};
	uint64_t nb_more = getenv("WEFT_TEST_LONG") ? MORE_SEEDS : 20;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		run(&rows[i]);
	for (uint64_t seed = 100; seed < 100 + nb_more; seed++)
		run(&(struct row){seed, {10000, 10000, 10000, 10000}, 1 + seed % 5, seed & 1});
}
