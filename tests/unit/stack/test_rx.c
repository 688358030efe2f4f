/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "peer.h"

/* Packets that are not for this QP: one counted drop, no answer, no change of state. */

enum twist {
	OTHER_QPN,
	OTHER_SOURCE,
	OTHER_DESTINATION,
	OTHER_FAMILY,
	OTHER_VLAN,
	OTHER_MAC,
	BAD_PKEY,
	BAD_ICRC,
	BAD_PAYLOAD,
	WRONG_TRANSPORT,
	TWIST_NB,
};

static const struct {
	const char *name;
	enum drop drop;
} twists[TWIST_NB] = {
	[OTHER_QPN] = {"QPN", DROP_NO_QP},
	[OTHER_SOURCE] = {"source", DROP_ADDRESS},
	[OTHER_DESTINATION] = {"destination", DROP_ADDRESS},
	[OTHER_FAMILY] = {"IPv6", DROP_ADDRESS},
	[OTHER_VLAN] = {"VLAN", DROP_VLAN},
	[OTHER_MAC] = {"MAC", DROP_NOT_ROCE},
	[BAD_PKEY] = {"P_Key", DROP_PKEY},
	[BAD_ICRC] = {"ICRC", DROP_ICRC},
	[BAD_PAYLOAD] = {"payload", DROP_ICRC},
	[WRONG_TRANSPORT] = {"UC to RC", DROP_QP_TYPE},
};

static void
put_twisted(struct peer *p, struct wire_pkt w, enum twist twist)
{
	struct wire_addr addr = {.ttl = 64, .dmac = {2, 0, 0, 0, 0, 1}, .smac = {2, 0, 0, 0, 0, 2}};
	struct wire_path path;
	struct pkt *pkt;

	addr.dst = p->w.nic[0]->gids.entry[1].ip;
	addr.src = p->w.nic[1]->gids.entry[1].ip;
	if (twist == OTHER_SOURCE)
		addr.src.b[15] = 99;
	if (twist == OTHER_DESTINATION)
		addr.dst.b[15] = 99;
	if (twist == OTHER_MAC)
		addr.dmac[5] = 99;
	if (twist == OTHER_FAMILY) {
		addr.dst = p->w.nic[0]->gids.entry[2].ip;
		addr.src = p->w.nic[1]->gids.entry[2].ip;
	}
	if (twist == OTHER_VLAN) {
		addr.has_vlan = true;
		addr.vlan_tci = 0x6005;
	}
	if (twist == OTHER_QPN)
		w.dest_qpn ^= 1;
	if (twist == BAD_PKEY)
		w.pkey = 0x8001;
	if (twist == WRONG_TRANSPORT)
		w.opcode |= OP_UC;
	wire_path_init(&path, &addr);
	peer_put_on(p, &path, &w, NULL);
	pkt = p->in[p->nb_in - 1];
	if (twist == BAD_ICRC)
		pkt->data[pkt->len - 1] ^= 1;
	if (twist == BAD_PAYLOAD)
		pkt->data[pkt->len - 5] ^= 0x80;
}

Test(rx, what_is_not_for_the_qp_is_one_counted_drop)
{
	for (int t = 0; t < TWIST_NB; t++) {
		struct peer p;
		struct qp before;
		struct wire_pkt w;

		peer_open(&p, NULL, NULL);
		w = peer_pkt(&p, OP_WRITE_ONLY, PEER_PSN);
		w.payload_len = w.dma_len = 8;
		w.ack_req = true;
		before = *p.qp.qp;
		put_twisted(&p, w, t);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 0, "%s", twists[t].name);
		cr_expect_eq(p.w.nic[0]->stats.drop[twists[t].drop], 1, "%s", twists[t].name);
		cr_expect_eq(memcmp(&before, p.qp.qp, sizeof(before)), 0, "%s", twists[t].name);
		cr_expect_eq(p.buf[1], 7, "%s: placed", twists[t].name);
		/* The same without the twist is taken. */
		peer_put(&p, &w, NULL);
		peer_go(&p);
		cr_expect_eq(p.nb_out, 1, "%s", twists[t].name);
		cr_expect_eq(p.buf[1], 1, "%s", twists[t].name);
		peer_close(&p);
	}
}

Test(rx, answers_that_are_not_for_the_qp_complete_nothing)
{
	for (int t = 0; t < WRONG_TRANSPORT; t++) {
		struct peer p;
		struct wire_pkt w;

		peer_open(&p, NULL, NULL);
		peer_post(&p, SHM_WR_WRITE, 1, 8);
		peer_go(&p);
		w = peer_pkt(&p, OP_ACK, QP_PSN);
		put_twisted(&p, w, t == BAD_PAYLOAD ? BAD_ICRC : t);
		peer_go(&p);
		pair_expect_none(&p.qp.scq);
		peer_put(&p, &w, NULL);
		peer_go(&p);
		peer_expect(&p.qp.scq, 1, SHM_WC_SUCCESS);
		peer_close(&p);
	}
}

Test(rx, a_limited_member_of_the_partition_is_heard)
{
	struct peer p;
	struct wire_pkt w;

	peer_open(&p, NULL, NULL);
	w = peer_pkt(&p, OP_WRITE_ONLY, PEER_PSN);
	w.pkey = 0x7fff;
	w.ack_req = true;
	peer_put(&p, &w, NULL);
	peer_go(&p);
	cr_expect_eq(p.nb_out, 1);
	peer_close(&p);
}

Test(rx, only_states_that_receive_do)
{
	static const struct {
		uint8_t state;
		bool hears;
	} rows[] = {{SHM_QPS_SQD, true}, {SHM_QPS_ERR, false}, {SHM_QPS_RESET, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct peer p;
		struct shm_qp_attr attr = {.state = rows[i].state};

		peer_open(&p, NULL, NULL);
		cr_assert_eq(qp_modify(p.qp.qp, &attr, SHM_QP_STATE, p.w.now_ns), 0);
		peer_put_op(&p, OP_WRITE_ONLY, PEER_PSN, 8, true);
		peer_go(&p);
		cr_expect_eq(p.nb_out, rows[i].hears, "row %zu", i);
		cr_expect_eq(p.w.nic[0]->stats.drop[DROP_QP_STATE], !rows[i].hears, "row %zu", i);
		peer_close(&p);
	}
}

Test(rx, each_frame_is_counted_once)
{
	struct peer p;
	const struct nic_stats *st;
	uint64_t before, sum = 0, bytes;

	peer_open(&p, NULL, NULL);
	st = &p.w.nic[0]->stats;
	before = st->rx_packets;
	bytes = st->rx_bytes;
	for (int t = 0; t < TWIST_NB; t++) {
		struct wire_pkt w = peer_pkt(&p, OP_WRITE_ONLY, PEER_PSN);

		w.payload_len = w.dma_len = 8;
		put_twisted(&p, w, t);
	}
	peer_put_op(&p, OP_SEND_MIDDLE, PEER_PSN, 8, true); /* short: cut it too */
	p.in[p.nb_in - 1]->len = 20;
	for (uint32_t i = 0; i < p.nb_in; i++)
		bytes += p.in[i]->len;
	peer_go(&p);
	for (int i = 0; i < DROP_NB; i++)
		sum += st->drop[i];
	for (int i = 0; i < WIRE_BAD_NB; i++)
		sum += st->bad[i];
	cr_expect_eq(sum, TWIST_NB + 1);
	cr_expect_eq(st->rx_packets - before, TWIST_NB + 1);
	cr_expect_eq(st->rx_bytes, bytes);
	peer_close(&p);
}
