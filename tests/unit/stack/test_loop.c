/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* Within one NIC, over IPv6, with each MTU: the same service everywhere. */

static void
exchange(struct pair *p, struct app_qp *from, struct app_qp *to, int side)
{
	static const uint8_t ops[] = {SHM_WR_SEND, SHM_WR_WRITE, SHM_WR_READ, SHM_WR_FETCH_ADD};
	uint8_t *mine = p->buf[from->side], *theirs = p->buf[to->side];

	for (uint64_t i = 0; i < 16; i++) {
		uint8_t op = ops[i % 4];
		uint32_t len = op == SHM_WR_FETCH_ADD ? 8 : (uint32_t)(i * 1237);
		uint64_t far = 400000;
		struct shm_send_wqe wqe = {.wr_id = i,
		                           .op = op,
		                           .flags = SHM_SEND_SIGNALED,
		                           .nb_sge = 1,
		                           .remote_addr = (uintptr_t)theirs + far,
		                           .rkey = p->mr[to->side].mr->key};
		struct shm_sge sge = {(uintptr_t)mine + 8, len, p->mr[from->side].mr->key};
		struct shm_sge into = {(uintptr_t)theirs + far, len, p->mr[to->side].mr->key};

		for (uint32_t k = 0; k < len; k++) {
			mine[8 + k] = (uint8_t)(k * 3 + i);
			theirs[far + k] = (uint8_t)(k * 5 + i + 1);
		}
		if (op == SHM_WR_SEND)
			app_post_recv(to, i, &into, 1);
		app_post_send(from, &wqe, &sge);
		pair_expect(p, &from->scq, i, SHM_WC_SUCCESS);
		if (op == SHM_WR_SEND)
			pair_expect(p, &to->rcq, i, SHM_WC_SUCCESS);
		cr_expect_eq(memcmp(mine + 8, theirs + far, len), 0, "side %d, op %u, length %u",
		             side, op, len);
	}
}

Test(loop, two_qps_of_one_nic_talk_to_each_other_and_one_to_itself)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct world_conf wc = {.ipv6 = v6};
		struct app_qp a, b, self;
		struct pair p;

		pair_open(&p, &wc, NULL);
		app_open(&a, &p.w, 0, NULL);
		app_open(&b, &p.w, 0, NULL);
		app_open(&self, &p.w, 0, NULL);
		app_connect(&a, &b);
		for (uint8_t s = SHM_QPS_INIT; s <= SHM_QPS_RTS; s++) {
			struct shm_qp_attr attr = app_attr(&self, &self);

			cr_assert_eq(app_to(&self, &attr, s), 0);
		}
		exchange(&p, &a, &b, 0);
		exchange(&p, &b, &a, 1);
		exchange(&p, &self, &self, 2);
		exchange(&p, &p.qp[0], &p.qp[1], 3);
		app_close(&a);
		app_close(&b);
		app_close(&self);
		pair_close(&p);
	}
}

Test(loop, each_path_mtu_carries_all)
{
	for (uint8_t mtu = 1; mtu <= 5; mtu++)
		for (int v6 = 0; v6 < 2; v6++) {
			struct world_conf wc = {.ipv6 = v6};
			struct shm_qp_attr attr;
			struct pair p;

			pair_make(&p, &wc, NULL);
			attr = app_attr(&p.qp[0], &p.qp[1]);
			attr.path_mtu = mtu;
			pair_connect(&p, &attr);
			exchange(&p, &p.qp[0], &p.qp[1], mtu);
			exchange(&p, &p.qp[1], &p.qp[0], mtu);
			pair_close(&p);
		}
}
