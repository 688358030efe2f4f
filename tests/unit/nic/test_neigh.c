/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "mem.h"
#include "neigh.h"
#include "neigh_msg.h"
#include "wheel.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
/* Of the timers. */
#define TICK (2 * MS)
#define NB_PKTS 256

/* A host on the link: host n has 02::n, 10.77.0.n, fd00::n. */
struct host {
	struct neigh_self self;
	struct ip_addr ips[2];
	struct pkt_pool *pool;
	struct neigh_table *table;
};

static struct ip_addr
ipv4(uint8_t n)
{
	return (struct ip_addr){{[10] = 0xff, 0xff, 10, 77, 0, n}};
}

static struct ip_addr
ipv6(uint8_t n)
{
	return (struct ip_addr){{0xfd, [15] = n}};
}

static void
host_open(struct host *h, uint8_t n, uint32_t max_neighs)
{
	*h = (struct host){
		.self = {.mac = {0x02, 0, 0, 0, 0, n}, .ips = h->ips, .nb_ips = 2},
		.ips = {ipv4(n), ipv6(n)},
		.pool = pkt_pool_mem_create(NB_PKTS, 128),
	};
	h->table = neigh_create(&h->self, h->pool, max_neighs);
	cr_assert_not_null(h->table);
}

static void
host_close(struct host *h)
{
	neigh_destroy(h->table);
	cr_expect_eq(pkt_pool_mem_nb_free(h->pool), NB_PKTS);
	pkt_pool_mem_destroy(h->pool);
}

static struct neigh *
get_ipv4(struct host *h, uint8_t n, uint64_t now_ns)
{
	struct ip_addr ip = ipv4(n);

	return neigh_get(h->table, &ip, now_ns);
}

/* Throw away what a host sends; how many frames. */
static uint32_t
drain(struct host *h, uint64_t now_ns)
{
	struct pkt *pkts[NB_PKTS];
	uint32_t n = neigh_tx(h->table, pkts, NB_PKTS, now_ns);

	pkt_free(pkts, n);
	return n;
}

/* Carry what a host sends to another one; how many frames. */
static uint32_t
carry(struct host *from, struct host *to, uint64_t now_ns)
{
	struct pkt *pkts[NB_PKTS];
	uint32_t n = neigh_tx(from->table, pkts, NB_PKTS, now_ns);

	for (uint32_t i = 0; i < n; i++)
		neigh_rx(to->table, pkts[i]->data, pkts[i]->len, now_ns);
	pkt_free(pkts, n);
	return n;
}

/* The next frame of a host, which must be one. */
static struct neigh_msg
next_msg(struct host *h, uint64_t now_ns)
{
	struct neigh_msg msg = {0};
	struct pkt *p;

	cr_assert_eq(neigh_tx(h->table, &p, 1, now_ns), 1);
	cr_assert(neigh_msg_parse(p->data, p->len, &msg));
	pkt_free(&p, 1);
	return msg;
}

static void
deliver(struct host *h, const struct neigh_msg *msg, uint64_t now_ns)
{
	uint8_t buf[NEIGH_MSG_MAX];

	neigh_rx(h->table, buf, neigh_msg_build(buf, msg), now_ns);
}

static struct neigh_msg
reply_from(uint8_t n, const struct host *to, const uint8_t mac[6])
{
	struct neigh_msg msg = {.sender = ipv4(n), .target = to->ips[0]};

	memcpy(msg.mac, mac, 6);
	memcpy(msg.eth_src, mac, 6);
	memcpy(msg.eth_dst, to->self.mac, 6);
	return msg;
}

Test(neigh, two_hosts_find_each_other_by_arp_and_nd)
{
	struct host a, b;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	for (int i = 0; i < 2; i++) {
		struct neigh *n = neigh_get(a.table, &b.ips[i], 0);

		cr_expect_not(n->valid);
		cr_expect_eq(neigh_next_ns(a.table), 0);
		cr_expect_eq(carry(&a, &b, 0), 1, "a question at once");
		cr_expect_eq(neigh_next_ns(b.table), 0);
		cr_expect_eq(carry(&b, &a, 5), 1);
		cr_expect(n->valid);
		cr_expect_arr_eq(n->mac, b.self.mac, 6);
		cr_expect_eq(n->generation, 2);
		cr_expect_eq(drain(&a, 5), 0);
		neigh_put(a.table, n);
	}
	cr_expect_eq(neigh_next_ns(a.table), WHEEL_NEVER_NS);
	host_close(&a);
	host_close(&b);
}

