/* SPDX-License-Identifier: BSD-3-Clause */
#include "neigh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "neigh_table.h"

/* Which neighbours there are, and when each is asked for. */

/* A tick of 1 ms: asking has time. */
#define TICK_SHIFT 20
/* Without a packet for a question, try again after this. */
#define RETRY_NS UINT64_C(1000000)

const struct stat_desc neigh_stat_descs[] = {
	{"neigh_rx_questions", offsetof(struct neigh_stats, rx_questions)},
	{"neigh_rx_answers", offsetof(struct neigh_stats, rx_answers)},
	{"neigh_rx_bad", offsetof(struct neigh_stats, rx_bad)},
	{"neigh_rx_conflicts", offsetof(struct neigh_stats, rx_conflicts)},
	{"neigh_tx_questions", offsetof(struct neigh_stats, tx_questions)},
	{"neigh_tx_answers", offsetof(struct neigh_stats, tx_answers)},
	{"neigh_tx_limited", offsetof(struct neigh_stats, tx_limited)},
	{"neigh_mac_changes", offsetof(struct neigh_stats, mac_changes)},
	{"neigh_lost", offsetof(struct neigh_stats, lost)},
	{NULL},
};

struct neigh_table *
neigh_create(const struct neigh_self *self, struct pkt_pool *pool, uint32_t max_neighs)
{
	struct neigh_table *t = calloc(1, sizeof(*t));

	assert(max_neighs >= 1 && max_neighs <= 1u << 20);
	assert(pool->room_bytes >= NEIGH_MSG_MAX);
	if (!t)
		return NULL;
	if (!neigh_map_init(&t->map, max_neighs)) {
		free(t);
		return NULL;
	}
	t->self = self;
	t->pool = pool;
	wheel_init(&t->wheel, 0, TICK_SHIFT);
	list_init(&t->due);
	return t;
}

void
neigh_destroy(struct neigh_table *t)
{
	struct pkt *p;

	if (!t)
		return;
	while ((p = pkt_queue_pop(&t->answers)))
		pkt_free(&p, 1);
	neigh_map_fini(&t->map);
	free(t);
}

/* Generations go on when an entry changes hands: whoever kept an old one sees it. */
static void
entry_reset(struct neigh_table *t, struct neigh_entry *e)
{
	e->n = (struct neigh){.ip = e->n.ip,
	                      .vlan = e->n.vlan,
	                      .generation = e->n.generation + 1,
	                      .nb_refs = e->n.nb_refs};
	e->is_own = gid_find(t->self->gids, &e->n.ip, e->n.vlan) != NULL;
	e->wanted_ns = 0;
	if (e->is_own) {
		e->n.valid = true;
		memcpy(e->n.mac, t->self->mac, 6);
	}
}

static uint64_t
ask_interval_ns(const struct neigh *n)
{
	if (n->nb_asked == 0)
		return 0;
	return !n->valid && n->nb_asked <= NEIGH_ASK_FAST ? NEIGH_ASK_NS : NEIGH_ASK_SLOW_NS;
}

/* Not asked for, until somebody says when. */
static void
entry_rest(struct neigh_table *t, struct neigh_entry *e)
{
	list_del(&e->due);
	wheel_cancel(&t->wheel, &e->timer);
}

/* The wheel would be up to a tick late for what can go now. */
static void
entry_ask_at(struct neigh_table *t, struct neigh_entry *e, uint64_t due_ns, uint64_t now_ns)
{
	entry_rest(t, e);
	if (due_ns <= now_ns)
		list_add_tail(&t->due, &e->due);
	else
		wheel_arm(&t->wheel, &e->timer, due_ns);
}

static void
entry_use(struct neigh_table *t, struct neigh_entry *e, uint64_t now_ns)
{
	list_del(&e->idle);
	if (e->is_own)
		return;
	/* Nobody kept it fresh while it was idle. */
	if (e->n.valid && now_ns - e->n.confirmed_ns >= NEIGH_REFRESH_NS)
		entry_reset(t, e);
	if (e->n.valid)
		entry_ask_at(t, e, e->n.confirmed_ns + NEIGH_REFRESH_NS, now_ns);
}

struct neigh *
neigh_get(struct neigh_table *t, const struct ip_addr *ip, uint16_t vlan, uint64_t now_ns)
{
	struct neigh_entry *e = neigh_map_find(&t->map, ip, vlan);

	if (!e) {
		e = neigh_map_add(&t->map, ip, vlan);
		if (!e)
			return NULL;
		entry_reset(t, e);
	}
	if (e->n.nb_refs == 0)
		entry_use(t, e, now_ns);
	e->n.nb_refs++;
	neigh_want(t, &e->n, now_ns);
	return &e->n;
}

void
neigh_put(struct neigh_table *t, struct neigh *n)
{
	struct neigh_entry *e = container_of(n, struct neigh_entry, n);

	assert(n->nb_refs > 0);
	if (--n->nb_refs > 0)
		return;
	entry_rest(t, e);
	list_add_tail(&t->map.idle, &e->idle);
}

void
neigh_want(struct neigh_table *t, struct neigh *n, uint64_t now_ns)
{
	struct neigh_entry *e = container_of(n, struct neigh_entry, n);

	assert(n->nb_refs > 0);
	if (n->valid)
		return;
	e->wanted_ns = now_ns;
	if (!wheel_is_armed(&e->timer) && !list_is_linked(&e->due))
		entry_ask_at(t, e, n->asked_ns + ask_interval_ns(n), now_ns);
}

