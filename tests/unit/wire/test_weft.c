/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "csum.h"
#include "differ.h"
#include "golden.h"
#include "int.h"
#include "trim.h"
#include "weft_examples.h"
#include "weft_hdr.h"
#include "weft_random.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BTH 42 /* of IPv4 examples */

/* From memory of the frame's own size, so that the address sanitizer sees one byte too far. */
static enum wire_bad
why_bad(const uint8_t *frame, uint32_t len)
{
	uint8_t *p = malloc(len);
	struct wire_pkt w;
	enum wire_bad bad;

	memcpy(p, frame, len);
	if (wire_parse(p, len, &w, &bad) == WIRE_ROCE && !wire_is_header_only(&w))
		wire_icrc(p, &w);
	free(p);
	return bad;
}

/* Lengths and IPv4's checksum of a frame without VLAN tag that should end at len. */
static void
mend(uint8_t *frame, uint32_t len)
{
	uint8_t *ip = frame + ETH_LEN;
	uint32_t sum;

	if (ip[0] >> 4 == 6) {
		put_be16(ip + 4, (uint16_t)(len - ETH_LEN - IPV6_LEN));
		put_be16(ip + IPV6_LEN + 4, (uint16_t)(len - ETH_LEN - IPV6_LEN));
		return;
	}
	put_be16(ip + 2, (uint16_t)(len - ETH_LEN));
	put_be16(ip + IPV4_LEN + 4, (uint16_t)(len - ETH_LEN - IPV4_LEN));
	put_be16(ip + 10, 0);
	sum = csum_fold(csum_add(0, ip, IPV4_LEN));
	put_be16(ip + 10, (uint16_t)~sum);
}

Test(weft, no_example_is_right_when_cut)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++)
		for (uint32_t len = 1; len < all[i].len; len++)
			cr_expect_eq(why_bad(all[i].frame, len), WIRE_BAD_SHORT, "%s at %u",
			             all[i].id, len);
}

Test(weft, a_trimmed_packet_bounces_to_its_sender)
{
	static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1};
	static const char *const ids[] = {"4", "6"};

	for (size_t i = 0; i < LEN(ids); i++)
		for (uint32_t hops = 0; hops < 3; hops++) {
			const struct weft_example *x = weft_example(ids[i]);
			uint8_t frame[80];
			struct wire_pkt w, bounce;
			enum wire_bad bad;

			memcpy(frame, x->frame, x->len);
			if (x->ipv6) {
				frame[14 + 7] = (uint8_t)(64 - hops);
			} else {
				frame[14 + 8] = (uint8_t)(64 - hops);
				frame[14 + 10] = (uint8_t)(frame[14 + 10] + hops);
			}
			cr_assert_eq(wire_parse(frame, x->len, &w, &bad), WIRE_ROCE);
			cr_assert_eq(wire_bounce(frame, &w, 0x22), x->len);
			cr_assert_eq(wire_parse(frame, x->len, &bounce, &bad), WIRE_ROCE);
			cr_expect_eq(bounce.opcode, OP_WEFT | OP_BOUNCE);
			cr_expect_eq(bounce.dest_qpn, 0x22);
			cr_expect_eq(bounce.psn, w.psn);
			cr_expect_eq(bounce.msn, w.msn);
			cr_expect_eq(bounce.ttl, 64);
			cr_expect_arr_eq(&bounce.dst, &w.src, sizeof(w.src));
			cr_expect_arr_eq(frame, mac_a, 6);
			if (!x->ipv6)
				cr_expect_arr_eq(frame, weft_example("5")->frame, x->len);
		}
}

Test(weft, every_opcode_with_any_options_parses_back)
{
	struct prng rng;

	prng_seed(&rng, 5);
	for (uint32_t i = 0; i < 30000; i++) {
		uint8_t frame[WEFT_RANDOM_FRAME_MAX], *exact;
		struct wire_pkt in, out;
		enum wire_bad bad;
		uint32_t len = weft_random_frame(&rng, frame, &in);

		exact = malloc(len);
		memcpy(exact, frame, len);
		cr_assert_eq(wire_parse(exact, len, &out, &bad), WIRE_ROCE, "packet %u: bad %d", i,
		             bad);
		cr_assert(wire_icrc_ok(exact, &out), "packet %u", i);
		cr_assert_null(wire_differ(&in, &out), "packet %u, %s: %s", i, out.op->name,
		               wire_differ(&in, &out));
		cr_assert_eq(out.end_off, len);
		cr_assert_eq((uint32_t)(out.payload - exact) + out.payload_len + out.pad + ICRC_LEN,
		             len);
		free(exact);
	}
}

