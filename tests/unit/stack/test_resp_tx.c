/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/* Responses that wait: too many of them, or their memory goes meanwhile. */

Test(resp_tx, a_read_whose_region_goes_is_refused_where_it_stopped)
{
	for (uint64_t turns = 1; turns < 12; turns++) {
		struct world_conf wc = {.fault = {.tx.delay_ns = 2000}};
		struct local_mr mr;
		struct pair p;
		char why[256];

		pair_open(&p, &wc, NULL);
		world_run(&p.w, 20);
		app_reg(&mr, &p.w, 1, p.buf[1], PAIR_BUF, ALL_ACCESS);
		struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_READ, 2, 0);
		struct shm_sge sge = pair_sge(&p, 0, 0, 600000);
		wqe.rkey = mr.mr->key;
		pair_post(&p, SHM_WR_WRITE, 1, 0, 700000, 100);
		app_post_send(&p.qp[0], &wqe, &sge);
		pair_post(&p, SHM_WR_WRITE, 3, 0, 700000, 100);
		world_run(&p.w, turns);
		cr_assert_eq(mr_destroy(p.w.nic[1], mr.mr), 0);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_REM_ACCESS_ERR);
		pair_expect(&p, &p.qp[0].scq, 3, SHM_WC_WR_FLUSH_ERR);
		cr_expect_eq(pair_state(&p, 1, why), SHM_QPS_ERR);
		cr_expect(strstr(why, "rkey"), "%s", why);
		pair_close(&p);
	}
}

Test(resp_tx, more_repeats_than_can_wait_are_dropped_before_they_count)
{
	struct peer p;
	uint64_t v;

	peer_open(&p, NULL, NULL);
	memset(p.buf, 0, 8);
	peer_put_op(&p, OP_FETCH_ADD, PEER_PSN, 0, false);
	peer_go(&p);
	for (int burst = 0; burst < 3; burst++) { /* 96 repeats and no chance to answer */
		for (int i = 0; i < STACK_BURST; i++)
			peer_put_op(&p, OP_FETCH_ADD, PEER_PSN, 0, false);
		stack_rx(p.w.nic[0], p.in, p.nb_in, p.w.now_ns);
		p.nb_in = 0;
	}
	peer_put_op(&p, OP_FETCH_ADD, PEER_PSN + 1, 0, false); /* new, and no room */
	peer_go(&p);
	cr_expect_geq(p.nb_out, 60);
	cr_expect_gt(p.w.nic[0]->stats.drop[DROP_BUSY], 30);
	memcpy(&v, p.buf, 8);
	cr_expect_eq(v, 1);
	peer_put_op(&p, OP_FETCH_ADD, PEER_PSN + 1, 0, false);
	peer_go(&p);
	memcpy(&v, p.buf, 8);
	cr_expect_eq(v, 2);
	cr_expect_eq(p.nb_out, 1);
	peer_close(&p);
}

/* 4096 packets, about 20 of them lost: each costs what was on its way, and not all that follows. */
Test(resp_tx, a_loss_within_a_long_response_costs_a_round_trip, .timeout = 20)
{
	struct world_conf wc = {.fault.rx.ppm[FAULT_LOSS] = 5000};
	struct shm_qp_attr attr;
	struct pair p;
	uint64_t nb_gaps;

	pair_make(&p, &wc, NULL);
	attr = app_attr(&p.qp[0], &p.qp[1]);
	attr.path_mtu = 1;
	attr.timeout = 6;
	pair_connect(&p, &attr);
	pair_post(&p, SHM_WR_READ, 1, 0, 0, PAIR_BUF);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(memcmp(p.buf[0], p.buf[1], PAIR_BUF), 0);
	/* A plain requester asks again; of weft, responses are the responder's to repeat. */
	nb_gaps = p.w.nic[0]->stats.implied_nak_seq_err + p.w.nic[1]->stats.packet_seq_err;
	cr_expect_geq(nb_gaps, 5);
	cr_expect_lt(p.w.nic[1]->stats.tx_packets, 3 * 4096, "%lu packets",
	             (unsigned long)p.w.nic[1]->stats.tx_packets);
	pair_close(&p);
}

Test(resp_tx, the_peers_reads_and_own_requests_take_turns)
{
	struct peer p;
	uint32_t nb_resp = 0, nb_req = 0, most = 0, run = 0;
	bool was_resp = false;

	peer_open(&p, NULL, NULL);
	peer_put_op(&p, OP_READ_REQUEST, PEER_PSN, 40 * PEER_MTU, false);
	peer_post(&p, SHM_WR_WRITE, 1, 40 * PEER_MTU);
	peer_go(&p);
	cr_assert_eq(p.nb_out, 80);
	for (uint32_t i = 0; i < 80; i++) {
		bool is_resp = p.out[i].w.op->flags & OPF_READ_RESP;

		nb_resp += is_resp;
		nb_req += !is_resp;
		run = i && is_resp == was_resp ? run + 1 : 1;
		most = run > most ? run : most;
		was_resp = is_resp;
	}
	cr_expect_eq(nb_resp, 40);
	cr_expect_eq(nb_req, 40);
	cr_expect_leq(most, 2);
	peer_close(&p);
}
