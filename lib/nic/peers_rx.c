/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "peers_impl.h"

/* What comes: who may be believed, and what he is told. Most of it may be forged. */

/* A message, who says it, and when. */
struct heard {
	struct cookie_pair pair; /* its MAC: where we answer */
	struct peer_entry *e;    /* the peer of these addresses; NULL: none yet */
	bool is_placed;          /* it is held, and the MAC is the neighbour's, else the sender's */
	struct hello_msg msg;
	uint64_t now_ns;
};

/*
 * We answer where we send all else for this address, as soon as we know where that is. Who only
 * writes the address of a neighbour into his frames gets no cookie and no token of it.
 */
static void
find(struct peers *ps, struct heard *h, const uint8_t *frame)
{
	const struct neigh *neigh;

	h->e = peer_map_find(&ps->map, &h->pair.peer, &h->pair.own, h->pair.vlan);
	neigh = h->e ? h->e->neigh : NULL;
	h->is_placed = neigh && neigh->valid;
	memcpy(h->pair.mac, h->is_placed ? neigh->mac : frame + 6, sizeof(h->pair.mac));
}

/*
 * While we look for the neighbour of a peer that is held, who speaks for it may be another one, and
 * there are QPs to lose. The true one will say it again.
 */
static bool
may_be_another(struct peers *ps, const struct heard *h)
{
	if (!h->e || !h->e->neigh || h->is_placed)
		return false;
	neigh_want(ps->conf.neigh, h->e->neigh, h->now_ns);
	ps->stats.rx_forged++;
	return true;
}

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
	p = peers_pkt(ps, pair, msg);
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

/* Said before the peer was started anew, and overtaken. */
static bool
is_late(const struct peer_entry *e, const struct heard *h)
{
	return e->p.state == PEER_WEFT && h->msg.who.boot_id != e->boot_id &&
	       h->msg.who.boot_id == e->old_boot_id && h->now_ns < e->old_end_ns;
}

static void
learn(struct peers *ps, struct peer_entry *e, const struct heard *h)
{
	memcpy(e->told_mac, h->pair.mac, sizeof(e->told_mac));
	e->is_hearsay = !h->is_placed;
	peers_learn(ps, e, &h->msg, h->now_ns);
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
	if (may_be_another(ps, h))
		return;
	e = peers_meet(ps, &h->pair);
	if (!e) {
		ps->stats.tx_limited++;
		return;
	}
	/* By hearsay nobody becomes plain: it would not be asked any more. */
	if (is_late(e, h))
		ps->stats.rx_forged++;
	else if (h->is_placed || h->msg.who.version_min <= HELLO_VERSION)
		learn(ps, e, h);
	welcome(ps, h, offer);
}

/* Of a peer that was asked with this nonce; NULL: anybody may say that. */
static struct peer_entry *
asked(struct peers *ps, const struct heard *h)
{
	struct peer_entry *e = h->e;

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
	learn(ps, e, h);
}

/* ---- OPEN ---- */

/* The peer, if it has shown the token that we gave it; NULL. */
static struct peer_entry *
known(struct peers *ps, const struct heard *h)
{
	if (h->msg.token != cookie_token(&ps->jar, &h->pair))
		return NULL;
	return h->e && h->e->p.state == PEER_WEFT ? h->e : NULL;
}

static void
hear_open(struct peers *ps, const struct heard *h)
{
	struct hello_msg msg = answer_to(h, HELLO_STALE);
	struct peer_entry *e;

	if (may_be_another(ps, h))
		return;
	e = known(ps, h);
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
	struct hello_msg msg = *terms;

	(void)now_ns;
	assert(ps->asker && !memcmp(&ps->asker->peer, &p->ip, sizeof(p->ip)));
	msg.type = HELLO_ANSWER;
	msg.version = HELLO_VERSION;
	msg.nonce = nonce;
	msg.token = peer_entry_of(p)->token;
	/* The others of a peer with larger packets ask again. */
	if (msg.nb_qps > peers_entries_max(ps))
		msg.nb_qps = (uint8_t)peers_entries_max(ps);
	answer(ps, ps->asker, &msg);
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
	struct peer_entry *e = h->e;

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
	find(ps, &h, frame);
	ps->asker = &h.pair;
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
	ps->asker = NULL;
}
