/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "gid.h"
#include "mem.h"
#include "peers.h"
#include "prng.h"
#include "wheel.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
/* Of the timers. */
#define TICK (MS / 4)
#define NB_PKTS 512
#define FLIGHT_MAX 1024

/* A NIC n has 02::n and 10.77.0.n. */
struct host {
	uint8_t n;
	struct neigh_self self;
	struct gid_table gids;
	struct pkt_pool *pool;
	struct neigh_table *neigh;
	struct peers *peers;
	struct prng prng;
	bool is_mute;
	uint32_t nb_opens, nb_answers; /* entries heard */
	uint32_t nb_due;               /* QPs that want to open */
	uint32_t nb_decided, nb_restarted, nb_dead;
};

/* What is on its way between two hosts. */
struct wire {
	struct host *host[2];
	struct {
		uint64_t due_ns;
		uint32_t to;
		uint32_t len;
		uint8_t frame[1024];
	} flight[FLIGHT_MAX];
	uint32_t nb_flight;
	uint64_t now_ns;
	struct prng prng;
	uint32_t loss, dup; /* percent */
	uint64_t jitter_ns;
	uint64_t nb_sent;
};

static struct ip_addr
ip_of(uint32_t n)
{
	return (struct ip_addr){
		{[10] = 0xff, 0xff, 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
}

static bool
on_offer(void *arg, const struct ip_addr *peer, struct hello_who *who)
{
	struct host *h = arg;

	(void)peer;
	strcpy(who->engine, "gbn");
	who->nb_slots = 5;
	who->features = HELLO_INT;
	return !h->is_mute;
}

static struct hello_terms
terms_of(uint32_t qpn)
{
	return (struct hello_terms){.own_qpn = qpn,
	                            .peer_qpn = qpn,
	                            .window_pkts = 64,
	                            .max_msgs = 64,
	                            .mtu_code = 3,
	                            .engine = "gbn"};
}

static void
on_opened(void *arg, struct peer *peer, const struct hello_msg *msg, uint64_t now_ns)
{
	struct host *h = arg;
	struct hello_msg answer = *msg;

	if (msg->type == HELLO_ANSWER) {
		h->nb_answers += msg->nb_qps;
		return;
	}
	h->nb_opens += msg->nb_qps;
	peers_answer(h->peers, peer, &answer, msg->nonce, now_ns);
}

static uint32_t
on_next_open(void *arg, struct peer *peer, struct hello_msg *msg, uint64_t now_ns)
{
	struct host *h = arg;

	for (msg->nb_qps = 0; msg->nb_qps < HELLO_ENTRIES_MAX && h->nb_due; h->nb_due--)
		msg->qp[msg->nb_qps++] = terms_of(h->nb_due);
	if (h->nb_due)
		peers_want_open(h->peers, peer, now_ns);
	return msg->nb_qps;
}

static void
on_decided(void *arg, struct peer *peer, uint64_t now_ns)
{
	struct host *h = arg;

	cr_expect_eq(peer->since_ns, now_ns);
	h->nb_decided++;
}

/* Two at a time. */
static void
on_restarted(void *arg, struct peer *peer, uint64_t now_ns)
{
	struct host *h = arg;

	(void)now_ns;
	cr_expect_not(list_is_empty(&peer->dead));
	for (uint32_t i = 0; i < 2 && list_pop(&peer->dead); i++)
		h->nb_dead++;
	h->nb_restarted++;
}

static uint64_t
on_random(void *arg)
{
	struct host *h = arg;

	return prng_next(&h->prng);
}

static void
begin(struct host *h)
{
	static const struct peers_ops ops = {on_decided, on_restarted, on_opened, on_next_open};
	const struct peers_conf conf = {&h->self, h->neigh, h->pool, &ops, on_offer, on_random, h};

	h->peers = peers_create(&conf);
	cr_assert_not_null(h->peers);
}

static void
host_open(struct host *h, uint8_t n)
{
	*h = (struct host){
		.n = n,
		.self = {.name = "n", .mac = {0x02, 0, 0, 0, 0, n}, .gids = &h->gids},
		.pool = pkt_pool_mem_create(NB_PKTS, 1024),
	};
	h->gids = (struct gid_table){.entry = {{.ip = ip_of(n)}}, .len = 1, .nb_used = 1};
	h->neigh = neigh_create(&h->self, h->pool, 16);
	prng_seed(&h->prng, n);
	begin(h);
}

static void
host_close(struct host *h)
{
	peers_destroy(h->peers);
	neigh_destroy(h->neigh);
	cr_expect_eq(pkt_pool_mem_nb_free(h->pool), NB_PKTS);
	pkt_pool_mem_destroy(h->pool);
}

/* It starts anew, and knows nothing. */
static void
host_restart(struct host *h)
{
	peers_destroy(h->peers);
	begin(h);
}

static struct wire *
wire_open(struct host *a, struct host *b)
{
	struct wire *w = calloc(1, sizeof(*w));

	cr_assert(w);
	host_open(a, 1);
	host_open(b, 2);
	w->host[0] = a;
	w->host[1] = b;
	w->now_ns = S;
	prng_seed(&w->prng, 1);
	return w;
}

static void
wire_close(struct wire *w)
{
	host_close(w->host[0]);
	host_close(w->host[1]);
	free(w);
}

static void
put(struct wire *w, uint32_t to, const struct pkt *p)
{
	uint64_t late = w->jitter_ns ? prng_next(&w->prng) % w->jitter_ns : 0;

	if (prng_below(&w->prng, 100) < w->loss || w->nb_flight == FLIGHT_MAX)
		return;
	w->flight[w->nb_flight].due_ns = w->now_ns + 10000 + late;
	w->flight[w->nb_flight].to = to;
	w->flight[w->nb_flight].len = p->len;
	memcpy(w->flight[w->nb_flight].frame, p->data, p->len);
	w->nb_flight++;
}

static void
hear(struct host *h, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	struct wire_pkt w;
	enum wire_bad bad;

	cr_assert_eq(wire_parse(frame, len, &w, &bad), WIRE_HELLO);
	peers_rx(h->peers, frame, &w, now_ns);
}

static void
turn(struct wire *w)
{
	for (uint32_t i = 0; i < w->nb_flight;) {
		uint8_t frame[1024];
		uint32_t len = w->flight[i].len, to = w->flight[i].to;

		if (w->flight[i].due_ns > w->now_ns) {
			i++;
			continue;
		}
		memcpy(frame, w->flight[i].frame, len);
		w->flight[i] = w->flight[--w->nb_flight];
		hear(w->host[to], frame, len, w->now_ns);
	}
	for (uint32_t side = 0; side < 2; side++) {
		struct pkt *pkts[8];
		uint32_t n = peers_tx(w->host[side]->peers, pkts, 8, w->now_ns);

		for (uint32_t i = 0; i < n; i++) {
			put(w, !side, pkts[i]);
			if (prng_below(&w->prng, 100) < w->dup)
				put(w, !side, pkts[i]);
		}
		w->nb_sent += n;
		pkt_free(pkts, n);
	}
}

static void
run(struct wire *w, uint64_t ns)
{
	for (uint64_t end_ns = w->now_ns + ns; w->now_ns < end_ns; w->now_ns += 50000)
		turn(w);
}

/* A QP of this host wants to know of the other one. */
static struct peer *
want(struct wire *w, uint32_t side)
{
	struct host *h = w->host[side], *other = w->host[!side];
	struct ip_addr own = ip_of(h->n), ip = ip_of(other->n);
	struct peer *p = peers_get(h->peers, &own, &ip, 0, w->now_ns);

	cr_assert_not_null(p);
	neigh_set(h->neigh, &ip, 0, other->self.mac, w->now_ns);
	return p;
}

/* What a host has in its table of the other one; NULL. */
static struct peer *
peer_at(struct wire *w, uint32_t side)
{
	struct peer *p = want(w, side);
	bool is_new = p->state == PEER_ASKING;

	peers_put(w->host[side]->peers, p, w->now_ns);
	return is_new ? NULL : p;
}

Test(peers, one_exchange_makes_both_known)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 0), *q;

	run(w, 5 * MS);
	cr_assert_eq(p->state, PEER_WEFT);
	cr_expect_str_eq(p->engine, "gbn");
	cr_expect_eq(w->nb_sent, 4, "HELLO, COOKIE, HELLO, WELCOME");
	cr_expect_eq(a.nb_decided, 1);
	q = peer_at(w, 1);
	cr_assert_not_null(q);
	cr_expect_eq(q->state, PEER_WEFT);
	cr_expect_eq(peers_next_ns(a.peers), WHEEL_NEVER_NS, "idle");
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "idle");
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, a_silent_peer_is_asked_five_times_and_is_plain_for_a_minute)
{
	static const uint64_t at_ms[] = {0, 2, 8, 32, 128};
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p;
	uint32_t nb = 0;

	b.is_mute = true;
	p = want(w, 0);
	for (uint64_t begin = w->now_ns; w->now_ns < begin + 299 * MS; w->now_ns += 50000) {
		uint64_t before = w->nb_sent;

		turn(w);
		if (w->nb_sent == before)
			continue;
		cr_assert_lt(nb, 5u);
		cr_expect_geq(w->now_ns - begin, at_ms[nb] * MS);
		cr_expect_leq(w->now_ns - begin, at_ms[nb] * MS + 2 * TICK, "try %u", nb);
		nb++;
	}
	cr_expect_eq(nb, 5);
	cr_expect_eq(p->state, PEER_ASKING);
	run(w, 3 * MS);
	cr_expect_eq(p->state, PEER_PLAIN);
	cr_expect_eq(a.nb_decided, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_unheard, 5);
	cr_expect_eq(peers_next_ns(a.peers), WHEEL_NEVER_NS, "idle");

	peers_put(a.peers, want(w, 0), w->now_ns); /* another QP soon after */
	run(w, 50 * MS);
	cr_expect_eq(w->nb_sent, 5, "not asked again");
	w->now_ns += 60 * S;
	peers_put(a.peers, want(w, 0), w->now_ns);
	b.is_mute = false;
	run(w, 5 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, a_peer_without_a_mac_is_not_silent)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct ip_addr own = ip_of(1), ip = ip_of(2);
	struct peer *p = peers_get(a.peers, &own, &ip, 0, w->now_ns);

	run(w, S);
	cr_expect_eq(p->state, PEER_ASKING);
	cr_expect_eq(w->nb_sent, 0);
	neigh_set(a.neigh, &ip, 0, b.self.mac, w->now_ns);
	run(w, 60 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, who_gave_a_cookie_is_asked_on)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 0);

	while (!peers_stats(b.peers)->tx_answers)
		run(w, 50000);
	run(w, 30000);
	w->loss = 100;
	run(w, 3 * S);
	cr_expect_eq(p->state, PEER_ASKING);
	w->loss = 0;
	run(w, 1100 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}

