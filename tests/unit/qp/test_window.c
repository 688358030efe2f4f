/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "pair.h"

/* Memory windows: bound by work requests of side 1, used and invalidated by side 0. */

#define RIGHTS (SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC)

struct place {
	struct pair p;
	struct local_mr mr; /* side 1, with the right to bind */
	struct mr *mw;
};

static void
open_place(struct place *l, uint32_t type)
{
	pair_open(&l->p, NULL, NULL);
	app_reg(&l->mr, &l->p.w, 1, l->p.buf[1], 65536, ALL_ACCESS | SHM_ACCESS_MW_BIND);
	l->mw = mr_create_window(l->p.w.nic[1], PD, type);
	cr_assert(l->mw);
}

static void
close_place(struct place *l)
{
	cr_assert_eq(mr_destroy(l->p.w.nic[1], l->mw), 0);
	cr_assert_eq(mr_destroy(l->p.w.nic[1], l->mr.mr), 0);
	pair_close(&l->p);
}

static struct shm_send_wqe
bind_wqe(const struct place *l, uint64_t off, uint64_t len, uint32_t key, uint32_t access)
{
	return (struct shm_send_wqe){.wr_id = 50,
	                             .op = SHM_WR_BIND_MW,
	                             .flags = SHM_SEND_SIGNALED,
	                             .bind = {.addr = (uintptr_t)l->p.buf[1] + off,
	                                      .length = len,
	                                      .mw_rkey = key,
	                                      .mr_lkey = l->mr.mr->key,
	                                      .access = access}};
}

static void
run_local(struct place *l, const struct shm_send_wqe *wqe, uint8_t status)
{
	struct shm_cqe c;

	app_post_send(&l->p.qp[1], wqe, NULL);
	c = pair_expect(&l->p, &l->p.qp[1].scq, wqe->wr_id, status);
	cr_expect_eq(c.op, wqe->op == SHM_WR_BIND_MW ? SHM_WC_BIND_MW : SHM_WC_LOCAL_INV);
}

/* A WRITE of 8 bytes by this rkey to that place. */
static void
write_by(struct place *l, uint32_t rkey, uint64_t addr, uint8_t status)
{
	struct shm_send_wqe wqe = pair_wqe(&l->p, SHM_WR_WRITE, 1, 0);
	struct shm_sge sge = pair_sge(&l->p, 0, 0, 8);

	wqe.rkey = rkey;
	wqe.remote_addr = addr;
	app_post_send(&l->p.qp[0], &wqe, &sge);
	pair_expect(&l->p, &l->p.qp[0].scq, 1, status);
}

Test(window, shows_its_range_with_its_rights_and_no_more)
{
	static const struct {
		int64_t off; /* in the window of [1000, 2000) */
		uint32_t access;
		uint8_t op, status;
	} rows[] = {
		{0, RIGHTS, SHM_WR_WRITE, SHM_WC_SUCCESS},
		{992, RIGHTS, SHM_WR_READ, SHM_WC_SUCCESS},
		{0, RIGHTS, SHM_WR_FETCH_ADD, SHM_WC_SUCCESS},
		{-1, RIGHTS, SHM_WR_WRITE, SHM_WC_REM_ACCESS_ERR},
		{993, RIGHTS, SHM_WR_READ, SHM_WC_REM_ACCESS_ERR},
		{0, SHM_ACCESS_REMOTE_READ, SHM_WR_WRITE, SHM_WC_REM_ACCESS_ERR},
		{0, SHM_ACCESS_REMOTE_WRITE, SHM_WR_READ, SHM_WC_REM_ACCESS_ERR},
		{0, SHM_ACCESS_REMOTE_WRITE, SHM_WR_FETCH_ADD, SHM_WC_REM_ACCESS_ERR},
	};

	for (uint32_t type = 1; type <= 2; type++)
		for (int zero = 0; zero < 2; zero++)
			for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
				struct shm_send_wqe bind, wqe;
				struct shm_sge sge;
				struct place l;
				uint64_t base;

				open_place(&l, type);
				bind = bind_wqe(&l, 1000, 1000, l.mw->key,
				                rows[i].access |
				                        (zero ? SHM_ACCESS_ZERO_BASED : 0));
				base = zero ? 0 : (uintptr_t)l.p.buf[1] + 1000;
				run_local(&l, &bind, SHM_WC_SUCCESS);
				wqe = pair_wqe(&l.p, rows[i].op, 1, 0);
				sge = pair_sge(&l.p, 0, 0, 8);
				wqe.rkey = l.mw->key;
				wqe.remote_addr = base + (uint64_t)rows[i].off;
				app_post_send(&l.p.qp[0], &wqe, &sge);
				pair_expect(&l.p, &l.p.qp[0].scq, 1, rows[i].status);
				if (rows[i].op == SHM_WR_WRITE && !rows[i].status)
					cr_expect_eq(memcmp(l.p.buf[1] + 1000, l.p.buf[0], 8), 0);
				close_place(&l);
			}
}

