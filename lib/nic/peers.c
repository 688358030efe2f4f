/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "peers_impl.h"

/* Which peers there are, and when each is asked who it is. */

/* A tick of 131 us: the second HELLO comes after 2 ms. */
#define TICK_SHIFT 17
/* While the next hop's MAC is not known, look again after this, later and later. */
#define RETRY_NS UINT64_C(1000000)
#define RETRY_SLOW_NS UINT64_C(50000000)
/* Peers that one peers_tx looks at without a frame to send for them. */
#define LOOKS_MAX 64
#define TTL 64

const uint64_t peers_try_ns[PEERS_TRIES] = {0, 2000000, 8000000, 32000000, 128000000};

const struct stat_desc peers_stat_descs[] = {
	{"hello_rx", offsetof(struct peers_stats, rx_msgs)},
	{"hello_rx_bad", offsetof(struct peers_stats, rx_bad)},
	{"hello_rx_forged", offsetof(struct peers_stats, rx_forged)},
	{"hello_rx_unheard", offsetof(struct peers_stats, rx_unheard)},
	{"hello_rx_stale", offsetof(struct peers_stats, rx_stale)},
	{"hello_tx_questions", offsetof(struct peers_stats, tx_hellos)},
	{"hello_tx_opens", offsetof(struct peers_stats, tx_opens)},
	{"hello_tx_answers", offsetof(struct peers_stats, tx_answers)},
	{"hello_tx_limited", offsetof(struct peers_stats, tx_limited)},
	{"peers_weft", offsetof(struct peers_stats, weft)},
	{"peers_plain", offsetof(struct peers_stats, plain)},
	{"peers_restarted", offsetof(struct peers_stats, restarted)},
	{NULL},
};

struct peers *
peers_create(const struct peers_conf *conf)
{
	struct peers *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	assert(conf->pool->room_bytes >= PEERS_ROOM_MIN);
	ps->conf = *conf;
	ps->random = (struct cookie_random){conf->random, conf->arg};
	peer_map_init(&ps->map, PEERS_MAX);
	wheel_init(&ps->ask_wheel, 0, TICK_SHIFT);
	wheel_init(&ps->open_wheel, 0, TICK_SHIFT);
	list_init(&ps->opens);
	list_init(&ps->deaths);
	return ps;
}

void
peers_destroy(struct peers *ps)
{
	struct pkt *p;

	if (!ps)
		return;
	while ((p = pkt_queue_pop(&ps->out)))
		pkt_free(&p, 1);
	peer_map_fini(&ps->map);
	free(ps);
}

static uint64_t
draw(struct peers *ps)
{
	return ps->conf.random(ps->conf.arg);
}

void
peers_wake(struct peers *ps, uint64_t now_ns)
{
	uint64_t a, b;

	if (ps->boot_id)
		return;
	a = draw(ps);
	b = draw(ps);
	peer_map_set_key(&ps->map, a, b);
	cookie_init(&ps->jar, &ps->random, now_ns);
	do
		ps->boot_id = draw(ps);
	while (!ps->boot_id);
}

/* ---- messages ---- */

struct cookie_pair
peers_pair(const struct peer *p)
{
	return (struct cookie_pair){.peer = p->ip, .own = p->own_ip, .vlan = p->vlan};
}

struct pkt *
peers_pkt(struct peers *ps, const struct cookie_pair *pair, const uint8_t dmac[6],
          const struct hello_msg *msg)
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
	memcpy(addr.dmac, dmac, 6);
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

static struct pkt *
hello_of(struct peers *ps, const struct peer_entry *e)
{
	struct cookie_pair pair = peers_pair(&e->p);
	struct hello_msg msg = {.type = HELLO_ASK, .version = HELLO_VERSION, .nonce = e->ask.nonce};

	if (!ps->conf.offer(ps->conf.arg, &e->p.ip, &msg.who))
		return NULL;
	msg.who.boot_id = ps->boot_id;
	msg.who.version_min = HELLO_VERSION;
	if (e->ask.has_cookie) {
		memcpy(msg.cookie, e->ask.cookie, sizeof(msg.cookie));
		msg.who.token = cookie_token(&ps->jar, &pair);
	}
	return peers_pkt(ps, &pair, e->neigh->mac, &msg);
}

/* ---- which there are ---- */

static void
stop_asking(struct peers *ps, struct peer_entry *e)
{
	e->ask.is_on = false;
	wheel_cancel(&ps->ask_wheel, &e->ask_timer);
}

