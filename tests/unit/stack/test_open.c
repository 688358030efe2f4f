/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "framing.h"
#include "hello.h"
#include "pair.h"
#include "peers.h"
#include "prng.h"

/* Two NICs that find out about each other, and QPs of theirs that agree on a framing or do not. */

#define MS UINT64_C(1000000)
/* Turns of the clock in a millisecond. */
#define STEP_NS 50000
#define TURNS(ms) ((ms)*MS / STEP_NS)

#define ROCEV2 FRAMING_WISH_ROCEV2
#define WEFT FRAMING_WISH_WEFT
#define AUTO FRAMING_WISH_AUTO

static struct world_conf
conf_of(enum framing_wish a, enum framing_wish b)
{
	return (struct world_conf){.step_ns = STEP_NS, .framing = {a, b}};
}

/* One end to RTS, towards another one. */
static void
to_rts(struct app_qp *a, const struct app_qp *peer)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		struct shm_qp_attr attr = app_attr(a, peer);

		cr_assert_eq(app_to(a, &attr, state), 0);
	}
}

static void
connect(struct app_qp *a, struct app_qp *b)
{
	to_rts(a, b);
	to_rts(b, a);
}

static const char *
why(const struct app_qp *a)
{
	static char text[256];
	struct shm_qp_attr attr;

	qp_query(a->qp, &attr, text, sizeof(text));
	return text;
}

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
		struct world_conf wc = conf_of(rows[i].wish[0], rows[i].wish[1]);
		struct app_qp qp[2];
		struct world w;

		world_open(&w, &wc);
		app_open(&qp[0], &w, 0, NULL);
		app_open(&qp[1], &w, 1, NULL);
		connect(&qp[0], &qp[1]);
		world_run(&w, TURNS(350));
		for (int side = 0; side < 2; side++) {
			const struct qp *q = qp[side].qp;

			if (rows[i].want[side] == NONE)
				cr_expect_eq(q->state, SHM_QPS_ERR, "row %zu", i);
			else
				cr_expect(q->state == SHM_QPS_RTS &&
				                  q->framing == rows[i].want[side],
				          "row %zu, side %d: %u", i, side, q->framing);
		}
		if (rows[i].want[0] == NONE)
			cr_expect(strstr(why(&qp[0]), "framing = weft"), "%s", why(&qp[0]));
		app_close(&qp[0]);
		app_close(&qp[1]);
		world_close(&w);
	}
}

/* Data flows as soon as the peer is known to be plain, or has agreed. */
Test(open, work_that_was_posted_before_is_done_after)
{
	static const enum framing_wish wishes[][2] = {{AUTO, AUTO}, {AUTO, ROCEV2}, {ROCEV2, AUTO}};

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct world_conf wc = conf_of(wishes[i][0], wishes[i][1]);
		struct pair p;

		pair_make(&p, &wc, NULL);
		connect(&p.qp[0], &p.qp[1]);
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
	struct world_conf wc = conf_of(ROCEV2, AUTO);
	struct pair p;

	pair_make(&p, &wc, NULL);
	connect(&p.qp[0], &p.qp[1]);
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
		struct world_conf wc = conf_of(AUTO, WEFT);
		struct app_qp qp[2];
		struct world w;

		wc.rel_of_1 = renamed_gbn();
		world_open(&w, &wc);
		if (loss) {
			struct fault_params fault = {.seed = loss + 1};

			fault.rx.ppm[FAULT_LOSS] = fault.tx.ppm[FAULT_LOSS] = (uint32_t)loss;
			world_run(&w, TURNS(10));
			world_spoil(&w, &fault);
		}
		app_open(&qp[0], &w, 0, NULL);
		app_open(&qp[1], &w, 1, NULL);
		connect(&qp[0], &qp[1]);
		world_run(&w, TURNS(5000));
		for (int side = 0; side < 2; side++) {
			if (qp[side].qp->state != SHM_QPS_ERR && loss) {
				/* Nobody answered it at all: plain, by its conf. */
				cr_expect_eq(qp[side].qp->framing, QP_PLAIN, "loss %llu",
				             (unsigned long long)loss);
				continue;
			}
			cr_expect_eq(qp[side].qp->state, SHM_QPS_ERR);
			if (!loss) {
				cr_expect(strstr(why(&qp[side]), "gbn2"), "%s", why(&qp[side]));
				cr_expect(strstr(why(&qp[side]), "gbn "), "%s", why(&qp[side]));
			}
		}
		app_close(&qp[0]);
		app_close(&qp[1]);
		world_close(&w);
	}
}

