/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/*
 * Memory that is reached through calls, and memory in pieces of both kinds: few and long calls, the
 * right bytes at odd borders, and a failure that ends the QP and says which request it was.
 */

#define VA (UINT64_C(1) << 36)
#define LEN 300000u

/* The application's memory; segments without a map are reached by calls. */
struct slow {
	struct mem mem;
	struct mem_seg segs[8];
	uint8_t bytes[LEN];
	uint32_t nb_reads, nb_writes, longest;
	uint64_t bad_from; /* fail calls that touch bytes from here on; 0 = none */
};

static struct slow slow[2];

static bool
touch(struct slow *s, uint64_t va, uint32_t len, uint32_t *nb)
{
	cr_assert(va >= VA && va + len <= VA + LEN);
	++*nb;
	if (len > s->longest)
		s->longest = len;
	return !s->bad_from || va + len <= VA + s->bad_from;
}

static bool
read_slow(const struct mem *mem, uint64_t va, void *dst, uint32_t len)
{
	struct slow *s = mem->owner;

	if (!touch(s, va, len, &s->nb_reads))
		return false;
	memcpy(dst, s->bytes + (va - VA), len);
	return true;
}

static bool
write_slow(const struct mem *mem, uint64_t va, const void *src, uint32_t len)
{
	struct slow *s = mem->owner;

	if (!touch(s, va, len, &s->nb_writes))
		return false;
	memcpy(s->bytes + (va - VA), src, len);
	return true;
}

/* Cut at these places; every second piece, or none, is mapped. */
static void
make(struct slow *s, const uint32_t *cuts, uint32_t nb_cuts, bool mapped)
{
	static const struct mem_ops ops = {.read = read_slow, .write = write_slow};
	uint32_t from = 0;

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i <= nb_cuts; i++) {
		uint32_t to = i < nb_cuts ? cuts[i] : LEN;

		s->segs[i] = (struct mem_seg){.va = VA + from, .len = to - from};
		if (mapped && i % 2)
			s->segs[i].map = s->bytes + from;
		from = to;
	}
	s->mem = (struct mem){.ops = &ops, .owner = s, .nb_segs = nb_cuts + 1, .segs = s->segs};
	for (uint32_t i = 0; i < LEN; i++)
		s->bytes[i] = (uint8_t)(i * 13 + (i >> 8) + (s == &slow[0] ? 1 : 77));
}

struct place {
	struct pair p;
	struct mr *mr[2];
};

static void
open_place(struct place *l, const struct world_conf *wc)
{
	pair_open(&l->p, wc, NULL);
	world_run(&l->p.w, 20);
	for (int i = 0; i < 2; i++)
		l->mr[i] = mr_create(l->p.w.nic[i], PD, ALL_ACCESS, VA, VA, LEN, &slow[i].mem);
}

static void
close_place(struct place *l)
{
	for (int i = 0; i < 2; i++)
		cr_assert_eq(mr_destroy(l->p.w.nic[i], l->mr[i]), 0);
	pair_close(&l->p);
}

static void
post(struct place *l, uint8_t op, uint64_t wr_id, uint32_t off, uint32_t remote, uint32_t len)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = op,
	                           .flags = SHM_SEND_SIGNALED,
	                           .nb_sge = 1,
	                           .remote_addr = VA + remote,
	                           .rkey = l->mr[1]->key,
	                           .atomic.compare_add = 5};
	struct shm_sge sge = {VA + off, len, l->mr[0]->key};

	app_post_send(&l->p.qp[0], &wqe, &sge);
}

static void
recv_at(struct place *l, uint64_t wr_id, uint32_t off, uint32_t len)
{
	struct shm_sge sge = {VA + off, len, l->mr[1]->key};

	app_post_recv(&l->p.qp[1], wr_id, &sge, 1);
}