static void
rest(struct peers *ps, struct peer_entry *e)
{
	stop_asking(ps, e);
	wheel_cancel(&ps->open_wheel, &e->open_timer);
	list_del(&e->opens);
	list_del(&e->deaths);
}

/* Its place goes to another one; nobody holds it. */
static void
forget(void *arg, struct peer_entry *e)
{
	rest(arg, e);
}

struct peer_entry *
peers_meet(struct peers *ps, const struct cookie_pair *pair)
{
	struct peer_entry *e = peer_map_find(&ps->map, &pair->peer, &pair->own, pair->vlan);

	if (!e)
		e = peer_map_add(&ps->map, &pair->peer, &pair->own, pair->vlan, forget, ps);
	if (e)
		peer_map_touch(&ps->map, e);
	return e;
}

struct peer *
peers_get(struct peers *ps, const struct ip_addr *own_ip, const struct ip_addr *ip, uint16_t vlan,
          uint64_t now_ns)
{
	struct cookie_pair pair = {.peer = *ip, .own = *own_ip, .vlan = vlan};
	struct peer_entry *e;

	peers_wake(ps, now_ns);
	e = peers_meet(ps, &pair);
	if (!e)
		return NULL;
	if (!e->neigh)
		e->neigh = neigh_get(ps->conf.neigh, ip, vlan, now_ns);
	if (!e->neigh)
		return NULL;
	peer_map_ref(e);
	if (e->p.state == PEER_PLAIN && now_ns >= e->plain_end_ns)
		e->p.state = PEER_ASKING;
	if (e->p.state == PEER_ASKING)
		peers_ask(ps, e, now_ns);
	return &e->p;
}

void
peers_put(struct peers *ps, struct peer *p, uint64_t now_ns)
{
	struct peer_entry *e = peer_entry_of(p);

	(void)now_ns;
	peer_map_unref(&ps->map, e);
	if (e->nb_refs)
		return;
	assert(list_is_empty(&p->asking) && list_is_empty(&p->open) && list_is_empty(&p->dead));
	rest(ps, e);
	neigh_put(ps->conf.neigh, e->neigh);
	e->neigh = NULL;
}

/*
 * What one that is started anew had open is gone. Told only then: whoever has a cookie may say as
 * often as he likes that he was started anew.
 */
static void
note_boot(struct peers *ps, struct peer_entry *e, uint64_t boot_id)
{
	char ip[IP_ADDR_TEXT];

	e->old_boot_id = e->boot_id;
	ps->stats.restarted++;
	if (list_is_empty(&e->p.open))
		return;
	event_tell(EVENT_NEIGH, ps->conf.self->name, "peer %s was started anew (boot id %016llx)",
	           ip_addr_text(&e->p.ip, ip), (unsigned long long)boot_id);
	list_splice_tail(&e->p.dead, &e->p.open);
	if (!list_is_linked(&e->deaths))
		list_add_tail(&ps->deaths, &e->deaths);
}

static void
decide(struct peers *ps, struct peer_entry *e, enum peer_state state, uint64_t now_ns)
{
	stop_asking(ps, e);
	if (e->p.state == state)
		return;
	e->p.state = (uint8_t)state;
	e->p.since_ns = now_ns;
	e->plain_end_ns = now_ns + PEERS_PLAIN_NS;
	*(state == PEER_WEFT ? &ps->stats.weft : &ps->stats.plain) += 1;
	if (e->nb_refs)
		ps->conf.ops->decided(ps->conf.arg, &e->p, now_ns);
}

void
peers_learn(struct peers *ps, struct peer_entry *e, const struct hello_msg *msg, uint64_t now_ns)
{
	const struct hello_who *who = &msg->who;

	if (who->version_min > HELLO_VERSION) { /* it knows so, too */
		decide(ps, e, PEER_PLAIN, now_ns);
		return;
	}
	if (e->p.state == PEER_WEFT && e->boot_id != who->boot_id) {
		if (who->boot_id == e->old_boot_id) {
			ps->stats.rx_forged++; /* a late word of the one before */
			return;
		}
		note_boot(ps, e, who->boot_id);
	}
	e->boot_id = who->boot_id;
	e->token = who->token;
	memcpy(e->p.engine, who->engine, sizeof(e->p.engine));
	if (!e->open_nonce)
		e->open_nonce = draw(ps);
	decide(ps, e, PEER_WEFT, now_ns);
}