Test(window, binds_that_are_not_allowed_end_the_qp)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t off, len;
		uint32_t key, lkey, access,
			take; /* changed bits; rights of the region taken away */
		uint32_t mw_pd;
	} rows[] = {
		{"behind the region", 2, 65000, 537, 0, 0, RIGHTS, 0, 0},
		{"before the region", 1, (uint64_t)-1, 8, 0, 0, RIGHTS, 0, 0},
		{"length wraps", 1, 8, (uint64_t)-8, 0, 0, RIGHTS, 0, 0},
		{"no such window", 1, 0, 8, 0x100, 0, RIGHTS, 0, 0},
		{"no such region", 1, 0, 8, 0, 0x100, RIGHTS, 0, 0},
		{"no right to bind", 1, 0, 8, 0, 0, RIGHTS, SHM_ACCESS_MW_BIND, 0},
		{"change without local write", 1, 0, 8, 0, 0, RIGHTS, SHM_ACCESS_LOCAL_WRITE, 0},
		{"window of another PD", 1, 0, 8, 0, 0, RIGHTS, 0, PD + 1},
		{"type 2 unbound by length 0", 2, 0, 0, 0, 0, RIGHTS, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_send_wqe bind;
		struct place l;
		char why[256];

		open_place(&l, rows[i].type);
		l.mr.mr->access &= ~rows[i].take;
		if (rows[i].mw_pd)
			l.mw->pd = rows[i].mw_pd;
		bind = bind_wqe(&l, rows[i].off, rows[i].len, l.mw->key ^ rows[i].key,
		                rows[i].access);
		bind.bind.mr_lkey ^= rows[i].lkey;
		run_local(&l, &bind, SHM_WC_MW_BIND_ERR);
		cr_expect_eq(pair_state(&l.p, 1, why), SHM_QPS_ERR, "%s", rows[i].name);
		cr_expect(strstr(why, "bind"), "%s: %s", rows[i].name, why);
		cr_expect_eq(l.mr.mr->nb_windows, 0, "%s", rows[i].name);
		close_place(&l);
	}
}

Test(window, of_type_1_moves_at_will_under_a_new_key_each_time)
{
	struct shm_send_wqe bind;
	struct place l;
	uint32_t key;

	open_place(&l, 1);
	for (uint32_t i = 0; i < 300; i++) {
		/* Not always the next one: binds that failed or were flushed took keys, too. */
		key = (l.mw->key & ~0xffu) | ((l.mw->key + 1 + i % 3) & 0xff);
		bind = bind_wqe(&l, i * 8, 8, key, RIGHTS);
		run_local(&l, &bind, SHM_WC_SUCCESS);
		cr_assert_eq(l.mw->key, key);
		write_by(&l, l.mw->key, (uintptr_t)l.p.buf[1] + i * 8, SHM_WC_SUCCESS);
		cr_assert_eq(l.mr.mr->nb_windows, 1);
	}
	bind = bind_wqe(&l, 0, 0, l.mw->key, 0);
	run_local(&l, &bind, SHM_WC_SUCCESS);
	cr_expect_eq(l.mr.mr->nb_windows, 0);
	write_by(&l, l.mw->key, (uintptr_t)l.p.buf[1], SHM_WC_REM_ACCESS_ERR);
	close_place(&l);
}

Test(window, of_type_2_is_bound_once_until_either_side_invalidates_it)
{
	for (int by_peer = 0; by_peer < 2; by_peer++) {
		struct shm_send_wqe bind,
			inv = {.wr_id = 51, .op = SHM_WR_LOCAL_INV, .flags = SHM_SEND_SIGNALED};
		struct place l;
		uint32_t key;

		open_place(&l, 2);
		for (uint32_t i = 0; i < 3; i++) {
			struct shm_cqe c;

			key = (l.mw->key & ~0xffu) | (i * 7 + 1);
			bind = bind_wqe(&l, 0, 64, key, RIGHTS);
			run_local(&l, &bind, SHM_WC_SUCCESS);
			cr_expect_eq(l.mw->key, key);
			write_by(&l, key, (uintptr_t)l.p.buf[1] + 8, SHM_WC_SUCCESS);
			if (by_peer) {
				struct shm_send_wqe send = pair_wqe(&l.p, SHM_WR_SEND_INV, 3, 0);
				struct shm_sge sge = pair_sge(&l.p, 0, 0, 20);

				pair_recv(&l.p, 9, 70000, 20);
				send.imm = key;
				app_post_send(&l.p.qp[0], &send, &sge);
				pair_expect(&l.p, &l.p.qp[0].scq, 3, SHM_WC_SUCCESS);
				c = pair_expect(&l.p, &l.p.qp[1].rcq, 9, SHM_WC_SUCCESS);
				cr_expect_eq(c.flags, SHM_WC_WITH_INV);
				cr_expect_eq(c.imm, key);
			} else {
				inv.imm = key;
				run_local(&l, &inv, SHM_WC_SUCCESS);
			}
			cr_expect_eq(l.mr.mr->nb_windows, 0);
		}
		bind = bind_wqe(&l, 0, 64, key, RIGHTS);
		run_local(&l, &bind, SHM_WC_SUCCESS);
		run_local(&l, &bind, SHM_WC_MW_BIND_ERR); /* it is bound */
		close_place(&l);
	}
}

