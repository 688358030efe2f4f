/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"
#include "conf_rig.h"
#include "hdr.h"
#include "mem.h"
#include "reroute.h"

/*
 * The switches of a shipped file on a pool of plain memory. Frames go from port to port as its
 * rings say; those that reach a NIC are counted.
 */
struct fabric {
	struct conf *conf;
	struct switch_node nodes[CONF_MAX_SWITCHES];
	struct reroute *reroute;
	struct pkt_pool *pool;
	uint32_t got[CONF_MAX_NICS];
	uint64_t now_ns;
};

enum { NB_PKTS = 256 };

static void
open_fabric(struct fabric *f, struct conf *conf)
{
	*f = (struct fabric){.conf = conf, .pool = pkt_pool_mem_create(NB_PKTS, 2048)};
	for (uint32_t s = 0; s < conf->nb_switches; s++) {
		struct switch_port_params ports[CONF_MAX_PORTS];
		struct switch_conf fabric = conf_switch_fabric(&conf->switches[s], ports);

		fabric.lb_params = conf_params(conf, &fabric.lb->info);
		switch_node_init(&f->nodes[s], switch_create(&fabric, f->pool));
	}
	cr_assert_eq(reroute_create(conf, f->nodes, &f->reroute), 0);
}

static void
open_shipped(struct fabric *f, const char *name)
{
	char path[512];
	struct conf *conf;

	snprintf(path, sizeof(path), "%s/conf/topo/%s.conf", getenv("WEFT_SOURCE_ROOT"), name);
	conf = conf_read(path, stderr);
	cr_assert_not_null(conf, "%s", path);
	open_fabric(f, conf);
}

static void
close_fabric(struct fabric *f)
{
	reroute_destroy(f->reroute);
	for (uint32_t s = 0; s < f->conf->nb_switches; s++) {
		switch_check(f->nodes[s].sw);
		switch_destroy(f->nodes[s].sw);
	}
	cr_expect_eq(pkt_pool_mem_nb_free(f->pool), NB_PKTS);
	pkt_pool_mem_destroy(f->pool);
	conf_free(f->conf);
}

static uint32_t
switch_of(const struct conf *conf, const char *name)
{
	uint32_t s = 0;

	while (strcmp(conf->switches[s].name, name) != 0)
		s++;
	return s;
}

/* Where the other end of a port is: a NIC, or a port of another switch. */
static bool
find_nic(const struct conf *conf, const struct conf_port *port, uint32_t *nic)
{
	for (*nic = 0; *nic < conf->nb_nics; ++*nic)
		if (conf_same_wire(&conf->nics[*nic].port, port))
			return true;
	return false;
}

static void
find_peer(const struct conf *conf, const struct conf_port *port, uint32_t *sw, uint16_t *p)
{
	for (*sw = 0; *sw < conf->nb_switches; ++*sw)
		for (*p = 0; *p < conf->switches[*sw].nb_ports; ++*p)
			if (&conf->switches[*sw].ports[*p] != port &&
			    conf_same_wire(&conf->switches[*sw].ports[*p], port))
				return;
	cr_assert_fail("ring:%s has one end", port->arg);
}

/* What leaves a port now arrives at its other end. @return how many frames did. */
static uint32_t
carry(struct fabric *f, uint32_t s, uint16_t p)
{
	const struct conf_port *port = &f->conf->switches[s].ports[p];
	struct pkt *pkts[32];
	uint32_t n = switch_send(f->nodes[s].sw, p, pkts, 32, f->now_ns), nic, peer;
	uint16_t peer_port;

	if (n == 0)
		return 0;
	if (find_nic(f->conf, port, &nic)) {
		f->got[nic] += n;
		pkt_free(pkts, n);
		return n;
	}
	find_peer(f->conf, port, &peer, &peer_port);
	switch_receive(f->nodes[peer].sw, peer_port, pkts, n, f->now_ns);
	return n;
}

