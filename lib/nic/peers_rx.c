/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "peers_impl.h"

/* What comes: who may be believed, and what he is told. Most of it may be forged. */

/* A message, who says it, and when. */
struct heard {
	struct cookie_pair pair;
	struct hello_msg msg;
	uint64_t now_ns;
};

/* ---- answers ---- */

/* Of those who have shown nothing: a flood of questions is no flood of answers. */
static bool
may_answer(struct peers *ps, uint64_t now_ns)
{
	if (now_ns - ps->answers_since_ns >= PEERS_ANSWER_NS) {
		ps->answers_since_ns = now_ns;
		ps->nb_answers = 0;
	}
	if (ps->nb_answers < PEERS_ANSWERS && ps->out.nb_pkts < PEERS_QUEUE_MAX) {
		ps->nb_answers++;
		return true;
	}
	ps->stats.tx_limited++;
	return false;
}

static void
answer(struct peers *ps, const struct cookie_pair *pair, const struct hello_msg *msg)
{
	struct pkt *p;

	if (ps->out.nb_pkts >= PEERS_QUEUE_MAX) {
		ps->stats.tx_limited++;
		return;
	}
	p = peers_pkt(ps, pair, ps->asker_mac, msg);
	if (!p)
		return;
	pkt_queue_push(&ps->out, p);
	ps->stats.tx_answers++;
}

static struct hello_msg
answer_to(const struct heard *h, uint8_t type)
{
	return (struct hello_msg){.type = type, .version = HELLO_VERSION, .nonce = h->msg.nonce};
}

/* ---- HELLO ---- */

static void
give_cookie(struct peers *ps, const struct heard *h)
{
	struct hello_msg msg = answer_to(h, HELLO_COOKIE);

	if (!may_answer(ps, h->now_ns))
		return;
	cookie_make(&ps->jar, &ps->random, &h->pair, h->msg.nonce, h->now_ns, msg.cookie);
	answer(ps, &h->pair, &msg);
}

static void
welcome(struct peers *ps, const struct heard *h, const struct hello_who *offer)
{
	struct hello_msg msg = answer_to(h, HELLO_WELCOME);

	msg.who = *offer;
	msg.who.boot_id = ps->boot_id;
	msg.who.version_min = HELLO_VERSION;
	msg.who.token = cookie_token(&ps->jar, &h->pair);
	memcpy(msg.cookie, h->msg.cookie, sizeof(msg.cookie));
	answer(ps, &h->pair, &msg);
}

static void
hear_hello(struct peers *ps, const struct heard *h, const struct hello_who *offer)
{
	static const uint8_t none[HELLO_COOKIE_LEN];
	struct peer_entry *e;

	if (!memcmp(h->msg.cookie, none, sizeof(none))) {
		give_cookie(ps, h);
		return;
	}
	if (!h->msg.who.token ||
	    !cookie_ok(&ps->jar, &ps->random, &h->pair, h->msg.nonce, h->now_ns, h->msg.cookie)) {
		/* Forged, or its cookie is of before our start: it may ask for another one. */
		ps->stats.rx_forged++;
		give_cookie(ps, h);
		return;
	}
	e = peers_meet(ps, &h->pair);
	if (!e) {
		ps->stats.tx_limited++;
		return;
	}
	peers_learn(ps, e, &h->msg, h->now_ns);
	welcome(ps, h, offer);
}

/* Of a peer that was asked with this nonce; NULL: anybody may say that. */
static struct peer_entry *
asked(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = peer_map_find(&ps->map, &h->pair.peer, &h->pair.own, h->pair.vlan);

	if (e && e->ask.is_on && e->ask.nonce == h->msg.nonce)
		return e;
	ps->stats.rx_forged++;
	return NULL;
}

static void
hear_cookie(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = asked(ps, h);

	if (e)
		peers_ask_again(ps, e, h->msg.cookie, h->now_ns);
}

static void
hear_welcome(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = asked(ps, h);

	if (!e)
		return;
	if (!e->ask.has_cookie || !h->msg.who.token) {
		ps->stats.rx_forged++;
		return;
	}
	peers_learn(ps, e, &h->msg, h->now_ns);
}

/* ---- OPEN ---- */

/* The peer, if it has shown the token that we gave it; NULL. */
static struct peer_entry *
known(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e;

	if (h->msg.token != cookie_token(&ps->jar, &h->pair))
		return NULL;
	e = peer_map_find(&ps->map, &h->pair.peer, &h->pair.own, h->pair.vlan);
	return e && e->p.state == PEER_WEFT ? e : NULL;
}