bool
neigh_entry_learn(struct neigh_table *t, struct neigh_entry *e, const uint8_t mac[6], bool is_weak,
                  uint64_t now_ns)
{
	struct neigh *n = &e->n;
	bool is_change = n->valid && memcmp(n->mac, mac, 6) != 0;

	if (is_change && is_weak)
		return false;
	t->stats.mac_changes += is_change;
	if (is_change || !n->valid)
		n->generation++;
	memcpy(n->mac, mac, 6);
	n->valid = true;
	n->confirmed_ns = now_ns;
	n->nb_asked = 0;
	if (n->nb_refs > 0)
		entry_ask_at(t, e, now_ns + NEIGH_REFRESH_NS, now_ns);
	return true;
}

static void
tell_lost(const struct neigh_table *t, const struct neigh *n)
{
	char ip[IP_ADDR_TEXT];

	event_tell(EVENT_NEIGH, t->self->name, "neighbour %s answers no more",
	           ip_addr_text(&n->ip, ip));
}

static void
entry_lose(struct neigh_table *t, struct neigh_entry *e)
{
	e->n.valid = false;
	e->n.generation++;
	t->stats.lost++;
	tell_lost(t, &e->n);
}

void
neigh_set(struct neigh_table *t, const struct ip_addr *ip, uint16_t vlan, const uint8_t *mac,
          uint64_t now_ns)
{
	struct neigh_entry *e = neigh_map_find(&t->map, ip, vlan);

	if (!e || e->is_own)
		return;
	t->stats.rx_answers++;
	if (mac) {
		neigh_entry_learn(t, e, mac, false, now_ns);
	} else if (e->n.valid) {
		/* The timer is that of a refresh: who wants it asks anew. */
		entry_rest(t, e);
		entry_lose(t, e);
	}
}

/* An own address neither asks nor is asked for; one that was ours is a stranger's from now on. */
static void
entry_judge(struct neigh_table *t, struct neigh_entry *e)
{
	bool is_own = gid_find(t->self->gids, &e->n.ip, e->n.vlan) != NULL;

	if (is_own || e->is_own) {
		entry_rest(t, e);
		entry_reset(t, e);
	} else {
		e->n.generation++;
	}
}

void
neigh_self_changed(struct neigh_table *t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->map.nb_entries; i++)
		entry_judge(t, &t->map.entries[i]);
	neigh_announce(t, now_ns);
}

void
neigh_link_up(struct neigh_table *t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->map.nb_entries; i++) {
		struct neigh_entry *e = &t->map.entries[i];

		if (e->n.valid || !wheel_is_armed(&e->timer))
			continue;
		e->n.nb_asked = 0;
		entry_ask_at(t, e, now_ns, now_ns);
	}
}

/*
 * Ask for a neighbour: a resolver, or by a frame where it is known to be at first, then everywhere.
 * Returns the frame if there is one to send.
 */
static struct pkt *
entry_ask(struct neigh_table *t, struct neigh_entry *e, uint64_t now_ns)
{
	const struct neigh_resolver *resolver = t->self->resolver;
	struct neigh *n = &e->n;
	struct pkt *p = NULL;
	bool asked;

	if (resolver) {
		asked = resolver->ask(resolver->arg, &n->ip, n->vlan);
	} else {
		p = neigh_link_question(t, n, !n->valid || n->nb_asked >= NEIGH_REFRESH_UNICAST);
		asked = p != NULL;
	}
	if (!asked) {
		t->stats.tx_limited++;
		entry_ask_at(t, e, now_ns + RETRY_NS, now_ns);
		return NULL;
	}
	t->stats.tx_questions++;
	n->asked_ns = now_ns;
	if (n->nb_asked < UINT8_MAX)
		n->nb_asked++;
	entry_ask_at(t, e, now_ns + ask_interval_ns(n), now_ns);
	return p;
}

/* A timer came up: the question to send, NULL if there is none any more. */
static struct pkt *
entry_due(struct neigh_table *t, struct neigh_entry *e, uint64_t now_ns)
{
	struct neigh *n = &e->n;

	assert(n->nb_refs > 0);
	if (n->valid && n->nb_asked >= NEIGH_REFRESH_ASKS && !t->self->resolver)
		entry_lose(t, e);
	if (!n->valid && now_ns - e->wanted_ns >= NEIGH_WANTED_NS)
		return NULL;
	return entry_ask(t, e, now_ns);
}

static struct neigh_entry *
entry_next_due(struct neigh_table *t, uint64_t now_ns)
{
	struct list *link = list_pop(&t->due);
	struct wheel_timer *timer;

	if (link)
		return container_of(link, struct neigh_entry, due);
	timer = wheel_expired(&t->wheel, now_ns);
	return timer ? container_of(timer, struct neigh_entry, timer) : NULL;
}

uint32_t
neigh_tx(struct neigh_table *t, struct pkt **pkts, uint32_t max, uint64_t now_ns)
{
	struct neigh_entry *e;
	uint32_t n = 0;

	while (n < max && t->answers.head) {
		pkts[n++] = pkt_queue_pop(&t->answers);
		t->stats.tx_answers++;
	}
	/* A resolver's questions are no frames, but as many at a time. */
	for (uint32_t nb = n; nb < max && (e = entry_next_due(t, now_ns)); nb++) {
		pkts[n] = entry_due(t, e, now_ns);
		n += pkts[n] != NULL;
	}
	return n;
}

uint64_t
neigh_next_ns(const struct neigh_table *t)
{
	if (t->answers.head || !list_is_empty(&t->due))
		return 0;
	return wheel_next_ns(&t->wheel);
}

const struct neigh_stats *
neigh_stats(const struct neigh_table *t)
{
	return &t->stats;
}