/* Trace 7 of the worked examples, as far as it is about peers. */
Test(peers, a_restarted_peer_is_found_out_by_a_probe)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 1);
	struct list qps[5];

	run(w, 5 * MS);
	for (uint32_t i = 0; i < 5; i++) {
		list_init(&qps[i]);
		list_add_tail(&p->open, &qps[i]);
	}
	host_restart(&a);
	b.nb_due = 1;
	cr_expect(peers_may_probe(b.peers, p, w->now_ns));
	cr_expect_not(peers_may_probe(b.peers, p, w->now_ns + 999 * MS));
	cr_expect(peers_may_probe(b.peers, p, w->now_ns + 1000 * MS));
	peers_want_open(b.peers, p, w->now_ns);
	run(w, 5 * MS);
	cr_expect_eq(a.nb_opens, 0);
	cr_expect_eq(peers_stats(b.peers)->tx_opens, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_stale, 1);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect(list_is_empty(&p->open));
	cr_expect_eq(b.nb_dead, 5);
	cr_expect_eq(b.nb_restarted, 3, "two at a time");
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "idle");
	peers_put(b.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, a_stale_alone_changes_nothing)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 1);

	run(w, 5 * MS);
	host_restart(&a);
	b.nb_due = 1;
	peers_want_open(b.peers, p, w->now_ns);
	while (!peers_stats(b.peers)->rx_stale)
		run(w, 50000);
	w->loss = 100;
	run(w, S);
	cr_expect_eq(p->state, PEER_WEFT);
	cr_expect_eq(b.nb_decided, 1);
	cr_expect_eq(b.nb_restarted, 0);
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS, "it was asked in vain");
	peers_put(b.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, a_late_word_of_before_the_restart_is_none)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p, *q = want(w, 0);
	struct pkt *pkts[8];
	uint8_t late[1024];
	uint32_t n = 0, late_len;

	/* The second HELLO of A is kept. */
	while (!peers_stats(b.peers)->tx_answers)
		run(w, 50000);
	for (uint32_t i = 0; i < w->nb_flight; i++)
		hear(&a, w->flight[i].frame, w->flight[i].len, w->now_ns);
	w->nb_flight = 0;
	while (!n)
		n = peers_tx(a.peers, pkts, 8, w->now_ns += 50000);
	late_len = pkts[0]->len;
	memcpy(late, pkts[0]->data, late_len);
	pkt_free(pkts, n);
	p = want(w, 1);
	run(w, 10 * MS);
	cr_assert_eq(p->state, PEER_WEFT);
	peers_put(a.peers, q, w->now_ns);

	host_restart(&a);
	q = want(w, 0);
	run(w, 10 * MS);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	hear(&b, late, late_len, w->now_ns);
	cr_expect_eq(peers_stats(b.peers)->restarted, 1);
	cr_expect_eq(peers_stats(b.peers)->rx_forged, 1);
	peers_put(a.peers, q, w->now_ns);
	peers_put(b.peers, p, w->now_ns);
	wire_close(w);
}

