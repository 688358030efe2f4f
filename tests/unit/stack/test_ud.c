/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "batch.h"
#include "pair.h"

/* Datagrams. */

static const struct app_conf ud = {.type = SHM_QPT_UD};

static struct shm_send_wqe
wqe_to(struct pair *p, uint64_t wr_id)
{
	return (struct shm_send_wqe){.wr_id = wr_id,
	                             .op = SHM_WR_SEND,
	                             .flags = SHM_SEND_SIGNALED,
	                             .nb_sge = 1,
	                             .ud = {.av = app_attr(&p->qp[0], &p->qp[1]).av,
	                                    .qpn = p->qp[1].qp->qpn,
	                                    .qkey = 0x1234}};
}

static void
send(struct pair *p, const struct shm_send_wqe *wqe, uint32_t len)
{
	struct shm_sge sge = pair_sge(p, 0, 3, len);

	app_post_send(&p->qp[0], wqe, &sge);
}

Test(ud, a_message_comes_behind_its_grh)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct world_conf wc = {.ipv6 = v6};
		const struct ip_addr *ips[2];
		struct shm_send_wqe wqe;
		struct shm_cqe c;
		struct pair p;
		uint8_t *grh;

		pair_open(&p, &wc, &ud);
		grh = p.buf[1] + 100;
		for (int i = 0; i < 2; i++)
			ips[i] = &p.w.nic[i]->gids.entry[v6 ? 2 : 1].ip;
		pair_recv(&p, 8, 100, 40 + 2000);
		wqe = wqe_to(&p, 1);
		wqe.op = SHM_WR_SEND_IMM;
		wqe.imm = 0x01020304;
		wqe.ud.av.traffic_class = 0x60;
		wqe.ud.av.hop_limit = 33;
		wqe.ud.av.flow_label = 0x12345;
		send(&p, &wqe, 1999);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		c = pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
		cr_expect_eq(c.byte_len, 40 + 1999);
		cr_expect_eq(c.src_qpn, p.qp[0].qp->qpn);
		cr_expect_eq(c.qpn, p.qp[1].qp->qpn);
		cr_expect_eq(c.flags, SHM_WC_GRH | SHM_WC_WITH_IMM);
		cr_expect_eq(c.imm, 0x01020304);
		cr_expect_eq(c.sl, v6 ? 1 : 2);
		cr_expect_eq(memcmp(p.buf[1] + 140, p.buf[0] + 3, 1999), 0);
		cr_expect_eq(p.buf[1][140 + 1999], 0xee);
		if (v6) {
			cr_expect_eq(grh[0] >> 4, 6);
			cr_expect_eq((grh[0] & 15) << 4 | grh[1] >> 4, 0x60);
			cr_expect_eq((grh[1] & 15) << 16 | grh[2] << 8 | grh[3], 0x12345);
			cr_expect_eq(grh[7], 33);
			cr_expect_eq(memcmp(grh + 8, ips[0], 16), 0);
			cr_expect_eq(memcmp(grh + 24, ips[1], 16), 0);
		} else {
			for (int i = 0; i < 20; i++)
				cr_expect_eq(grh[i], 0);
			cr_expect_eq(grh[20], 0x45);
			cr_expect_eq(grh[21], 0x60);
			cr_expect_eq(grh[28], 33);
			cr_expect_eq(grh[29], 17);
			cr_expect_eq(memcmp(grh + 32, ips[0]->b + 12, 4), 0);
			cr_expect_eq(memcmp(grh + 36, ips[1]->b + 12, 4), 0);
		}
		pair_close(&p);
	}
}

Test(ud, the_first_message_to_a_neighbour_waits_for_its_mac)
{
	struct pair p;
	struct shm_send_wqe wqe;

	pair_open(&p, NULL, &ud);
	pair_recv(&p, 8, 0, 100);
	wqe = wqe_to(&p, 1);
	send(&p, &wqe, 50);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
	pair_close(&p);
}