Test(memory, a_burst_is_read_and_written_by_few_long_calls)
{
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_SEND, SHM_WR_READ};

	for (size_t i = 0; i < 3; i++) {
		struct place l;
		int from = ops[i] == SHM_WR_READ;

		make(&slow[0], NULL, 0, false);
		make(&slow[1], NULL, 0, false);
		open_place(&l, NULL);
		recv_at(&l, 9, 1000, 262144);
		post(&l, ops[i], 1, 0, 1000, 262144);
		pair_expect(&l.p, &l.p.qp[0].scq, 1, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(slow[0].bytes, slow[1].bytes + 1000, 262144), 0);
		/* 256 packets in bursts of 32. */
		cr_expect_leq(slow[from].nb_reads, 20, "%u reads", slow[from].nb_reads);
		cr_expect_leq(slow[!from].nb_writes, 20, "%u writes", slow[!from].nb_writes);
		cr_expect_leq(slow[0].longest, 65536);
		cr_expect_leq(slow[1].longest, 65536);
		close_place(&l);
	}
}

Test(memory, pieces_at_odd_borders_are_put_together)
{
	static const uint32_t cuts[] = {1, 1023, 1025, 4097, 4098, 65535, 131072};
	static const uint32_t lens[] = {1, 2, 1022, 1024, 1025, 4099, 70000, 140000};
	static const uint8_t ops[] = {SHM_WR_WRITE, SHM_WR_SEND, SHM_WR_READ};

	for (int mapped = 0; mapped < 2; mapped++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
			for (size_t k = 0; k < 3; k++) {
				struct place l;
				uint32_t off = (uint32_t)i, remote = (uint32_t)(7 - i);
				const uint8_t *a, *b;

				make(&slow[0], cuts, 7, mapped);
				make(&slow[1], cuts, 7, true);
				open_place(&l, NULL);
				a = slow[0].bytes + off;
				b = slow[1].bytes + remote;
				recv_at(&l, 9, remote, lens[i]);
				post(&l, ops[k], 1, off, remote, lens[i]);
				pair_expect(&l.p, &l.p.qp[0].scq, 1, SHM_WC_SUCCESS);
				cr_expect_eq(memcmp(a, b, lens[i]), 0, "length %u, op %u", lens[i],
				             ops[k]);
				cr_expect_neq(a[lens[i]], b[lens[i]]);
				close_place(&l);
			}
}

Test(memory, atomics_work_wherever_the_eight_bytes_lie)
{
	static const uint32_t cuts[] = {4, 12, 16, 20}, at[] = {0, 8, 16, 24};

	make(&slow[0], NULL, 0, false);
	make(&slow[1], cuts, 4, true);
	for (size_t i = 0; i < 4; i++) {
		struct place l;
		uint64_t before, after, got;

		open_place(&l, NULL);
		memcpy(&before, slow[1].bytes + at[i], 8);
		post(&l, SHM_WR_FETCH_ADD, 1, 64, at[i], 8);
		pair_expect(&l.p, &l.p.qp[0].scq, 1, SHM_WC_SUCCESS);
		memcpy(&after, slow[1].bytes + at[i], 8);
		memcpy(&got, slow[0].bytes + 64, 8);
		cr_expect_eq(got, before);
		cr_expect_eq(after, before + 5);
		close_place(&l);
	}
}

/* What the peer sees, and what the side whose memory is gone sees. Others go on. */
Test(memory, a_failing_call_ends_its_qp_and_names_the_request)
{
	static const struct {
		const char *name;
		uint8_t op;
		int side;             /* whose memory is gone, from byte 100,000 on */
		uint32_t off, remote; /* of the second of three requests */
		uint8_t second, recv; /* status of that and of a receive */
	} rows[] = {
		{"send buffer", SHM_WR_WRITE, 0, 100000, 0, SHM_WC_LOC_PROT_ERR, 0},
		{"its end only", SHM_WR_SEND, 0, 99999, 0, SHM_WC_LOC_PROT_ERR, 0},
		{"READ into", SHM_WR_READ, 0, 99999, 0, SHM_WC_LOC_PROT_ERR, 0},
		{"atomic into", SHM_WR_FETCH_ADD, 0, 99999, 0, SHM_WC_LOC_PROT_ERR, 0},
		{"WRITE target", SHM_WR_WRITE, 1, 0, 99999, SHM_WC_REM_OP_ERR, 0},
		{"READ source", SHM_WR_READ, 1, 0, 99999, SHM_WC_REM_OP_ERR, 0},
		{"atomic target", SHM_WR_FETCH_ADD, 1, 0, 99996, SHM_WC_REM_OP_ERR, 0},
		{"receive buffer", SHM_WR_SEND, 1, 0, 99999, SHM_WC_REM_OP_ERR,
	         SHM_WC_LOC_PROT_ERR},
	};

	for (uint64_t delay = 0; delay < 10000; delay += 5000)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			uint32_t len = rows[i].op == SHM_WR_FETCH_ADD ? 8 : 5000;
			struct world_conf wc = {.fault = {.tx.delay_ns = delay}};
			struct app_qp other[2];
			struct place l;
			char why[256];

			make(&slow[0], NULL, 0, false);
			make(&slow[1], NULL, 0, false);
			open_place(&l, &wc);
			for (int s = 0; s < 2; s++)
				app_open(&other[s], &l.p.w, s, NULL);
			app_connect(&other[0], &other[1]);
			if (rows[i].side && rows[i].op == SHM_WR_FETCH_ADD)
				l.mr[1]->iova += 4; /* aligned as the peer calls it, not here */
			slow[rows[i].side].bad_from = 100000;
			recv_at(&l, 9, rows[i].remote, 5000);
			post(&l, SHM_WR_WRITE, 1, 2000, 2000, 3000);
			post(&l, rows[i].op, 2, rows[i].off,
			     rows[i].remote + (rows[i].side && len == 8 ? 4 : 0), len);
			post(&l, SHM_WR_WRITE, 3, 2000, 2000, 3000);
			pair_expect(&l.p, &l.p.qp[0].scq, 1, SHM_WC_SUCCESS);
			pair_expect(&l.p, &l.p.qp[0].scq, 2, rows[i].second);
			pair_expect(&l.p, &l.p.qp[0].scq, 3, SHM_WC_WR_FLUSH_ERR);
			if (rows[i].side)
				pair_expect(&l.p, &l.p.qp[1].rcq, 9,
				            rows[i].recv ? rows[i].recv : SHM_WC_WR_FLUSH_ERR);
			cr_expect_eq(pair_state(&l.p, rows[i].side, why), SHM_QPS_ERR, "%s",
			             rows[i].name);
			cr_expect(strstr(why, "memory is gone") || strstr(why, "local buffer") ||
			                  rows[i].op == SHM_WR_FETCH_ADD,
			          "%s: %s", rows[i].name, why);

			struct shm_send_wqe wqe = pair_wqe(&l.p, SHM_WR_WRITE, 5, 0);
			struct shm_sge sge = pair_sge(&l.p, 0, 0, 5000);
			app_post_send(&other[0], &wqe, &sge);
			pair_expect(&l.p, &other[0].scq, 5, SHM_WC_SUCCESS);
			for (int s = 0; s < 2; s++)
				app_close(&other[s]);
			close_place(&l);
		}
}

/* All sends of a long queue are flushed behind what had been completed. */
Test(memory, a_failure_with_a_long_queue_keeps_the_order_of_completions)
{
	struct app_conf ac = {.depth = 1024};
	struct place l;

	make(&slow[0], NULL, 0, false);
	make(&slow[1], NULL, 0, false);
	pair_open(&l.p, NULL, &ac);
	world_run(&l.p.w, 20);
	for (int i = 0; i < 2; i++)
		l.mr[i] = mr_create(l.p.w.nic[i], PD, ALL_ACCESS, VA, VA, LEN, &slow[i].mem);
	slow[0].bad_from = 100000;
	for (uint64_t k = 0; k < 900; k++)
		post(&l, k % 2 ? SHM_WR_WRITE : SHM_WR_READ, k, k == 300 ? 99999 : 8, 8, 16);
	for (uint64_t k = 0; k < 900; k++)
		pair_expect(&l.p, &l.p.qp[0].scq, k,
		            k < 300    ? SHM_WC_SUCCESS
		            : k == 300 ? SHM_WC_LOC_PROT_ERR
		                       : SHM_WC_WR_FLUSH_ERR);
	close_place(&l);
}