Test(open, other_path_mtus_fail_both)
{
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		for (int side = 0; side < 2; side++) {
			struct shm_qp_attr attr = app_attr(&qp[side], &qp[!side]);

			attr.path_mtu = (uint8_t)(3 - side);
			cr_assert_eq(app_to(&qp[side], &attr, state), 0);
		}
	}
	world_run(&w, TURNS(100));
	for (int side = 0; side < 2; side++) {
		cr_expect_eq(qp[side].qp->state, SHM_QPS_ERR);
		cr_expect(strstr(why(&qp[side]), "path MTU"), "%s", why(&qp[side]));
	}
	app_close(&qp[0]);
	app_close(&qp[1]);
	world_close(&w);
}

Test(open, a_peer_that_comes_late_is_waited_for)
{
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct app_qp qp[2];
	struct world w;
	uint64_t turns;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	to_rts(&qp[0], &qp[1]);
	world_run(&w, TURNS(2500));
	cr_expect_eq(qp[0].qp->framing, QP_PENDING);
	to_rts(&qp[1], &qp[0]);
	for (turns = 0; turns < TURNS(20); turns++)
		world_step(&w);
	cr_expect_eq(qp[0].qp->framing, QP_WEFT);
	cr_expect_eq(qp[1].qp->framing, QP_WEFT);
	app_close(&qp[0]);
	app_close(&qp[1]);
	world_close(&w);
}

Test(open, work_for_a_peer_that_never_gets_ready_fails_in_its_time)
{
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct pair p;
	char text[256];

	pair_make(&p, &wc, NULL);
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
	struct world_conf wc = conf_of(WEFT, WEFT);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 0, NULL);
	connect(&qp[0], &qp[1]);
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
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	connect(&qp[0], &qp[1]);
	world_run(&w, TURNS(100));
	for (int side = 0; side < 2; side++)
		cr_expect_geq(peers_next_ns(w.nic[side]->peers), w.now_ns + 10000 * MS);
	app_close(&qp[0]);
	app_close(&qp[1]);
	world_close(&w);
}

#define MANY 300

Test(open, many_qps_share_openings)
{
	static struct app_qp qp[2][MANY];
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct app_conf ac = {.depth = 4};
	struct world w;
	uint32_t nb_weft = 0;

	world_open(&w, &wc);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		app_open(&qp[i % 2][i / 2], &w, (int)i % 2, &ac);
	for (uint32_t i = 0; i < MANY; i++)
		connect(&qp[0][i], &qp[1][i]);
	world_run(&w, TURNS(300));
	for (uint32_t i = 0; i < 2 * MANY; i++)
		nb_weft += qp[i % 2][i / 2].qp->framing == QP_WEFT;
	cr_expect_eq(nb_weft, 2 * MANY);
	cr_expect_lt(peers_stats(w.nic[0]->peers)->tx_opens, MANY / 2);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		app_close(&qp[i % 2][i / 2]);
	world_close(&w);
}

/* A request keeps an open QP from being silent for ever: two timeouts, and it asks. */
static void
post_write(struct app_qp *a, uint64_t wr_id)
{
	struct shm_send_wqe wqe = {.wr_id = wr_id,
	                           .op = SHM_WR_WRITE,
	                           .flags = SHM_SEND_SIGNALED | SHM_SEND_INLINE,
	                           .inline_len = 0};

	app_post_inline(a, wqe, "", 0);
}

/* Trace 7 of the worked examples: nobody at the other end says anything by himself. */
Test(open, silence_after_a_restart_is_asked_about)
{
	struct world_conf wc = conf_of(AUTO, AUTO);
	struct app_qp qp[2];
	struct world w;

	world_open(&w, &wc);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	connect(&qp[0], &qp[1]);
	world_run(&w, TURNS(50));
	cr_assert_eq(qp[0].qp->framing, QP_WEFT);
	app_close(&qp[1]);
	world_restart(&w, 1);
	world_run(&w, TURNS(50));
	cr_expect_eq(qp[0].qp->state, SHM_QPS_RTS, "it has nothing to ask");
	post_write(&qp[0], 1);
	world_run(&w, TURNS(7));
	cr_expect_eq(qp[0].qp->state, SHM_QPS_ERR);
	cr_expect(strstr(why(&qp[0]), "started anew"), "%s", why(&qp[0]));
	cr_expect_eq(peers_stats(w.nic[0]->peers)->rx_stale, 1);
	app_close(&qp[0]);
	world_close(&w);
}

