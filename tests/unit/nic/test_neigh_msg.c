/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "neigh_msg.h"
#include "prng.h"

/* clang-format off */
static const uint8_t arp_request[60] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x06, 0x00, 0x01,
	0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x0a, 0x4d, 0x00, 0x02,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x4d, 0x00, 0x01,
};
static const uint8_t arp_reply[60] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x01,
	0x08, 0x00, 0x06, 0x04, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x4d, 0x00, 0x01,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x0a, 0x4d, 0x00, 0x02,
};
/* Checksums by an independent script. */
static const uint8_t solicitation[86] = {
	0x33, 0x33, 0xff, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x86, 0xdd, 0x60, 0x00,
	0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0xff, 0x00, 0x00, 0x01, 0x87, 0x00, 0x7d, 0x97, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x01,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02,
};
static const uint8_t advertisement_vlan[90] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x05,
	0x86, 0xdd, 0x60, 0x00, 0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x88, 0x00, 0x1c, 0x9c, 0x60, 0x00,
	0x00, 0x00, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
};
/* Duplicate address detection: the sender has no address yet. */
static const uint8_t probe[78] = {
	0x33, 0x33, 0xff, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x86, 0xdd, 0x60, 0x00,
	0x00, 0x00, 0x00, 0x18, 0x3a, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0xff, 0x00, 0x00, 0x01, 0x87, 0x00, 0x7d, 0xa5, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
};
static const uint8_t advertisement_to_all[86] = {
	0x33, 0x33, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd, 0x60, 0x00,
	0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0x00, 0x5a, 0x9b, 0x20, 0x00, 0x00, 0x00, 0xfd, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x01,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
};
/* clang-format on */

#define MAC_1                                                                                      \
	{                                                                                          \
		0x02, 0, 0, 0, 0, 1                                                                \
	}
#define MAC_2                                                                                      \
	{                                                                                          \
		0x02, 0, 0, 0, 0, 2                                                                \
	}
#define IPV4_1                                                                                     \
	{                                                                                          \
		{                                                                                  \
			[10] = 0xff, 0xff, 10, 77, 0, 1                                            \
		}                                                                                  \
	}
#define IPV4_2                                                                                     \
	{                                                                                          \
		{                                                                                  \
			[10] = 0xff, 0xff, 10, 77, 0, 2                                            \
		}                                                                                  \
	}
#define IPV6_1                                                                                     \
	{                                                                                          \
		{                                                                                  \
			0xfd, [15] = 1                                                             \
		}                                                                                  \
	}
#define IPV6_2                                                                                     \
	{                                                                                          \
		{                                                                                  \
			0xfd, [15] = 2                                                             \
		}                                                                                  \
	}

static const struct {
	const char *name;
	const uint8_t *frame;
	uint32_t len;
	struct neigh_msg msg;
} vectors[] = {
	{"ARP request",
         arp_request,
         sizeof(arp_request),
         {.is_question = true,
          .has_mac = true,
          .sender = IPV4_2,
          .target = IPV4_1,
          .mac = MAC_2,
          .eth_src = MAC_2,
          .eth_dst = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}},
	{"ARP reply",
         arp_reply,
         sizeof(arp_reply),
         {.has_mac = true,
          .sender = IPV4_1,
          .target = IPV4_2,
          .mac = MAC_1,
          .eth_src = MAC_1,
          .eth_dst = MAC_2}},
	{"solicitation",
         solicitation,
         sizeof(solicitation),
         {.is_question = true,
          .has_mac = true,
          .sender = IPV6_2,
          .target = IPV6_1,
          .mac = MAC_2,
          .eth_src = MAC_2,
          .eth_dst = {0x33, 0x33, 0xff, 0, 0, 1}}},
	{"advertisement",
         advertisement_vlan,
         sizeof(advertisement_vlan),
         {.has_mac = true,
          .is_solicited = true,
          .sender = IPV6_1,
          .target = IPV6_2,
          .mac = MAC_1,
          .eth_src = MAC_1,
          .eth_dst = MAC_2,
          .has_vlan = true,
          .vlan_tci = 0x6005}},
	{"probe",
         probe,
         sizeof(probe),
         {.is_question = true,
          .target = IPV6_1,
          .eth_src = MAC_2,
          .eth_dst = {0x33, 0x33, 0xff, 0, 0, 1}}},
	{"to all",
         advertisement_to_all,
         sizeof(advertisement_to_all),
         {.has_mac = true,
          .sender = IPV6_1,
          .target = {{0xff, 0x02, [15] = 1}},
          .mac = MAC_1,
          .eth_src = MAC_1,
          .eth_dst = {0x33, 0x33, 0, 0, 0, 1}}},
};
#define NB_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