static void
hear_open(struct peers *ps, const struct heard *h)
{
	struct hello_msg msg = answer_to(h, HELLO_STALE);
	struct peer_entry *e = known(ps, h);

	if (e) {
		peer_map_touch(&ps->map, e);
		ps->conf.ops->opened(ps->conf.arg, &e->p, &h->msg, h->now_ns);
	} else if (may_answer(ps, h->now_ns)) {
		answer(ps, &h->pair, &msg);
	}
}

void
peers_answer(struct peers *ps, struct peer *p, const struct hello_msg *terms, uint64_t nonce,
             uint64_t now_ns)
{
	struct cookie_pair pair = peers_pair(p);
	struct hello_msg msg = *terms;

	(void)now_ns;
	assert(ps->asker_mac);
	msg.type = HELLO_ANSWER;
	msg.version = HELLO_VERSION;
	msg.nonce = nonce;
	msg.token = peer_entry_of(p)->token;
	/* The others of a peer with larger packets ask again. */
	if (msg.nb_qps > peers_entries_max(ps))
		msg.nb_qps = (uint8_t)peers_entries_max(ps);
	answer(ps, &pair, &msg);
}

static void
hear_answer(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = known(ps, h);

	if (!e || h->msg.nonce != e->open_nonce) {
		ps->stats.rx_forged++;
		return;
	}
	ps->conf.ops->opened(ps->conf.arg, &e->p, &h->msg, h->now_ns);
}

static void
hear_stale(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = peer_map_find(&ps->map, &h->pair.peer, &h->pair.own, h->pair.vlan);

	if (!e || e->p.state != PEER_WEFT || h->msg.nonce != e->open_nonce || !e->nb_refs) {
		ps->stats.rx_forged++;
		return;
	}
	ps->stats.rx_stale++;
	if (e->stale_ns && h->now_ns - e->stale_ns < PEERS_STALE_NS)
		return;
	e->stale_ns = h->now_ns;
	peers_ask(ps, e, h->now_ns);
}

/* ---- frames ---- */

static bool
is_unicast(const struct ip_addr *ip)
{
	if (ip_addr_is_unspecified(ip))
		return false;
	return ip_addr_is_ipv4(ip) ? ip->b[12] < 224 : ip->b[0] != 0xff;
}

/* An IPv4 address written as an IPv6 one is no address that anybody has in an IPv6 packet. */
static bool
is_for_us(const struct peers *ps, const uint8_t *frame, const struct wire_pkt *w,
          const struct heard *h)
{
	const struct gid_table *gids = ps->conf.self->gids;

	if (memcmp(frame, ps->conf.self->mac, 6) != 0 || frame[6] & 1)
		return false;
	if (ip_addr_is_ipv4(&w->src) == w->ipv6 || ip_addr_is_ipv4(&w->dst) == w->ipv6)
		return false;
	return is_unicast(&w->src) && gid_find(gids, &h->pair.own, h->pair.vlan) &&
	       !gid_find(gids, &h->pair.peer, h->pair.vlan);
}

void
peers_rx(struct peers *ps, const uint8_t *frame, const struct wire_pkt *w, uint64_t now_ns)
{
	struct heard h = {.pair = {.peer = w->src,
	                           .own = w->dst,
	                           .vlan = w->has_vlan ? vlan_id(w->vlan_tci) : 0},
	                  .now_ns = now_ns};
	struct hello_who offer = {0};

	if (!is_for_us(ps, frame, w, &h) || !hello_parse(w->payload, w->payload_len, &h.msg)) {
		ps->stats.rx_bad++;
		return;
	}
	ps->stats.rx_msgs++;
	if (!ps->conf.offer(ps->conf.arg, &h.pair.peer, &offer)) {
		ps->stats.rx_unheard++;
		return;
	}
	peers_wake(ps, now_ns);
	ps->asker_mac = frame + 6;
	switch ((enum hello_type)h.msg.type) {
	case HELLO_ASK:
		hear_hello(ps, &h, &offer);
		break;
	case HELLO_COOKIE:
		hear_cookie(ps, &h);
		break;
	case HELLO_WELCOME:
		hear_welcome(ps, &h);
		break;
	case HELLO_OPEN:
		hear_open(ps, &h);
		break;
	case HELLO_ANSWER:
		hear_answer(ps, &h);
		break;
	case HELLO_STALE:
		hear_stale(ps, &h);
		break;
	}
	ps->asker_mac = NULL;
}