Test(weft, each_defect_has_its_reason)
{
	static const struct {
		const char *what, *id;
		struct {
			uint8_t off, value; /* from the BTH on */
		} patch[2];
		int longer; /* bytes */
		enum wire_bad want;
	} defects[] = {
		{"TVer of plain RoCEv2", "2", {{1, 0x00}}, 0, WIRE_BAD_OPCODE},
		{"TVer that there is not", "2", {{1, 0x02}}, 0, WIRE_BAD_OPCODE},
		{"opcode F8", "2", {{0, 0xf8}}, 0, WIRE_BAD_OPCODE},
		{"opcode FF", "2", {{0, 0xff}}, 0, WIRE_BAD_OPCODE},
		{"bounce with more than a header", "2", {{0, 0xf9}}, 0, WIRE_BAD_LENGTH},
		{"atomic with payload", "2", {{0, 0xf3}}, 0, WIRE_BAD_LENGTH},
		{"no map", "7", {{0, 0xf1}}, -8, WIRE_BAD_LENGTH},
		{"no syndrome", "7", {{0, 0xf1}}, -4, WIRE_BAD_LENGTH},
		{"ACK with payload", "7", {{0, 0xf1}}, 4, WIRE_BAD_LENGTH},
		{"ACK one byte longer", "7", {{0, 0xf1}}, 1, WIRE_BAD_LENGTH},
		{"ACK with pad", "7", {{1, 0x11}}, 0, WIRE_BAD_LENGTH},
		{"RNR block beyond the end", "7", {{15, 0x02}}, 0, WIRE_BAD_LENGTH},
		{"SACK block beyond the end", "7", {{15, 0x10}}, 0, WIRE_BAD_LENGTH},
		{"timestamp echo beyond the end", "7", {{15, 0x08}}, 0, WIRE_BAD_LENGTH},
		{"block X beyond the end", "7", {{15, 0x01}}, 0, WIRE_BAD_LENGTH},
		{"block X of an ACK longer than it",
	         "7",
	         {{15, 0x01}, {20, 2}},
	         4,
	         WIRE_BAD_LENGTH},
		{"block X of an ACK", "7", {{15, 0x01}, {20, 1}}, 4, WIRE_BAD_NONE},
		{"INT echo beyond the end", "7", {{15, 0x20}}, 0, WIRE_BAD_LENGTH},
		{"INT echo of one hop less", "24", {{15, 0x20}}, 0, WIRE_BAD_LENGTH},
		{"blocks that no map announces", "9", {{15, 0x00}}, 0, WIRE_BAD_LENGTH},
		{"RNR timer code 32", "17", {{23, 32}}, 0, WIRE_BAD_FIELD},
		{"RNR timer code 31", "17", {{23, 31}}, 0, WIRE_BAD_NONE},
		{"SACK offset 1", "9", {{21, 1}}, 0, WIRE_BAD_FIELD},
		{"SACK offset 128", "9", {{21, 128}}, 0, WIRE_BAD_NONE},
		{"INT area of four slots in the place of two",
	         "21",
	         {{15, 0x80}},
	         0,
	         WIRE_BAD_LENGTH},
		{"path header beyond the end", "15", {{15, 0x10}}, 0, WIRE_BAD_LENGTH},
		{"timestamp beyond the end", "15", {{15, 0x08}}, 0, WIRE_BAD_LENGTH},
		{"block X of no words", "10", {{15, 0x01}, {16, 0}}, 0, WIRE_BAD_LENGTH},
		{"block X of five words", "10", {{15, 0x01}, {16, 5}}, 0, WIRE_BAD_LENGTH},
		{"block X of two words", "10", {{15, 0x01}, {16, 2}}, 0, WIRE_BAD_NONE},
		{"path header that is not one", "10", {{15, 0x00}}, 0, WIRE_BAD_FIELD},
		{"MIDDLE with pad", "2", {{1, 0x11}}, 0, WIRE_BAD_LENGTH},
		{"MIDDLE one byte less", "2", {{0, 0xe7}}, -1, WIRE_BAD_LENGTH},
		{"LAST without payload", "3", {{0, 0xe8}}, -88, WIRE_BAD_LENGTH},
		{"READ REQUEST with pad", "12", {{1, 0x11}}, 0, WIRE_BAD_LENGTH},
		{"READ REQUEST with payload", "12", {{0, 0xec}}, 4, WIRE_BAD_LENGTH},
		{"VOID with payload", "18", {{0, 0xf5}}, 4, WIRE_BAD_LENGTH},
		{"payload beyond 4096", "2", {{0, 0xe7}}, 4096 - 256 + 4, WIRE_BAD_LENGTH},
		{"WRITE MIDDLE of all its message", "2", {{30, 1}, {31, 0}}, 0, WIRE_BAD_FIELD},
		{"WRITE LAST of all its message", "3", {{30, 0}, {31, 88}}, 0, WIRE_BAD_FIELD},
		{"WRITE ONLY of a longer message", "10", {{39, 9}}, 0, WIRE_BAD_FIELD},
		{"WRITE ONLY of a shorter message", "10", {{39, 7}}, 0, WIRE_BAD_FIELD},
		{"WRITE beyond 2^31", "2", {{28, 0x80}}, 0, WIRE_BAD_FIELD},
		{"ONLY not at 0", "13", {{19, 1}, {23, 9}}, 0, WIRE_BAD_FIELD},
		{"ONLY of a longer message", "13", {{23, 9}}, 0, WIRE_BAD_FIELD},
		{"ONLY of a shorter message", "13", {{23, 7}}, 0, WIRE_BAD_FIELD},
		{"FIRST of all its message", "13", {{0, 0xed}}, 0, WIRE_BAD_FIELD},
		{"FIRST", "13", {{0, 0xed}, {23, 9}}, 0, WIRE_BAD_NONE},
		{"FIRST not at 0", "13", {{0, 0xed}, {16, 1}}, 0, WIRE_BAD_FIELD},
		{"MIDDLE at 0", "13", {{0, 0xee}, {23, 9}}, 0, WIRE_BAD_FIELD},
		{"MIDDLE of the end", "13", {{0, 0xee}}, 0, WIRE_BAD_FIELD},
		{"LAST at 0", "13", {{0, 0xef}}, 0, WIRE_BAD_FIELD},
		{"LAST before the end", "13", {{0, 0xef}, {19, 4}}, 0, WIRE_BAD_FIELD},
		{"offset that wraps", "13", {{0, 0xef}, {16, 0xff}}, 0, WIRE_BAD_FIELD},
		{"message beyond 2^31", "13", {{0, 0xed}, {20, 0x81}}, 0, WIRE_BAD_FIELD},
		{"pad that leaves less than the message", "16", {{1, 0xb1}}, 0, WIRE_BAD_FIELD},
		{"VOID at the end", "18", {{18, 0x02}, {19, 0x58}}, 0, WIRE_BAD_FIELD},
		{"VOID before the end", "18", {{18, 0x02}, {19, 0x57}}, 0, WIRE_BAD_NONE},
	};

	for (size_t i = 0; i < LEN(defects); i++) {
		const struct weft_example *x = weft_example(defects[i].id);
		uint8_t frame[GOLDEN_FRAME_MAX + 64] = {0};
		uint32_t len = (uint32_t)((int)x->len + defects[i].longer);

		memcpy(frame, x->frame, x->len);
		for (uint32_t k = 0; k < 2; k++)
			if (k == 0 || defects[i].patch[k].off)
				frame[BTH + defects[i].patch[k].off] = defects[i].patch[k].value;
		mend(frame, len);
		cr_expect_eq(why_bad(frame, len), defects[i].want, "%s: %d", defects[i].what,
		             why_bad(frame, len));
	}
}

