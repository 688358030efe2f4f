/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns per look-up in a switch's table of prefixes, addresses in random order: host routes alone,
 * host routes before others, and addresses that only the last of some lengths covers.
 */
#include <stdio.h>

#include "prng.h"
#include "routes.h"
#include "timing.h"

#define RUN_NS 10000000
#define NB_DSTS 16384
#define NB_HOSTS_MAX 4096

static struct ip_addr dsts[NB_DSTS];
static uint64_t sum;

static struct ip_addr
host_ip(uint32_t host)
{
	const uint8_t ipv4[] = {10, 0, (uint8_t)(host >> 8), (uint8_t)host};
	struct ip_addr ip;

	ip_addr_from_ipv4(&ip, ipv4);
	return ip;
}

static void
set(struct routes *r, const struct ip_addr *ip, uint8_t bits)
{
	struct route route = {.prefix = {*ip, bits}, .nb_ports = 1};

	if (routes_set(r, &route) < 0)
		abort();
}

static double
run(const struct routes *r)
{
	uint64_t start = timing_now_ns(), now, nb = 0;

	do {
		for (uint32_t i = 0; i < NB_DSTS; i++)
			sum += routes_find(r, &dsts[i]) != NULL;
		nb += NB_DSTS;
		now = timing_now_ns();
	} while (now - start < RUN_NS);
	return (double)(now - start) / (double)nb;
}

/* nb_hosts host routes, and the same prefix of each of the lengths. */
static void
bench(const char *what, uint32_t nb_hosts, const uint8_t *lengths, bool to_hosts)
{
	struct routes *r = routes_create(NB_HOSTS_MAX + 16);
	struct ip_addr net = host_ip(0);
	double ns[TIMING_RUNS];
	struct prng prng;

	if (!r)
		abort();
	prng_seed(&prng, 1);
	for (uint32_t h = 0; h < nb_hosts; h++) {
		struct ip_addr ip = host_ip(h);

		set(r, &ip, 128);
	}
	for (; *lengths; lengths++)
		set(r, &net, *lengths);
	for (uint32_t i = 0; i < NB_DSTS; i++) {
		uint32_t host = prng_below(&prng, nb_hosts);

		dsts[i] = host_ip(host);
		if (!to_hosts)
			dsts[i].b[12] = 11;
	}
	for (uint32_t i = 0; i < TIMING_RUNS; i++)
		ns[i] = run(r);
	printf("%-48s %6.1f\n", what, timing_median(ns));
	routes_destroy(r);
}

int
main(void)
{
	static const uint8_t none[] = {0}, usual[] = {120, 104, 96, 0};

	printf("ns per look-up, median of %d runs\n\n", TIMING_RUNS);
	bench("16 hosts", 16, none, true);
	bench("4,096 hosts", NB_HOSTS_MAX, none, true);
	bench("4,096 hosts, before /24, /8 and a default", NB_HOSTS_MAX, usual, true);
	bench("the default, behind 4,096 hosts, /24 and /8", NB_HOSTS_MAX, usual, false);
	bench("no route, behind 4,096 hosts", NB_HOSTS_MAX, none, false);
	return sum == 0;
}