Test(neigh_msg, builds_the_bytes_of_the_standards)
{
	for (size_t i = 0; i < NB_VECTORS; i++) {
		uint8_t buf[NEIGH_MSG_MAX];

		memset(buf, 0xa5, sizeof(buf));
		cr_expect_eq(neigh_msg_build(buf, &vectors[i].msg), vectors[i].len, "%s",
		             vectors[i].name);
		cr_expect_arr_eq(buf, vectors[i].frame, vectors[i].len, "%s", vectors[i].name);
	}
}

Test(neigh_msg, reads_what_it_builds)
{
	for (size_t i = 0; i < NB_VECTORS; i++) {
		const struct neigh_msg *want = &vectors[i].msg;
		struct neigh_msg msg;

		cr_assert(neigh_msg_parse(vectors[i].frame, vectors[i].len, &msg), "%s",
		          vectors[i].name);
		cr_expect_eq(msg.is_question, want->is_question);
		cr_expect_eq(msg.has_mac, want->has_mac);
		cr_expect_not(msg.is_weak);
		cr_expect_arr_eq(msg.sender.b, want->sender.b, 16, "%s", vectors[i].name);
		cr_expect_arr_eq(msg.target.b, want->target.b, 16, "%s", vectors[i].name);
		cr_expect_arr_eq(msg.mac, want->mac, 6, "%s", vectors[i].name);
		cr_expect_arr_eq(msg.eth_src, want->eth_src, 6, "%s", vectors[i].name);
		cr_expect_arr_eq(msg.eth_dst, want->eth_dst, 6, "%s", vectors[i].name);
		cr_expect_eq(msg.has_vlan, want->has_vlan);
		cr_expect_eq(msg.vlan_tci, want->vlan_tci);
	}
}

Test(neigh_msg, refuses_every_frame_that_was_cut_and_reads_no_byte_behind)
{
	static const uint32_t arp_len = 14 + 28;

	for (size_t i = 0; i < NB_VECTORS; i++) {
		uint32_t need = vectors[i].len == 60 ? arp_len : vectors[i].len;

		for (uint32_t len = 0; len <= vectors[i].len; len++) {
			uint8_t *exact = malloc(len ? len : 1);
			struct neigh_msg msg;

			memcpy(exact, vectors[i].frame, len);
			cr_expect_eq(neigh_msg_parse(exact, len, &msg), len >= need, "%s, %u",
			             vectors[i].name, len);
			free(exact);
		}
	}
}

Test(neigh_msg, a_flipped_bit_of_an_nd_message_is_always_noticed)
{
	struct neigh_msg msg;
	uint8_t buf[86];

	/* From the next header on; what is before is not covered by any checksum. */
	for (uint32_t bit = 20 * 8; bit < sizeof(buf) * 8; bit++) {
		memcpy(buf, solicitation, sizeof(buf));
		buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_not(neigh_msg_parse(buf, sizeof(buf), &msg), "bit %u", bit);
	}
}

