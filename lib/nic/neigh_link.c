/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "neigh_table.h"

/* What a table says and hears on the link itself: ARP and ND. */

/* The group of all IPv6 nodes: RFC 2464, section 7, of ff02::1. */
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, [5] = 1};

static struct pkt *
build(struct neigh_table *t, struct neigh_msg *msg, uint16_t vlan)
{
	struct pkt *p;

	if (t->pool->alloc(t->pool, &p, 1) == 0)
		return NULL;
	memcpy(msg->mac, t->self->mac, 6);
	memcpy(msg->eth_src, t->self->mac, 6);
	msg->has_vlan = vlan != 0;
	msg->vlan_tci = vlan;
	p->len = neigh_msg_build(p->data, msg);
	return p;
}

/* ---- questions ---- */

static uint32_t
nb_common_bits(const struct ip_addr *a, const struct ip_addr *b)
{
	for (uint32_t i = 0; i < sizeof(a->b); i++)
		if (a->b[i] != b->b[i])
			return i * 8 + (uint32_t)__builtin_clz((uint32_t)(a->b[i] ^ b->b[i]) << 24);
	return 128;
}

/*
 * The own address of the VLAN that is nearest to the target; unspecified if there is none of its
 * family.
 */
static struct ip_addr
source_for(const struct neigh_table *t, const struct neigh *n)
{
	const struct gid_table *gids = t->self->gids;
	bool is_ipv4 = ip_addr_is_ipv4(&n->ip);
	struct ip_addr best = {.b = {[10] = is_ipv4 ? 0xff : 0, [11] = is_ipv4 ? 0xff : 0}};
	uint32_t best_bits = 0;

	for (uint32_t i = 0; i < gids->nb_used; i++) {
		const struct gid *gid = &gids->entry[i];
		uint32_t bits = nb_common_bits(&gid->ip, &n->ip);

		if (!gid_is_empty(gid) && gid->vlan == n->vlan &&
		    ip_addr_is_ipv4(&gid->ip) == is_ipv4 && bits >= best_bits) {
			best = gid->ip;
			best_bits = bits;
		}
	}
	return best;
}

struct pkt *
neigh_link_question(struct neigh_table *t, const struct neigh *n, bool everywhere)
{
	struct neigh_msg msg = {
		.is_question = true,
		.sender = source_for(t, n),
		.target = n->ip,
	};

	if (everywhere)
		neigh_msg_group(msg.eth_dst, &n->ip);
	else
		memcpy(msg.eth_dst, n->mac, 6);
	return build(t, &msg, n->vlan);
}

/* ---- answers ---- */

/* At most so many answers in an interval: a flood of questions gets no flood of answers. */
static void
answer(struct neigh_table *t, struct neigh_msg *msg, uint16_t vlan, uint64_t now_ns)
{
	struct pkt *p = NULL;

	if (now_ns - t->answers_since_ns >= NEIGH_ANSWER_NS) {
		t->answers_since_ns = now_ns;
		t->nb_answers = 0;
	}
	if (t->nb_answers < NEIGH_ANSWERS_MAX && t->answers.nb_pkts < NEIGH_ANSWERS_MAX)
		p = build(t, msg, vlan);
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
	answer(t, &msg, vlan_id(question->vlan_tci), now_ns);
}

void
neigh_announce(struct neigh_table *t, uint64_t now_ns)
{
	const struct gid_table *gids = t->self->gids;

	if (t->self->resolver)
		return;
	for (uint32_t i = 0; i < gids->nb_used; i++) {
		const struct gid *gid = &gids->entry[i];
		struct neigh_msg msg = {.is_question = ip_addr_is_ipv4(&gid->ip),
		                        .sender = gid->ip,
		                        .target = gid->ip};

		if (gid_is_empty(gid))
			continue;
		if (msg.is_question)
			neigh_msg_group(msg.eth_dst, &gid->ip);
		else
			memcpy(msg.eth_dst, all_nodes_mac, 6);
		answer(t, &msg, gid->vlan, now_ns);
	}
}

/* ---- frames ---- */

/* Ours, and not an echo of ours. In which VLAN we are what is asked for, each address tells. */
static bool
is_for_us(const struct neigh_table *t, const struct neigh_msg *msg)
{
	if (memcmp(msg->eth_src, t->self->mac, 6) == 0)
		return false;
	return msg->eth_dst[0] & 1 || memcmp(msg->eth_dst, t->self->mac, 6) == 0;
}

void
neigh_rx(struct neigh_table *t, const uint8_t *frame, uint32_t len, uint64_t now_ns)
{
	const struct gid_table *gids = t->self->gids;
	struct neigh_msg msg;
	struct neigh_entry *e;
	uint16_t vlan;

	if (t->self->resolver)
		return;
	if (!neigh_msg_parse(frame, len, &msg)) {
		t->stats.rx_bad++;
		return;
	}
	if (!is_for_us(t, &msg))
		return;
	vlan = vlan_id(msg.vlan_tci);
	if (gid_find(gids, &msg.sender, vlan)) {
		t->stats.rx_conflicts++;
	} else if (msg.has_mac) {
		e = neigh_map_find(&t->map, &msg.sender, vlan);
		if (e && !e->is_own && neigh_entry_learn(t, e, msg.mac, msg.is_weak, now_ns))
			t->stats.rx_answers++;
	}
	if (msg.is_question && gid_find(gids, &msg.target, vlan))
		answer_question(t, &msg, now_ns);
}