/* ---- a peer that says anything ---- */

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
liar_says(struct liar *l, const struct hello_msg *msg)
{
	struct wire_addr addr = {.dst = l->w.nic[0]->gids.entry[1].ip,
	                         .src = l->w.nic[1]->gids.entry[1].ip,
	                         .ttl = 64};
	struct pkt *p;

	memcpy(addr.dmac, l->w.nic[0]->self.mac, 6);
	memcpy(addr.smac, l->w.nic[1]->self.mac, 6);
	cr_assert_eq(l->w.pool->alloc(l->w.pool, &p, 1), 1);
	p->len = hello_frame(p->data, &addr, msg);
	stack_rx(l->w.nic[0], &p, 1, l->w.now_ns);
}

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

	liar_says(l, &hello);
	liar_turns(l, 1);
	memcpy(hello.cookie, l->cookie, sizeof(hello.cookie));
	liar_says(l, &hello);
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
		.rq_psn = prng_below(rng, 1 << 24),
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
	liar_says(l, &msg);
}

/* The QP anew, in RTR or RTS, with work or without. */
static void
liar_victim(struct liar *l)
{
	struct shm_qp_attr attr = app_attr(&l->qp, &l->qp);
	uint8_t last = prng_below(&l->rng, 2) ? SHM_QPS_RTR : SHM_QPS_RTS;

	attr.dest_qpn = 0x4711;
	memcpy(attr.av.dgid, l->w.nic[1]->gids.entry[1].ip.b, 16);
	app_close(&l->qp);
	app_open(&l->qp, &l->w, 0, NULL);
	for (uint8_t state = SHM_QPS_INIT; state <= last; state++)
		cr_assert_eq(app_to(&l->qp, &attr, state), 0);
	neigh_set(l->w.nic[0]->neigh, &l->qp.qp->peer_ip, 0, l->w.nic[1]->self.mac, l->w.now_ns);
	if (last == SHM_QPS_RTS && prng_below(&l->rng, 2))
		post_write(&l->qp, 1);
}

