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
	struct gid_table gids;
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
		.self = {.name = "n", .mac = {0x02, 0, 0, 0, 0, n}, .gids = &h->gids},
		.ips = {ipv4(n), ipv6(n)},
		.pool = pkt_pool_mem_create(NB_PKTS, 128),
	};
	h->gids = (struct gid_table){
		.entry = {{.ip = ipv4(n)}, {.ip = ipv6(n)}}, .len = 8, .nb_used = 2};
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

	return neigh_get(h->table, &ip, 0, now_ns);
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
		struct neigh *n = neigh_get(a.table, &b.ips[i], 0, 0);

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
	for (uint16_t mine = 0; mine < 7; mine++)
		for (uint16_t his = 0; his < 7; his++)
			for (int ip = 0; ip < 2; ip++) {
				struct host h[2];
				struct neigh *n;

				for (uint8_t k = 0; k < 2; k++) {
					host_open(&h[k], k + 1, 8);
					for (int i = 0; i < 2; i++)
						h[k].gids.entry[i].vlan = k ? his : mine;
				}
				n = neigh_get(h[0].table, &h[1].ips[ip], mine, 0);
				cr_expect_eq(carry(&h[0], &h[1], 0), 1);
				carry(&h[1], &h[0], 0);
				cr_expect_eq(n->valid, mine == his, "%u, %u", mine, his);
				host_close(&h[0]);
				host_close(&h[1]);
			}
}

Test(neigh, the_tag_of_a_mere_priority_is_none)
{
	const uint8_t mac[6] = {2, 9};
	struct neigh_msg msg;
	struct neigh *n;
	struct host a;

	host_open(&a, 1, 8);
	n = get_ipv4(&a, 2, 0);
	msg = reply_from(2, &a, mac);
	msg.has_vlan = true;
	msg.vlan_tci = 0x6005;
	deliver(&a, &msg, 0);
	cr_expect_not(n->valid, "VLAN 5");
	msg.vlan_tci = 0x6000;
	deliver(&a, &msg, 0);
	cr_expect(n->valid);
	host_close(&a);
}

Test(neigh, the_same_address_in_two_vlans_is_two_neighbours)
{
	struct neigh *n[2];
	struct host a, b;

	host_open(&a, 1, 8);
	host_open(&b, 2, 8);
	for (uint16_t i = 0; i < 2; i++) {
		a.gids.entry[i] = (struct gid){.ip = a.ips[0], .vlan = i * 5};
		b.gids.entry[i] = (struct gid){.ip = b.ips[0], .vlan = i * 5};
	}
	b.gids.nb_used = 1; /* there, only untagged */
	for (uint16_t i = 0; i < 2; i++)
		n[i] = neigh_get(a.table, &b.ips[0], i * 5, 0);
	cr_expect_neq(n[0], n[1]);
	cr_expect_eq(carry(&a, &b, 0), 2);
	cr_expect_eq(carry(&b, &a, 0), 1);
	cr_expect(n[0]->valid && !n[1]->valid);
	host_close(&a);
	host_close(&b);
}