Test(neigh, they_do_on_a_vlan_too_and_not_across_vlans)
{
	static const struct {
		bool has_vlan[2];
		uint16_t tci[2];
		bool meet;
	} rows[] = {
		{{true, true}, {0x6005, 0x6005}, true}, {{true, true}, {0x6005, 0x2005}, true},
		{{true, true}, {5, 6}, false},          {{true, false}, {5, 0}, false},
		{{true, false}, {0x6000, 0}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int ip = 0; ip < 2; ip++) {
			struct host h[2];
			struct neigh *n;

			for (uint8_t k = 0; k < 2; k++) {
				host_open(&h[k], k + 1, 8);
				h[k].self.has_vlan = rows[i].has_vlan[k];
				h[k].self.vlan_tci = rows[i].tci[k];
			}
			n = neigh_get(h[0].table, &h[1].ips[ip], 0);
			cr_expect_eq(carry(&h[0], &h[1], 0), 1);
			carry(&h[1], &h[0], 0);
			cr_expect_eq(n->valid, rows[i].meet, "row %zu", i);
			host_close(&h[0]);
			host_close(&h[1]);
		}
}

Test(neigh, an_own_address_is_known_at_once_and_never_asked_for)
{
	struct host a;
	struct neigh *n;

	host_open(&a, 1, 8);
	n = neigh_get(a.table, &a.ips[1], 0);
	cr_expect(n->valid);
	cr_expect_arr_eq(n->mac, a.self.mac, 6);
	cr_expect_eq(drain(&a, 0), 0);
	cr_expect_eq(drain(&a, 100 * S), 0);
	host_close(&a);
}

Test(neigh, one_address_has_one_entry_that_stays_while_referenced)
{
	struct host a;
	struct neigh *n, *m;

	host_open(&a, 1, 2);
	n = get_ipv4(&a, 2, 0);
	cr_expect_eq(get_ipv4(&a, 2, 0), n);
	cr_expect_eq(n->nb_refs, 2);
	m = get_ipv4(&a, 3, 0);
	cr_expect_neq(m, n);
	cr_expect_null(get_ipv4(&a, 4, 0), "full");
	neigh_put(a.table, n);
	cr_expect_null(get_ipv4(&a, 4, 0), "still referenced");
	neigh_put(a.table, n);
	cr_expect_eq(get_ipv4(&a, 4, 0), n, "taken over");
	cr_expect_arr_eq(n->ip.b, ipv4(4).b, 16);
	host_close(&a);
}

Test(neigh, the_entry_idle_for_longest_is_taken_over)
{
	struct host a;
	struct neigh *n[3];

	host_open(&a, 1, 3);
	for (uint8_t i = 0; i < 3; i++)
		n[i] = get_ipv4(&a, 2 + i, 0);
	neigh_put(a.table, n[1]);
	neigh_put(a.table, n[0]);
	neigh_put(a.table, n[2]);
	cr_expect_eq(get_ipv4(&a, 9, 0), n[1]);
	cr_expect_eq(get_ipv4(&a, 2, 0), n[0], "kept");
	cr_expect_eq(get_ipv4(&a, 10, 0), n[2]);
	host_close(&a);
}

/* Questions in each 100 ms of the first 5 s after one neigh_get, or with a sender that goes on. */
Test(neigh, asks_fast_at_first_then_slowly_and_stops_when_nobody_wants_it)
{
	for (int keeps_wanting = 0; keeps_wanting < 2; keeps_wanting++) {
		uint32_t nb_first_s = 0, nb_later = 0;
		struct host a;
		struct neigh *n;

		host_open(&a, 1, 8);
		n = get_ipv4(&a, 2, 0);
		for (uint64_t now_ns = 0; now_ns < 20 * S; now_ns += 5 * MS) {
			uint32_t sent = drain(&a, now_ns);

			cr_expect_leq(sent, 1);
			*(now_ns < S ? &nb_first_s : &nb_later) += sent;
			if (keeps_wanting)
				neigh_want(a.table, n, now_ns);
		}
		cr_expect_eq(nb_first_s, 1 + NEIGH_ASK_FAST);
		cr_expect(keeps_wanting ? nb_later >= 18 && nb_later <= 20
		                        : nb_later >= 2 && nb_later <= 3,
		          "%u later", nb_later);
		cr_expect_eq(neigh_next_ns(a.table) == WHEEL_NEVER_NS, !keeps_wanting);
		host_close(&a);
	}
}

Test(neigh, wanting_again_after_a_pause_asks_at_once)
{
	struct host a;
	struct neigh *n;

	host_open(&a, 1, 8);
	n = get_ipv4(&a, 2, 0);
	for (uint64_t now_ns = 0; now_ns < 10 * S; now_ns += 10 * MS)
		drain(&a, now_ns);
	neigh_want(a.table, n, 60 * S);
	cr_expect_eq(neigh_next_ns(a.table), 0);
	cr_expect_eq(drain(&a, 60 * S), 1);
	host_close(&a);
}

Test(neigh, a_known_mac_is_asked_for_again_and_valid_meanwhile)
{
	struct host a, b;
	struct neigh *n;
	struct neigh_msg msg;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	n = neigh_get(a.table, &b.ips[0], 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	cr_expect_eq(drain(&a, NEIGH_REFRESH_NS - 1), 0);
	cr_expect_geq(NEIGH_REFRESH_NS + TICK, neigh_next_ns(a.table));
	msg = next_msg(&a, NEIGH_REFRESH_NS + TICK);
	cr_expect(msg.is_question);
	cr_expect_arr_eq(msg.eth_dst, b.self.mac, 6, "to the MAC itself");
	cr_expect(n->valid);
	deliver(&b, &msg, NEIGH_REFRESH_NS + TICK);
	carry(&b, &a, NEIGH_REFRESH_NS + TICK);
	cr_expect_eq(n->confirmed_ns, NEIGH_REFRESH_NS + TICK);
	cr_expect_eq(n->generation, 2, "nothing changed");
	cr_expect_eq(drain(&a, 2 * NEIGH_REFRESH_NS), 0);
	host_close(&a);
	host_close(&b);
}

Test(neigh, one_that_no_longer_answers_is_asked_everywhere_and_given_up)
{
	struct host a, b;
	struct neigh *n;
	uint32_t nb_unicast = 0, nb_group = 0;
	uint64_t now_ns = NEIGH_REFRESH_NS;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	n = neigh_get(a.table, &b.ips[1], 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	for (; n->valid && now_ns < 100 * S; now_ns += 10 * MS) {
		struct pkt *p;

		if (neigh_tx(a.table, &p, 1, now_ns) == 0)
			continue;
		*(p->data[0] & 1 ? &nb_group : &nb_unicast) += 1;
		pkt_free(&p, 1);
	}
	cr_expect_eq(nb_unicast, NEIGH_REFRESH_UNICAST);
	cr_expect_eq(nb_group, NEIGH_REFRESH_ASKS - NEIGH_REFRESH_UNICAST);
	cr_expect_not(n->valid);
	cr_expect_eq(n->generation, 3);
	cr_expect_eq(neigh_stats(a.table)->lost, 1);
	cr_expect_eq(neigh_next_ns(a.table), WHEEL_NEVER_NS, "until somebody wants it");
	neigh_want(a.table, n, now_ns);
	carry(&a, &b, now_ns + S);
	carry(&b, &a, now_ns + S);
	cr_expect(n->valid, "and there again");
	host_close(&a);
	host_close(&b);
}

Test(neigh, an_idle_mac_serves_again_while_young)
{
	struct host a, b;
	struct neigh *n;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	n = neigh_get(a.table, &b.ips[0], 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	neigh_put(a.table, n);
	cr_expect_eq(drain(&a, 100 * S), 0, "nobody asks for an idle one");
	n = neigh_get(a.table, &b.ips[0], NEIGH_REFRESH_NS - 1);
	cr_expect(n->valid);
	neigh_put(a.table, n);
	n = neigh_get(a.table, &b.ips[0], 100 * S);
	cr_expect_not(n->valid);
	cr_expect_eq(drain(&a, 100 * S), 1);
	host_close(&a);
	host_close(&b);
}

Test(neigh, strangers_change_what_is_known_and_add_nothing)
{
	static const uint8_t new_mac[6] = {0x02, 0, 0, 0, 0, 0x99};
	struct neigh *n, *full[3];
	struct neigh_msg msg;
	struct host a, b;
	uint32_t generation;

	host_open(&a, 1, 4);
	host_open(&b, 2, 4);
	n = neigh_get(a.table, &b.ips[0], 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	generation = n->generation;

	for (int i = 3; i < 200; i++) {
		msg = reply_from((uint8_t)i, &a, new_mac);
		deliver(&a, &msg, 0);
		msg.is_question = true;
		msg.target = ipv4(1);
		deliver(&a, &msg, 0);
	}
	for (uint8_t i = 0; i < 3; i++) {
		full[i] = get_ipv4(&a, 100 + i, 0);
		cr_assert_not_null(full[i]);
		cr_expect_not(full[i]->valid);
	}
	cr_expect_eq(n->generation, generation);

	msg = reply_from(2, &a, new_mac);
	deliver(&a, &msg, 7);
	cr_expect_arr_eq(n->mac, new_mac, 6);
	cr_expect_eq(n->generation, generation + 1);
	cr_expect_eq(n->confirmed_ns, 7);
	cr_expect_eq(neigh_stats(a.table)->mac_changes, 1);
	host_close(&a);
	host_close(&b);
}

Test(neigh, a_weak_advertisement_gives_way_to_a_known_mac)
{
	struct host a, b;
	struct neigh *n;
	uint8_t buf[NEIGH_MSG_MAX];
	struct neigh_msg msg = {
		.sender = ipv6(2),
		.target = ipv6(1),
		.mac = {0x02, 0, 0, 0, 0, 0x99},
		.eth_src = {0x02, 0, 0, 0, 0, 0x99},
		.eth_dst = {0x02, 0, 0, 0, 0, 1},
	};
	uint32_t len, sum;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	n = neigh_get(a.table, &b.ips[1], 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	len = neigh_msg_build(buf, &msg);
	buf[58] = 0;
	sum = (uint32_t)(buf[56] << 8 | buf[57]) + 0x2000;
	sum = (sum & 0xffff) + (sum >> 16);
	buf[56] = (uint8_t)(sum >> 8);
	buf[57] = (uint8_t)sum;
	neigh_rx(a.table, buf, len, 0);
	cr_expect_eq(neigh_stats(a.table)->rx_bad, 0);
	cr_expect_arr_eq(n->mac, b.self.mac, 6);
	deliver(&a, &msg, 0);
	cr_expect_arr_eq(n->mac, msg.mac, 6, "with override it does not");
	host_close(&a);
	host_close(&b);
}

Test(neigh, probes_are_answered_and_not_learned)
{
	struct host a;
	struct neigh_msg probe = {
		.is_question = true,
		.sender = {{[10] = 0xff, 0xff}},
		.target = ipv4(1),
		.mac = {0x02, 0, 0, 0, 0, 9},
		.eth_src = {0x02, 0, 0, 0, 0, 9},
		.eth_dst = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	};
	struct neigh_msg msg;

	host_open(&a, 1, 8);
	deliver(&a, &probe, 0);
	msg = next_msg(&a, 0);
	cr_expect_not(msg.is_question);
	cr_expect_arr_eq(msg.eth_dst, probe.mac, 6);
	cr_expect_arr_eq(msg.sender.b, a.ips[0].b, 16);

	probe.sender = (struct ip_addr){0};
	probe.target = ipv6(1);
	neigh_msg_group(probe.eth_dst, &probe.target);
	deliver(&a, &probe, 0);
	msg = next_msg(&a, 0);
	cr_expect_not(msg.is_question);
	cr_expect_arr_eq(msg.eth_dst, ((uint8_t[]){0x33, 0x33, 0, 0, 0, 1}), 6, "to all nodes");
	cr_expect_arr_eq(msg.mac, a.self.mac, 6);
	host_close(&a);
}

Test(neigh, hears_only_what_is_meant_for_it)
{
	struct host a, b;
	struct neigh_msg msg;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	get_ipv4(&a, 3, 0);
	carry(&a, &b, 0);
	cr_expect_eq(drain(&b, 0), 0, "somebody else's address");
	neigh_get(b.table, &a.ips[0], 0);
	msg = next_msg(&b, 0);
	msg.eth_dst[0] = 0x02;
	msg.eth_dst[5] = 7;
	deliver(&a, &msg, 0);
	cr_expect_eq(drain(&a, 0), 0, "a frame to another MAC");
	memcpy(msg.eth_dst, a.self.mac, 6);
	memcpy(msg.eth_src, a.self.mac, 6);
	deliver(&a, &msg, 0);
	cr_expect_eq(drain(&a, 0), 0, "a frame of its own that came back");
	host_close(&a);
	host_close(&b);
}

Test(neigh, counts_who_claims_an_own_address_and_learns_nothing_from_it)
{
	static const uint8_t thief[6] = {0x02, 0, 0, 0, 0, 0x66};
	struct host a;
	struct neigh_msg msg;
	struct neigh *n;

	host_open(&a, 1, 8);
	n = neigh_get(a.table, &a.ips[0], 0);
	msg = reply_from(1, &a, thief);
	deliver(&a, &msg, 0);
	cr_expect_eq(neigh_stats(a.table)->rx_conflicts, 1);
	cr_expect_arr_eq(n->mac, a.self.mac, 6);
	host_close(&a);
}

Test(neigh, a_flood_of_questions_gets_no_flood_of_answers)
{
	struct host a, b;
	struct neigh_msg msg;
	uint32_t nb_sent = 0;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	neigh_get(b.table, &a.ips[0], 0);
	msg = next_msg(&b, 0);
	for (uint64_t now_ns = 0; now_ns < S / 10; now_ns += 1000) {
		deliver(&a, &msg, now_ns);
		if (now_ns % MS == 0)
			nb_sent += drain(&a, now_ns);
	}
	nb_sent += drain(&a, S / 10);
	cr_expect_eq(nb_sent, S / 10 / NEIGH_ANSWER_NS * NEIGH_ANSWERS_MAX);
	cr_expect_eq(neigh_stats(a.table)->tx_limited, 100000 - nb_sent);

	for (int i = 0; i < 1000; i++)
		deliver(&a, &msg, S + i * NEIGH_ANSWER_NS);
	cr_expect_eq(drain(&a, 20 * S), NEIGH_ANSWERS_MAX, "no more wait than fit");
	host_close(&a);
	host_close(&b);
}

Test(neigh, without_a_packet_it_asks_a_little_later)
{
	struct pkt *all[NB_PKTS];
	struct host a;

	host_open(&a, 1, 8);
	get_ipv4(&a, 2, 0);
	cr_assert_eq(a.pool->alloc(a.pool, all, NB_PKTS), NB_PKTS);
	cr_expect_eq(drain(&a, 0), 0);
	pkt_free(all, NB_PKTS);
	cr_expect_eq(drain(&a, 3 * MS), 1);
	host_close(&a);
}

Test(neigh, an_announcement_tells_those_who_know_an_older_mac)
{
	struct host a, b;
	struct neigh *n[2];

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	for (int i = 0; i < 2; i++)
		n[i] = neigh_get(b.table, &a.ips[i], 0);
	carry(&b, &a, 0);
	carry(&a, &b, 0);
	a.self.mac[5] = 0x77;
	neigh_announce(a.table, 0);
	cr_expect_eq(carry(&a, &b, 0), 2);
	for (int i = 0; i < 2; i++)
		cr_expect_arr_eq(n[i]->mac, a.self.mac, 6, "address %d", i);
	cr_expect_eq(neigh_stats(b.table)->mac_changes, 2);
	host_close(&a);
	host_close(&b);
}

Test(neigh, asks_with_the_nearest_own_address)
{
	struct ip_addr ips[] = {
		{{[10] = 0xff, 0xff, 192, 168, 0, 1}}, ipv4(1), {{0xfe, 0x80, [15] = 1}}, ipv6(1)};
	static const struct {
		struct ip_addr target;
		uint8_t want;
	} rows[] = {
		{{{[10] = 0xff, 0xff, 10, 77, 3, 4}}, 1},
		{{{[10] = 0xff, 0xff, 192, 168, 9, 9}}, 0},
		{{{0xfd, [15] = 9}}, 3},
		{{{0xfe, 0x80, [15] = 9}}, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neigh_msg msg;
		struct host a;

		host_open(&a, 1, 8);
		a.self.ips = ips;
		a.self.nb_ips = 4;
		neigh_get(a.table, &rows[i].target, 0);
		msg = next_msg(&a, 0);
		cr_expect_arr_eq(msg.sender.b, ips[rows[i].want].b, 16, "row %zu", i);
		host_close(&a);
	}
}

Test(neigh, many_neighbours_are_found_and_kept_apart)
{
	struct host a;
	struct neigh *n[200];

	host_open(&a, 1, 200);
	for (uint8_t i = 0; i < 200; i++)
		n[i] = get_ipv4(&a, 2 + i, 0);
	cr_expect_eq(drain(&a, 0), 200);
	for (uint8_t i = 0; i < 200; i++) {
		uint8_t mac[6] = {0x02, 0, 0, 0, 1, i};
		struct neigh_msg msg = reply_from(2 + i, &a, mac);

		deliver(&a, &msg, 1);
	}
	for (uint8_t i = 0; i < 200; i++) {
		cr_expect(n[i]->valid);
		cr_expect_eq(n[i]->mac[5], i);
	}
	host_close(&a);
}