Test(peers, opens_of_many_qps_share_messages)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 0);

	run(w, 5 * MS);
	a.nb_due = 40;
	peers_want_open(a.peers, p, w->now_ns + MS);
	peers_want_open(a.peers, p, w->now_ns + 2 * MS);
	run(w, MS);
	cr_expect_eq(peers_stats(a.peers)->tx_opens, 0);
	run(w, MS);
	cr_expect_eq(peers_stats(a.peers)->tx_opens, 3, "of 16, 16 and 8");
	cr_expect_eq(b.nb_opens, 40);
	cr_expect_eq(a.nb_answers, 40);
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}

/* ---- forgers ---- */

/* A HELLO that somebody at address n sends to host 2. */
static uint32_t
forge(uint8_t *frame, uint32_t n, const struct hello_msg *msg)
{
	struct wire_addr addr = {.dst = ip_of(2),
	                         .src = ip_of(n),
	                         .dmac = {2, 0, 0, 0, 0, 2},
	                         .smac = {2, 0, 0, 0, 0, 9},
	                         .ttl = 64};

	return hello_frame(frame, &addr, msg);
}

static struct hello_msg
forged_hello(uint64_t nonce)
{
	struct hello_msg msg = {.type = HELLO_ASK, .version = 1, .nonce = nonce};

	msg.who.version_min = 1;
	msg.who.token = msg.who.boot_id = nonce;
	strcpy(msg.who.engine, "gbn");
	return msg;
}

