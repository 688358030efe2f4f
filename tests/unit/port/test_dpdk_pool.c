/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "dpdk.h"

#define NB_PKTS 511
#define ROOM_BYTES 4300

static int nb_failed;

static void
expect(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	nb_failed++;
}

static void
packets_are_whole_and_apart(struct pkt_pool *pool)
{
	struct pkt *pkts[NB_PKTS];

	expect(pool->alloc(pool, pkts, NB_PKTS) == NB_PKTS, "all packets at once");
	for (uint32_t i = 0; i < NB_PKTS; i++) {
		expect(pkts[i]->pool == pool, "pool");
		expect(pkts[i]->room == ROOM_BYTES, "room");
		expect(pkts[i]->len == 0, "length");
		expect((uintptr_t)pkts[i]->data % 64 == PKT_DATA_SHIFT, "alignment");
		memset(pkts[i]->data, (int)i, pkts[i]->room);
		pkts[i]->len = i;
	}
	for (uint32_t i = 0; i < NB_PKTS; i++) {
		expect(pkts[i]->len == i, "a packet's own struct");
		expect(pkts[i]->data[0] == (uint8_t)i, "a packet's own first byte");
		expect(pkts[i]->data[ROOM_BYTES - 1] == (uint8_t)i, "a packet's own last byte");
	}
	pkt_free(pkts, NB_PKTS);
	expect(pkt_pool_dpdk_nb_free(pool) == NB_PKTS, "all packets at home");
}

static void
alloc_gives_all_or_nothing(struct pkt_pool *pool)
{
	struct pkt *pkts[NB_PKTS];

	for (int round = 0; round < 3; round++) {
		expect(pool->alloc(pool, pkts, NB_PKTS - 10) == NB_PKTS - 10, "most packets");
		expect(pool->alloc(pool, &pkts[NB_PKTS - 10], 11) == 0, "no more than there are");
		expect(pkt_pool_dpdk_nb_free(pool) == 10, "a refusal takes nothing");
		expect(pool->alloc(pool, &pkts[NB_PKTS - 10], 10) == 10, "the last ones");
		pkt_free(pkts, NB_PKTS);
	}
}

/* A device begins its data elsewhere, and says so in the packet. */
static void
a_packet_that_a_device_filled_is_as_others(struct pkt_pool *pool)
{
	struct pkt *pkts[NB_PKTS];

	expect(pool->alloc(pool, pkts, NB_PKTS) == NB_PKTS, "all packets");
	for (uint32_t i = 0; i < NB_PKTS; i++) {
		pkts[i]->data -= PKT_DATA_SHIFT;
		pkts[i]->room += PKT_DATA_SHIFT;
	}
	pkt_free(pkts, NB_PKTS);
	packets_are_whole_and_apart(pool);
}

int
main(int argc, char **argv)
{
	char *eal_args[] = {argv[0],          "--no-huge",   "--no-shconf", "--no-pci",
	                    "--no-telemetry", "--iova-mode", "va",          "--lcores",
	                    "0@(0)",          "-m",          "64",          "--log-level",
	                    "lib.*:error"};
	struct pkt_pool *pool, *other;

	(void)argc;
	if (rte_eal_init(sizeof(eal_args) / sizeof(eal_args[0]), eal_args) < 0)
		return EXIT_FAILURE;
	expect(pkt_pool_dpdk_create("test", NB_PKTS, ROOM_BYTES, &pool) == 0, "create");
	expect(pkt_pool_dpdk_create("test", NB_PKTS, ROOM_BYTES, &other) == -EEXIST, "taken name");
	expect(pkt_pool_dpdk_create("big", 100000, ROOM_BYTES, &other) == -ENOMEM, "400 MB of 64");
	if (nb_failed)
		return EXIT_FAILURE;
	packets_are_whole_and_apart(pool);
	a_packet_that_a_device_filled_is_as_others(pool);
	alloc_gives_all_or_nothing(pool);
	pkt_pool_dpdk_destroy(pool);
	expect(pkt_pool_dpdk_create("test", 1, 1, &pool) == 0, "the name is free again");
	pkt_pool_dpdk_destroy(pool);
	rte_eal_cleanup();
	return nb_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