Test(ud, a_neighbour_may_take_its_time_to_say_its_mac)
{
	static const struct ip_addr slow = {.b = {[10] = 0xff, 0xff, 10, 0, 0, 99}};
	const struct world_conf wc = {.step_ns = 100000};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 99};
	struct shm_send_wqe wqe;
	struct pair p;

	pair_open(&p, &wc, &ud);
	wqe = wqe_to(&p, 1);
	memcpy(wqe.ud.av.dgid, slow.b, sizeof(slow.b));
	send(&p, &wqe, 50);
	world_run(&p.w, 900); /* 90 ms */
	pair_expect_none(&p.qp[0].scq);
	neigh_set(p.w.nic[0]->neigh, &slow, 0, mac, p.w.now_ns);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(p.w.nic[0]->stats.drop[DROP_NO_NEIGH], 0);
	pair_close(&p);
}

Test(ud, messages_to_nobody_complete_and_do_not_hold_up_others_for_long)
{
	struct shm_send_wqe good, lost;
	struct pair p;
	uint64_t start;

	pair_open(&p, NULL, &ud);
	for (uint64_t i = 0; i < 30; i++)
		pair_recv(&p, i, 0, 100);
	good = wqe_to(&p, 1);
	lost = wqe_to(&p, 2);
	lost.ud.av.dgid[15] = 99;
	start = p.w.now_ns;
	for (uint64_t i = 0; i < 30; i++) {
		send(&p, i & 1 ? &lost : &good, 50);
		pair_expect(&p, &p.qp[0].scq, i & 1 ? 2 : 1, SHM_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < 15; i++)
		pair_expect(&p, &p.qp[1].rcq, i, SHM_WC_SUCCESS);
	/* The first waits for 100 ms; the others do not, as it has been asked for twice then. */
	cr_expect_leq(p.w.now_ns - start, 150000000);
	cr_expect_geq(p.w.nic[0]->stats.drop[DROP_NO_NEIGH], 15);
	pair_close(&p);
}

Test(ud, one_qp_sends_to_many_and_both_families)
{
	struct shm_send_wqe wqe;
	struct app_qp third;
	struct pair p;

	pair_open(&p, NULL, &ud);
	app_open(&third, &p.w, 0, &ud); /* on the sender's own NIC */
	struct shm_qp_attr attr = app_attr(&third, &p.qp[1]);
	for (uint8_t s = SHM_QPS_INIT; s <= SHM_QPS_RTS; s++)
		cr_assert_eq(app_to(&third, &attr, s), 0);
	for (uint64_t i = 0; i < 12; i++) {
		struct shm_sge into = pair_sge(&p, 0, 500000, 1000);
		uint8_t gid = i & 2 ? 2 : 1;
		const struct nic *to = p.w.nic[i & 1 ? 0 : 1];

		if (i & 1)
			app_post_recv(&third, i, &into, 1);
		else
			pair_recv(&p, i, 0, 1000);
		wqe = wqe_to(&p, i);
		wqe.ud.av.sgid_index = gid;
		memcpy(wqe.ud.av.dgid, to->gids.entry[gid].ip.b, 16);
		wqe.ud.qpn = i & 1 ? third.qp->qpn : p.qp[1].qp->qpn;
		send(&p, &wqe, 64);
		pair_expect(&p, &p.qp[0].scq, i, SHM_WC_SUCCESS);
		cr_expect_eq(pair_expect(&p, i & 1 ? &third.rcq : &p.qp[1].rcq, i, 0).sl,
		             gid == 2 ? 1 : 2);
	}
	app_close(&third);
	pair_close(&p);
}

Test(ud, what_cannot_be_delivered_is_dropped_and_counted)
{
	static const struct {
		const char *name;
		enum drop drop;
		uint32_t qkey, recv_len, len;
		int qpn; /* added */
	} rows[] = {
		{"Q_Key", DROP_QKEY, 0x1235, 200, 50, 0},
		{"no receive", DROP_NO_RECV, 0x1234, 0, 50, 0},
		{"too long", DROP_LENGTH, 0x1234, 89, 50, 0},
		{"no room for the GRH", DROP_LENGTH, 0x1234, 39, 0, 0},
		{"no such QP", DROP_NO_QP, 0x1234, 200, 50, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_send_wqe wqe;
		struct pair p;

		pair_open(&p, NULL, &ud);
		if (rows[i].recv_len)
			pair_recv(&p, 8, 0, rows[i].recv_len);
		wqe = wqe_to(&p, 1);
		wqe.ud.qkey = rows[i].qkey;
		wqe.ud.qpn ^= (uint32_t)rows[i].qpn;
		send(&p, &wqe, rows[i].len);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		world_run(&p.w, 20);
		pair_expect_none(&p.qp[1].rcq);
		cr_expect_eq(p.w.nic[1]->stats.drop[rows[i].drop], 1, "%s", rows[i].name);
		cr_expect_eq(p.qp[1].qp->state, SHM_QPS_RTS);
		for (uint32_t k = 0; k < 300; k++)
			cr_assert_eq(p.buf[1][k], 0xee);
		/* A receive that was too short is there for the next. */
		if (rows[i].drop == DROP_LENGTH && rows[i].recv_len > 40) {
			wqe = wqe_to(&p, 2);
			send(&p, &wqe, rows[i].recv_len - 40);
			pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

Test(ud, a_qkey_with_the_high_bit_stands_for_the_qps_own)
{
	struct shm_send_wqe wqe;
	struct pair p;

	pair_open(&p, NULL, &ud);
	pair_recv(&p, 8, 0, 200);
	wqe = wqe_to(&p, 1);
	wqe.ud.qkey = 0x80000001;
	send(&p, &wqe, 50);
	pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
	pair_close(&p);
}

Test(ud, an_address_that_is_none_is_a_local_error)
{
	static const struct {
		uint8_t sgid, dgid[16];
		uint32_t qpn;
	} rows[] = {
		{3, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 5},
		{255, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 5},
		{2, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 5},
		{1, {0}, 5},
		{1, {[10] = 0xff, 0xff, 239, 0, 0, 2}, 5},
		{1, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 0x1000000},
		{1, {[10] = 0xff, 0xff, 10, 0, 0, 2}, 0xffffffff},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shm_send_wqe wqe;
		struct pair p;
		char why[256];

		pair_open(&p, NULL, &ud);
		wqe = wqe_to(&p, 1);
		wqe.ud.av.sgid_index = rows[i].sgid;
		memcpy(wqe.ud.av.dgid, rows[i].dgid, 16);
		wqe.ud.qpn = rows[i].qpn;
		send(&p, &wqe, 50);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_LOC_QP_OP_ERR);
		cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_SQE);
		pair_close(&p);
	}
}

Test(ud, without_a_packet_buffer_a_datagram_waits)
{
	struct world_conf wc = {.nb_pkts = 64};
	struct shm_send_wqe wqe;
	struct pkt *all[64];
	struct pair p;
	uint32_t n;

	pair_open(&p, &wc, &ud);
	pair_recv(&p, 7, 0, 200);
	pair_recv(&p, 8, 0, 200);
	wqe = wqe_to(&p, 1);
	send(&p, &wqe, 50);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	for (n = 0; n < 64 && p.w.pool->alloc(p.w.pool, &all[n], 1); n++)
		;
	pkt_free(p.w.nic[0]->batch->spare, p.w.nic[0]->batch->nb_spare);
	for (p.w.nic[0]->batch->nb_spare = 0; p.w.pool->alloc(p.w.pool, &all[n], 1);)
		n++;
	wqe.wr_id = 2;
	send(&p, &wqe, 50);
	world_run(&p.w, 100);
	pair_expect_none(&p.qp[0].scq);
	pkt_free(all, n);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 7, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
	pair_close(&p);
}
