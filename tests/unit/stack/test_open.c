/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "bind.h"
#include "open_rig.h"

/* How two QPs agree on a framing, as their confs wish, or fail and say why. */

/* Another gbn. */
static const struct reliability_ops *
renamed_gbn(void)
{
	static struct reliability_ops ops;

	ops = *reliability_find("gbn");
	ops.info.name = "gbn2";
	return &ops;
}

Test(open, each_pair_of_wishes_ends_as_the_confs_say)
{
	enum { NONE = 100 }; /* failed */
	static const struct {
		enum framing_wish wish[2];
		int want[2];
	} rows[] = {
		{{AUTO, AUTO}, {QP_WEFT, QP_WEFT}},     {{WEFT, WEFT}, {QP_WEFT, QP_WEFT}},
		{{AUTO, WEFT}, {QP_WEFT, QP_WEFT}},     {{ROCEV2, ROCEV2}, {QP_PLAIN, QP_PLAIN}},
		{{AUTO, ROCEV2}, {QP_PLAIN, QP_PLAIN}}, {{ROCEV2, AUTO}, {QP_PLAIN, QP_PLAIN}},
		{{WEFT, ROCEV2}, {NONE, QP_PLAIN}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair p;

		pair_wish(&p, rows[i].wish[0], rows[i].wish[1]);
		both_to_rts(&p.qp[0], &p.qp[1]);
		world_run(&p.w, TURNS(350));
		for (int side = 0; side < 2; side++) {
			const struct qp *q = p.qp[side].qp;

			if (rows[i].want[side] == NONE)
				cr_expect_eq(q->state, SHM_QPS_ERR, "row %zu", i);
			else
				cr_expect(q->state == SHM_QPS_RTS &&
				                  q->framing == rows[i].want[side],
				          "row %zu, side %d: %u", i, side, q->framing);
		}
		if (rows[i].want[0] == NONE)
			cr_expect(strstr(why_failed(&p.qp[0]), "framing = weft"), "%s",
			          why_failed(&p.qp[0]));
		pair_close(&p);
	}
}

/* Data flows as soon as the peer is known to be plain, or has agreed. */
Test(open, work_that_was_posted_before_is_done_after)
{
	static const enum framing_wish wishes[][2] = {{AUTO, AUTO}, {AUTO, ROCEV2}, {ROCEV2, AUTO}};

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct pair p;

		pair_wish(&p, wishes[i][0], wishes[i][1]);
		both_to_rts(&p.qp[0], &p.qp[1]);
		pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 5000);
		world_run(&p.w, TURNS(400));
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		cr_expect_arr_eq(p.buf[0], p.buf[1], 5000);
		pair_close(&p);
	}
}

/* It need not wait for silence. */
Test(open, a_plain_packet_of_the_peer_decides)
{
	struct pair p;

	pair_wish(&p, ROCEV2, AUTO);
	both_to_rts(&p.qp[0], &p.qp[1]);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 100);
	world_run(&p.w, TURNS(50));
	cr_expect_eq(p.qp[1].qp->framing, QP_PLAIN);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_close(&p);
}

/* Whoever's answer is lost hears it again. */
Test(open, other_engines_fail_both_and_both_are_named)
{
	for (uint64_t loss = 0; loss <= 500000; loss += 100000) {
		struct world_conf wc = wishing(AUTO, WEFT);
		struct pair p;

		wc.rel_of_1 = renamed_gbn();
		pair_make(&p, &wc, NULL);
		if (loss) {
			struct fault_params fault = {.seed = loss + 1};

			fault.rx.ppm[FAULT_LOSS] = fault.tx.ppm[FAULT_LOSS] = (uint32_t)loss;
			world_run(&p.w, TURNS(10));
			world_spoil(&p.w, &fault);
		}
		both_to_rts(&p.qp[0], &p.qp[1]);
		world_run(&p.w, TURNS(5000));
		for (int side = 0; side < 2; side++) {
			if (p.qp[side].qp->state != SHM_QPS_ERR && loss) {
				/* Nobody answered it at all: plain, by its conf. */
				cr_expect_eq(p.qp[side].qp->framing, QP_PLAIN, "loss %llu",
				             (unsigned long long)loss);
				continue;
			}
			cr_expect_eq(p.qp[side].qp->state, SHM_QPS_ERR);
			if (!loss) {
				cr_expect(strstr(why_failed(&p.qp[side]), "gbn2"), "%s",
				          why_failed(&p.qp[side]));
				cr_expect(strstr(why_failed(&p.qp[side]), "gbn "), "%s",
				          why_failed(&p.qp[side]));
			}
		}
		pair_close(&p);
	}
}

