/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "pair.h"

/* What a NIC does when its interface changes. */

/* The present state of a NIC's interface, to be changed and followed. */
struct side {
	struct nic *nic;
	struct nic_iface iface;
	struct gid gids[8];
};

static struct side
present(struct pair *p, int i)
{
	struct nic *nic = p->w.nic[i];
	struct side s = {.nic = nic,
	                 .iface = {.is_up = true,
	                           .ip_mtu_bytes = nic->ip_mtu_bytes,
	                           .nb_gids = nic->gids.nb_used}};

	memcpy(s.iface.mac, nic->self.mac, 6);
	memcpy(s.gids, nic->gids.entry, sizeof(s.gids));
	return s;
}

static struct gid_changes
follow(struct side *s, const struct pair *p)
{
	s->iface.gids = s->gids;
	return nic_follow(s->nic, &s->iface, p->w.now_ns);
}

static void
write_works(struct pair *p, uint32_t len)
{
	memset(p->buf[1], 0xee, len);
	pair_post(p, SHM_WR_WRITE, 5, 0, 0, len);
	pair_expect(p, &p->qp[0].scq, 5, SHM_WC_SUCCESS);
	cr_expect_eq(memcmp(p->buf[0], p->buf[1], len), 0);
}

/* World events of one type that are about the port of this side. */
static uint32_t
port_events(const struct pair *p, int side, uint32_t type)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < world_nb_events && i < 64; i++)
		nb += world_events[i].type == type && world_events[i].nic == &p->w.nic[side];
	return nb;
}

/* ---- addresses ---- */

Test(follow, a_qp_whose_address_leaves_fails_and_says_so)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC};

	for (int t = 0; t < 2; t++)
		for (uint8_t state = SHM_QPS_RTR; state <= SHM_QPS_SQD; state++) {
			struct app_conf ac = {.type = types[t]};
			struct shm_qp_attr attr;
			struct side s;
			struct pair p;
			char why[256];

			pair_make(&p, NULL, &ac);
			attr = app_attr(&p.qp[0], &p.qp[1]);
			for (uint8_t to = SHM_QPS_INIT; to <= state; to++)
				cr_assert_eq(app_to(&p.qp[0], &attr, to), 0);
			pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 64);
			pair_post(&p, SHM_WR_WRITE, 2, 0, 0, 64);
			s = present(&p, 0);
			s.gids[1].ip.b[15] = 77;
			cr_expect_eq(follow(&s, &p).nb_removed, 1);
			cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_ERR);
			cr_expect_eq(strncmp(why, "its address 10.0.0.1 left the interface;", 40),
			             0, "%s", why);
			cr_expect_eq(pair_events(SHM_EVENT_QP_FATAL), 1);
			cr_expect_eq(port_events(&p, 0, SHM_EVENT_GID_CHANGE), 1);
			cr_expect_eq(world_events[0].type, SHM_EVENT_GID_CHANGE,
			             "the table is told of first");
			for (uint64_t wr = 1; wr <= 2; wr++) {
				struct shm_cqe c =
					pair_expect(&p, &p.qp[0].scq, wr, SHM_WC_WR_FLUSH_ERR);
				cr_expect_eq(c.vendor_err, QP_REASON_ADDRESS);
			}
			pair_close(&p);
		}
}

Test(follow, the_oldest_send_begun_tells_that_it_failed)
{
	struct world_conf wc = {.step_ns = 100};
	struct side s;
	struct pair p;

	pair_open(&p, &wc, NULL);
	write_works(&p, 64);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 64);
	pair_post(&p, SHM_WR_WRITE, 2, 0, 0, 64);
	qp_doorbell(p.qp[0].qp, p.w.now_ns);
	world_run(&p.w, 1);
	s = present(&p, 0);
	s.gids[1].ip.b[15] = 77;
	follow(&s, &p);
	cr_expect_eq(pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_GENERAL_ERR).vendor_err,
	             QP_REASON_ADDRESS);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