Test(open, what_a_peer_says_who_is_who_he_says_breaks_nothing)
{
	struct world_conf wc = conf_of(AUTO, AUTO);
	uint32_t nb_weft = 0, nb_plain = 0, nb_failed = 0;
	struct liar *l = calloc(1, sizeof(*l));

	cr_assert(l);
	prng_seed(&l->rng, 1);
	world_open(&l->w, &wc);
	world_run(&l->w, 10);
	app_open(&l->qp, &l->w, 0, NULL);
	liar_meets(l);
	for (uint32_t i = 0; i < 3000; i++) {
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

/* ---- restarts ---- */

static void
expect_right_reason(const struct app_qp *a, uint32_t seed)
{
	static const char *const reasons[] = {
		"started anew",    "never became ready", "no answer in time",
		"no neighbour",    "speaks RoCEv2 only", /* nothing was heard from it for 300 ms */
		"is plain RoCEv2",                       /* the same on the other side */
	};
	const char *text = why(a);
	bool is_right = false;

	if (a->qp->state != SHM_QPS_ERR)
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		is_right |= strstr(text, reasons[i]) != NULL;
	cr_expect(is_right, "seed %u: %s", seed, text);
}

/* A message that looks as if it came from the other side, to which a stranger knows no secret. */
static void
forge(struct world *w, int side, struct prng *rng)
{
	static const uint8_t types[] = {HELLO_ASK,    HELLO_COOKIE, HELLO_WELCOME,
	                                HELLO_ANSWER, HELLO_STALE,  HELLO_OPEN};
	struct wire_addr addr = {.dst = w->nic[side]->gids.entry[1].ip,
	                         .src = w->nic[!side]->gids.entry[1].ip,
	                         .ttl = 64};
	struct hello_msg msg = {
		.type = types[prng_below(rng, 6)],
		.version = HELLO_VERSION,
		.nonce = prng_next(rng),
		.token = prng_next(rng),
		.nb_qps = 1,
		.who = {.boot_id = prng_next(rng),
	                .token = prng_next(rng),
	                .engine = "forged",
	                .version_min = 1},
		.qp[0] = {.window_pkts = 1, .max_msgs = 16, .mtu_code = 1, .engine = "forged"}};
	struct pkt *p;

	memcpy(addr.dmac, w->nic[side]->self.mac, 6);
	memcpy(addr.smac, w->nic[!side]->self.mac, 6);
	if (prng_below(rng, 2))
		memset(msg.cookie, 0x77, sizeof(msg.cookie));
	cr_assert_eq(w->pool->alloc(w->pool, &p, 1), 1);
	p->len = hello_frame(p->data, &addr, &msg);
	stack_rx(w->nic[side], &p, 1, w->now_ns);
}

/* A forger speaks once a millisecond to each side. */
static void
run_forged(struct world *w, uint64_t turns, struct prng *rng)
{
	for (; turns > 0; turns--) {
		world_step(w);
		if (turns % TURNS(1) == 0) {
			forge(w, 0, rng);
			forge(w, 1, rng);
		}
	}
}

static bool
is_decided(const struct app_qp *a)
{
	return a->qp->state == SHM_QPS_ERR || a->qp->framing != QP_PENDING;
}

/*
 * Either side starts anew at any time, on a link that loses half of all, doubles and reorders; the
 * other side's QP has work. It ends in time, for the right reason; and the next one works.
 */
static bool
restart_once(uint32_t seed)
{
	bool is_weft;

	const struct fault_params healed = {.seed = seed + 1};
	struct fault_params fault = healed;
	struct world_conf wc = conf_of(seed & 1 ? AUTO : WEFT, seed & 2 ? AUTO : WEFT);
	int dying = (int)(seed >> 2 & 1);
	struct app_qp qp[2], next[2];
	struct world w;
	struct prng rng;

	prng_seed(&rng, seed);
	world_open(&w, &wc);
	fault.rx.ppm[FAULT_LOSS] = fault.tx.ppm[FAULT_LOSS] = 500000;
	fault.rx.ppm[FAULT_DUPLICATE] = fault.tx.ppm[FAULT_DUPLICATE] = 200000;
	fault.rx.ppm[FAULT_REORDER] = fault.tx.ppm[FAULT_REORDER] = 200000;
	fault.rx.reorder_pkts = fault.tx.reorder_pkts = 4;
	fault.rx.reorder_ns = fault.tx.reorder_ns = 5 * MS;
	world_spoil(&w, &fault);
	app_open(&qp[0], &w, 0, NULL);
	app_open(&qp[1], &w, 1, NULL);
	connect(&qp[0], &qp[1]);
	run_forged(&w, prng_below(&rng, TURNS(300)), &rng);

	app_close(&qp[dying]);
	world_restart(&w, dying);
	if (qp[!dying].qp->state == SHM_QPS_RTS)
		post_write(&qp[!dying], 7);
	run_forged(&w, prng_below(&rng, TURNS(200)), &rng);
	port_fault_set(w.port[0], &healed);
	app_open(&next[0], &w, 0, NULL);
	app_open(&next[1], &w, 1, NULL);
	connect(&next[0], &next[1]);
	for (uint32_t ms = 0; ms < 3200; ms += 10) {
		if (qp[!dying].qp->state == SHM_QPS_ERR && is_decided(&next[0]) &&
		    is_decided(&next[1]))
			break;
		run_forged(&w, TURNS(10), &rng);
	}
	cr_expect_eq(qp[!dying].qp->state, SHM_QPS_ERR, "seed %u", seed);
	expect_right_reason(&qp[!dying], seed);
	for (int side = 0; side < 2; side++)
		expect_right_reason(&next[side], seed);
	if (next[0].qp->state == SHM_QPS_RTS && next[1].qp->state == SHM_QPS_RTS)
		cr_expect_eq(next[0].qp->framing, next[1].qp->framing, "seed %u", seed);
	is_weft = next[0].qp->framing == QP_WEFT && next[0].qp->state == SHM_QPS_RTS;
	app_close(&qp[!dying]);
	app_close(&next[0]);
	app_close(&next[1]);
	world_close(&w);
	return is_weft;
}

Test(open, restarts_at_any_time_end_in_open_or_failed_for_the_right_reason)
{
	uint32_t nb_weft = 0;

	for (uint32_t seed = 0; seed < 200; seed++)
		nb_weft += restart_once(seed);
	cr_expect_gt(nb_weft, 120, "only %u of 200 were open in the end", nb_weft);
	cr_log_info("%u of 200 open in the end", nb_weft);
}
