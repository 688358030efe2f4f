/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "peers_impl.h"

/* What goes out: answers that wait, then HELLOs and OPENs whose time has come. */

/* Peers that one peers_tx looks at without a frame to send for them. */
#define LOOKS_MAX 64
#define TTL 64

/* ---- messages ---- */

struct pkt *
peers_pkt(struct peers *ps, const struct cookie_pair *pair, const struct hello_msg *msg)
{
	struct wire_addr addr = {.dst = pair->peer,
	                         .src = pair->own,
	                         .has_vlan = pair->vlan != 0,
	                         .vlan_tci = pair->vlan,
	                         .ttl = TTL};
	struct pkt *p;

	if (!ps->conf.pool->alloc(ps->conf.pool, &p, 1)) {
		ps->stats.tx_limited++;
		return NULL;
	}
	memcpy(addr.dmac, pair->mac, 6);
	memcpy(addr.smac, ps->conf.self->mac, 6);
	p->len = hello_frame(p->data, &addr, msg);
	assert(p->len <= p->room);
	return p;
}

uint32_t
peers_entries_max(const struct peers *ps)
{
	uint32_t nb =
		(ps->conf.pool->room_bytes - HELLO_FRAME_MAX(HELLO_OPEN_LEN(0))) / HELLO_TERMS_LEN;

	return nb < HELLO_ENTRIES_MAX ? nb : HELLO_ENTRIES_MAX;
}

/* ---- OPENs ---- */

void
peers_want_open(struct peers *ps, struct peer *p, uint64_t at_ns)
{
	struct peer_entry *e = peer_entry_of(p);

	assert(e->nb_refs);
	if (list_is_linked(&e->opens) ||
	    (wheel_is_armed(&e->open_timer) && e->open_timer.due_ns <= at_ns))
		return;
	wheel_arm(&ps->open_wheel, &e->open_timer, at_ns);
}

bool
peers_may_probe(struct peers *ps, struct peer *p, uint64_t now_ns)
{
	struct peer_entry *e = peer_entry_of(p);

	(void)ps;
	if (p->state != PEER_WEFT || (e->probe_ns && now_ns - e->probe_ns < PEERS_PROBE_NS))
		return false;
	e->probe_ns = now_ns;
	return true;
}

/*
 * It is elsewhere than the one was who said that it speaks weft. Either it has moved, and needs a
 * token of its new MAC, or that was somebody else, and nothing is known of it.
 */
static void
look_where(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	bool is_there = !memcmp(e->told_mac, e->neigh->mac, sizeof(e->told_mac));

	if (!is_there && e->is_hearsay)
		e->p.state = PEER_ASKING;
	if (!is_there)
		peers_ask(ps, e, now_ns);
	e->is_hearsay = false;
}

/* The OPEN of a peer whose turn it is; NULL if its users have none. */
static struct pkt *
open_due(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	struct cookie_pair pair;
	struct hello_msg msg = {.type = HELLO_OPEN,
	                        .version = HELLO_VERSION,
	                        .nonce = e->open_nonce,
	                        .token = e->token};
	struct pkt *pkt;

	if (e->p.state == PEER_WEFT && e->neigh->valid)
		look_where(ps, e, now_ns);
	if (!ps->conf.ops->next_open(ps->conf.arg, &e->p, &msg, now_ns))
		return NULL;
	if (!e->nb_refs || e->p.state != PEER_WEFT)
		return NULL;
	if (!e->neigh->valid) { /* lost: they ask again */
		neigh_want(ps->conf.neigh, e->neigh, now_ns);
		return NULL;
	}
	if (msg.nb_qps > peers_entries_max(ps))
		msg.nb_qps = (uint8_t)peers_entries_max(ps);
	pair = peers_pair(e);
	pkt = peers_pkt(ps, &pair, &msg);
	ps->stats.tx_opens += pkt != NULL;
	return pkt;
}

/* All whose time has come take turns. */
static struct peer_entry *
next_opener(struct peers *ps, uint64_t now_ns)
{
	struct wheel_timer *t;
	struct list *link;

	while ((t = wheel_expired(&ps->open_wheel, now_ns)))
		list_add_tail(&ps->opens, &container_of(t, struct peer_entry, open_timer)->opens);
	link = list_pop(&ps->opens);
	return link ? container_of(link, struct peer_entry, opens) : NULL;
}

/* ---- all of it ---- */

/* Some users of one that was started anew fail; the rest in the next turn. */
static void
bury(struct peers *ps, uint64_t now_ns)
{
	struct list *link = list_pop(&ps->deaths);
	struct peer_entry *e;

	if (!link)
		return;
	e = container_of(link, struct peer_entry, deaths);
	ps->conf.ops->restarted(ps->conf.arg, &e->p, now_ns);
	if (!list_is_empty(&e->p.dead) && !list_is_linked(&e->deaths))
		list_add_tail(&ps->deaths, &e->deaths);
}

uint32_t
peers_tx(struct peers *ps, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct wheel_timer *t;
	struct peer_entry *e;
	uint32_t n = 0;

	bury(ps, now_ns);
	while (n < max && ps->out.head)
		pkts[n++] = pkt_queue_pop(&ps->out);
	for (uint32_t i = 0; i < LOOKS_MAX && n < max; i++) {
		t = wheel_expired(&ps->ask_wheel, now_ns);
		if (!t)
			break;
		pkts[n] = peers_ask_due(ps, container_of(t, struct peer_entry, ask_timer), now_ns);
		n += pkts[n] != NULL;
	}
	for (uint32_t i = 0; i < LOOKS_MAX && n < max && (e = next_opener(ps, now_ns)); i++) {
		pkts[n] = open_due(ps, e, now_ns);
		n += pkts[n] != NULL;
	}
	return n;
}

uint64_t
peers_next_ns(const struct peers *ps)
{
	uint64_t ask_ns = wheel_next_ns(&ps->ask_wheel), open_ns = wheel_next_ns(&ps->open_wheel);

	if (ps->out.head || !list_is_empty(&ps->opens) || !list_is_empty(&ps->deaths))
		return 0;
	return ask_ns < open_ns ? ask_ns : open_ns;
}