Test(peers, a_flood_of_forged_messages_makes_no_peer_and_few_answers)
{
	struct host b;
	uint64_t now_ns = 5 * S, nb_answers = 0;
	struct prng prng;

	prng_seed(&prng, 1);
	host_open(&b, 2);
	for (uint32_t i = 0; i < 100000; i++, now_ns += 10000) {
		struct hello_msg msg = forged_hello(prng_next(&prng));
		uint8_t frame[1024];
		struct pkt *pkts[4];
		uint32_t n, len;

		msg.type = (uint8_t)(1 + i % 6);
		if (i & 8)
			memset(msg.cookie, 0x55, sizeof(msg.cookie));
		msg.nb_qps = 1;
		msg.qp[0] = terms_of(7);
		len = forge(frame, 0x1000 + prng_below(&prng, 60000), &msg);
		hear(&b, frame, len, now_ns);
		n = peers_tx(b.peers, pkts, 4, now_ns);
		for (uint32_t j = 0; j < n; j++)
			cr_expect_leq(pkts[j]->len, len, "no answer larger than its question");
		pkt_free(pkts, n);
		nb_answers += n;
	}
	cr_expect_eq(peers_nb(b.peers), 0);
	cr_expect_gt(nb_answers, 9000);
	cr_expect_leq(nb_answers, 10000);
	cr_expect_eq(b.nb_opens + b.nb_answers, 0);
	host_close(&b);
}

