/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end of a port on an interface of the kernel, without a stack: sends frames of one size as
 * fast as the port takes them, or counts those that arrive. A line of packets/s for each second.
 *   port_rate af_packet|af_xdp INTERFACE tx|rx FRAME_BYTES SECONDS
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "af_packet.h"
#include "af_xdp.h"
#include "be.h"
#include "hdr.h"
#include "mem.h"
#include "wire.h"

#define BURST 32
#define SECOND_NS UINT64_C(1000000000)

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* UDP over IPv4 to the port of RoCE; nobody looks further. */
static void
make_frame(struct pkt *p, uint32_t len)
{
	uint8_t *ip = p->data + ETH_LEN;

	memset(p->data, 0, len);
	memset(p->data, 2, 12);
	put_be16(p->data + 12, ETH_TYPE_IPV4);
	ip[0] = IPV4_VERSION_IHL;
	put_be16(ip + 2, (uint16_t)(len - ETH_LEN));
	ip[8] = 64;
	ip[9] = IP_PROTO_UDP;
	put_be16(ip + IPV4_LEN + 2, UDP_PORT_ROCE);
	p->len = len;
}

static void
send_turn(struct port *port, struct pkt_pool *pool, uint32_t len, uint64_t now_ns)
{
	struct pkt *pkts[BURST];
	uint32_t room = port->ops->tx_room(port), n = room < BURST ? room : BURST, sent;

	if (n == 0 || pool->alloc(pool, pkts, n) == 0) {
		sched_yield();
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		make_frame(pkts[i], len);
	sent = port->ops->tx_burst(port, pkts, n, now_ns);
	pkt_free(pkts + sent, n - sent);
}

/* Also for a sender: a port does what is left to do when it is asked for frames. */
static void
receive_turn(struct port *port, uint64_t now_ns)
{
	struct pkt *pkts[BURST];
	uint32_t n = port->ops->rx_burst(port, pkts, BURST, now_ns);

	pkt_free(pkts, n);
}

static void
run(struct port *port, struct pkt_pool *pool, bool sends, uint32_t len, uint64_t seconds)
{
	const uint64_t *count = sends ? &port->stats.tx_packets : &port->stats.rx_packets;
	uint64_t begin_ns = now(), told_ns = begin_ns, told = 0, now_ns = begin_ns;

	while (now_ns - begin_ns < seconds * SECOND_NS) {
		now_ns = now();
		if (sends)
			send_turn(port, pool, len, now_ns);
		receive_turn(port, now_ns);
		if (now_ns - told_ns < SECOND_NS)
			continue;
		printf("%.0f\n", (double)(*count - told) * 1e9 / (double)(now_ns - told_ns));
		fflush(stdout);
		told = *count;
		told_ns = now_ns;
	}
}

int
main(int argc, char **argv)
{
	struct pkt_pool *pool = pkt_pool_mem_create(4095, 2048);
	struct af_xdp_info info;
	struct port *port;
	char why[256];
	int err;

	if (argc != 6 || !pool)
		return 2;
	if (strcmp(argv[1], "af_xdp") == 0)
		err = port_af_xdp_open(argv[2], KERNEL_TAKE_ROCE, pool, &info, &port, why,
		                       sizeof(why));
	else
		err = port_af_packet_open(argv[2], KERNEL_TAKE_ROCE, pool, &port, why, sizeof(why));
	if (err) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	run(port, pool, strcmp(argv[3], "tx") == 0, (uint32_t)atoi(argv[4]),
	    (uint64_t)atoi(argv[5]));
	port->ops->close(port);
	pkt_pool_mem_destroy(pool);
	return 0;
}