Test(follow, qps_on_other_addresses_and_those_without_one_live_on)
{
	struct world_conf wc = {.ipv6 = true};
	struct app_qp idle;
	struct shm_qp_attr attr;
	struct side s;
	struct pair p;
	char why[256];

	pair_open(&p, &wc, NULL);
	app_open(&idle, &p.w, 0, NULL);
	attr = app_attr(&idle, &p.qp[1]);
	cr_assert_eq(app_to(&idle, &attr, SHM_QPS_INIT), 0);
	write_works(&p, 64);
	s = present(&p, 0);
	s.gids[1] = s.gids[2];
	s.iface.nb_gids = 2;
	cr_expect_eq(follow(&s, &p).nb_removed, 1);
	cr_expect_null(gid_at(&p.w.nic[0]->gids, 1));
	write_works(&p, 5000);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_RTS);
	cr_expect_eq(idle.qp->state, SHM_QPS_INIT);
	attr.av.sgid_index = 1;
	cr_expect_eq(app_to(&idle, &attr, SHM_QPS_RTR), -EINVAL, "index 1 is empty");
	attr.av.sgid_index = 2;
	cr_expect_eq(app_to(&idle, &attr, SHM_QPS_RTR), 0);
	app_close(&idle);
	pair_close(&p);
}

Test(follow, nothing_new_tells_nobody)
{
	struct side s;
	struct pair p;

	pair_open(&p, NULL, NULL);
	world_nb_events = 0;
	s = present(&p, 0);
	cr_expect_eq(follow(&s, &p).nb_added, 0);
	cr_expect_eq(world_nb_events, 0);
	write_works(&p, 64);
	pair_close(&p);
}

Test(follow, many_qps_fail_with_all_their_requests_flushed)
{
	enum { NB = 200, WRS = 8 };
	static struct app_qp qps[NB];
	struct shm_qp_attr attr;
	struct side s;
	struct pair p;

	pair_open(&p, NULL, NULL);
	for (int i = 0; i < NB; i++) {
		app_open(&qps[i], &p.w, 0, NULL);
		attr = app_attr(&qps[i], &p.qp[1]);
		for (uint8_t to = SHM_QPS_INIT; to <= SHM_QPS_RTS; to++)
			cr_assert_eq(app_to(&qps[i], &attr, to), 0);
		for (uint64_t k = 0; k < WRS; k++) {
			struct shm_send_wqe wqe = pair_wqe(&p, SHM_WR_WRITE, k, 0);
			struct shm_sge sge = pair_sge(&p, 0, 0, 8);

			app_post_send(&qps[i], &wqe, &sge);
		}
	}
	s = present(&p, 0);
	s.iface.nb_gids = 1;
	follow(&s, &p);
	for (int i = 0; i < NB; i++) {
		cr_expect_eq(qps[i].qp->state, SHM_QPS_ERR);
		for (uint64_t k = 0; k < WRS; k++)
			pair_expect(&p, &qps[i].scq, k, SHM_WC_WR_FLUSH_ERR);
		app_close(&qps[i]);
	}
	pair_close(&p);
}