/* Nothing is answered and nothing counted but that. */
Test(peers, who_cannot_be_answered_is_not_heard)
{
	static const struct {
		struct ip_addr src, dst;
		bool ipv6;
	} rows[] = {
		/* 10.0.0.9 in an IPv6 packet, to either of ours */
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{0xfd, [15] = 2}}, true},
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, true},
		{{{0xfd, [15] = 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, true},
		{{{0}}, {{0xfd, [15] = 2}}, true},                 /* :: */
		{{{0xff, 2, [15] = 1}}, {{0xfd, [15] = 2}}, true}, /* multicast */
		{{{0xfd, [15] = 2}}, {{0xfd, [15] = 2}}, true},    /* ourselves */
		{{{0xfd, [15] = 9}}, {{0xfd, [15] = 3}}, true},    /* to somebody else */
		{{{[10] = 0xff, 0xff, 224, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, false},
		{{{[10] = 0xff, 0xff, 0, 0, 0, 0}}, {{[10] = 0xff, 0xff, 10, 0, 0, 2}}, false},
		{{{[10] = 0xff, 0xff, 10, 0, 0, 9}}, {{[10] = 0xff, 0xff, 10, 0, 0, 3}}, false},
	};
	const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9};
	struct hello_msg msg = forged_hello(1);
	uint8_t payload[HELLO_MSG_MAX];
	uint32_t len = hello_build(payload, &msg);
	struct pkt *pkts[4];
	struct host b;

	host_open(&b, 2);
	b.gids.entry[1].ip = (struct ip_addr){{0xfd, [15] = 2}};
	b.gids.len = b.gids.nb_used = 2;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_pkt w = {.src = rows[i].src,
		                     .dst = rows[i].dst,
		                     .ipv6 = rows[i].ipv6,
		                     .payload = payload,
		                     .payload_len = len};

		peers_rx(b.peers, macs, &w, S);
		cr_expect_eq(peers_tx(b.peers, pkts, 4, S), 0, "row %u", i);
		cr_expect_eq(peers_stats(b.peers)->rx_bad, i + 1, "row %u", i);
	}
	host_close(&b);
}

/* Somebody who does receive what is sent to the address n says HELLO to host 2. */
static void
say_hello(struct host *b, uint32_t n, uint64_t now_ns)
{
	struct hello_msg msg = forged_hello(n), answer;
	uint8_t frame[1024];
	struct wire_pkt w;
	enum wire_bad bad;
	struct pkt *p;

	hear(b, frame, forge(frame, n, &msg), now_ns);
	cr_assert_eq(peers_tx(b->peers, &p, 1, now_ns), 1);
	cr_assert_eq(wire_parse(p->data, p->len, &w, &bad), WIRE_HELLO);
	cr_assert(hello_parse(w.payload, w.payload_len, &answer) && answer.type == HELLO_COOKIE);
	pkt_free(&p, 1);
	memcpy(msg.cookie, answer.cookie, sizeof(msg.cookie));
	hear(b, frame, forge(frame, n, &msg), now_ns);
	cr_assert_eq(peers_tx(b->peers, &p, 1, now_ns), 1);
	cr_assert_eq(wire_parse(p->data, p->len, &w, &bad), WIRE_HELLO);
	cr_assert(hello_parse(w.payload, w.payload_len, &answer) && answer.type == HELLO_WELCOME);
	pkt_free(&p, 1);
}