Test(neigh_msg, refuses_arp_of_other_kinds)
{
	static const struct {
		uint32_t at;
		uint8_t byte;
		const char *what;
	} rows[] = {
		{15, 6, "hardware"},         {16, 0x86, "protocol"},    {18, 8, "hardware length"},
		{19, 16, "protocol length"}, {21, 0, "operation 0"},    {21, 3, "RARP"},
		{22, 3, "group as sender"},  {6, 1, "group as source"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neigh_msg msg;
		uint8_t buf[60];

		memcpy(buf, arp_request, sizeof(buf));
		buf[rows[i].at] = rows[i].byte;
		cr_expect_not(neigh_msg_parse(buf, sizeof(buf), &msg), "%s", rows[i].what);
	}
}

/* Change bytes of an ND message and make its checksum right again (RFC 1624). */
static void
patch(uint8_t *frame, uint32_t at, uint8_t byte)
{
	bool is_high = at % 2 == 0;
	uint32_t sum = (uint32_t)(frame[56] << 8 | frame[57]) ^ 0xffff;
	uint32_t shift = is_high ? 8 : 0;

	sum += (uint32_t)(uint8_t)~frame[at] << shift | (is_high ? 0xff : 0xff00);
	sum += (uint32_t)byte << shift;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum ^= 0xffff;
	frame[56] = (uint8_t)(sum >> 8);
	frame[57] = (uint8_t)sum;
	frame[at] = byte;
}

Test(neigh_msg, refuses_nd_that_breaks_a_rule_in_spite_of_a_right_checksum)
{
	static const struct {
		const uint8_t *frame;
		uint32_t len, at;
		uint8_t byte;
		bool is_summed, ok;
		const char *what;
	} rows[] = {
		{solicitation, 86, 61, 0x80, true, true, "reserved bits are ignored"},
		{solicitation, 86, 21, 254, false, false, "hop limit"},
		{solicitation, 86, 55, 1, true, false, "code"},
		{solicitation, 86, 54, 133, true, false, "router solicitation"},
		{solicitation, 86, 62, 0xff, true, false, "group as target"},
		{solicitation, 86, 22, 0xff, true, false, "group as sender"},
		{solicitation, 86, 79, 0, true, false, "option without length"},
		{solicitation, 86, 79, 2, true, false, "option beyond the end"},
		{solicitation, 86, 80, 0x03, true, false, "group as MAC"},
		{solicitation, 86, 78, 14, true, true, "an option we do not know"},
		{probe, 78, 38, 0xfd, true, false, "probe to no solicited-node group"},
		{advertisement_to_all, 86, 58, 0x60, true, false, "solicited, yet to a group"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct neigh_msg msg;
		uint8_t buf[86];

		memcpy(buf, rows[i].frame, rows[i].len);
		if (rows[i].is_summed)
			patch(buf, rows[i].at, rows[i].byte);
		else
			buf[rows[i].at] = rows[i].byte;
		cr_expect_eq(neigh_msg_parse(buf, rows[i].len, &msg), rows[i].ok, "%s",
		             rows[i].what);
	}
}

Test(neigh_msg, an_advertisement_without_override_is_weak)
{
	struct neigh_msg msg;
	uint8_t buf[86];

	memcpy(buf, advertisement_to_all, sizeof(buf));
	patch(buf, 58, 0);
	cr_assert(neigh_msg_parse(buf, sizeof(buf), &msg));
	cr_expect(msg.is_weak);
}

Test(neigh_msg, survives_noise)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (int i = 0; i < 200000; i++) {
		const uint8_t *frame = vectors[i % NB_VECTORS].frame;
		uint32_t len = vectors[i % NB_VECTORS].len;
		uint8_t *exact = malloc(len);
		struct neigh_msg msg;

		memcpy(exact, frame, len);
		for (int flips = 0; flips < 4; flips++)
			exact[prng_below(&prng, len)] = (uint8_t)prng_next(&prng);
		neigh_msg_parse(exact, prng_below(&prng, len + 1), &msg);
		free(exact);
	}
}