Test(follow, a_datagram_from_an_address_that_left_completes_in_error)
{
	struct app_conf ud = {.type = SHM_QPT_UD};
	struct shm_send_wqe wqe;
	struct shm_sge sge;
	struct side s;
	struct pair p;
	char why[256];

	pair_open(&p, NULL, &ud);
	pair_recv(&p, 7, 0, 200);
	pair_recv(&p, 8, 0, 200);
	sge = pair_sge(&p, 0, 0, 50);
	wqe = pair_wqe(&p, SHM_WR_SEND, 1, 0);
	wqe.ud.av = (struct shm_av){.sgid_index = 1, .hop_limit = 9};
	memcpy(wqe.ud.av.dgid, p.w.nic[1]->gids.entry[1].ip.b, 16);
	wqe.ud.qpn = p.qp[1].qp->qpn;
	wqe.ud.qkey = 0x1234;
	app_post_send(&p.qp[0], &wqe, &sge);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 7, SHM_WC_SUCCESS);

	/* Another address at the same index: the next message leaves from that. */
	s = present(&p, 0);
	s.gids[1].ip.b[15] = 44;
	follow(&s, &p);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_RTS);
	wqe.wr_id = 2;
	app_post_send(&p.qp[0], &wqe, &sge);
	pair_expect(&p, &p.qp[0].scq, 2, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[1].rcq, 8, SHM_WC_SUCCESS);
	cr_expect_eq(p.buf[1][35], 44, "the source in its header");

	s.gids[1] = s.gids[2];
	s.iface.nb_gids = 2;
	follow(&s, &p);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_RTS);
	wqe.wr_id = 3;
	app_post_send(&p.qp[0], &wqe, &sge);
	pair_expect(&p, &p.qp[0].scq, 3, SHM_WC_LOC_QP_OP_ERR);
	cr_expect_eq(pair_state(&p, 0, why), SHM_QPS_SQE);
	pair_close(&p);
}

/* ---- VLANs ---- */

static void
count_tagged(void *arg, const struct pkt *p)
{
	uint32_t *nb = arg; /* of VLAN 5, others */

	nb[!(p->data[12] == 0x81 && p->data[13] == 0 && p->data[15] == 5)]++;
}

Test(follow, an_address_of_a_vlan_sends_and_receives_in_its_vlan_only)
{
	for (int t = 0; t < 2; t++) {
		struct app_conf ac = {.type = t ? SHM_QPT_UC : SHM_QPT_RC};
		uint32_t nb[2] = {0};
		struct world_conf wc = {.tap = count_tagged, .tap_arg = nb};
		struct side s[2];
		struct pair p;

		pair_make(&p, &wc, &ac);
		for (int i = 0; i < 2; i++) {
			s[i] = present(&p, i);
			s[i].gids[1].vlan = 5;
			follow(&s[i], &p);
		}
		app_connect(&p.qp[0], &p.qp[1]);
		world_run(&p.w, 10);
		nb[1] = 0; /* announcements of the others */
		write_works(&p, 9000);
		cr_expect_gt(nb[0], 9);
		cr_expect_eq(nb[1], 0);

		/* The receiver moves to VLAN 6: what comes now is in another VLAN than its. */
		s[1].gids[1].vlan = 6;
		follow(&s[1], &p);
		cr_expect_eq(p.qp[1].qp->state, SHM_QPS_ERR);
		pair_close(&p);
	}
}

/* ---- link ---- */

Test(follow, while_the_link_is_down_nothing_leaves_and_a_qp_goes_on_when_it_is_back)
{
	for (int by_port = 0; by_port < 2; by_port++) {
		uint64_t sent;
		struct side s;
		struct pair p;

		pair_open(&p, NULL, NULL);
		write_works(&p, 64);
		s = present(&p, 0);
		s.iface.is_up = false;
		if (by_port)
			nic_set_link(p.w.nic[0], false);
		else
			follow(&s, &p);
		cr_expect_not(p.w.nic[0]->is_up);
		cr_expect_eq(port_events(&p, 0, SHM_EVENT_PORT_ERR), 1);
		sent = p.w.nic[0]->stats.tx_packets;
		pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 8192);
		world_run(&p.w, 2500); /* two timeouts of 1.05 ms */
		cr_expect_eq(p.w.nic[0]->stats.tx_packets, sent);
		cr_expect_gt(p.w.nic[0]->stats.drop[DROP_LINK], 8);
		pair_expect_none(&p.qp[0].scq);
		s.iface.is_up = true;
		if (by_port)
			nic_set_link(p.w.nic[0], true);
		else
			follow(&s, &p);
		cr_expect_eq(port_events(&p, 0, SHM_EVENT_PORT_ACTIVE), 1);
		pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
		pair_close(&p);
	}
}

