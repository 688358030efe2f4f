/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "open_rig.h"
#include "prng.h"
#include "psn.h"

/* A peer that is whom it says it is, and says anything. */

/* Side 1 is played by the test, which is whom it says it is: it has its cookie and its token. */
struct liar {
	struct world w;
	struct app_qp qp;
	uint64_t token;      /* that side 0 gave us */
	uint64_t open_nonce; /* of its OPENs to us */
	uint8_t cookie[HELLO_COOKIE_LEN];
	struct prng rng;
};

static void
liar_hears(struct liar *l, const struct pkt *p)
{
	struct wire_pkt w;
	struct hello_msg msg;
	enum wire_bad bad;

	if (wire_parse(p->data, p->len, &w, &bad) != WIRE_HELLO)
		return;
	cr_assert(hello_parse(w.payload, w.payload_len, &msg));
	if (msg.type == HELLO_COOKIE)
		memcpy(l->cookie, msg.cookie, sizeof(msg.cookie));
	if (msg.type == HELLO_WELCOME)
		l->token = msg.who.token;
	if (msg.type == HELLO_OPEN)
		l->open_nonce = msg.nonce;
}

/* Turns of side 0 alone. */
static void
liar_turns(struct liar *l, uint32_t turns)
{
	struct nic *nic = l->w.nic[0];
	struct pkt *pkts[STACK_BURST];

	for (; turns > 0; turns--) {
		uint32_t n;

		stack_tick(nic, l->w.now_ns += 200000);
		n = stack_tx(nic, pkts, STACK_BURST, l->w.now_ns);
		for (uint32_t i = 0; i < n; i++)
			liar_hears(l, pkts[i]);
		pkt_free(pkts, n);
	}
}

static void
liar_meets(struct liar *l)
{
	struct hello_msg hello = {
		.type = HELLO_ASK,
		.version = HELLO_VERSION,
		.nonce = 5,
		.who = {.boot_id = 77, .token = 88, .engine = "gbn", .version_min = 1}};

	say(&l->w, 0, &hello);
	liar_turns(l, 1);
	memcpy(hello.cookie, l->cookie, sizeof(hello.cookie));
	say(&l->w, 0, &hello);
	liar_turns(l, 1);
	cr_assert_neq(l->token, 0);
}

/* In range, as the parser lets it through; mostly about the QP that there is. */
static struct hello_terms
lie(struct liar *l)
{
	struct prng *rng = &l->rng;
	struct hello_terms t = {
		.own_qpn = prng_below(rng, 8) ? 0x4711 : prng_below(rng, 1 << 24),
		.peer_qpn = prng_below(rng, 8) ? l->qp.qp->qpn : prng_below(rng, 1 << 24),
		.rq_psn = prng_below(rng, 4) ? l->qp.qp->attr.sq_psn : prng_below(rng, 1 << 24),
		.window_pkts = 1 + prng_below(rng, prng_below(rng, 2) ? 4 : HELLO_WINDOW_MAX),
		.max_msgs = (uint16_t)(16u << prng_below(rng, 12)),
		.options = (uint16_t)prng_below(rng, HELLO_OPT_ALL + 1),
		.mtu_code = (uint8_t)(prng_below(rng, 16) ? 3 : 1 + prng_below(rng, 5)),
		.nb_slots = (uint8_t)prng_below(rng, 8),
		.lanes_shift = (uint8_t)prng_below(rng, 16),
		.ack_every = (uint8_t)prng_next(rng),
		.ack_delay_us = (uint8_t)prng_next(rng),
		.max_rd_atomic = (uint8_t)prng_next(rng),
		.max_dest_rd_atomic = (uint8_t)prng_next(rng),
		.status = (uint8_t)(prng_below(rng, 2) ? prng_below(rng, HELLO_STATUS_NB) : 0),
	};

	if (t.status == HELLO_UNFIT)
		t.reason = (uint8_t)(1 + prng_below(rng, HELLO_REASON_NB - 1));
	if (!(t.options & HELLO_OPT_SQ_PSN))
		t.sq_psn = 0;
	strcpy(t.engine, prng_below(rng, 16) ? "gbn" : "irn");
	return t;
}

static void
liar_lies(struct liar *l)
{
	struct hello_msg msg = {
		.type = prng_below(&l->rng, 2) ? HELLO_OPEN : HELLO_ANSWER,
		.version = HELLO_VERSION,
		.nonce = l->open_nonce,
		.token = l->token,
		.nb_qps = (uint8_t)(1 + prng_below(&l->rng, prng_below(&l->rng, 8) ? 2 : 16))};

	for (uint32_t i = 0; i < msg.nb_qps; i++) {
		msg.qp[i] = lie(l);
		if (msg.type == HELLO_OPEN)
			msg.qp[i].status = msg.qp[i].reason = 0;
	}
	say(&l->w, 0, &msg);
}

