/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per frame of a switch alone that does everything: prefixes and ECMP over eight links of
 * 100 Gb/s, RED, telemetry, and trimming. Time is virtual: a turn brings a burst of 32 frames and
 * takes away what the links have carried meanwhile. Frames are of the weft framing, 1 KB, of 64
 * flows, and go round in a pool of 0.7 MB; what a turn costs beside the switch (headers written
 * anew) is measured and taken off.
 */
#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "be.h"
#include "bind.h"
#include "hdr.h"
#include "mem.h"
#include "prng.h"
#include "switch.h"
#include "timing.h"
#include "weft_hdr.h"
#include "wire.h"
#ifdef HAVE_DPDK
#include <rte_eal.h>
#include <rte_ring.h>
#endif

#define BURST 32
#define RUN_NS 100000000
#define NB_LINKS 8
#define NB_FLOWS 64
#define NB_PKTS 512
#define FRAME_LEN 1024
#define HDR_LEN 102 /* up to and with five slots for telemetry */
#define RATE UINT64_C(100000000000)

static struct pkt_pool *pool;
static struct fabric_switch *sw;
static struct pkt *ring[NB_PKTS]; /* those that are not in the switch */
static uint32_t ring_in, ring_out;
static uint8_t headers[NB_FLOWS][HDR_LEN];
static uint64_t now_ns, turn_ns;
static uint64_t nb_arrived;

static void
make_headers(void)
{
	for (uint32_t i = 0; i < NB_FLOWS; i++) {
		uint8_t *h = headers[i], *ip = h + ETH_LEN, *udp = ip + IPV4_LEN,
			*bth = udp + UDP_LEN;

		h[0] = h[6] = 0x02;
		put_be16(h + 12, ETH_TYPE_IPV4);
		ip[0] = IPV4_VERSION_IHL;
		ip[1] = 0x60 | DCP_DATA << DCP_TAG_SHIFT | ECN_ECT0;
		put_be16(ip + 2, FRAME_LEN - ETH_LEN);
		put_be16(ip + 6, IPV4_DF);
		ip[8] = 64;
		ip[9] = IP_PROTO_UDP;
		put_be32(ip + 12, 0x0a000001);
		put_be32(ip + 16, 0x0a000100 + i);
		put_be16(udp, (uint16_t)(0xc000 + i * 7));
		put_be16(udp + 2, UDP_PORT_ROCE);
		put_be16(udp + 4, FRAME_LEN - ETH_LEN - IPV4_LEN);
		bth[0] = WEFT_GROUP + 1;
		bth[1] = WEFT_TVER;
		bth[WEFT_OFF_MAP] = 5 << 5;
	}
}

static void
ring_put(struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ring[ring_in++ % NB_PKTS] = pkts[i];
}

/* The next burst, as new. */
static void
ring_take(struct pkt **pkts)
{
	assert(ring_in - ring_out >= BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		pkts[i] = ring[ring_out++ % NB_PKTS];
		memcpy(pkts[i]->data, headers[ring_out % NB_FLOWS], HDR_LEN);
		pkts[i]->len = FRAME_LEN;
	}
}

static void
turn_headers(void)
{
	struct pkt *pkts[BURST];

	ring_take(pkts);
	ring_put(pkts, BURST);
}

static void
turn_switch(void)
{
	struct pkt *pkts[BURST];

	ring_take(pkts);
	nb_arrived += BURST;
	now_ns += turn_ns;
	switch_receive(sw, NB_LINKS, pkts, BURST, now_ns);
	for (uint16_t i = 0; i < NB_LINKS; i++) {
		uint32_t n = switch_send(sw, i, pkts, BURST, now_ns);

		ring_put(pkts, n);
	}
}

struct features {
	const char *what;
	bool ecmp, red, has_int, trim;
	double load; /* of the links on average; of 64 flows one gets twice its share */
};

/* Dropped frames would leave the ring: there are none unless something is wrong. */
static void
open_switch(const struct features *f)
{
	struct switch_port_params ports[NB_LINKS + 1];
	struct route route = {.prefix.bits = 96 + 8, .nb_ports = f->ecmp ? NB_LINKS : 1};
	struct switch_conf conf;

	switch_conf_default(&conf);
	for (uint16_t i = 0; i <= NB_LINKS; i++) {
		param_defaults(switch_port_descs, &ports[i]);
		ports[i].rate_bps = f->has_int || f->trim ? RATE : 0;
	}
	conf.nb_ports = NB_LINKS + 1;
	conf.ports = ports;
	conf.lb = lb_find("ecmp", LB_SWITCH);
	conf.has_int = f->has_int;
	if (f->red) {
		conf.queues[3].kmax_bytes = 400000;
		conf.queues[3].pmax = 0.2;
	}
	if (f->trim) {
		conf.trim_queue = 7;
		conf.queues[7].weight = 0;
		conf.queues[3].limit_bytes = 20000;
	}
	sw = switch_create(&conf, pool);
	if (!sw || !ip_addr_parse("10.0.0.0", &route.prefix.ip))
		abort();
	for (uint16_t i = 0; i < route.nb_ports; i++)
		route.ports[i] = i;
	if (routes_set(switch_routes(sw), &route) < 0)
		abort();
	turn_ns = (uint64_t)(BURST * (FRAME_LEN + 24) * 8 / 100.0 / route.nb_ports / f->load);
}