Test(weft, a_header_only_packet_is_known_by_tag_length_and_checksum)
{
	static const struct {
		const char *what, *id;
		uint8_t off, value; /* of the frame */
		enum wire_bad want;
	} changes[] = {
		{"nothing", "4", 14, 0x45, WIRE_BAD_NONE},
		{"ECN", "4", 15, 0x6f, WIRE_BAD_NONE},
		{"adapted", "4", 15, 0x7e, WIRE_BAD_NONE},
		{"tag 10", "4", 15, 0x6a, WIRE_BAD_SHORT},
		{"tag 00", "4", 15, 0x62, WIRE_BAD_SHORT},
		{"checksum", "4", 41, 0xf3, WIRE_BAD_SUM},
		{"an ACK", "4", BTH, 0xf1, WIRE_BAD_SHORT},
		{"opcode F8", "4", BTH, 0xf8, WIRE_BAD_SHORT},
		{"plain RoCEv2", "4", BTH, 0x07, WIRE_BAD_SHORT},
		{"TVer 0", "4", BTH + 1, 0x00, WIRE_BAD_SHORT},
		{"PSN", "4", BTH + 11, 0x02, WIRE_BAD_SUM},
		{"MSN", "4", BTH + 14, 0x08, WIRE_BAD_SUM},
		{"retry number", "4", BTH + 8, 0x01, WIRE_BAD_SUM},
		{"a bounce's QPN", "5", BTH + 7, 0x23, WIRE_BAD_SUM},
		{"IPv6, hop limit", "6", 21, 3, WIRE_BAD_NONE},
		{"IPv6, address", "6", 53, 3, WIRE_BAD_SUM},
		{"IPv6, checksum", "6", 61, 0xf1, WIRE_BAD_SUM},
	};

	for (size_t i = 0; i < LEN(changes); i++) {
		const struct weft_example *x = weft_example(changes[i].id);
		uint8_t frame[128];
		uint32_t udp = x->ipv6 ? 54 : 34;

		memcpy(frame, x->frame, x->len);
		frame[changes[i].off] = changes[i].value;
		mend(frame, x->len);
		cr_expect_eq(why_bad(frame, x->len), changes[i].want, "%s", changes[i].what);
		if (changes[i].want != WIRE_BAD_SUM)
			continue;
		memset(frame + udp + 6, 0, 2); /* a switch of others need not compute it */
		cr_expect_eq(why_bad(frame, x->len), WIRE_BAD_NONE, "%s", changes[i].what);
	}
}

