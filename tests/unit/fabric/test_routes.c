/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ip_prefix.h"
#include "prng.h"
#include "routes.h"

static struct ip_addr
ip(const char *text)
{
	struct ip_addr ip;

	cr_assert(ip_addr_parse(text, &ip), "%s", text);
	return ip;
}

/* bits as they are written: of 32 for IPv4. */
static int
set(struct routes *r, const char *prefix, uint8_t bits, uint16_t port)
{
	struct route route = {.prefix.ip = ip(prefix), .nb_ports = 1, .ports = {port}};

	route.prefix.bits = (uint8_t)(bits + (strchr(prefix, ':') ? 0 : 96));
	return routes_set(r, &route);
}

/* The port that leads to an address; -1 = none. */
static int
find(const struct routes *r, const char *text)
{
	struct ip_addr dst = ip(text);
	const struct route *route = routes_find(r, &dst);

	return route ? route->ports[0] : -1;
}

Test(routes, the_longest_prefix_that_covers_an_address_wins)
{
	static const struct {
		const char *dst;
		int port;
	} rows[] = {
		{"10.1.2.3", 32},          {"10.1.2.4", 24}, {"10.1.3.4", 16},
		{"10.2.2.3", 8},           {"11.0.0.1", 0},  {"255.255.255.255", 0},
		{"fd00::1", 128},          {"fd00::2", 64},  {"fd00:0:0:1::1", 9},
		{"fd7f:ffff::", 9},        {"fd80::", 100},  {"::", 100},
		{"::fffe:ffff:ffff", 100},
	};
	struct routes *r = routes_create(16);

	cr_assert(r);
	/* In no order. */
	set(r, "10.0.0.0", 8, 8);
	set(r, "10.1.2.3", 32, 32);
	set(r, "::", 0, 100);
	set(r, "0.0.0.0", 0, 0);
	set(r, "10.1.2.0", 24, 24);
	set(r, "fd00::", 64, 64);
	set(r, "fd00::1", 128, 128);
	set(r, "10.1.0.0", 16, 16);
	set(r, "fd00::", 9, 9);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(find(r, rows[i].dst), rows[i].port, "%s: %d", rows[i].dst,
		             find(r, rows[i].dst));
	routes_destroy(r);
}

Test(routes, an_address_that_no_prefix_covers_has_no_route)
{
	struct routes *r = routes_create(4);

	cr_expect(routes_is_empty(r));
	cr_expect_eq(find(r, "10.0.0.1"), -1);
	set(r, "10.0.0.0", 24, 1);
	cr_expect_not(routes_is_empty(r));
	cr_expect_eq(find(r, "10.0.1.1"), -1);
	cr_expect_eq(find(r, "::10.0.0.1"), -1);
	cr_expect_eq(find(r, "10.0.0.255"), 1);
	routes_destroy(r);
	routes_destroy(NULL);
}

Test(routes, the_default_of_ipv6_covers_ipv4_too)
{
	struct routes *r = routes_create(4);

	set(r, "::", 0, 5);
	cr_expect_eq(find(r, "10.0.0.1"), 5);
	set(r, "0.0.0.0", 0, 6);
	cr_expect_eq(find(r, "10.0.0.1"), 6);
	cr_expect_eq(find(r, "fd00::1"), 5);
	routes_destroy(r);
}

Test(routes, a_prefix_that_is_set_again_has_its_new_ports)
{
	const struct route group = {
		.prefix = {ip("10.0.0.77"), 96 + 24}, /* of 10.0.0.0/24 */
		.nb_ports = 3,
		.ports = {7, 5, 6},
	};
	struct ip_addr dst = ip("10.0.0.9");
	struct routes *r = routes_create(1);
	const struct route *before, *after;

	cr_expect_eq(set(r, "10.0.0.0", 24, 1), 0);
	before = routes_find(r, &dst);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(routes_set(r, &group), 0, "takes no more room");
	after = routes_find(r, &dst);
	cr_expect_eq(after, before);
	cr_expect_eq(after->nb_ports, 3);
	cr_expect_arr_eq(after->ports, group.ports, 3 * sizeof(group.ports[0]));
	routes_destroy(r);
}