static void
close_switch(void)
{
	struct pkt *pkts[BURST];

	/* What is still on its way comes back to the ring. */
	for (int i = 0; i < 1000; i++, now_ns += 10000)
		for (uint16_t p = 0; p < NB_LINKS; p++)
			ring_put(pkts, switch_send(sw, p, pkts, BURST, now_ns));
	assert(ring_in - ring_out == NB_PKTS);
	switch_destroy(sw);
}

static void
bench(const struct features *f, double beside_ns)
{
	uint64_t nb_trimmed = 0;
	double ns;

	open_switch(f);
	nb_arrived = 0;
	ns = timing_step(turn_switch, BURST, RUN_NS);
	for (uint16_t i = 0; i < NB_LINKS; i++)
		nb_trimmed += switch_port_stats(sw, i)->q[3].trimmed;
	printf("%-44s %6.1f", f->what, ns - beside_ns);
	if (f->trim)
		printf("  %.0f %% trimmed", 100.0 * (double)nb_trimmed / (double)nb_arrived);
	putchar('\n');
	close_switch();
}

#ifdef HAVE_DPDK
static struct rte_ring *bare;

static void
turn_bare(void)
{
	void *pkts[BURST];

	rte_ring_enqueue_bulk(bare, (void **)ring, BURST, NULL);
	rte_ring_dequeue_bulk(bare, pkts, BURST, NULL);
}

static void
bench_bare(void)
{
	char *args[] = {"bench", "--no-huge", "--no-shconf", "--no-pci",    "--iova-mode",
	                "va",    "-m",        "64",          "--log-level", "1"};

	if (rte_eal_init(sizeof(args) / sizeof(args[0]), args) < 0)
		return;
	bare = rte_ring_create("bare", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!bare)
		return;
	printf("%-44s %6.1f\n", "pointers through a bare rte_ring",
	       timing_step(turn_bare, BURST, RUN_NS));
}
#endif

static void
print_memory(void)
{
	struct switch_port_params ports[64];
	struct switch_conf conf;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;

	switch_conf_default(&conf);
	for (uint16_t i = 0; i < 64; i++)
		param_defaults(switch_port_descs, &ports[i]);
	conf.nb_ports = 64;
	conf.ports = ports;
	conf.lb = lb_find("ecmp", LB_SWITCH);
	sw = switch_create(&conf, pool);
	if (!sw)
		abort();
	printf("\na switch of 64 ports takes %.2f MiB without frames\n",
	       (double)(mallinfo2().uordblks + mallinfo2().hblkhd - before) / (1 << 20));
	switch_destroy(sw);
}

int
main(void)
{
	static const struct features rows[] = {
		{"one prefix, one port", false, false, false, false, 0.95},
		{"ECMP", true, false, false, false, 0.95},
		{"ECMP, RED, INT", true, true, true, false, 0.5},
		{"ECMP, RED, INT, trimming", true, true, true, true, 2.2},
	};
	double beside_ns;
	struct prng dice;

	pool = pkt_pool_mem_create(NB_PKTS, 1300);
	if (!pool || pool->alloc(pool, ring, NB_PKTS) == 0)
		return EXIT_FAILURE;
	ring_in = NB_PKTS;
	/* In the order of nothing, as they soon are: the caches then miss as often in what is taken
	 * off. */
	prng_seed(&dice, 1);
	for (uint32_t i = NB_PKTS - 1; i > 0; i--) {
		uint32_t k = prng_below(&dice, i + 1);
		struct pkt *p = ring[i];

		ring[i] = ring[k];
		ring[k] = p;
	}
	make_headers();
	printf("ns per arriving frame of %d bytes, median of %d runs\n\n", FRAME_LEN, TIMING_RUNS);
	beside_ns = timing_step(turn_headers, BURST, RUN_NS);
	printf("%-44s %6.1f\n", "headers written, taken off below", beside_ns);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bench(&rows[i], beside_ns);
#ifdef HAVE_DPDK
	bench_bare();
#endif
	print_memory();
	pkt_free(ring, NB_PKTS);
	pkt_pool_mem_destroy(pool);
	return EXIT_SUCCESS;
}
