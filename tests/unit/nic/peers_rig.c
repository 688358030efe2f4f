/* SPDX-License-Identifier: BSD-3-Clause */
#include "peers_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define NB_PKTS 512

/* ---- a host ---- */

struct ip_addr
host_ip(uint32_t n)
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

struct hello_terms
some_terms(uint32_t qpn)
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
		msg->qp[msg->nb_qps++] = some_terms(h->nb_due);
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

void
host_open(struct host *h, uint8_t n)
{
	*h = (struct host){
		.n = n,
		.self = {.name = "n", .mac = {0x02, 0, 0, 0, 0, n}, .gids = &h->gids},
		.pool = pkt_pool_mem_create(NB_PKTS, 1024),
	};
	h->gids = (struct gid_table){.entry = {{.ip = host_ip(n)}}, .len = 1, .nb_used = 1};
	h->neigh = neigh_create(&h->self, h->pool, 16);
	prng_seed(&h->prng, n);
	begin(h);
}

void
host_close(struct host *h)
{
	peers_destroy(h->peers);
	neigh_destroy(h->neigh);
	cr_expect_eq(pkt_pool_mem_nb_free(h->pool), NB_PKTS);
	pkt_pool_mem_destroy(h->pool);
}

/* It starts anew, and knows nothing. */
void
host_restart(struct host *h)
{
	peers_destroy(h->peers);
	begin(h);
}

void
host_hears(struct host *h, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	struct wire_pkt w;
	enum wire_bad bad;

	cr_assert_eq(wire_parse(frame, len, &w, &bad), WIRE_HELLO);
	peers_rx(h->peers, frame, &w, now_ns);
}

/* ---- two of them ---- */

struct cable *
cable_open(struct host *a, struct host *b)
{
	struct cable *c = calloc(1, sizeof(*c));

	cr_assert(c);
	host_open(a, 1);
	host_open(b, 2);
	c->host[0] = a;
	c->host[1] = b;
	c->now_ns = S;
	prng_seed(&c->prng, 1);
	return c;
}

void
cable_close(struct cable *c)
{
	host_close(c->host[0]);
	host_close(c->host[1]);
	free(c);
}

static void
put(struct cable *c, uint32_t to, const struct pkt *p)
{
	uint64_t late = c->jitter_ns ? prng_next(&c->prng) % c->jitter_ns : 0;

	if (prng_below(&c->prng, 100) < c->loss || c->nb_flight == FLIGHT_MAX)
		return;
	c->flight[c->nb_flight].due_ns = c->now_ns + 10000 + late;
	c->flight[c->nb_flight].to = to;
	c->flight[c->nb_flight].len = p->len;
	memcpy(c->flight[c->nb_flight].frame, p->data, p->len);
	c->nb_flight++;
}

void
cable_turn(struct cable *c)
{
	for (uint32_t i = 0; i < c->nb_flight;) {
		uint8_t frame[1024];
		uint32_t len = c->flight[i].len, to = c->flight[i].to;

		if (c->flight[i].due_ns > c->now_ns) {
			i++;
			continue;
		}
		memcpy(frame, c->flight[i].frame, len);
		c->flight[i] = c->flight[--c->nb_flight];
		host_hears(c->host[to], frame, len, c->now_ns);
	}
	for (uint32_t side = 0; side < 2; side++) {
		struct pkt *pkts[8];
		uint32_t n = peers_tx(c->host[side]->peers, pkts, 8, c->now_ns);

		for (uint32_t i = 0; i < n; i++) {
			put(c, !side, pkts[i]);
			if (prng_below(&c->prng, 100) < c->dup)
				put(c, !side, pkts[i]);
		}
		c->nb_sent += n;
		pkt_free(pkts, n);
	}
}

void
cable_run(struct cable *c, uint64_t ns)
{
	for (uint64_t end_ns = c->now_ns + ns; c->now_ns < end_ns; c->now_ns += 50000)
		cable_turn(c);
}

/* A QP of this host wants to know of the other one. */
struct peer *
host_wants(struct cable *c, uint32_t side)
{
	struct host *h = c->host[side], *other = c->host[!side];
	struct ip_addr own = host_ip(h->n), ip = host_ip(other->n);
	struct peer *p = peers_get(h->peers, &own, &ip, 0, c->now_ns);

	cr_assert_not_null(p);
	neigh_set(h->neigh, &ip, 0, other->self.mac, c->now_ns);
	return p;
}

struct peer *
host_meets(struct cable *c, uint32_t side)
{
	struct peer *p = host_wants(c, side);

	cable_run(c, 5 * MS);
	cr_assert_eq(p->state, PEER_WEFT);
	return p;
}
