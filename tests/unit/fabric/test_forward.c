/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine.h"
#include "fabric_rig.h"

/* Static prefixes: groups of ports, and the load balancer among them. */

#define NB_PATHS 8
#define NB_FLOWS 1000
#define HOST 200

static struct rig rig;

static void
add_route(const char *ip, uint8_t bits, uint16_t first, uint16_t nb)
{
	struct route route = {.prefix.bits = bits, .nb_ports = nb};

	cr_assert(ip_addr_parse(ip, &route.prefix.ip));
	for (uint16_t i = 0; i < nb; i++)
		route.ports[i] = (uint16_t)(first + i);
	cr_assert_eq(routes_set(switch_routes(rig.sw), &route), 0);
}

/* The port that a packet of this flow leaves by. */
static int
path_of(uint16_t flow, uint64_t now_ns)
{
	int path = -1;

	rig_receive(&rig, NB_PATHS, rig_udp(&rig, HOST, 1, 0, (uint16_t)(0xc000 + flow), 100),
	            now_ns);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		if (rig_drain(&rig, i, now_ns) == 1) {
			cr_assert_eq(path, -1);
			path = i;
		}
	return path;
}

static void
begin(void)
{
	rig_init(&rig, NB_PATHS + 1);
	rig_open(&rig);
	add_route("10.0.0.0", 96 + 8, 0, NB_PATHS);
}

Test(forward, a_thousand_flows_spread_over_eight_paths_within_a_fifth_of_even)
{
	uint32_t nb[NB_PATHS] = {0};

	begin();
	for (uint16_t f = 0; f < NB_FLOWS; f++)
		nb[path_of(f, 0)]++;
	for (int i = 0; i < NB_PATHS; i++)
		cr_expect(nb[i] >= NB_FLOWS / NB_PATHS * 8 / 10 &&
		                  nb[i] <= NB_FLOWS / NB_PATHS * 12 / 10,
		          "path %d: %u", i, nb[i]);
	rig_close(&rig);
}

Test(forward, a_flow_stays_until_its_link_goes_down_and_others_stay_then_as_well)
{
	int before[NB_FLOWS];
	uint32_t nb_moved = 0;

	begin();
	for (uint16_t f = 0; f < NB_FLOWS; f++)
		before[f] = path_of(f, 0);
	for (int again = 0; again < 3; again++)
		for (uint16_t f = 0; f < NB_FLOWS; f++)
			cr_assert_eq(path_of(f, 1000), before[f]);
	switch_set_link(rig.sw, 3, false, 2000);
	for (uint16_t f = 0; f < NB_FLOWS; f++) {
		int path = path_of(f, 3000);

		cr_assert_neq(path, 3);
		cr_assert_neq(path, -1);
		if (before[f] != 3)
			cr_expect_eq(path, before[f], "flow %u", f);
		else
			nb_moved++;
	}
	cr_expect_gt(nb_moved, 0);
	rig_close(&rig);
}

Test(forward, when_all_paths_are_down_packets_are_dropped_and_counted)
{
	uint64_t nb_lost = 0;

	begin();
	for (uint16_t i = 0; i < NB_PATHS; i++)
		switch_set_link(rig.sw, i, false, 0);
	for (uint16_t f = 0; f < 10; f++)
		cr_expect_eq(path_of(f, 0), -1);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		nb_lost += rig_stats(&rig, i)->tx_link_down;
	cr_expect_eq(nb_lost, 10);
	rig_close(&rig);
}

Test(forward, the_longest_prefix_wins_and_what_none_covers_is_bridged)
{
	begin();
	add_route("10.0.0.7", 128, 2, 1);
	rig_receive(&rig, NB_PATHS, rig_udp(&rig, 7, 1, 0, 1, 100), 0);
	cr_expect_eq(rig_drain(&rig, 2, 0), 1);
	routes_clear(switch_routes(rig.sw));
	rig_receive(&rig, NB_PATHS, rig_udp(&rig, 7, 1, 0, 1, 100), 0);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		cr_expect_eq(rig_drain(&rig, i, 0), 1, "flooded: port %u", i);
	rig_close(&rig);
}

