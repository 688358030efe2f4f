/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "peers_impl.h"

/* Which peers there are, and what is known of each. */

/* A tick of 131 us: the second HELLO comes after 2 ms. */
#define TICK_SHIFT 17

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

uint64_t
peers_draw(struct peers *ps)
{
	return ps->conf.random(ps->conf.arg);
}

void
peers_wake(struct peers *ps, uint64_t now_ns)
{
	uint64_t a, b;

	if (ps->boot_id)
		return;
	a = peers_draw(ps);
	b = peers_draw(ps);
	peer_map_set_key(&ps->map, a, b);
	cookie_init(&ps->jar, &ps->random, now_ns);
	do
		ps->boot_id = peers_draw(ps);
	while (!ps->boot_id);
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

/* ---- which there are ---- */

struct cookie_pair
peers_pair(const struct peer_entry *e)
{
	struct cookie_pair pair = {.peer = e->p.ip, .own = e->p.own_ip, .vlan = e->p.vlan};

	assert(e->neigh->valid);
	memcpy(pair.mac, e->neigh->mac, sizeof(pair.mac));
	return pair;
}

static void
rest(struct peers *ps, struct peer_entry *e)
{
	peers_stop_asking(ps, e);
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

/* ---- who one is ---- */

/*
 * What one that is started anew had open is gone. Told only then: whoever has a cookie may say as
 * often as he likes that he was started anew.
 */
static void
note_boot(struct peers *ps, struct peer_entry *e, uint64_t boot_id, uint64_t now_ns)
{
	char ip[IP_ADDR_TEXT];

	e->old_boot_id = e->boot_id;
	e->old_end_ns = now_ns + PEERS_LATE_NS;
	ps->stats.restarted++;
	if (list_is_empty(&e->p.open))
		return;
	event_tell(EVENT_NEIGH, ps->conf.self->name, "peer %s was started anew (boot id %016llx)",
	           ip_addr_text(&e->p.ip, ip), (unsigned long long)boot_id);
	list_splice_tail(&e->p.dead, &e->p.open);
	if (!list_is_linked(&e->deaths))
		list_add_tail(&ps->deaths, &e->deaths);
}

void
peers_decide(struct peers *ps, struct peer_entry *e, enum peer_state state, uint64_t now_ns)
{
	peers_stop_asking(ps, e);
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
		peers_decide(ps, e, PEER_PLAIN, now_ns);
		return;
	}
	if (e->p.state == PEER_WEFT && e->boot_id != who->boot_id)
		note_boot(ps, e, who->boot_id, now_ns);
	e->boot_id = who->boot_id;
	e->token = who->token;
	memcpy(e->p.engine, who->engine, sizeof(e->p.engine));
	if (!e->open_nonce)
		e->open_nonce = peers_draw(ps);
	peers_decide(ps, e, PEER_WEFT, now_ns);
}