/* Until nothing moves for longer than any link takes. */
static void
settle(struct fabric *f)
{
	uint32_t nb_steps = 0;

	memset(f->got, 0, sizeof(f->got));
	for (uint32_t idle = 0; idle < 100; idle++) {
		f->now_ns += 1000;
		for (uint32_t s = 0; s < f->conf->nb_switches; s++)
			for (uint16_t p = 0; p < f->conf->switches[s].nb_ports; p++)
				if (carry(f, s, p) > 0)
					idle = 0;
		cr_assert(nb_steps++ < 10000, "frames go round for ever");
	}
}

/* A frame from a NIC: to another one over IPv4, or to all. */
static void
send_from(struct fabric *f, uint32_t nic, int to, uint16_t sport)
{
	uint8_t frame[64] = {0};
	struct pkt *p;
	uint32_t s = 0;
	uint16_t port = 0;

	memset(frame, 0xff, 6);
	frame[6] = 0x02;
	frame[11] = (uint8_t)(nic + 1);
	frame[12] = 0x08;
	frame[13] = to < 0 ? 0x06 : 0x00;
	if (to >= 0) {
		static const uint8_t ip[] = {0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 17};

		frame[0] = 0x02;
		memset(frame + 1, 0, 4);
		frame[5] = (uint8_t)(to + 1);
		memcpy(frame + 14, ip, sizeof(ip));
		memcpy(frame + 26, f->conf->nics[nic].ips[0].b + 12, 4);
		memcpy(frame + 30, f->conf->nics[to].ips[0].b + 12, 4);
		frame[34] = (uint8_t)(sport >> 8);
		frame[35] = (uint8_t)sport;
	}
	cr_assert_eq(f->pool->alloc(f->pool, &p, 1), 1);
	memcpy(p->data, frame, sizeof(frame));
	p->len = sizeof(frame);
	find_peer(f->conf, &f->conf->nics[nic].port, &s, &port);
	switch_receive(f->nodes[s].sw, port, &p, 1, f->now_ns);
}

/* As the driver does it when a port has changed. */
static void
tell_link(struct fabric *f, const char *sw, uint16_t port, bool is_up)
{
	struct node *node = &f->nodes[switch_of(f->conf, sw)].node;

	node->ops->link(node, port, is_up, f->now_ns);
}

static void
expect_broadcasts_once(struct fabric *f)
{
	for (uint32_t nic = 0; nic < f->conf->nb_nics; nic++) {
		send_from(f, nic, -1, 0);
		settle(f);
		for (uint32_t i = 0; i < f->conf->nb_nics; i++)
			cr_expect_eq(f->got[i], i != nic, "from %u to %u: %u", nic, i, f->got[i]);
	}
}

static void
expect_all_pairs(struct fabric *f)
{
	for (uint32_t a = 0; a < f->conf->nb_nics; a++) {
		for (uint32_t b = 0; b < f->conf->nb_nics; b++) {
			if (a == b)
				continue;
			for (uint16_t flow = 0; flow < 8; flow++)
				send_from(f, a, (int)b, flow);
			settle(f);
			for (uint32_t i = 0; i < f->conf->nb_nics; i++)
				cr_expect_eq(f->got[i], i == b ? 8 : 0, "%u to %u, at %u: %u", a, b,
				             i, f->got[i]);
		}
	}
}

Test(reroute, shipped_fabrics_carry_every_pair_and_each_broadcast_once)
{
	static const char *const names[] = {"dumbbell", "leaf-spine", "two-paths"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fabric f;

		open_shipped(&f, names[i]);
		expect_all_pairs(&f);
		expect_broadcasts_once(&f);
		close_fabric(&f);
	}
}

static uint64_t
sent_by(const struct fabric *f, const char *sw, uint16_t port)
{
	return switch_port_stats(f->nodes[switch_of(f->conf, sw)].sw, port)->tx_packets;
}