/* ARP and broadcasts go by the flood tree whatever prefixes say; routed frames teach no MACs. */
Test(forward, prefixes_are_for_unicast_ip_alone_and_what_they_forward_is_not_learned_from)
{
	begin();
	rig_receive(&rig, NB_PATHS, rig_udp(&rig, RIG_BROADCAST, 1, 0, 1, 100), 0);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		cr_expect_eq(rig_drain(&rig, i, 0), 1, "port %u", i);
	rig_receive(&rig, 2, rig_udp(&rig, HOST, 9, 0, 1, 100), 0);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		rig_drain(&rig, i, 0);
	rig_receive(&rig, NB_PATHS, rig_frame(&rig, 9, 1, 60), 0);
	for (uint16_t i = 0; i < NB_PATHS; i++)
		cr_expect_eq(rig_drain(&rig, i, 0), 1, "9 is not known to be at port 2: %u", i);
	rig_close(&rig);
}

Test(forward, nothing_goes_back_where_it_came_from)
{
	begin();
	add_route("10.0.0.7", 128, 2, 1);
	rig_receive(&rig, 2, rig_udp(&rig, 7, 1, 0, 1, 100), 0);
	cr_expect_eq(rig_drain(&rig, 2, 0), 0);
	cr_expect_eq(rig_stats(&rig, 2)->rx_filtered, 1);
	rig_close(&rig);
}

/* Two by two leaf-spine: leaves 0 and 1 with two hosts each (ports 0, 1) and uplinks (2, 3) to
 * spines 2 and 3, whose port i leads to leaf i. The link of leaf 1 and spine 3 is not on the tree.
 */
#define NB_SWITCHES 4

static struct fabric_switch *fabric[NB_SWITCHES];

static const struct {
	uint16_t sw, port;
} peer[NB_SWITCHES][4] = {
	{{9}, {9}, {2, 0}, {3, 0}},
	{{9}, {9}, {2, 1}, {3, 1}},
	{{0, 2}, {1, 2}},
	{{0, 3}, {1, 3}},
};

/* Until no switch has a frame; those that reach a host are counted and freed. */
static void
run_fabric(uint32_t nb_at_host[4])
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint16_t s = 0; s < NB_SWITCHES; s++)
			for (uint16_t p = 0; p < switch_nb_ports(fabric[s]); p++) {
				struct pkt *pkts[32];
				uint32_t n = switch_send(fabric[s], p, pkts, 32, 0);

				moved |= n > 0;
				if (peer[s][p].sw == 9) {
					nb_at_host[s * 2 + p] += n;
					pkt_free(pkts, n);
				} else {
					switch_receive(fabric[peer[s][p].sw], peer[s][p].port, pkts,
					               n, 0);
				}
			}
	}
}

/* A million times in a long run. */
Test(forward, a_broadcast_in_a_leaf_spine_reaches_each_host_once)
{
	uint32_t nb_at_host[4] = {0}, nb = getenv("WEFT_TEST_LONG") ? 1000000 : 100000;

	rig_init(&rig, 4);
	rig_open(&rig);
	for (uint16_t s = 0; s < NB_SWITCHES; s++) {
		struct switch_conf conf = rig.conf;

		conf.nb_ports = s < 2 ? 4 : 2;
		fabric[s] = switch_create(&conf, rig.pool);
		cr_assert_not_null(fabric[s]);
	}
	switch_set_flood(fabric[1], 3, false);
	switch_set_flood(fabric[3], 1, false);
	for (uint32_t i = 0; i < nb; i++) {
		struct pkt *p = rig_frame(&rig, RIG_BROADCAST, 1, 60);

		switch_receive(fabric[i % 2], (uint16_t)(i / 2 % 2), &p, 1, 0);
		run_fabric(nb_at_host);
	}
	for (int h = 0; h < 4; h++)
		cr_expect_eq(nb_at_host[h], nb / 4 * 3, "host %d: %u", h, nb_at_host[h]);
	for (uint16_t s = 0; s < NB_SWITCHES; s++) {
		switch_check(fabric[s]);
		switch_destroy(fabric[s]);
	}
	rig_close(&rig);
}