Test(open, other_path_mtus_fail_both)
{
	struct pair p;

	pair_wish(&p, AUTO, AUTO);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		for (int side = 0; side < 2; side++) {
			struct shm_qp_attr attr = app_attr(&p.qp[side], &p.qp[!side]);

			attr.path_mtu = (uint8_t)(3 - side);
			cr_assert_eq(app_to(&p.qp[side], &attr, state), 0);
		}
	}
	world_run(&p.w, TURNS(100));
	for (int side = 0; side < 2; side++) {
		cr_expect_eq(p.qp[side].qp->state, SHM_QPS_ERR);
		cr_expect(strstr(why_failed(&p.qp[side]), "path MTU"), "%s",
		          why_failed(&p.qp[side]));
	}
	pair_close(&p);
}

Test(open, a_peer_that_comes_late_is_waited_for)
{
	struct pair p;

	pair_wish(&p, AUTO, AUTO);
	to_rts(&p.qp[0], &p.qp[1]);
	world_run(&p.w, TURNS(2500));
	cr_expect_eq(p.qp[0].qp->framing, QP_PENDING);
	to_rts(&p.qp[1], &p.qp[0]);
	world_run(&p.w, TURNS(20));
	cr_expect_eq(p.qp[0].qp->framing, QP_WEFT);
	cr_expect_eq(p.qp[1].qp->framing, QP_WEFT);
	pair_close(&p);
}

Test(open, work_for_a_peer_that_never_gets_ready_fails_in_its_time)
{
	struct pair p;
	char text[256];

	pair_wish(&p, AUTO, AUTO);
	to_rts(&p.qp[0], &p.qp[1]); /* 8 timeouts of 1 ms each */
	world_run(&p.w, TURNS(50));
	cr_expect_eq(pair_state(&p, 0, text), SHM_QPS_RTS, "nothing was posted");
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 100);
	world_run(&p.w, TURNS(5));
	cr_expect_eq(pair_state(&p, 0, text), SHM_QPS_RTS);
	world_run(&p.w, TURNS(20));
	cr_expect_eq(pair_state(&p, 0, text), SHM_QPS_ERR);
	cr_expect(strstr(text, "never became ready"), "%s", text);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

Test(open, qps_of_one_nic_need_no_message)
{
	struct world_conf wc = wishing(WEFT, WEFT);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 0, NULL);
	both_to_rts(&qp[0], &qp[1]);
	cr_expect_eq(qp[0].qp->framing, QP_WEFT);
	cr_expect_eq(qp[1].qp->framing, QP_WEFT);
	world_run(&w, TURNS(10));
	cr_expect_eq(peers_stats(w.nic[0]->peers)->tx_hellos, 0);
	app_close(&qp[0]);
	app_close(&qp[1]);
	world_close(&w);
}

/* Nothing is asked, and nobody wants a turn, once all is agreed on. */
Test(open, who_is_done_is_idle)
{
	struct pair p;

	pair_wish(&p, AUTO, AUTO);
	both_to_rts(&p.qp[0], &p.qp[1]);
	world_run(&p.w, TURNS(100));
	for (int side = 0; side < 2; side++)
		cr_expect_geq(peers_next_ns(p.w.nic[side]->peers), p.w.now_ns + 10000 * MS);
	pair_close(&p);
}

#define MANY 300

Test(open, many_qps_share_openings)
{
	static struct app_qp qp[2][MANY];
	struct world_conf wc = wishing(AUTO, AUTO);
	struct app_conf ac = {.depth = 4};
	struct world w;
	uint32_t nb_weft = 0;

	world_open(&w, &wc);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		app_open(&qp[i % 2][i / 2], &w, (int)i % 2, &ac);
	for (uint32_t i = 0; i < MANY; i++)
		both_to_rts(&qp[0][i], &qp[1][i]);
	world_run(&w, TURNS(300));
	for (uint32_t i = 0; i < 2 * MANY; i++)
		nb_weft += qp[i % 2][i / 2].qp->framing == QP_WEFT;
	cr_expect_eq(nb_weft, 2 * MANY);
	cr_expect_lt(peers_stats(w.nic[0]->peers)->tx_opens, MANY / 2);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		app_close(&qp[i % 2][i / 2]);
	world_close(&w);
}