Test(reroute, flows_spread_and_move_with_links)
{
	struct fabric f;
	uint64_t before, to_leaf1;

	open_shipped(&f, "leaf-spine");
	for (uint16_t flow = 0; flow < 200; flow++)
		send_from(&f, 0, 2, flow);
	settle(&f);
	cr_expect_eq(f.got[2], 200);
	cr_expect(sent_by(&f, "leaf0", 2) > 50 && sent_by(&f, "leaf0", 3) > 50);
	/* The far link of one spine: its near one is of no use either. */
	tell_link(&f, "leaf1", 2, false);
	before = sent_by(&f, "leaf0", 2);
	to_leaf1 = sent_by(&f, "spine0", 1);
	expect_all_pairs(&f);
	cr_expect_eq(sent_by(&f, "leaf0", 2), before);
	expect_broadcasts_once(&f);
	/* The other end was not told, and knows from the graph. */
	cr_expect_eq(sent_by(&f, "spine0", 1), to_leaf1);
	tell_link(&f, "leaf1", 2, true);
	expect_all_pairs(&f);
	expect_broadcasts_once(&f);
	cr_expect(sent_by(&f, "leaf0", 2) > before);
	close_fabric(&f);
}

Test(reroute, a_fabric_that_is_cut_works_on_in_its_parts)
{
	struct fabric f;

	open_shipped(&f, "leaf-spine");
	tell_link(&f, "leaf1", 2, false);
	tell_link(&f, "leaf1", 3, false);
	send_from(&f, 0, 1, 1);
	send_from(&f, 0, 2, 1);
	send_from(&f, 0, -1, 0);
	settle(&f);
	cr_expect(f.got[1] == 3 || f.got[1] == 2, "its own, the broadcast, and an unknown one");
	cr_expect_eq(f.got[2], 0);
	tell_link(&f, "leaf1", 3, true);
	expect_all_pairs(&f);
	expect_broadcasts_once(&f);
	close_fabric(&f);
}

/* Which of the spines' ports of leaf0 each flow takes. */
static void
look_at_flows(struct fabric *f, uint8_t took[64])
{
	for (uint16_t flow = 0; flow < 64; flow++) {
		uint64_t before[5];

		for (uint16_t p = 1; p < 5; p++)
			before[p] = sent_by(f, "leaf0", p);
		send_from(f, 0, 1, flow);
		settle(f);
		took[flow] = 0;
		for (uint16_t p = 1; p < 5; p++)
			if (sent_by(f, "leaf0", p) > before[p])
				took[flow] = (uint8_t)p;
	}
}

Test(reroute, flows_of_other_links_stay_where_they_are)
{
	static const char text[] =
		"[switch leaf0]\nports = ring:h0 ring:a0 ring:a1 ring:a2 ring:a3\n"
		"[switch leaf1]\nports = ring:h1 ring:b0 ring:b1 ring:b2 ring:b3\n"
		"[switch s0]\nports = ring:a0 ring:b0\n"
		"[switch s1]\nports = ring:a1 ring:b1\n"
		"[switch s2]\nports = ring:a2 ring:b2\n"
		"[switch s3]\nports = ring:a3 ring:b3\n"
		"[nic n0]\nport = ring:h0\nip = 10.0.0.1\n"
		"[nic n1]\nport = ring:h1\nip = 10.0.0.2\n";
	uint8_t before[64], while_down[64], after[64];
	struct fabric f;

	open_fabric(&f, read_good(text));
	look_at_flows(&f, before);
	/* The link at the leaf, and then the one behind the same spine. */
	for (int far = 0; far < 2; far++) {
		const char *leaf = far ? "leaf1" : "leaf0";
		uint32_t nb_moved = 0;

		tell_link(&f, leaf, 2, false);
		look_at_flows(&f, while_down);
		tell_link(&f, leaf, 2, true);
		look_at_flows(&f, after);
		for (int i = 0; i < 64; i++) {
			cr_expect(while_down[i] != 2 && while_down[i] != 0);
			cr_expect(before[i] == 2 || before[i] == while_down[i], "%s: flow %d moved",
			          leaf, i);
			cr_expect_eq(before[i], after[i], "%s: flow %d came back", leaf, i);
			nb_moved += before[i] == 2;
		}
		cr_expect(nb_moved > 0);
	}
	close_fabric(&f);
}