Test(follow, a_link_that_stays_down_ends_in_retry_exceeded)
{
	struct pair p;

	pair_open(&p, NULL, NULL);
	write_works(&p, 64);
	nic_set_link(p.w.nic[0], false);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 64);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

Test(follow, the_link_is_up_if_both_port_and_interface_say_so)
{
	struct side s;
	struct pair p;

	pair_open(&p, NULL, NULL);
	s = present(&p, 0);
	s.iface.is_up = false;
	follow(&s, &p);
	nic_set_link(p.w.nic[0], false);
	s.iface.is_up = true;
	follow(&s, &p);
	cr_expect_not(p.w.nic[0]->is_up);
	nic_set_link(p.w.nic[0], true);
	cr_expect(p.w.nic[0]->is_up);
	cr_expect_eq(port_events(&p, 0, SHM_EVENT_PORT_ERR), 1);
	cr_expect_eq(port_events(&p, 0, SHM_EVENT_PORT_ACTIVE), 1);
	pair_close(&p);
}

/* ---- MTU ---- */

Test(follow, what_a_smaller_mtu_cannot_carry_is_dropped_and_comes_when_it_can)
{
	struct shm_qp_attr attr;
	struct app_qp late;
	struct side s;
	/* MSN, map and RETH are in every packet. */
	uint32_t more = world_speaks_weft() ? 20 : 0;
	struct pair p;

	pair_open(&p, NULL, NULL); /* path MTU 1024 */
	write_works(&p, 4096);
	s = present(&p, 0);
	/* WRITE MIDDLE of 1024 over IPv4: 20 + 8 + 12 + 1024 + 4. */
	s.iface.ip_mtu_bytes = 1067 + more;
	follow(&s, &p);
	cr_expect_eq(p.w.nic[0]->active_mtu, 2);
	write_works(&p, 512);
	pair_post(&p, SHM_WR_WRITE, 1, 0, 0, 3072);
	world_run(&p.w, 1500);
	pair_expect_none(&p.qp[0].scq);
	cr_expect_gt(p.w.nic[0]->stats.drop[DROP_MTU], 0);
	app_open(&late, &p.w, 0, NULL);
	attr = app_attr(&late, &p.qp[1]);
	cr_assert_eq(app_to(&late, &attr, SHM_QPS_INIT), 0);
	cr_expect_eq(app_to(&late, &attr, SHM_QPS_RTR), -EINVAL, "path MTU above the present one");
	attr.path_mtu = 2;
	cr_expect_eq(app_to(&late, &attr, SHM_QPS_RTR), 0);
	app_close(&late);
	s.iface.ip_mtu_bytes = 1068 + 16 + more; /* and the RETH of a FIRST */
	follow(&s, &p);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	cr_expect_eq(pair_events(SHM_EVENT_GID_CHANGE), 0);
	pair_close(&p);
}

/* ---- MAC ---- */

Test(follow, a_new_mac_is_announced_and_used_from_then_on)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x55};
	struct side s;
	struct pair p;

	pair_open(&p, NULL, NULL);
	write_works(&p, 64);
	s = present(&p, 0);
	memcpy(s.iface.mac, mac, 6);
	s.gids[0] = gid_link_local(mac);
	cr_expect_eq(follow(&s, &p).nb_removed, 1);
	cr_expect_eq(port_events(&p, 0, SHM_EVENT_GID_CHANGE), 1);
	world_run(&p.w, 20);
	cr_expect_eq(neigh_stats(p.w.nic[1]->neigh)->mac_changes, 1);
	write_works(&p, 9000);
	cr_expect_eq(p.qp[1].qp->neigh->mac[5], 0x55);
	cr_expect_eq(p.w.nic[0]->stats.local_ack_timeout_err, 0);
	pair_close(&p);
}
