/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"

/* Work requests that are wrong, and rings that an application filled with nonsense. */

enum { RC = SHM_QPT_RC, UC = SHM_QPT_UC, UD = SHM_QPT_UD };

struct row {
	const char *name;
	uint8_t type, op, flags;
	uint8_t status;
	uint16_t nb_sge;
	uint32_t len, inline_len;
	int64_t addr;  /* behind the buffer's begin */
	uint32_t lkey; /* 0 = the right one */
	const char *why;
};

#define OP SHM_WC_LOC_QP_OP_ERR
#define LEN SHM_WC_LOC_LEN_ERR
#define PROT SHM_WC_LOC_PROT_ERR
#define WQE "malformed work"
#define KEY "lkey, bounds"
#define LONG "longer than"

static const struct row rows[] = {
	{"no such opcode", RC, SHM_WR_NB, 0, OP, 1, 8, .why = WQE},
	{"opcode 255", RC, 255, 0, OP, 1, 8, .why = WQE},
	{"READ on UC", UC, SHM_WR_READ, 0, OP, 1, 8, .why = WQE},
	{"atomic on UC", UC, SHM_WR_CMP_SWAP, 0, OP, 1, 8, .why = WQE},
	{"SEND_INV on UC", UC, SHM_WR_SEND_INV, 0, OP, 1, 8, .why = WQE},
	{"WRITE on UD", UD, SHM_WR_WRITE, 0, OP, 1, 8, .why = WQE},
	{"READ on UD", UD, SHM_WR_READ, 0, OP, 1, 8, .why = WQE},
	{"bind on UD", UD, SHM_WR_BIND_MW, 0, OP, 0, 0, .why = WQE},
	{"one entry too many", RC, SHM_WR_WRITE, 0, OP, 5, 8, .why = WQE},
	{"65535 entries", RC, SHM_WR_SEND, 0, OP, 65535, 8, .why = WQE},
	{"inline too long", RC, SHM_WR_WRITE, SHM_SEND_INLINE, OP, 0, 0, 257, .why = WQE},
	{"inline of 4 GB", RC, SHM_WR_SEND, SHM_SEND_INLINE, OP, 0, 0, 0xffffffff, .why = WQE},
	{"inline with entries", RC, SHM_WR_SEND, SHM_SEND_INLINE, OP, 1, 8, 8, .why = WQE},
	{"inline READ", RC, SHM_WR_READ, SHM_SEND_INLINE, OP, 0, 0, 8, .why = WQE},
	{"inline atomic", RC, SHM_WR_FETCH_ADD, SHM_SEND_INLINE, OP, 0, 0, 8, .why = WQE},
	{"atomic of 4 bytes", RC, SHM_WR_FETCH_ADD, 0, LEN, 1, 4, .why = LONG},
	{"atomic of 16 bytes", RC, SHM_WR_CMP_SWAP, 0, LEN, 1, 16, .why = LONG},
	{"atomic without entry", RC, SHM_WR_CMP_SWAP, 0, LEN, 0, 0, .why = LONG},
	{"2^31 + 1 bytes", RC, SHM_WR_WRITE, 0, LEN, 1, 0x80000001, .why = LONG},
	{"4 times 4 GB", RC, SHM_WR_SEND, 0, LEN, 4, 0xffffffff, .why = LONG},
	{"UD longer than the MTU", UD, SHM_WR_SEND, 0, LEN, 1, 4097, .why = LONG},
	{"no such lkey", RC, SHM_WR_WRITE, 0, PROT, 1, 8, 0, 0, 0x4711, KEY},
	{"no such lkey, UC", UC, SHM_WR_SEND, 0, PROT, 1, 8, 0, 0, 0x4711, KEY},
	{"no such lkey, UD", UD, SHM_WR_SEND, 0, PROT, 1, 8, 0, 0, 0x4711, KEY},
	{"a byte before", RC, SHM_WR_SEND, 0, PROT, 1, 8, 0, -1, 0, KEY},
	{"a byte behind", RC, SHM_WR_READ, 0, PROT, 1, 8, 0, PAIR_BUF - 7, 0, KEY},
	{"length wraps", RC, SHM_WR_WRITE, 0, PROT, 1, 0x7fffffff, 0, 1, 0, KEY},
};

