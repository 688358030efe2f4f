/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

void
pair_make(struct pair *p, const struct world_conf *wc, const struct app_conf *ac)
{
	world_open(&p->w, wc);
	for (int i = 0; i < 2; i++) {
		app_open(&p->qp[i], &p->w, i, ac);
		p->buf[i] = malloc(PAIR_BUF);
		cr_assert(p->buf[i]);
		for (uint32_t k = 0; k < PAIR_BUF; k++)
			p->buf[i][k] = (uint8_t)(i ? 0xee : k * 7 + (k >> 8));
		app_reg(&p->mr[i], &p->w, i, p->buf[i], PAIR_BUF, ALL_ACCESS);
	}
}

void
pair_open(struct pair *p, const struct world_conf *wc, const struct app_conf *ac)
{
	pair_make(p, wc, ac);
	app_connect(&p->qp[0], &p->qp[1]);
}

void
pair_connect(struct pair *p, const struct shm_qp_attr *attr)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			struct shm_qp_attr to = app_attr(&p->qp[i], &p->qp[!i]), mine = *attr;

			mine.dest_qpn = to.dest_qpn;
			mine.rq_psn = to.rq_psn;
			mine.sq_psn = to.sq_psn;
			mine.av = to.av;
			cr_assert_eq(app_to(&p->qp[i], &mine, state), 0, "side %d to %u", i, state);
			if (i && state == SHM_QPS_RTR)
				app_agree(&p->qp[0], &p->qp[1]);
		}
}

void
pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		app_close(&p->qp[i]);
		cr_assert_eq(mr_destroy(p->w.nic[i], p->mr[i].mr), 0);
		free(p->buf[i]);
	}
	world_close(&p->w);
}

struct shm_sge
pair_sge(const struct pair *p, int side, uint64_t off, uint32_t len)
{
	return (struct shm_sge){(uintptr_t)p->buf[side] + off, len, p->mr[side].mr->key};
}

struct shm_send_wqe
pair_wqe(const struct pair *p, uint8_t op, uint64_t wr_id, uint64_t remote_off)
{
	return (struct shm_send_wqe){.wr_id = wr_id,
	                             .op = op,
	                             .flags = SHM_SEND_SIGNALED,
	                             .nb_sge = 1,
	                             .remote_addr = (uintptr_t)p->buf[1] + remote_off,
	                             .rkey = p->mr[1].mr->key};
}

void
pair_post(struct pair *p, uint8_t op, uint64_t wr_id, uint64_t off, uint64_t remote_off,
          uint32_t len)
{
	struct shm_send_wqe wqe = pair_wqe(p, op, wr_id, remote_off);
	struct shm_sge sge = pair_sge(p, 0, off, len);

	app_post_send(&p->qp[0], &wqe, &sge);
}

void
pair_recv(struct pair *p, uint64_t wr_id, uint64_t off, uint32_t len)
{
	struct shm_sge sge = pair_sge(p, 1, off, len);

	app_post_recv(&p->qp[1], wr_id, &sge, 1);
}

struct shm_cqe
pair_expect(struct pair *p, struct local_cq *cq, uint64_t wr_id, uint8_t status)
{
	struct shm_cqe c = {0};

	cr_assert(app_wait(&p->w, cq, &c, 200000), "no completion for %lu", (unsigned long)wr_id);
	cr_expect_eq(c.wr_id, wr_id, "wr_id %lu, want %lu", (unsigned long)c.wr_id,
	             (unsigned long)wr_id);
	cr_expect_eq(c.status, status, "wr_id %lu: status %u, want %u", (unsigned long)wr_id,
	             c.status, status);
	return c;
}

void
pair_expect_none(struct local_cq *cq)
{
	struct shm_cqe c;

	cr_expect(!local_poll(cq, &c), "wr_id %lu, status %u", (unsigned long)c.wr_id, c.status);
}

uint8_t
pair_state(const struct pair *p, int side, char why[256])
{
	struct shm_qp_attr attr;

	qp_query(p->qp[side].qp, &attr, why, 256);
	return attr.state;
}

void
pair_expect_rest(const struct world *w, int side, uint32_t nb_qps)
{
	const struct slab_set *set = &w->nic[side]->slabs;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < set->nb_slabs; i++)
		nb += slab_used(set->slabs[i]);
	cr_expect_eq(nb, nb_qps, "side %d leases %u blocks", side, nb);
}

uint32_t
pair_events(uint32_t type)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < world_nb_events && i < 64; i++)
		nb += !world_events[i].notify && world_events[i].type == type;
	return nb;
}
