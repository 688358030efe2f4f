/* SPDX-License-Identifier: BSD-3-Clause */
#include "refusal.h"

#include <criterion/criterion.h>
#include <string.h>

void
keys_open(struct keys *k, struct peer *p)
{
	static const uint32_t rights[KEY_NB] = {[KEY_OTHER_PD] = ALL_ACCESS,
	                                        [KEY_READ_ONLY] = SHM_ACCESS_LOCAL_WRITE |
	                                                          SHM_ACCESS_REMOTE_READ,
	                                        [KEY_LOCAL] = SHM_ACCESS_LOCAL_WRITE,
	                                        [KEY_GONE] = ALL_ACCESS};

	k->key[KEY_FULL] = p->mr.mr->key;
	k->key[KEY_NONE] = 0xdeadbeef;
	for (int i = 0; i < KEY_NB; i++) {
		if (!rights[i])
			continue;
		app_reg(&k->mr[i], &p->w, 0, p->buf, PAIR_BUF, rights[i]);
		k->key[i] = k->mr[i].mr->key;
	}
	k->mr[KEY_OTHER_PD].mr->pd = PD + 1;
	mr_destroy(p->w.nic[0], k->mr[KEY_GONE].mr);
	k->mr[KEY_GONE].mr = NULL;
	k->window = mr_create_window(p->w.nic[0], PD, 2);
	k->key[KEY_UNBOUND] = k->window->key;
}

void
keys_close(struct keys *k, struct peer *p)
{
	for (int i = 0; i < KEY_NB; i++)
		if (k->mr[i].mr)
			mr_destroy(p->w.nic[0], k->mr[i].mr);
	mr_destroy(p->w.nic[0], k->window);
}

void
refusal_post(struct peer *p, uint8_t recv_status)
{
	struct shm_sge sge[2] = {{(uintptr_t)p->buf, PEER_MTU, p->mr.mr->key},
	                         {(uintptr_t)p->buf + PEER_MTU, PEER_MTU, p->mr.mr->key}};

	if (recv_status == SHM_WC_LOC_PROT_ERR)
		sge[1].lkey = 0x12345;
	app_post_recv(&p->qp, 50, sge, 2);
	app_post_recv(&p->qp, 51, sge, 2);
	peer_post(p, SHM_WR_WRITE, 1, 8);
}

void
refusal_expect_end(struct peer *p, const char *name, const char *why, uint8_t recv_status)
{
	struct shm_qp_attr q;
	char text[256];

	qp_query(p->qp.qp, &q, text, sizeof(text));
	cr_expect_eq(q.state, SHM_QPS_ERR, "%s", name);
	cr_expect(strstr(text, why), "%s: %s", name, text);
	cr_expect_eq(pair_events(SHM_EVENT_QP_ACCESS_ERR) + pair_events(SHM_EVENT_QP_REQ_ERR), 1,
	             "%s", name);
	peer_expect(&p->qp.scq, 1, SHM_WC_WR_FLUSH_ERR);
	peer_expect(&p->qp.rcq, 50, recv_status ? recv_status : SHM_WC_WR_FLUSH_ERR);
	peer_expect(&p->qp.rcq, 51, SHM_WC_WR_FLUSH_ERR);
	pair_expect_none(&p->qp.rcq);
}