Test(window, that_is_invalid_or_of_another_qp_opens_nothing)
{
	for (int other = 0; other < 2; other++) {
		struct app_qp qp[2];
		struct shm_send_wqe bind,
			inv = {.wr_id = 51, .op = SHM_WR_LOCAL_INV, .flags = SHM_SEND_SIGNALED};
		struct place l;

		open_place(&l, 2);
		bind = bind_wqe(&l, 0, 64, l.mw->key, RIGHTS);
		run_local(&l, &bind, SHM_WC_SUCCESS);
		for (int i = 0; i < 2; i++)
			app_open(&qp[i], &l.p.w, i, NULL);
		app_connect(&qp[0], &qp[1]);
		inv.imm = l.mw->key;
		if (other) {
			struct shm_send_wqe wqe = pair_wqe(&l.p, SHM_WR_WRITE, 4, 0);
			struct shm_sge sge = pair_sge(&l.p, 0, 0, 8);

			wqe.rkey = l.mw->key;
			app_post_send(&qp[0], &wqe, &sge);
			pair_expect(&l.p, &qp[0].scq, 4, SHM_WC_REM_ACCESS_ERR);
			for (int i = 0; i < 2; i++)
				qp_modify(qp[i].qp, &(struct shm_qp_attr){0}, SHM_QP_STATE,
				          l.p.w.now_ns);
			app_connect(&qp[0], &qp[1]);
			app_post_send(&qp[1], &inv, NULL); /* nor may it invalidate */
			pair_expect(&l.p, &qp[1].scq, 51, SHM_WC_MW_BIND_ERR);
			write_by(&l, l.mw->key, (uintptr_t)l.p.buf[1], SHM_WC_SUCCESS);
		} else {
			run_local(&l, &inv, SHM_WC_SUCCESS);
			write_by(&l, l.mw->key, (uintptr_t)l.p.buf[1], SHM_WC_REM_ACCESS_ERR);
		}
		for (int i = 0; i < 2; i++)
			app_close(&qp[i]);
		close_place(&l);
	}
}

/* What the QP remembers of a WRITE's place ends with the window, in the middle of the message. */
Test(window, that_moves_or_ends_within_a_message_ends_the_message)
{
	for (uint32_t type = 1; type <= 2; type++) {
		const uint32_t len = PAIR_BUF; /* many turns long */
		struct shm_send_wqe end, wqe;
		struct local_mr whole;
		struct shm_sge sge;
		struct place l;

		open_place(&l, type);
		app_reg(&whole, &l.p.w, 1, l.p.buf[1], len, ALL_ACCESS | SHM_ACCESS_MW_BIND);
		end = bind_wqe(&l, 0, len, l.mw->key, RIGHTS);
		end.bind.mr_lkey = whole.mr->key;
		run_local(&l, &end, SHM_WC_SUCCESS);
		wqe = pair_wqe(&l.p, SHM_WR_WRITE, 1, 0);
		sge = pair_sge(&l.p, 0, 0, len);
		wqe.rkey = l.mw->key;
		app_post_send(&l.p.qp[0], &wqe, &sge);
		while (l.p.buf[1][0] == 0xee)
			world_step(&l.p.w);
		if (type == 1)
			end = bind_wqe(&l, 0, 8, l.mw->key, RIGHTS);
		else
			end = (struct shm_send_wqe){.wr_id = 51,
			                            .op = SHM_WR_LOCAL_INV,
			                            .flags = SHM_SEND_SIGNALED,
			                            .imm = l.mw->key};
		run_local(&l, &end, SHM_WC_SUCCESS);
		pair_expect(&l.p, &l.p.qp[0].scq, 1, SHM_WC_REM_ACCESS_ERR);
		cr_expect_eq(l.p.buf[1][len - 1], 0xee);
		cr_assert_eq(mr_destroy(l.p.w.nic[1], l.mw), 0);
		l.mw = mr_create_window(l.p.w.nic[1], PD, type);
		cr_assert_eq(mr_destroy(l.p.w.nic[1], whole.mr), 0);
		close_place(&l);
	}
}

Test(window, keeps_its_region_registered)
{
	struct shm_send_wqe bind;
	struct place l;
	struct shm_sge none = {0};

	open_place(&l, 1);
	bind = bind_wqe(&l, 0, 64, l.mw->key, RIGHTS);
	run_local(&l, &bind, SHM_WC_SUCCESS);
	cr_expect_eq(mr_destroy(l.p.w.nic[1], l.mr.mr), -EBUSY);
	/* An rkey of a window is no lkey. */
	none = pair_sge(&l.p, 1, 0, 8);
	none.lkey = l.mw->key;
	struct shm_send_wqe wqe = {.wr_id = 6, .op = SHM_WR_WRITE, .nb_sge = 1};
	app_post_send(&l.p.qp[1], &wqe, &none);
	pair_expect(&l.p, &l.p.qp[1].scq, 6, SHM_WC_LOC_PROT_ERR);
	close_place(&l);
}
