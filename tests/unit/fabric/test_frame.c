/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "fabric_rig.h"
#include "frame.h"
#include "hdr.h"
#include "prng.h"

#define NB_FLOWS 4096

static struct rig rig;

static struct pkt *
udp(uint8_t dst, uint8_t src, uint16_t sport)
{
	return rig_udp(&rig, dst, src, 0x68, sport, 100);
}

static uint32_t
hash(struct pkt *p, uint64_t salt)
{
	struct frame f;
	uint32_t h;

	frame_parse(p->data, p->len, &f);
	h = frame_flow_hash(p->data, p->len, &f, salt);
	pkt_free(&p, 1);
	return h;
}

static void
setup(void)
{
	rig_init(&rig, 2);
	rig_open(&rig);
}

static void
teardown(void)
{
	rig_close(&rig);
}

TestSuite(frame, .init = setup, .fini = teardown);

Test(frame, reads_ipv4_ipv6_and_vlan_tags)
{
	static const struct {
		uint8_t tail[8];
		uint16_t eth_type, l3_off;
		bool ipv6, has_vlan;
		uint8_t pcp, tos;
	} rows[] = {
		{{0x08, 0x00, 0x45, 0x68}, 0x0800, 14, false, false, 0, 0x68},
		{{0x86, 0xdd, 0x66, 0xa0}, 0x86dd, 14, true, false, 0, 0x6a},
		{{0x81, 0x00, 0x60, 0x05, 0x08, 0x00, 0x45, 0xb8},
	         0x0800,
	         18,
	         false,
	         true,
	         3,
	         0xb8},
		{{0x81, 0x00, 0xe0, 0x05, 0x86, 0xdd, 0x61, 0x20}, 0x86dd, 18, true, true, 7, 0x12},
		{{0x08, 0x00, 0x65, 0x68}, 0x0800, 0, false, false, 0, 0},
		{{0x86, 0xdd, 0x45, 0x68}, 0x86dd, 0, false, false, 0, 0},
		{{0x08, 0x06, 0x00, 0x01}, 0x0806, 0, false, false, 0, 0},
		{{0x81, 0x00, 0x60, 0x05, 0x81, 0x00, 0x60, 0x06}, 0x8100, 0, false, true, 3, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pkt *p = rig_frame(&rig, 2, 1, 80);
		struct frame f;

		memcpy(p->data + 12, rows[i].tail, sizeof(rows[i].tail));
		frame_parse(p->data, p->len, &f);
		cr_expect_eq(f.eth_type, rows[i].eth_type, "row %zu", i);
		cr_expect_eq(f.l3_off, rows[i].l3_off, "row %zu", i);
		cr_expect_eq(f.ipv6, rows[i].ipv6, "row %zu", i);
		cr_expect_eq(f.has_vlan, rows[i].has_vlan, "row %zu", i);
		cr_expect_eq(f.pcp, rows[i].pcp, "row %zu", i);
		cr_expect_eq(f.tos, rows[i].tos, "row %zu: %x", i, f.tos);
		pkt_free(&p, 1);
	}
}

/* Each length in an allocation of its own, so that a sanitizer sees a byte too far. */
Test(frame, reads_nothing_beyond_the_end)
{
	struct prng dice;

	prng_seed(&dice, 11);
	for (uint32_t len = ETH_LEN; len < 100; len++)
		for (int row = 0; row < 8; row++) {
			uint8_t *data = malloc(len);
			struct frame f;

			for (uint32_t i = 0; i < len; i++)
				data[i] = (uint8_t)prng_next(&dice);
			put_be16(data + 12, row & 1 ? ETH_TYPE_IPV4 : ETH_TYPE_IPV6);
			if (len > 18 && row & 2) {
				put_be16(data + 16, get_be16(data + 12));
				put_be16(data + 12, ETH_TYPE_VLAN);
			}
			if (len > 18)
				data[row & 2 ? 18 : 14] = row & 1 ? 0x4f : 0x60;
			if (len > 30 && row & 4)
				data[(row & 2 ? 18 : 14) + (row & 1 ? 9 : 6)] = 17;
			frame_parse(data, len, &f);
			frame_flow_hash(data, len, &f, 1);
			cr_assert(!f.l3_off || f.l3_off + (f.ipv6 ? 40u : 20u) <= len);
			free(data);
		}
}

Test(frame, flows_differ_by_address_port_and_salt_and_by_nothing_else)
{
	uint32_t base = hash(udp(2, 1, 5000), 1);
	struct pkt *p;

	cr_expect_eq(hash(udp(2, 1, 5000), 1), base);
	cr_expect_neq(hash(udp(3, 1, 5000), 1), base);
	cr_expect_neq(hash(udp(2, 4, 5000), 1), base);
	cr_expect_neq(hash(udp(2, 1, 5001), 1), base);
	cr_expect_neq(hash(udp(2, 1, 5000), 2), base);
	p = udp(2, 1, 5000);
	p->data[14 + 1] = 0; /* ToS */
	p->data[14 + 4] = 9; /* identification */
	p->data[14 + 8] = 1; /* TTL */
	p->data[60] ^= 1;    /* payload */
	cr_expect_eq(hash(p, 1), base);
}

Test(frame, all_fragments_of_a_datagram_are_one_flow)
{
	struct pkt *first = udp(2, 1, 5000), *second = udp(2, 1, 777);

	put_be16(first->data + 14 + 6, IPV4_MF);
	put_be16(second->data + 14 + 6, 100);
	cr_expect_eq(hash(first, 1), hash(second, 1));
}

/* As chance would have it: chi-square with 15 degrees of freedom is below 37.7 in 999 of 1000. */
Test(frame, sequential_ports_and_addresses_spread_evenly)
{
	for (int kind = 0; kind < 2; kind++) {
		uint32_t nb[16] = {0};
		double chi = 0;

		for (uint32_t i = 0; i < NB_FLOWS; i++) {
			uint32_t h = kind ? hash(udp((uint8_t)(2 + i % 64), (uint8_t)(70 + i / 64),
			                             0xc000),
			                         3)
			                  : hash(udp(2, 1, (uint16_t)(0xc000 + i)), 3);

			nb[h % 16]++;
		}
		for (int i = 0; i < 16; i++)
			chi += (nb[i] - 256.0) * (nb[i] - 256.0) / 256.0;
		cr_expect_lt(chi, 37.7, "kind %d: %f", kind, chi);
	}
}

/* Two switches in a row must not choose alike: among flows of one port of the first, all ports of
 * the second are chosen. */
Test(frame, another_salt_is_another_choice)
{
	uint32_t nb[4] = {0}, sum = 0;

	for (uint32_t i = 0; i < NB_FLOWS; i++) {
		if (hash(udp(2, 1, (uint16_t)(0xc000 + i)), 1) % 4 != 2)
			continue;
		nb[hash(udp(2, 1, (uint16_t)(0xc000 + i)), 2) % 4]++;
		sum++;
	}
	for (int i = 0; i < 4; i++)
		cr_expect(nb[i] > sum / 5 && nb[i] < sum * 3 / 10, "%u of %u", nb[i], sum);
}