Test(weft, a_whole_packet_with_the_tag_of_trimmed_ones_is_a_whole_packet)
{
	const struct weft_example *x = weft_example("2");
	struct wire_path path = {.l3_off = ETH_LEN};
	uint8_t frame[512];
	struct wire_pkt w;
	enum wire_bad bad;

	memcpy(frame, x->frame, x->len);
	wire_set_tos(frame, &path, 0x6e);
	cr_assert_eq(wire_parse(frame, x->len, &w, &bad), WIRE_ROCE);
	cr_expect_eq(w.weft.tag, DCP_HEADER_ONLY);
	cr_expect_not(wire_is_header_only(&w));
	cr_expect(wire_icrc_ok(frame, &w));
}

/* What a switch may write to: as in plain RoCEv2, and the INT area of stream packets. */
static bool
is_variant(const struct weft_example *x, const struct wire_pkt *w, uint32_t off)
{
	uint32_t bth = x->ipv6 ? 62 : 42, area = bth + WEFT_OFF_INT;

	if (w->op->flags & OPF_STREAM && w->weft.nb_slots && off >= area &&
	    off < area + INT_LEN(w->weft.nb_slots))
		return true;
	if (off == bth - 2 || off == bth - 1 || off == bth + 4)
		return true;
	if (x->ipv6)
		return off > ETH_LEN && (off < ETH_LEN + 4 || off == ETH_LEN + 7);
	return off == ETH_LEN + 1 || off == ETH_LEN + 8 || off == ETH_LEN + 10 ||
	       off == ETH_LEN + 11;
}

Test(weft, icrc_covers_each_bit_but_those_that_switches_change)
{
	uint32_t nb;
	const struct weft_example *all = weft_examples(&nb);

	for (uint32_t i = 0; i < nb; i++) {
		uint8_t frame[512];
		struct wire_pkt w;
		enum wire_bad bad;

		if (!all[i].has_icrc)
			continue;
		memcpy(frame, all[i].frame, all[i].len);
		cr_assert_eq(wire_parse(frame, all[i].len, &w, &bad), WIRE_ROCE);
		for (uint32_t off = ETH_LEN; off < all[i].len; off++)
			for (uint32_t bit = 0; bit < 8; bit++) {
				bool variant = is_variant(&all[i], &w, off);

				/* The version of IPv6 shares a byte with its traffic class. */
				if (all[i].ipv6 && off == ETH_LEN)
					variant = bit < 4;
				frame[off] ^= (uint8_t)(1 << bit);
				cr_expect_eq(wire_icrc_ok(frame, &w), variant,
				             "%s, byte %u, bit %u", all[i].id, off, bit);
				frame[off] ^= (uint8_t)(1 << bit);
			}
	}
}

/* CNPs of a weft QP are plain packets of the same path. */
Test(weft, the_tag_replaces_bits_of_the_path_in_weft_packets_only)
{
	struct wire_addr addr = {.ttl = 64, .tos = 0xb8}; /* DSCP 46 */

	for (uint32_t ipv6 = 0; ipv6 < 2; ipv6++) {
		struct wire_path path;

		addr.src = addr.dst = ipv6 ? (struct ip_addr){.b = {0xfd}}
		                           : (struct ip_addr){.b = {[10] = 0xff, 0xff, 10}};
		wire_path_init(&path, &addr);
		for (uint32_t i = 0; i < 64; i++) {
			bool is_weft = i & 1;
			uint8_t ecn = i >> 1 & 3, tag = i >> 3 & 3, tos;
			uint8_t frame[WIRE_HDR_MAX + ICRC_LEN];
			struct wire_pkt in = {.weft.tag = tag}, out;
			enum wire_bad bad;
			uint32_t len, crc;

			in.opcode = (is_weft ? OP_WEFT : OP_RC) | OP_ACK;
			len = wire_build(frame, &path, &in, 0xc000, ecn, &crc);
			len += wire_end(frame + len, 0, crc);
			cr_assert_eq(wire_parse(frame, len, &out, &bad), WIRE_ROCE);
			cr_expect(wire_icrc_ok(frame, &out));
			tos = is_weft ? (uint8_t)(0xb0 | tag << 2 | ecn) : (uint8_t)(0xb8 | ecn);
			cr_expect_eq(out.tos, tos, "%u: 0x%02x", i, out.tos);
		}
	}
}