/* The QP anew, in RTR or RTS. */
static void
liar_rts(struct liar *l, uint8_t last)
{
	struct shm_qp_attr attr = app_attr(&l->qp, &l->qp);

	attr.dest_qpn = 0x4711;
	memcpy(attr.av.dgid, l->w.nic[1]->gids.entry[1].ip.b, 16);
	app_close(&l->qp);
	app_open(&l->qp, &l->w, 0, NULL);
	for (uint8_t state = SHM_QPS_INIT; state <= last; state++)
		cr_assert_eq(app_to(&l->qp, &attr, state), 0);
	neigh_set(l->w.nic[0]->neigh, &l->qp.qp->peer_ip, 0, l->w.nic[1]->self.mac, l->w.now_ns);
}

/* With work or without. */
static void
liar_victim(struct liar *l)
{
	uint8_t last = prng_below(&l->rng, 2) ? SHM_QPS_RTR : SHM_QPS_RTS;

	liar_rts(l, last);
	if (last == SHM_QPS_RTS && prng_below(&l->rng, 2))
		post_empty_write(&l->qp, 1);
}

/* The QPNs alone do not tell one connection from the next: the PSNs do. */
Test(open_liar, what_was_said_of_another_connection_opens_nothing)
{
	struct world_conf wc = wishing(AUTO, AUTO);
	struct liar *l = calloc(1, sizeof(*l));
	static const struct {
		int64_t rq, sq; /* beside those of the connection */
		bool has_sq;
		int framing;
	} rows[] = {
		{1, 1, true, QP_PENDING}, {1, 0, false, QP_PENDING}, {0, 0, true, QP_WEFT},
		{0, 0, false, QP_WEFT},   {0, 1, true, QP_WEFT},     {1, 0, true, QP_WEFT},
	};

	cr_assert(l);
	world_open(&l->w, &wc);
	world_run(&l->w, 10);
	app_open(&l->qp, &l->w, 0, NULL);
	liar_meets(l);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * 2; i++) {
		bool is_open = i % 2;
		const struct shm_qp_attr *attr;
		struct hello_msg msg = {.type = is_open ? HELLO_OPEN : HELLO_ANSWER,
		                        .version = HELLO_VERSION,
		                        .token = l->token,
		                        .nb_qps = 1};

		liar_rts(l, SHM_QPS_RTS);
		liar_turns(l, 2);
		attr = &l->qp.qp->attr;
		msg.nonce = l->open_nonce;
		msg.qp[0] = (struct hello_terms){
			.own_qpn = 0x4711,
			.peer_qpn = l->qp.qp->qpn,
			.rq_psn = (uint32_t)(attr->sq_psn + rows[i / 2].rq) & PSN_MASK,
			.sq_psn = rows[i / 2].has_sq
		                          ? (uint32_t)(attr->rq_psn + rows[i / 2].sq) & PSN_MASK
		                          : 0,
			.options = rows[i / 2].has_sq ? HELLO_OPT_SQ_PSN : 0,
			.window_pkts = 64,
			.max_msgs = 16,
			.mtu_code = attr->path_mtu,
			.max_rd_atomic = 1,
			.max_dest_rd_atomic = 1,
			.engine = "gbn"};
		say(&l->w, 0, &msg);
		if (is_open)
			cr_expect_eq(l->qp.qp->open_answered, rows[i / 2].framing == QP_WEFT,
			             "row %zu", i / 2);
		else
			cr_expect_eq(l->qp.qp->framing, rows[i / 2].framing, "row %zu", i / 2);
	}
	app_close(&l->qp);
	world_close(&l->w);
	free(l);
}

Test(open_liar, what_a_peer_says_who_is_who_he_says_breaks_nothing)
{
	struct world_conf wc = wishing(AUTO, AUTO);
	uint32_t nb_weft = 0, nb_plain = 0, nb_failed = 0;
	struct liar *l = calloc(1, sizeof(*l));

	cr_assert(l);
	prng_seed(&l->rng, 1);
	world_open(&l->w, &wc);
	world_run(&l->w, 10);
	app_open(&l->qp, &l->w, 0, NULL);
	liar_meets(l);
	for (uint32_t i = 0; i < 4000; i++) {
		liar_victim(l);
		for (uint32_t n = prng_below(&l->rng, 4); n > 0; n--) {
			liar_turns(l, 1 + prng_below(&l->rng, 3));
			liar_lies(l);
		}
		nb_weft += l->qp.qp->framing == QP_WEFT;
		nb_plain += l->qp.qp->framing == QP_PLAIN;
		nb_failed += l->qp.qp->state == SHM_QPS_ERR;
	}
	cr_expect(nb_weft > 100 && nb_plain > 100 && nb_failed > 100, "%u, %u, %u", nb_weft,
	          nb_plain, nb_failed);
	app_close(&l->qp);
	world_close(&l->w);
	free(l);
}
