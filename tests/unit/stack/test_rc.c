/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define ALL_ACCESS 15

/* Two connected QPs with 1 MiB of registered memory each. */
struct pair {
	struct world w;
	struct app_qp qp[2];
	struct local_mr mr[2];
	uint8_t *buf[2];
};
#define BUF_LEN (1u << 20)

static void
open_pair(struct pair *p, const struct world_conf *wc, const struct app_conf *ac)
{
	world_open(&p->w, wc);
	for (int i = 0; i < 2; i++) {
		app_open(&p->qp[i], &p->w, i, ac);
		p->buf[i] = malloc(BUF_LEN);
		for (uint32_t k = 0; k < BUF_LEN; k++)
			p->buf[i][k] = (uint8_t)(i ? 0xee : k * 7 + (k >> 8));
		app_reg(&p->mr[i], &p->w, i, p->buf[i], BUF_LEN, ALL_ACCESS);
	}
	app_connect(&p->qp[0], &p->qp[1]);
}

static void
close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		app_close(&p->qp[i]);
		cr_assert_eq(mr_destroy(p->w.nic[i], p->mr[i].mr), 0);
		free(p->buf[i]);
	}
	world_close(&p->w);
}

static struct shm_sge
sge(struct pair *p, int side, uint64_t off, uint32_t len)
{
	return (struct shm_sge){(uintptr_t)p->buf[side] + off, len, p->mr[side].mr->key};
}

static struct shm_send_wqe
wqe(struct pair *p, uint8_t op, uint64_t wr_id, uint64_t remote_off)
{
	return (struct shm_send_wqe){.wr_id = wr_id,
	                             .op = op,
	                             .flags = SHM_SEND_SIGNALED,
	                             .nb_sge = 1,
	                             .remote_addr = (uintptr_t)p->buf[1] + remote_off,
	                             .rkey = p->mr[1].mr->key};
}

static void
expect(struct local_cq *cq, struct world *w, uint64_t wr_id, uint8_t status)
{
	struct shm_cqe c;

	cr_assert(app_wait(w, cq, &c, 200000), "no completion for %lu", (unsigned long)wr_id);
	cr_expect_eq(c.wr_id, wr_id, "wr_id %lu, want %lu", (unsigned long)c.wr_id,
	             (unsigned long)wr_id);
	cr_expect_eq(c.status, status, "status %u, want %u", c.status, status);
}

Test(rc, write_of_every_length_around_the_mtu_arrives_whole)
{
	static const uint32_t lens[] = {0,    1,    3,    4,    1023,  1024,
	                                1025, 2047, 2048, 4096, 65536, 500001};
	struct pair p;

	open_pair(&p, NULL, NULL);
	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct shm_sge s = sge(&p, 0, 13, lens[i]);
		struct shm_send_wqe q = wqe(&p, SHM_WR_WRITE, i, 29);

		memset(p.buf[1], 0xee, BUF_LEN);
		app_post_send(&p.qp[0], &q, &s);
		expect(&p.qp[0].scq, &p.w, i, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(p.buf[1] + 29, p.buf[0] + 13, lens[i]), 0, "length %u",
		             lens[i]);
		cr_expect_eq(p.buf[1][28], 0xee);
		cr_expect_eq(p.buf[1][29 + lens[i]], 0xee, "length %u", lens[i]);
	}
	close_pair(&p);
}

Test(rc, send_scatters_over_the_receives_entries)
{
	struct pair p;
	struct shm_sge src[3], dst[3];
	struct shm_cqe c;

	open_pair(&p, NULL, NULL);
	src[0] = sge(&p, 0, 0, 1000);
	src[1] = sge(&p, 0, 5000, 1);
	src[2] = sge(&p, 0, 9000, 2999);
	dst[0] = sge(&p, 1, 0, 7);
	dst[1] = sge(&p, 1, 1000, 3000);
	dst[2] = sge(&p, 1, 8000, 5000);
	app_post_recv(&p.qp[1], 77, dst, 3);
	struct shm_send_wqe q = wqe(&p, SHM_WR_SEND_IMM, 5, 0);
	q.nb_sge = 3;
	q.imm = 0xcafef00d;
	app_post_send(&p.qp[0], &q, src);
	expect(&p.qp[0].scq, &p.w, 5, SHM_WC_SUCCESS);
	cr_assert(app_wait(&p.w, &p.qp[1].rcq, &c, 10));
	cr_expect_eq(c.wr_id, 77);
	cr_expect_eq(c.byte_len, 4000);
	cr_expect_eq(c.imm, 0xcafef00d);
	cr_expect_eq(c.flags, SHM_WC_WITH_IMM);
	cr_expect_eq(memcmp(p.buf[1], p.buf[0], 7), 0);
	cr_expect_eq(memcmp(p.buf[1] + 1000, p.buf[0] + 7, 993), 0);
	cr_expect_eq(p.buf[1][1993], p.buf[0][5000]);
	cr_expect_eq(memcmp(p.buf[1] + 1994, p.buf[0] + 9000, 2006), 0);
	cr_expect_eq(memcmp(p.buf[1] + 8000, p.buf[0] + 11006, 993), 0);
	close_pair(&p);
}