static void
post_row(struct pair *p, const struct row *r)
{
	struct shm_send_wqe wqe = pair_wqe(p, r->op, 2, 0);
	struct shm_sge sge[4];
	char *slot = (char *)p->qp[0].sq.ring + SHM_WQ_SLOTS +
	             (p->qp[0].sq.tail & (p->qp[0].sq.nb_slots - 1)) * p->qp[0].sq.stride;

	wqe.flags = r->flags; /* errors show without a signal */
	wqe.nb_sge = 0;
	wqe.inline_len = r->inline_len;
	if (r->type == UD) {
		struct shm_qp_attr to = app_attr(&p->qp[0], &p->qp[1]);

		wqe.ud.av = to.av;
		wqe.ud.qpn = p->qp[1].qp->qpn;
		wqe.ud.qkey = 0x1234;
	}
	for (int i = 0; i < 4; i++) {
		sge[i] = pair_sge(p, 0, 0, r->len);
		sge[i].addr += (uint64_t)r->addr;
		if (r->lkey)
			sge[i].lkey = r->lkey;
	}
	/* By hand: app_post_send would copy as many entries as it is told. */
	memcpy(slot, &wqe, sizeof(wqe));
	((struct shm_send_wqe *)slot)->nb_sge = r->nb_sge;
	memcpy(slot + sizeof(wqe), sge, sizeof(sge));
	atomic_store(&p->qp[0].sq.ring->ring.tail, ++p->qp[0].sq.tail);
	qp_doorbell(p->qp[0].qp, p->w.now_ns);
}

Test(wqe, each_wrong_request_completes_with_its_status_in_its_turn)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct app_conf ac = {.type = r->type};
		struct row good = {.type = r->type, .op = SHM_WR_SEND, .nb_sge = 1, .len = 100};
		struct shm_cqe c;
		struct pair p;
		char why[256];

		good.flags = SHM_SEND_SIGNALED;
		pair_open(&p, NULL, &ac);
		world_run(&p.w, 20);
		for (uint64_t k = 0; k < 4; k++)
			pair_recv(&p, k, 0, 4096 + 40);
		post_row(&p, &good);
		post_row(&p, r);
		post_row(&p, &good);
		pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_SUCCESS);
		c = pair_expect(&p, &p.qp[0].scq, 2, r->status);
		cr_expect_neq(c.vendor_err, 0, "%s", r->name);
		pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(pair_state(&p, 0, why), r->type == RC ? SHM_QPS_ERR : SHM_QPS_SQE,
		             "%s", r->name);
		cr_expect(strstr(why, r->why), "%s: %s", r->name, why);
		/* Only the first reached the other side. */
		pair_expect(&p, &p.qp[1].rcq, 0, SHM_WC_SUCCESS);
		pair_expect_none(&p.qp[1].rcq);
		pair_close(&p);
	}
}

Test(wqe, memory_deregistered_under_a_posted_send_fails_that_send_only)
{
	static const uint8_t types[] = {RC, UC};

	for (size_t t = 0; t < 2; t++)
		for (uint32_t turns = 0; turns < 40; turns += 3) {
			struct app_conf ac = {.type = types[t]};
			/* One way takes 4 us: the first is not yet acknowledged when the second
			 * loses its memory. */
			struct world_conf wc = {.rate_bps = UINT64_C(10000000000),
			                        .fault.tx.delay_ns = 4000};
			struct local_mr other;
			struct pair p;
			struct shm_cqe c;

			pair_open(&p, &wc, &ac);
			world_run(&p.w, 20);
			app_reg(&other, &p.w, 0, p.buf[0], PAIR_BUF, ALL_ACCESS);
			struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_WRITE, 2, 0);
			struct shm_sge sge = {(uintptr_t)p.buf[0], 60000, other.mr->key};
			pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 5000);
			app_post_send(&p.qp[0], &wqe, &sge);
			pair_post(&p, SHM_WR_WRITE, 3, 0, 0, 5000);
			world_run(&p.w, turns);
			mr_destroy(p.w.nic[0], other.mr);
			pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
			cr_assert(app_wait(&p.w, &p.qp[0].scq, &c, 100000));
			cr_expect_eq(c.wr_id, 2);
			cr_expect_eq(c.status, SHM_WC_LOC_PROT_ERR, "turns %u: %u", turns,
			             c.status);
			cr_assert(app_wait(&p.w, &p.qp[0].scq, &c, 100000));
			cr_expect_eq(c.wr_id, 3);
			cr_expect_eq(c.status, SHM_WC_WR_FLUSH_ERR, "turns %u", turns);
			pair_close(&p);
		}
}