Test(peers, peers_are_at_most_so_many_and_those_in_use_stay)
{
	struct host b;
	uint64_t now_ns = S;
	struct ip_addr own = ip_of(2), ip = ip_of(0x10000);
	struct peer *held;

	host_open(&b, 2);
	say_hello(&b, 0x10000, now_ns);
	held = peers_get(b.peers, &own, &ip, 0, now_ns);
	for (uint32_t i = 1; i < 70000; i++)
		say_hello(&b, 0x10000 + i, now_ns += MS);
	cr_expect_eq(peers_nb(b.peers), PEERS_MAX);
	cr_expect_eq(held->state, PEER_WEFT);
	peers_put(b.peers, held, now_ns);
	host_close(&b);
}

Test(peers, forged_answers_and_openings_do_nothing)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p = want(w, 1);
	static const uint8_t types[] = {HELLO_COOKIE, HELLO_WELCOME, HELLO_ANSWER, HELLO_STALE};

	run(w, 5 * MS);
	for (uint32_t i = 0; i < 400; i++) {
		struct hello_msg msg = forged_hello(i);
		uint8_t frame[1024];

		msg.type = types[i % 4];
		msg.nb_qps = 1;
		msg.qp[0] = terms_of(7);
		hear(&b, frame, forge(frame, 1, &msg), w->now_ns);
	}
	cr_expect_eq(peers_stats(b.peers)->rx_forged, 400);
	cr_expect_eq(peers_stats(b.peers)->restarted, 0);
	cr_expect_eq(b.nb_answers, 0);
	cr_expect_eq(peers_next_ns(b.peers), WHEEL_NEVER_NS);
	peers_put(b.peers, p, w->now_ns);
	wire_close(w);
}

/* Half of all is lost, some comes twice, some late; forgers beside: who is believed is right. */
Test(peers, bad_links_end_in_what_is_true)
{
	uint32_t nb_weft = 0;

	for (uint32_t seed = 0; seed < 200; seed++) {
		struct host a, b;
		struct wire *w = wire_open(&a, &b);
		struct peer *p, *q;

		prng_seed(&w->prng, seed);
		w->loss = 50;
		w->dup = 20;
		w->jitter_ns = 5 * MS;
		p = want(w, 0);
		q = want(w, 1);
		run(w, 400 * MS);
		w->loss = 0;
		run(w, 1200 * MS);
		cr_expect(p->state != PEER_ASKING && q->state != PEER_ASKING, "seed %u", seed);
		nb_weft += (p->state == PEER_WEFT) + (q->state == PEER_WEFT);
		peers_put(a.peers, p, w->now_ns);
		peers_put(b.peers, q, w->now_ns);
		wire_close(w);
	}
	cr_expect_gt(nb_weft, 320, "of 400");
}

Test(peers, a_link_that_comes_up_begins_anew)
{
	struct host a, b;
	struct wire *w = wire_open(&a, &b);
	struct peer *p;

	w->loss = 100;
	p = want(w, 0);
	run(w, 200 * MS);
	w->now_ns += 10 * S; /* nothing was sent, as the link was down */
	w->loss = 0;
	peers_link_up(a.peers, w->now_ns);
	run(w, 5 * MS);
	cr_expect_eq(p->state, PEER_WEFT);
	peers_put(a.peers, p, w->now_ns);
	wire_close(w);
}