Test(rc, read_and_atomics_return_what_is_there)
{
	struct pair p;
	struct shm_sge s;
	uint64_t v = 41, got;

	open_pair(&p, NULL, NULL);
	for (uint32_t k = 0; k < BUF_LEN; k++)
		p.buf[1][k] = (uint8_t)(k * 3);
	s = sge(&p, 0, 100, 70001);
	struct shm_send_wqe q = wqe(&p, SHM_WR_READ, 1, 555);
	app_post_send(&p.qp[0], &q, &s);
	expect(&p.qp[0].scq, &p.w, 1, SHM_WC_SUCCESS);
	cr_expect_eq(memcmp(p.buf[0] + 100, p.buf[1] + 555, 70001), 0);

	memcpy(p.buf[1] + 64, &v, 8);
	s = sge(&p, 0, 0, 8);
	q = wqe(&p, SHM_WR_FETCH_ADD, 2, 64);
	q.atomic.compare_add = 9;
	app_post_send(&p.qp[0], &q, &s);
	expect(&p.qp[0].scq, &p.w, 2, SHM_WC_SUCCESS);
	memcpy(&got, p.buf[0], 8);
	cr_expect_eq(got, 41);
	memcpy(&v, p.buf[1] + 64, 8);
	cr_expect_eq(v, 50);

	q = wqe(&p, SHM_WR_CMP_SWAP, 3, 64);
	q.atomic.compare_add = 50;
	q.atomic.swap = 0x1122334455667788;
	app_post_send(&p.qp[0], &q, &s);
	expect(&p.qp[0].scq, &p.w, 3, SHM_WC_SUCCESS);
	memcpy(&v, p.buf[1] + 64, 8);
	cr_expect_eq(v, 0x1122334455667788);
	close_pair(&p);
}

Test(rc, send_without_a_receive_waits_for_one)
{
	struct pair p;
	struct shm_sge s, d;

	open_pair(&p, NULL, NULL);
	s = sge(&p, 0, 0, 3000);
	d = sge(&p, 1, 0, 3000);
	struct shm_send_wqe q = wqe(&p, SHM_WR_SEND, 1, 0);
	app_post_send(&p.qp[0], &q, &s);
	world_run(&p.w, 500);
	cr_expect_gt(p.w.nic[0]->stats.rnr_nak_retry_err, 10, "%lu %lu %lu",
	             (unsigned long)p.w.nic[0]->stats.rnr_nak_retry_err,
	             (unsigned long)p.w.nic[1]->stats.out_of_buffer,
	             (unsigned long)p.w.nic[0]->stats.tx_packets);
	app_post_recv(&p.qp[1], 9, &d, 1);
	expect(&p.qp[0].scq, &p.w, 1, SHM_WC_SUCCESS);
	expect(&p.qp[1].rcq, &p.w, 9, SHM_WC_SUCCESS);
	cr_expect_eq(memcmp(p.buf[0], p.buf[1], 3000), 0);
	close_pair(&p);
}

Test(rc, silence_ends_in_retry_exceeded_and_the_rest_is_flushed)
{
	struct pair p;
	struct shm_sge s;
	struct shm_qp_attr attr;
	char why[256];

	open_pair(&p, NULL, NULL);
	struct shm_qp_attr err = {.state = SHM_QPS_ERR};
	cr_assert_eq(qp_modify(p.qp[1].qp, &err, SHM_QP_STATE, p.w.now_ns), 0);
	s = sge(&p, 0, 0, 100);
	for (uint64_t i = 0; i < 3; i++) {
		struct shm_send_wqe q = wqe(&p, SHM_WR_WRITE, i, 0);
		app_post_send(&p.qp[0], &q, &s);
	}
	expect(&p.qp[0].scq, &p.w, 0, SHM_WC_RETRY_EXC_ERR);
	expect(&p.qp[0].scq, &p.w, 1, SHM_WC_WR_FLUSH_ERR);
	expect(&p.qp[0].scq, &p.w, 2, SHM_WC_WR_FLUSH_ERR);
	qp_query(p.qp[0].qp, &attr, why, sizeof(why));
	cr_expect_eq(attr.state, SHM_QPS_ERR);
	cr_expect(strstr(why, "never answered"), "%s", why);
	cr_expect_eq(p.qp[0].qp->nic->stats.retransmits, 21, "%lu",
	             p.qp[0].qp->nic->stats.retransmits);
	close_pair(&p);
}