Test(wqe, a_tail_that_cannot_be_ends_the_qp)
{
	static const uint32_t tails[] = {65, 1000, 0x80000000, 0xffffffff};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		struct pair p;
		char why[256];

		pair_open(&p, NULL, NULL);
		atomic_store(&p.qp[0].sq.ring->ring.tail, tails[i]);
		qp_doorbell(p.qp[0].qp, p.w.now_ns);
		world_run(&p.w, 100);
		cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR, "tail 0x%x", tails[i]);
		cr_expect(strstr(why, "malformed"), "%s", why);
		pair_close(&p);
	}
}

Test(wqe, a_receive_with_too_many_entries_is_an_error_of_this_side)
{
	struct pair p;

	pair_open(&p, NULL, NULL);
	pair_recv(&p, 4, 0, 100);
	struct shm_recv_wqe *slot = (void *)((char *)p.qp[1].rq.ring + SHM_WQ_SLOTS);
	slot->nb_sge = 1000000;
	pair_post(&p, SHM_WR_SEND, 1, 0, 0, 10);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_REM_OP_ERR);
	pair_expect(&p, &p.qp[1].rcq, 4, SHM_WC_LOC_QP_OP_ERR);
	pair_close(&p);
}

Test(wqe, a_garbage_tail_of_receives_is_no_receive)
{
	struct pair p;

	pair_open(&p, NULL, NULL);
	atomic_store(&p.qp[1].rq.ring->ring.tail, 1u << 31);
	pair_post(&p, SHM_WR_SEND, 1, 0, 0, 10);
	world_run(&p.w, 300);
	cr_expect_gt(p.w.nic[1]->stats.out_of_buffer, 3);
	cr_expect_eq(p.qp[1].qp->state, SHM_QPS_RTS);
	pair_close(&p);
}

Test(wqe, sixteen_entries_at_both_ends_and_inline_of_each_length)
{
	struct app_conf ac = {.max_sge = 16};
	struct shm_sge src[16], dst[16];
	struct pair p;
	uint32_t len = 0, at = 0;

	pair_open(&p, NULL, &ac);
	for (uint32_t i = 0; i < 16; i++) {
		src[i] = pair_sge(&p, 0, i * 5000, i % 5 == 4 ? 0 : i * 97 + 1);
		len += src[i].length;
		dst[i] = pair_sge(&p, 1, i * 5000, i % 3 == 2 ? 0 : (15 - i) * 131 + 7);
	}
	app_post_recv(&p.qp[1], 3, dst, 16);
	struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_SEND, 1, 0);
	wqe.nb_sge = 16;
	app_post_send(&p.qp[0], &wqe, src);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(pair_expect(&p, &p.qp[1].rcq, 3, SHM_WC_SUCCESS).byte_len, len);
	for (uint32_t i = 0, k = 0, o = 0; i < 16; i++)
		for (uint32_t b = 0; b < src[i].length; b++, at++) {
			for (; o == dst[k].length; o = 0)
				k++;
			cr_assert_eq(((uint8_t *)dst[k].addr)[o++], ((uint8_t *)src[i].addr)[b]);
		}
	cr_expect_eq(at, len);
	for (uint32_t n = 0; n <= WEFT_MAX_INLINE; n += n < 8 ? 1 : 31) {
		memset(p.buf[1], 0xee, 1000);
		wqe = pair_wqe(&p, SHM_WR_WRITE, n, 5);
		wqe.nb_sge = 0;
		app_post_inline(&p.qp[0], wqe, p.buf[0] + 77, n);
		pair_expect(&p, &p.qp[0].scq, n, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(p.buf[1] + 5, p.buf[0] + 77, n), 0);
		cr_expect_eq(p.buf[1][5 + n], 0xee);
	}
	pair_close(&p);
}
