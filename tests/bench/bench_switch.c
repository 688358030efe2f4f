/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per frame of what lies between two stacks: packet pool, ports, faults, switch. A turn sends a
 * burst of 32 frames from host 0 and takes them in at the other end, on one core; frames are not
 * touched beyond their Ethernet header.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"
#include "fault.h"
#include "mem.h"
#include "switch.h"
#include "timing.h"
#ifdef HAVE_DPDK
#include "dpdk.h"
#endif

#define BURST 32
#define RUN_NS 20000000
#define NB_PORTS 4
#define NB_PKTS 1024
#define FRAME_LEN 1082
/* MACs behind the second port, so that no two frames in a row go the same way. */
#define NB_MACS 64

static struct pkt_pool *pool;
static struct port *host[NB_PORTS], *port[NB_PORTS];
static struct fabric_switch *sw;
static uint64_t now_ns = 1000;
static uint8_t first_mac, nb_macs;

static void
put_mac(uint8_t *mac, uint8_t number)
{
	memset(mac, number == 0xff ? 0xff : 0, 6);
	if (number != 0xff)
		mac[0] = 0x02;
	mac[5] = number;
}

static void
make_burst(struct pkt **pkts, uint32_t from)
{
	uint32_t n = pool->alloc(pool, pkts, BURST);

	assert(n == BURST);
	for (uint32_t i = 0; i < n; i++) {
		put_mac(pkts[i]->data, (uint8_t)(first_mac + (nb_macs ? i % nb_macs : 0)));
		put_mac(pkts[i]->data + 6, (uint8_t)from);
		pkts[i]->data[12] = 0x08;
		pkts[i]->data[13] = 0;
		pkts[i]->len = FRAME_LEN;
	}
}

static void
send_burst(uint32_t from)
{
	struct pkt *pkts[BURST];
	uint32_t n;

	make_burst(pkts, from);
	n = host[from]->ops->tx_burst(host[from], pkts, BURST, now_ns);
	assert(n == BURST);
}

static uint32_t
take_burst(struct port *from)
{
	struct pkt *pkts[BURST];
	uint32_t n = from->ops->rx_burst(from, pkts, BURST, now_ns);

	pkt_free(pkts, n);
	return n;
}

static void
turn_pool(void)
{
	struct pkt *pkts[BURST];

	make_burst(pkts, 0);
	pkt_free(pkts, BURST);
}

static void
turn_wire(void)
{
	send_burst(0);
	now_ns += 1000;
	take_burst(port[0]);
}

static void
turn_switch_alone(void)
{
	struct pkt *pkts[BURST];

	make_burst(pkts, 0);
	now_ns += 1000;
	switch_receive(sw, 0, pkts, BURST, now_ns);
	pkt_free(pkts, switch_send(sw, 1, pkts, BURST, now_ns));
}

static void
turn_switch(void)
{
	struct pkt *pkts[BURST];

	send_burst(0);
	now_ns += 1000;
	for (uint16_t i = 0; i < NB_PORTS; i++) {
		uint32_t n = port[i]->ops->rx_burst(port[i], pkts, BURST, now_ns);

		switch_receive(sw, i, pkts, n, now_ns);
	}
	for (uint16_t i = 0; i < NB_PORTS; i++) {
		uint32_t n = switch_send(sw, i, pkts, BURST, now_ns);

		n -= port[i]->ops->tx_burst(port[i], pkts, n, now_ns);
		assert(n == 0);
	}
	for (uint16_t i = 0; i < NB_PORTS; i++)
		take_burst(host[i]);
}

static void
report(const char *what, void (*turn)(void))
{
	printf("%-44s %6.1f\n", what, timing_step(turn, BURST, RUN_NS));
}

static void
open_mem(void)
{
	for (uint32_t i = 0; i < NB_PORTS; i++) {
		struct port *ends[2];

		if (port_mem_create_pair(256, ends) < 0)
			abort();
		host[i] = ends[0];
		port[i] = ends[1];
	}
}

#ifdef HAVE_DPDK
static void
open_ring(void)
{
	for (uint32_t i = 0; i < NB_PORTS; i++) {
		char name[] = {'r', (char)('0' + i), 0};

		if (port_ring_open(name, PORT_RING_DEPTH_PKTS, &host[i]) < 0 ||
		    port_ring_open(name, PORT_RING_DEPTH_PKTS, &port[i]) < 0)
			abort();
	}
}
#endif

static void
close_ports(void)
{
	for (uint32_t i = 0; i < NB_PORTS; i++) {
		host[i]->ops->close(host[i]);
		port[i]->ops->close(port[i]);
	}
}

static void
bench_fault(const char *what, uint32_t ppm)
{
	struct fault_params params = {
		.seed = 1,
		.tx = {.ppm = {ppm, ppm, ppm, ppm}, .reorder_pkts = 8, .reorder_ns = 100000},
	};

	open_mem();
	if (port_fault_wrap(host[0], &params, pool, &host[0]) < 0)
		abort();
	report(what, turn_wire);
	close_ports();
}

static void
bench_switch(void)
{
	struct switch_port_params ports[NB_PORTS];
	struct switch_conf conf;

	switch_conf_default(&conf);
	for (int i = 0; i < NB_PORTS; i++)
		param_defaults(switch_port_descs, &ports[i]);
	conf.params.mac_age_ns = UINT64_MAX;
	conf.nb_ports = NB_PORTS;
	conf.ports = ports;
	conf.lb = lb_find("ecmp", LB_SWITCH);
	sw = switch_create(&conf, pool);
	if (!sw)
		abort();
	/* Every MAC from 1 on is behind port 1. */
	first_mac = 0;
	for (uint32_t i = 0; i < NB_MACS; i++) {
		struct pkt *p;

		if (pool->alloc(pool, &p, 1) == 0)
			abort();
		put_mac(p->data, 0);
		put_mac(p->data + 6, (uint8_t)(1 + i));
		p->len = FRAME_LEN;
		switch_receive(sw, 1, &p, 1, now_ns);
		while (switch_next_ns(sw) == 0)
			for (uint16_t out = 0; out < NB_PORTS; out++)
				if (switch_send(sw, out, &p, 1, now_ns))
					pkt_free(&p, 1);
	}
	first_mac = 1;
	nb_macs = 0;
	report("switch alone, all to one MAC", turn_switch_alone);
	report("switch, all to one MAC", turn_switch);
	nb_macs = BURST;
	report("switch alone, each to another MAC", turn_switch_alone);
	report("switch, each to another MAC", turn_switch);
	first_mac = 0xff;
	nb_macs = 0;
	report("switch, broadcast to 3 ports", turn_switch);
	switch_destroy(sw);
}

int
main(void)
{
	pool = pkt_pool_mem_create(NB_PKTS, 2048);
	if (!pool)
		return EXIT_FAILURE;
	printf("ns per frame of %d bytes, median of %d runs\n\n", FRAME_LEN, TIMING_RUNS);
	report("pool alone: alloc, two MACs, free", turn_pool);
	open_mem();
	report("memory ports, pool included", turn_wire);
	bench_switch();
	close_ports();
	bench_fault("fault layer, memory ports, no faults", 0);
	bench_fault("fault layer, memory ports, 1 % of each kind", 10000);
#ifdef HAVE_DPDK
	open_ring();
	first_mac = 1;
	report("ring ports, pool included", turn_wire);
	printf("over ring ports\n");
	bench_switch();
	close_ports();
#endif
	pkt_pool_mem_destroy(pool);
	return EXIT_SUCCESS;
}