Test(neigh, an_own_address_is_known_at_once_and_never_asked_for)
{
	struct host a;
	struct neigh *n;

	host_open(&a, 1, 8);
	n = neigh_get(a.table, &a.ips[1], 0, 0);
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

Test(neigh, a_link_that_comes_up_asks_at_once_for_whom_is_wanted)
{
	uint32_t nb_down = 0, nb_up = 0;
	struct host a;

	host_open(&a, 1, 8);
	get_ipv4(&a, 2, 0);
	for (uint64_t now_ns = 0; now_ns < S; now_ns += 5 * MS)
		nb_down += drain(&a, now_ns);
	cr_expect_eq(nb_down, 1 + NEIGH_ASK_FAST);
	neigh_link_up(a.table, S);
	cr_expect_eq(neigh_next_ns(a.table), 0);
	for (uint64_t now_ns = S; now_ns < 2 * S; now_ns += 5 * MS)
		nb_up += drain(&a, now_ns);
	cr_expect_eq(nb_up, 1 + NEIGH_ASK_FAST);
	/* Nobody wants it any more. */
	for (uint64_t now_ns = 2 * S; now_ns < 20 * S; now_ns += 5 * MS)
		drain(&a, now_ns);
	neigh_link_up(a.table, 20 * S);
	cr_expect_eq(drain(&a, 20 * S), 0);
	host_close(&a);
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
	n = neigh_get(a.table, &b.ips[0], 0, 0);
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
	n = neigh_get(a.table, &b.ips[1], 0, 0);
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
	n = neigh_get(a.table, &b.ips[0], 0, 0);
	carry(&a, &b, 0);
	carry(&b, &a, 0);
	neigh_put(a.table, n);
	cr_expect_eq(drain(&a, 100 * S), 0, "nobody asks for an idle one");
	n = neigh_get(a.table, &b.ips[0], 0, NEIGH_REFRESH_NS - 1);
	cr_expect(n->valid);
	neigh_put(a.table, n);
	n = neigh_get(a.table, &b.ips[0], 0, 100 * S);
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
	n = neigh_get(a.table, &b.ips[0], 0, 0);
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
	n = neigh_get(a.table, &b.ips[1], 0, 0);
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
	neigh_get(b.table, &a.ips[0], 0, 0);
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
	n = neigh_get(a.table, &a.ips[0], 0, 0);
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
	neigh_get(b.table, &a.ips[0], 0, 0);
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
		n[i] = neigh_get(b.table, &a.ips[i], 0, 0);
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
		for (int k = 0; k < 4; k++)
			a.gids.entry[k] = (struct gid){.ip = ips[k]};
		a.gids.nb_used = 4;
		neigh_get(a.table, &rows[i].target, 0, 0);
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

/* ---- a resolver in the table's place ---- */

struct asked {
	struct ip_addr ip[64];
	uint16_t vlan[64];
	uint32_t nb;
	bool is_busy;
};

static bool
ask(void *arg, const struct ip_addr *ip, uint16_t vlan)
{
	struct asked *asked = arg;

	if (asked->is_busy)
		return false;
	asked->ip[asked->nb % 64] = *ip;
	asked->vlan[asked->nb++ % 64] = vlan;
	return true;
}

static void
resolve(struct host *h, struct neigh_resolver *resolver, struct asked *asked)
{
	*asked = (struct asked){0};
	*resolver = (struct neigh_resolver){.ask = ask, .arg = asked};
	host_open(h, 1, 64);
	h->self.resolver = resolver;
}

/* Let time pass until then, turn by turn. */
static void
pass(struct host *h, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t t = from_ns; t <= to_ns; t += TICK)
		cr_assert_eq(drain(h, t), 0, "no frame of our own");
}

Test(neigh, a_resolver_is_asked_and_tells_later)
{
	const uint8_t mac[6] = {2, 9};
	struct neigh_resolver resolver;
	struct asked asked;
	struct ip_addr ip = ipv4(2);
	struct neigh *n;
	struct host a;

	resolve(&a, &resolver, &asked);
	n = neigh_get(a.table, &ip, 5, 0);
	cr_expect_eq(neigh_next_ns(a.table), 0);
	pass(&a, 0, 0);
	cr_expect_eq(asked.nb, 1);
	cr_expect_arr_eq(asked.ip[0].b, ip.b, 16);
	cr_expect_eq(asked.vlan[0], 5);
	neigh_set(a.table, &ip, 0, mac, 1);
	cr_expect_not(n->valid, "that was another VLAN");
	neigh_set(a.table, &ip, 5, mac, 1);
	cr_expect(n->valid);
	cr_expect_arr_eq(n->mac, mac, 6);
	pass(&a, 2, NEIGH_REFRESH_NS - MS);
	cr_expect_eq(asked.nb, 1);
	pass(&a, NEIGH_REFRESH_NS, NEIGH_REFRESH_NS + 2 * TICK);
	cr_expect_eq(asked.nb, 2, "once more while it is in use");
	host_close(&a);
}

Test(neigh, a_resolver_that_is_late_changes_nothing_and_one_that_says_gone_does)
{
	const uint8_t mac[2][6] = {{2, 9}, {2, 10}};
	struct neigh_resolver resolver;
	uint64_t now = 1, generation;
	struct asked asked;
	struct ip_addr ip = ipv4(2);
	struct neigh *n;
	struct host a;

	resolve(&a, &resolver, &asked);
	n = neigh_get(a.table, &ip, 0, 0);
	neigh_set(a.table, &ip, 0, mac[0], now);
	pass(&a, now, 2 * NEIGH_REFRESH_NS);
	now = 2 * NEIGH_REFRESH_NS;
	cr_expect(n->valid, "nobody said that it is gone");
	cr_expect_gt(asked.nb, NEIGH_REFRESH_ASKS, "it is asked for again and again");
	generation = n->generation;
	neigh_set(a.table, &ip, 0, mac[1], now);
	cr_expect_gt(n->generation, generation);
	cr_expect_arr_eq(n->mac, mac[1], 6);
	neigh_set(a.table, &ip, 0, NULL, now);
	cr_expect_not(n->valid);
	asked.nb = 0;
	pass(&a, now, now + 10 * MS);
	cr_expect_eq(asked.nb, 0, "nobody wants it");
	neigh_want(a.table, n, now + 10 * MS);
	pass(&a, now + 10 * MS, now + 12 * MS);
	cr_expect_eq(asked.nb, 1);
	host_close(&a);
}

Test(neigh, a_busy_resolver_is_asked_again_and_no_more_at_a_time_than_frames)
{
	struct neigh_resolver resolver;
	struct asked asked;
	struct pkt *pkts[4];
	struct host a;

	resolve(&a, &resolver, &asked);
	for (uint8_t i = 0; i < 20; i++)
		get_ipv4(&a, 2 + i, 0);
	asked.is_busy = true;
	cr_expect_eq(neigh_tx(a.table, pkts, 4, 0), 0);
	cr_expect_eq(neigh_stats(a.table)->tx_limited, 4);
	asked.is_busy = false;
	cr_expect_eq(neigh_tx(a.table, pkts, 4, 0), 0);
	cr_expect_eq(asked.nb, 4);
	pass(&a, 0, 20 * MS);
	cr_expect_eq(asked.nb, 20, "each, also the first");
	host_close(&a);
}

Test(neigh, with_a_resolver_frames_are_neither_answered_nor_learned_from)
{
	struct neigh_resolver resolver;
	struct asked asked;
	struct host a, b;
	struct neigh *n;

	resolve(&a, &resolver, &asked);
	host_open(&b, 2, 8);
	n = get_ipv4(&a, 2, 0);
	get_ipv4(&b, 1, 0);
	neigh_announce(b.table, 0);
	neigh_announce(a.table, 0);
	cr_expect_eq(carry(&b, &a, 0), 3);
	cr_expect_eq(carry(&a, &b, 0), 0);
	cr_expect_not(n->valid);
	host_close(&a);
	host_close(&b);
}

Test(neigh, when_the_own_addresses_change_so_does_who_is_a_stranger)
{
	struct neigh *own, *other;
	struct ip_addr ip = ipv4(7);
	uint32_t generation;
	struct host a;

	host_open(&a, 1, 8);
	own = neigh_get(a.table, &a.ips[0], 0, 0);
	other = neigh_get(a.table, &ip, 0, 0);
	drain(&a, 0);
	cr_expect(own->valid && !other->valid);
	a.gids.entry[0].ip = ip; /* instead of ips[0] */
	a.self.mac[5] = 0x55;
	generation = own->generation;
	neigh_self_changed(a.table, MS);
	cr_expect(!own->valid && other->valid);
	cr_expect_gt(own->generation, generation);
	cr_expect_arr_eq(other->mac, a.self.mac, 6);
	cr_expect_eq(drain(&a, MS), 2, "announced");
	neigh_want(a.table, own, MS);
	cr_expect_eq(drain(&a, MS), 1, "asked for, as a stranger's");
	neigh_put(a.table, own);
	neigh_put(a.table, other);
	host_close(&a);
}
