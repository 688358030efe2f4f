/* SPDX-License-Identifier: BSD-3-Clause */
#include "neigh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "neigh_map.h"
#include "neigh_msg.h"

#define VLAN_ID_MASK 0xfff
/* A tick of 1 ms: asking has time. */
#define TICK_SHIFT 20
/* Without a packet for a question, try again after this. */
#define RETRY_NS UINT64_C(1000000)

/* The group of all IPv6 nodes: RFC 2464, section 7, of ff02::1. */
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, [5] = 1};

struct neigh_table {
	const struct neigh_self *self;
	struct pkt_pool *pool;
	struct neigh_stats stats;
	struct wheel wheel;
	struct neigh_map map;
	struct list due;
	struct pkt_queue answers;
	uint64_t answers_since_ns; /* begin of the interval that nb_answers counts */
	uint32_t nb_answers;
};

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

static bool
is_same_ip(const struct ip_addr *a, const struct ip_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static bool
is_own_ip(const struct neigh_table *t, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < t->self->nb_ips; i++)
		if (is_same_ip(&t->self->ips[i], ip))
			return true;
	return false;
}

/* Generations go on when an entry changes hands: whoever kept an old one sees it. */
static void
entry_reset(struct neigh_table *t, struct neigh_entry *e)
{
	e->n = (struct neigh){.ip = e->n.ip, .generation = e->n.generation + 1};
	e->is_own = is_own_ip(t, &e->n.ip);
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

/* The wheel would be up to a tick late for what can go now. */
static void
entry_ask_at(struct neigh_table *t, struct neigh_entry *e, uint64_t due_ns, uint64_t now_ns)
{
	list_del(&e->due);
	wheel_cancel(&t->wheel, &e->timer);
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
neigh_get(struct neigh_table *t, const struct ip_addr *ip, uint64_t now_ns)
{
	struct neigh_entry *e = neigh_map_find(&t->map, ip);

	if (!e) {
		e = neigh_map_add(&t->map, ip);
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
	list_del(&e->due);
	wheel_cancel(&t->wheel, &e->timer);
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

/* Somebody says that an address of the table is at mac. */
static void
entry_learn(struct neigh_table *t, struct neigh_entry *e, const struct neigh_msg *msg,
            uint64_t now_ns)
{
	struct neigh *n = &e->n;
	bool is_change = n->valid && memcmp(n->mac, msg->mac, 6) != 0;

	if (is_change && msg->is_weak)
		return;
	t->stats.rx_answers++;
	t->stats.mac_changes += is_change;
	if (is_change || !n->valid)
		n->generation++;
	memcpy(n->mac, msg->mac, 6);
	n->valid = true;
	n->confirmed_ns = now_ns;
	n->nb_asked = 0;
	if (n->nb_refs > 0)
		entry_ask_at(t, e, now_ns + NEIGH_REFRESH_NS, now_ns);
}

static struct pkt *
build(struct neigh_table *t, struct neigh_msg *msg)
{
	struct pkt *p;

	if (t->pool->alloc(t->pool, &p, 1) == 0)
		return NULL;
	memcpy(msg->mac, t->self->mac, 6);
	memcpy(msg->eth_src, t->self->mac, 6);
	msg->has_vlan = t->self->has_vlan;
	msg->vlan_tci = t->self->vlan_tci;
	p->len = neigh_msg_build(p->data, msg);
	return p;
}

/* At most so many answers in an interval: a flood of questions gets no flood of answers. */
static void
answer(struct neigh_table *t, struct neigh_msg *msg, uint64_t now_ns)
{
	struct pkt *p = NULL;

	if (now_ns - t->answers_since_ns >= NEIGH_ANSWER_NS) {
		t->answers_since_ns = now_ns;
		t->nb_answers = 0;
	}
	if (t->nb_answers < NEIGH_ANSWERS_MAX && t->answers.nb_pkts < NEIGH_ANSWERS_MAX)
		p = build(t, msg);
	if (!p) {
		t->stats.tx_limited++;
		return;
	}
	t->nb_answers++;
	pkt_queue_push(&t->answers, p);
}

/* One who has no address yet hears the answer as a member of all nodes, or by its MAC. */
static void
answer_question(struct neigh_table *t, const struct neigh_msg *question, uint64_t now_ns)
{
	bool is_probe = ip_addr_is_unspecified(&question->sender);
	struct neigh_msg msg = {
		.sender = question->target,
		.target = question->sender,
		.is_solicited = !is_probe,
	};

	t->stats.rx_questions++;
	if (is_probe && !ip_addr_is_ipv4(&question->target))
		memcpy(msg.eth_dst, all_nodes_mac, 6);
	else
		memcpy(msg.eth_dst, question->has_mac ? question->mac : question->eth_src, 6);
	answer(t, &msg, now_ns);
}

void
neigh_announce(struct neigh_table *t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->self->nb_ips; i++) {
		const struct ip_addr *ip = &t->self->ips[i];
		struct neigh_msg msg = {
			.is_question = ip_addr_is_ipv4(ip), .sender = *ip, .target = *ip};

		if (msg.is_question)
			neigh_msg_group(msg.eth_dst, ip);
		else
			memcpy(msg.eth_dst, all_nodes_mac, 6);
		answer(t, &msg, now_ns);
	}
}

/* Ours, and not an echo of ours; untagged is VLAN 0. */
static bool
is_for_us(const struct neigh_table *t, const struct neigh_msg *msg)
{
	uint16_t vlan_id = t->self->has_vlan ? t->self->vlan_tci & VLAN_ID_MASK : 0;

	if ((msg->vlan_tci & VLAN_ID_MASK) != vlan_id)
		return false;
	if (memcmp(msg->eth_src, t->self->mac, 6) == 0)
		return false;
	return msg->eth_dst[0] & 1 || memcmp(msg->eth_dst, t->self->mac, 6) == 0;
}

void
neigh_rx(struct neigh_table *t, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	struct neigh_msg msg;
	struct neigh_entry *e;

	if (!neigh_msg_parse(frame, len, &msg)) {
		t->stats.rx_bad++;
		return;
	}
	if (!is_for_us(t, &msg))
		return;
	if (is_own_ip(t, &msg.sender)) {
		t->stats.rx_conflicts++;
	} else if (msg.has_mac) {
		e = neigh_map_find(&t->map, &msg.sender);
		if (e && !e->is_own)
			entry_learn(t, e, &msg, now_ns);
	}
	if (msg.is_question && is_own_ip(t, &msg.target))
		answer_question(t, &msg, now_ns);
}

static uint32_t
nb_common_bits(const struct ip_addr *a, const struct ip_addr *b)
{
	for (uint32_t i = 0; i < sizeof(a->b); i++)
		if (a->b[i] != b->b[i])
			return i * 8 + (uint32_t)__builtin_clz((uint32_t)(a->b[i] ^ b->b[i]) << 24);
	return 128;
}

/* The own address that is nearest to the target; unspecified if there is none of its family. */
static struct ip_addr
source_for(const struct neigh_table *t, const struct ip_addr *target)
{
	bool is_ipv4 = ip_addr_is_ipv4(target);
	struct ip_addr best = {.b = {[10] = is_ipv4 ? 0xff : 0, [11] = is_ipv4 ? 0xff : 0}};
	uint32_t best_bits = 0;

	for (uint32_t i = 0; i < t->self->nb_ips; i++) {
		const struct ip_addr *ip = &t->self->ips[i];
		uint32_t bits = nb_common_bits(ip, target);

		if (ip_addr_is_ipv4(ip) == is_ipv4 && bits >= best_bits) {
			best = *ip;
			best_bits = bits;
		}
	}
	return best;
}

/* A known neighbour is asked where it was at first, then everywhere. */
static struct pkt *
entry_ask(struct neigh_table *t, struct neigh_entry *e, uint64_t now_ns)
{
	struct neigh *n = &e->n;
	struct neigh_msg msg = {
		.is_question = true,
		.sender = source_for(t, &n->ip),
		.target = n->ip,
	};
	struct pkt *p;

	if (n->valid && n->nb_asked < NEIGH_REFRESH_UNICAST)
		memcpy(msg.eth_dst, n->mac, 6);
	else
		neigh_msg_group(msg.eth_dst, &n->ip);
	p = build(t, &msg);
	if (!p) {
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
	if (n->valid && n->nb_asked >= NEIGH_REFRESH_ASKS) {
		n->valid = false;
		n->generation++;
		t->stats.lost++;
	}
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
	uint32_t n = 0;

	while (n < max && t->answers.head) {
		pkts[n++] = pkt_queue_pop(&t->answers);
		t->stats.tx_answers++;
	}
	while (n < max) {
		struct neigh_entry *e = entry_next_due(t, now_ns);

		if (!e)
			break;
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