Test(reroute, a_switch_with_routes_has_only_these)
{
	static const char text[] = "[switch left]\nports = ring:h0 ring:a ring:b\n"
				   "route = 10.0.0.0/24 ring:b\nroute = 10.0.0.1 ring:h0\n"
				   "[switch right]\nports = ring:h1 ring:a ring:b\n"
				   "[nic n0]\nport = ring:h0\nip = 10.0.0.1\n"
				   "[nic n1]\nport = ring:h1\nip = 10.0.0.2\n";
	struct fabric f;

	open_fabric(&f, read_good(text));
	expect_all_pairs(&f);
	cr_expect_eq(sent_by(&f, "left", 1), 0);
	cr_expect_eq(sent_by(&f, "left", 2), 8);
	cr_expect(sent_by(&f, "right", 1) > 0, "worked out, over both");
	expect_broadcasts_once(&f);
	close_fabric(&f);
}

Test(reroute, what_is_worked_out_never_leads_back_to_a_route)
{
	static const char text[] = "[switch leaf0]\nports = ring:h0 ring:a0 ring:c0 ring:a1\n"
				   "route = 10.0.0.1 ring:h0\nroute = 10.0.0.0/24 ring:a0 ring:c0\n"
				   "[switch leaf1]\nports = ring:h1 ring:b0 ring:b1\n"
				   "[switch s0]\nports = ring:a0 ring:c0 ring:b0\n"
				   "[switch s1]\nports = ring:a1 ring:b1\n"
				   "[nic n0]\nport = ring:h0\nip = 10.0.0.1\n"
				   "[nic n1]\nport = ring:h1\nip = 10.0.0.2\n";
	struct fabric f;

	open_fabric(&f, read_good(text));
	expect_all_pairs(&f);
	/* What is left of s0's ways to n1 leads over leaf0, which sends it back by the other link.
	 */
	tell_link(&f, "s0", 2, false);
	for (uint16_t flow = 0; flow < 16; flow++)
		send_from(&f, 0, 1, flow);
	settle(&f);
	cr_expect_eq(f.got[1], 0);
	expect_broadcasts_once(&f);
	tell_link(&f, "s0", 2, true);
	expect_all_pairs(&f);
	close_fabric(&f);
}

Test(reroute, floods_go_round_a_link_that_has_none)
{
	static const char text[] = "[switch left]\nports = ring:h0 ring:a ring:b\n"
				   "[switch right]\nports = ring:h1 ring:a ring:b\n"
				   "[port ring:a]\nflood = no\n"
				   "[nic n0]\nport = ring:h0\nip = 10.0.0.1\n"
				   "[nic n1]\nport = ring:h1\nip = 10.0.0.2\n";
	struct fabric f;

	open_fabric(&f, read_good(text));
	expect_broadcasts_once(&f);
	cr_expect_eq(sent_by(&f, "left", 1), 0);
	expect_all_pairs(&f);
	cr_expect(sent_by(&f, "left", 1) > 0, "prefixes lead over both");
	close_fabric(&f);
}

Test(reroute, one_switch_alone_learns)
{
	struct fabric f;

	open_fabric(&f, read_good(TWO_NICS));
	cr_expect_null(f.reroute);
	cr_expect(routes_is_empty(switch_routes(f.nodes[0].sw)));
	expect_broadcasts_once(&f);
	expect_all_pairs(&f);
	close_fabric(&f);
}