/* ---- asking ---- */

void
peers_ask(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	if (e->ask.is_on)
		return;
	e->ask = (struct peer_ask){.nonce = draw(ps), .begun_ns = now_ns, .is_on = true};
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
}

void
peers_ask_again(struct peers *ps, struct peer_entry *e, const uint8_t cookie[HELLO_COOKIE_LEN],
                uint64_t now_ns)
{
	bool is_same = e->ask.has_cookie && !memcmp(e->ask.cookie, cookie, HELLO_COOKIE_LEN);

	/* Another HELLO was answered late: the present round goes on. */
	if (is_same || e->ask.nb_rounds >= PEERS_ROUNDS)
		return;
	memcpy(e->ask.cookie, cookie, HELLO_COOKIE_LEN);
	e->ask.has_cookie = true;
	e->ask.nb_rounds++;
	e->ask.nb_sent = 0;
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
}

void
peers_link_up(struct peers *ps, uint64_t now_ns)
{
	for (uint32_t i = 0; i < ps->map.nb_peers; i++) {
		struct peer_entry *e = &ps->map.entries[i];

		if (!e->ask.is_on)
			continue;
		e->ask.nb_sent = 0;
		e->ask.begun_ns = now_ns;
		wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns);
	}
}

/* When the next HELLO is due, or silence has lasted long enough. */
static uint64_t
next_try_ns(const struct peer_ask *ask)
{
	if (ask->nb_sent < PEERS_TRIES)
		return ask->begun_ns + peers_try_ns[ask->nb_sent];
	if (!ask->has_cookie)
		return ask->begun_ns + PEERS_SILENCE_NS;
	return ask->begun_ns + peers_try_ns[PEERS_TRIES - 1] +
	       (ask->nb_sent - PEERS_TRIES + 1u) * PEERS_SLOW_NS;
}

/* The time of a round counts from its first HELLO, and that needs a MAC. */
static void
wait_for_neigh(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	uint64_t wait_ns = (now_ns - e->ask.begun_ns) / 4;

	wait_ns = wait_ns < RETRY_NS ? RETRY_NS : wait_ns;
	wait_ns = wait_ns > RETRY_SLOW_NS ? RETRY_SLOW_NS : wait_ns;
	neigh_want(ps->conf.neigh, e->neigh, now_ns);
	wheel_arm(&ps->ask_wheel, &e->ask_timer, now_ns + wait_ns);
}

/* Nobody answers. One that is asked again after a STALE stays what it was: that alone says nothing.
 */
static void
give_up(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	if (e->p.state == PEER_WEFT)
		stop_asking(ps, e);
	else
		decide(ps, e, PEER_PLAIN, now_ns);
}

/* Its timer came up: the HELLO to send, if any. */
static struct pkt *
ask_due(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	struct peer_ask *ask = &e->ask;
	struct pkt *pkt;

	assert(ask->is_on && e->nb_refs);
	if (ask->nb_sent >= PEERS_TRIES && !ask->has_cookie) {
		give_up(ps, e, now_ns);
		return NULL;
	}
	if (!e->neigh->valid) {
		wait_for_neigh(ps, e, now_ns);
		return NULL;
	}
	if (ask->nb_sent == 0)
		ask->begun_ns = now_ns;
	pkt = hello_of(ps, e);
	ps->stats.tx_hellos += pkt != NULL;
	if (ask->nb_sent < UINT8_MAX)
		ask->nb_sent++;
	wheel_arm(&ps->ask_wheel, &e->ask_timer, next_try_ns(ask));
	return pkt;
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

/* The OPEN of a peer whose turn it is; NULL if its users have none. */
static struct pkt *
open_due(struct peers *ps, struct peer_entry *e, uint64_t now_ns)
{
	struct cookie_pair pair = peers_pair(&e->p);
	struct hello_msg msg = {.type = HELLO_OPEN,
	                        .version = HELLO_VERSION,
	                        .nonce = e->open_nonce,
	                        .token = e->token};
	struct pkt *pkt;

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
	pkt = peers_pkt(ps, &pair, e->neigh->mac, &msg);
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
		pkts[n] = ask_due(ps, container_of(t, struct peer_entry, ask_timer), now_ns);
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

uint32_t
peers_nb(const struct peers *ps)
{
	return ps->map.nb_peers;
}

const struct peers_stats *
peers_stats(const struct peers *ps)
{
	return &ps->stats;
}