Test(routes, holds_as_many_as_it_was_made_for_and_no_more)
{
	static const uint32_t sizes[] = {1, 2, 3, 64, 100};

	for (size_t row = 0; row < sizeof(sizes) / sizeof(sizes[0]); row++) {
		struct routes *r = routes_create(sizes[row]);
		char text[32];

		for (int round = 0; round < 3; round++) {
			for (uint32_t i = 0; i < sizes[row]; i++) {
				snprintf(text, sizeof(text), "10.0.%d.%u", round, i);
				cr_assert_eq(set(r, text, 32, (uint16_t)i), 0);
			}
			cr_expect_eq(set(r, "10.9.9.9", 32, 0), -ENOSPC);
			cr_expect_eq(find(r, "10.9.9.9"), -1);
			cr_expect_eq(set(r, text, 32, 99), 0, "one that is there");
			cr_expect_eq(find(r, text), 99);
			routes_clear(r);
			cr_expect(routes_is_empty(r));
			cr_expect_eq(find(r, text), -1);
		}
		routes_destroy(r);
	}
}

Test(routes, finds_each_of_4096_hosts)
{
	static const uint32_t strides[] = {1, 2, 16, 256, 65536};

	for (size_t row = 0; row < sizeof(strides) / sizeof(strides[0]); row++) {
		struct routes *r = routes_create(4096);

		for (uint32_t i = 0; i < 4096; i++) {
			uint32_t host = i * strides[row];
			const uint8_t ipv4[] = {10, (uint8_t)(host >> 16), (uint8_t)(host >> 8),
			                        (uint8_t)host};
			struct route route = {
				.prefix.bits = 128, .nb_ports = 1, .ports = {(uint16_t)i}};

			ip_addr_from_ipv4(&route.prefix.ip, ipv4);
			/* Of the widest stride, only 256 differ in their last three bytes. */
			route.prefix.ip.b[11] = (uint8_t)(host >> 24);
			cr_assert_eq(routes_set(r, &route), 0);
		}
		for (uint32_t i = 0; i < 4096; i++) {
			uint32_t host = i * strides[row];
			const uint8_t ipv4[] = {10, (uint8_t)(host >> 16), (uint8_t)(host >> 8),
			                        (uint8_t)host};
			const struct route *route;
			struct ip_addr dst;

			ip_addr_from_ipv4(&dst, ipv4);
			dst.b[11] = (uint8_t)(host >> 24);
			route = routes_find(r, &dst);
			cr_assert(route);
			cr_assert_eq(route->ports[0], i);
		}
		routes_destroy(r);
	}
}

/* ---- any prefixes, against a walk over all of them ---- */

#define NB_ANY 300

/* Few values a byte, so that prefixes cover and repeat each other. */
static struct ip_addr
some_ip(struct prng *prng)
{
	struct ip_addr any;

	for (int i = 0; i < 16; i++)
		any.b[i] = (uint8_t)(prng_below(prng, 2) * 0x81);
	if (prng_below(prng, 2))
		memcpy(any.b, ip_addr_mapped, sizeof(ip_addr_mapped));
	return any;
}

static const struct route *
walk(const struct route *all, uint32_t nb, const struct ip_addr *dst)
{
	const struct route *best = NULL;

	for (uint32_t i = 0; i < nb; i++) {
		/* Of equal ones the last, which replaced the others. */
		if (ip_prefix_covers(&all[i].prefix, dst) &&
		    (!best || all[i].prefix.bits >= best->prefix.bits))
			best = &all[i];
	}
	return best;
}

Test(routes, any_prefixes_give_what_a_walk_over_all_of_them_gives)
{
	static struct route all[NB_ANY];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct routes *r = routes_create(NB_ANY);
		struct prng prng;
		uint32_t nb;

		prng_seed(&prng, seed);
		nb = 1 + prng_below(&prng, NB_ANY);
		for (uint32_t i = 0; i < nb; i++) {
			all[i] = (struct route){
				.prefix.ip = some_ip(&prng), .nb_ports = 1, .ports = {(uint16_t)i}};
			all[i].prefix.bits =
				(uint8_t)(prng_below(&prng, 4) ? 96 + prng_below(&prng, 33)
			                                       : prng_below(&prng, 129));
			cr_assert_eq(routes_set(r, &all[i]), 0);
		}
		for (uint32_t i = 0; i < 1000; i++) {
			struct ip_addr dst = some_ip(&prng);
			const struct route *want = walk(all, nb, &dst), *got = routes_find(r, &dst);

			cr_assert_eq(got ? got->ports[0] : UINT16_MAX,
			             want ? want->ports[0] : UINT16_MAX, "seed %llu",
			             (unsigned long long)seed);
		}
		routes_destroy(r);
	}
}
