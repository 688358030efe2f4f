/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "wire.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define L3 14u

/* Frames of golden.c by their place among the vectors. */
enum {
	UC_SEND,
	CNP,
	RC_WRITE,
	RC_ACK,
	RC_NAK,
	RC_WRITE_IPV6,
	NB_VECTORS,
};

/* Parse from memory of the frame's own size, so that the address sanitizer sees one byte too far.
 */
static enum wire_kind
parse_exact(const uint8_t *frame, uint32_t len, struct wire_pkt *w, enum wire_bad *bad)
{
	uint8_t *p = malloc(len ? len : 1);
	enum wire_kind kind;

	cr_assert(p);
	memcpy(p, frame, len);
	kind = wire_parse(p, len, w, bad);
	if (kind == WIRE_ROCE)
		w->payload = frame + (w->payload - p);
	free(p);
	return kind;
}

static enum wire_bad
why_bad(const uint8_t *frame, uint32_t len)
{
	struct wire_pkt w;
	enum wire_bad bad;

	parse_exact(frame, len, &w, &bad);
	return bad;
}

static void
mend_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (uint32_t i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

Test(parse, takes_every_golden_packet_and_finds_its_icrc_right)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	cr_assert_gt(nb, NB_VECTORS + 250);
	for (uint32_t i = 0; i < nb; i++) {
		struct wire_pkt w;
		enum wire_bad bad;

		cr_assert_eq(parse_exact(frames[i].data, frames[i].len, &w, &bad), WIRE_ROCE,
		             "%s (frame %u): bad %d", frames[i].name, i, bad);
		cr_expect_eq(bad, WIRE_BAD_NONE);
		cr_expect(wire_icrc_ok(frames[i].data, &w), "%s (frame %u)", frames[i].name, i);
		cr_expect_eq(w.end_off, frames[i].len);
		cr_expect_eq((uint32_t)(w.payload - frames[i].data) + w.payload_len + w.pad + 4,
		             frames[i].len);
	}
}

Test(parse, reads_every_field_of_a_write)
{
	static const uint8_t src[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	static const uint8_t dst[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
	uint32_t nb;
	const struct golden_frame *f = &golden_frames(&nb)[RC_WRITE];
	struct wire_pkt w;
	enum wire_bad bad;

	cr_assert_eq(wire_parse(f->data, f->len, &w, &bad), WIRE_ROCE);
	cr_expect_eq(w.opcode, OP_RC | OP_WRITE_ONLY);
	cr_expect_eq(w.op, &opcode_table[w.opcode]);
	cr_expect_eq(w.pad, 0);
	cr_expect_not(w.solicited || w.mig_req || w.fecn || w.becn);
	cr_expect(w.ack_req);
	cr_expect_eq(w.pkey, 0xffff);
	cr_expect_eq(w.dest_qpn, 0x11);
	cr_expect_eq(w.psn, 1);
	cr_expect_eq(w.va, 0x1000);
	cr_expect_eq(w.rkey, 0x12345678);
	cr_expect_eq(w.dma_len, 8);
	cr_expect_eq(w.payload_len, 8);
	cr_expect_arr_eq(w.payload, "\0\1\2\3\4\5\6\7", 8);
	cr_expect_eq(w.l3_off, L3);
	cr_expect_not(w.has_vlan || w.ipv6);
	cr_expect_eq(w.udp_sport, 0xc000);
	cr_expect_eq(w.tos, 2);
	cr_expect_eq(w.ttl, 64);
	cr_expect_arr_eq(w.src.b, src, 16);
	cr_expect_arr_eq(w.dst.b, dst, 16);
}

Test(parse, reads_ipv6_a_nak_a_cnp_and_pad)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);
	struct wire_pkt w;
	enum wire_bad bad;

	cr_assert_eq(wire_parse(frames[RC_WRITE_IPV6].data, frames[RC_WRITE_IPV6].len, &w, &bad),
	             WIRE_ROCE);
	cr_expect(w.ipv6);
	cr_expect_eq(w.flow_label, 0x12345);
	cr_expect_eq(w.tos, 2);
	cr_expect_eq(w.ttl, 64);
	cr_expect_eq(w.src.b[0], 0xfd);
	cr_expect_eq(w.src.b[15], 1);
	cr_expect_eq(w.dst.b[15], 2);
	cr_expect_eq(w.payload_len, 8);

	cr_assert_eq(wire_parse(frames[RC_NAK].data, frames[RC_NAK].len, &w, &bad), WIRE_ROCE);
	cr_expect_eq(w.opcode, OP_ACK);
	cr_expect_eq(w.syndrome, AETH_NAK_PSN);
	cr_expect_eq(w.msn, 1);
	cr_expect_eq(w.psn, 5);

	cr_assert_eq(wire_parse(frames[CNP].data, frames[CNP].len, &w, &bad), WIRE_ROCE);
	cr_expect_eq(w.opcode, OP_CNP);
	cr_expect(w.becn && !w.fecn);
	cr_expect_eq(w.dest_qpn, 0x118);
	cr_expect_eq(w.payload_len, 0);

	cr_assert_eq(wire_parse(frames[UC_SEND].data, frames[UC_SEND].len, &w, &bad), WIRE_ROCE);
	cr_expect(w.mig_req);
	cr_expect_eq(w.pad, 2);
	cr_expect_eq(w.payload_len, 18);
}

Test(parse, a_frame_cut_anywhere_is_short)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	for (uint32_t i = 0; i < nb; i += i < NB_VECTORS ? 1 : 37)
		for (uint32_t len = 0; len < frames[i].len; len++)
			cr_expect_eq(why_bad(frames[i].data, len), WIRE_BAD_SHORT, "%s at %u",
			             frames[i].name, len);
}

Test(parse, ethernet_padding_and_one_vlan_tag_change_nothing)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	for (uint32_t i = 0; i < NB_VECTORS; i++) {
		uint8_t tagged[256] = {0};
		struct wire_pkt w;
		enum wire_bad bad;

		memcpy(tagged, frames[i].data, 12);
		memcpy(tagged + 12, "\x81\x00\x60\x05", 4);
		memcpy(tagged + 16, frames[i].data + 12, frames[i].len - 12);
		cr_assert_eq(wire_parse(tagged, frames[i].len + 4 + 30, &w, &bad), WIRE_ROCE);
		cr_expect(w.has_vlan);
		cr_expect_eq(w.vlan_tci, 0x6005);
		cr_expect_eq(w.l3_off, 18);
		cr_expect_eq(w.end_off, frames[i].len + 4);
		cr_expect(wire_icrc_ok(tagged, &w));
		for (uint32_t len = 0; len < frames[i].len + 4; len++)
			cr_expect_eq(why_bad(tagged, len), WIRE_BAD_SHORT, "%u bytes", len);

		memcpy(tagged + 16, tagged + 12, 4); /* a second tag: some bridge's, not ours */
		cr_expect_eq(wire_parse(tagged, sizeof(tagged), &w, &bad), WIRE_OTHER);
	}
}

Test(parse, each_defect_has_its_reason)
{
	static const struct {
		const char *what;
		uint32_t vector, off;
		uint8_t value;
		bool mend; /* give the changed header a right checksum */
		enum wire_bad want;
	} rows[] = {
		{"version 5", RC_WRITE, L3 + 0, 0x55, true, WIRE_BAD_IP},
		{"header of 4 words", RC_WRITE, L3 + 0, 0x44, true, WIRE_BAD_IP},
		{"more fragments", RC_WRITE, L3 + 6, 0x20, true, WIRE_BAD_IP},
		{"TTL without its checksum", RC_WRITE, L3 + 8, 63, false, WIRE_BAD_IP},
		{"checksum", RC_WRITE, L3 + 11, 0x00, false, WIRE_BAD_IP},
		{"IP length 27", RC_WRITE, L3 + 3, 27, true, WIRE_BAD_IP},
		{"IP length behind the end", RC_WRITE, L3 + 3, 0x45, true, WIRE_BAD_SHORT},
		{"IP length 256 too many", RC_WRITE, L3 + 2, 1, true, WIRE_BAD_SHORT},
		{"IP length one less", RC_WRITE, L3 + 3, 0x43, true, WIRE_BAD_UDP},
		{"UDP length one more", RC_WRITE, L3 + 25, 0x31, false, WIRE_BAD_UDP},
		{"UDP length one less", RC_WRITE, L3 + 25, 0x2f, false, WIRE_BAD_UDP},
		{"TVer 1", RC_WRITE, L3 + 29, 0x01, false, WIRE_BAD_OPCODE},
		{"reserved opcode", RC_WRITE, L3 + 28, 0x15, false, WIRE_BAD_OPCODE},
		{"UC READ REQUEST", RC_WRITE, L3 + 28, 0x2c, false, WIRE_BAD_OPCODE},
		{"RD SEND ONLY", RC_WRITE, L3 + 28, 0x44, false, WIRE_BAD_OPCODE},
		{"UD WRITE ONLY", RC_WRITE, L3 + 28, 0x6a, false, WIRE_BAD_OPCODE},
		{"RC FLUSH", RC_WRITE, L3 + 28, 0x1c, false, WIRE_BAD_OPCODE},
		{"READ REQUEST with payload", RC_WRITE, L3 + 28, 0x0c, false, WIRE_BAD_LENGTH},
		{"headers beyond the end", RC_WRITE, L3 + 28, 0x13, false, WIRE_BAD_LENGTH},
		{"ACK with pad", RC_ACK, L3 + 29, 0x10, false, WIRE_BAD_LENGTH},
		{"IPv6 version 4", RC_WRITE_IPV6, L3 + 0, 0x40, false, WIRE_BAD_IP},
		{"IPv6 length 7", RC_WRITE_IPV6, L3 + 5, 7, false, WIRE_BAD_IP},
		{"IPv6 length one more", RC_WRITE_IPV6, L3 + 5, 0x31, false, WIRE_BAD_SHORT},
		{"IPv6 length one less", RC_WRITE_IPV6, L3 + 5, 0x2f, false, WIRE_BAD_UDP},
	};
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	for (size_t i = 0; i < LEN(rows); i++) {
		const struct golden_frame *f = &frames[rows[i].vector];
		uint8_t frame[256];

		memcpy(frame, f->data, f->len);
		frame[rows[i].off] = rows[i].value;
		if (rows[i].mend)
			mend_checksum(frame + L3);
		cr_expect_eq(why_bad(frame, f->len), rows[i].want, "%s: %d", rows[i].what,
		             why_bad(frame, f->len));
	}
}

Test(parse, ipv4_options_to_our_port_are_refused)
{
	uint32_t nb;
	const struct golden_frame *f = &golden_frames(&nb)[RC_WRITE];
	uint8_t frame[256];

	memcpy(frame, f->data, L3 + 20);
	memset(frame + L3 + 20, 1, 4); /* no-operation */
	memcpy(frame + L3 + 24, f->data + L3 + 20, f->len - L3 - 20);
	frame[L3] = 0x46;
	frame[L3 + 3] += 4;
	mend_checksum(frame + L3);
	cr_expect_eq(why_bad(frame, f->len + 4), WIRE_BAD_IP);
}

Test(parse, what_is_not_ours_is_told_apart)
{
	static const struct {
		const char *what;
		uint32_t vector, off;
		uint8_t value[2];
		enum wire_kind want;
	} rows[] = {
		{"ARP", RC_WRITE, 12, {0x08, 0x06}, WIRE_ARP},
		{"length instead of a type", RC_WRITE, 12, {0x00, 0x40}, WIRE_OTHER},
		{"service tag", RC_WRITE, 12, {0x88, 0xa8}, WIRE_OTHER},
		{"TCP", RC_WRITE, L3 + 8, {64, 6}, WIRE_OTHER},
		{"another UDP port", RC_WRITE, L3 + 22, {0x12, 0xb8}, WIRE_OTHER},
		{"later fragment", RC_WRITE, L3 + 6, {0x00, 0x10}, WIRE_OTHER},
		{"IPv6 TCP", RC_WRITE_IPV6, L3 + 6, {6, 64}, WIRE_OTHER},
		{"IPv6 hop-by-hop options", RC_WRITE_IPV6, L3 + 6, {0, 64}, WIRE_OTHER},
		{"IPv6 fragment", RC_WRITE_IPV6, L3 + 6, {44, 64}, WIRE_OTHER},
		{"IPv6 another UDP port", RC_WRITE_IPV6, L3 + 42, {0, 53}, WIRE_OTHER},
	};
	static const struct {
		uint8_t type;
		enum wire_kind want;
	} icmp6[] = {
		{128, WIRE_OTHER}, {133, WIRE_OTHER}, {135, WIRE_ND},
		{136, WIRE_ND},    {137, WIRE_OTHER},
	};
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb), *f;
	struct wire_pkt w;
	enum wire_bad bad;
	uint8_t frame[256];

	for (size_t i = 0; i < LEN(rows); i++) {
		f = &frames[rows[i].vector];
		memcpy(frame, f->data, f->len);
		memcpy(frame + rows[i].off, rows[i].value, 2);
		cr_expect_eq(wire_parse(frame, f->len, &w, &bad), rows[i].want, "%s", rows[i].what);
		cr_expect_eq(bad, WIRE_BAD_NONE);
		cr_expect_eq(w.l3_off, L3);
		cr_expect_not(w.has_vlan);
	}
	f = &frames[RC_WRITE_IPV6];
	memcpy(frame, f->data, f->len);
	for (size_t i = 0; i < LEN(icmp6); i++) {
		frame[L3 + 6] = 58;
		frame[L3 + 40] = icmp6[i].type;
		cr_expect_eq(wire_parse(frame, f->len, &w, &bad), icmp6[i].want, "type %u",
		             icmp6[i].type);
	}
}

/* An IPv4 frame with this opcode, pad count and that many bytes between BTH and ICRC. */
static uint32_t
make_frame(uint8_t *frame, uint8_t opcode, uint32_t pad, uint32_t body_len)
{
	uint32_t nb;
	const struct golden_frame *f = &golden_frames(&nb)[RC_WRITE];
	uint32_t udp_len = 8 + 12 + body_len + 4;

	memset(frame, 0, GOLDEN_FRAME_MAX);
	memcpy(frame, f->data, L3 + 40);
	frame[L3 + 2] = (uint8_t)((udp_len + 20) >> 8);
	frame[L3 + 3] = (uint8_t)(udp_len + 20);
	mend_checksum(frame + L3);
	frame[L3 + 24] = (uint8_t)(udp_len >> 8);
	frame[L3 + 25] = (uint8_t)udp_len;
	frame[L3 + 28] = opcode;
	frame[L3 + 29] = (uint8_t)(pad << 4);
	return L3 + 20 + udp_len;
}

Test(parse, payload_and_pad_must_fit_the_opcode)
{
	uint8_t frame[GOLDEN_FRAME_MAX + 8];

	for (uint32_t opcode = 0; opcode < OP_WEFT; opcode++) {
		const struct opcode_info *op = &opcode_table[opcode];
		static const uint32_t lens[] = {0,   1,    2,    3,    4,    255,
		                                256, 1023, 1024, 4093, 4096, 4100};

		for (size_t i = 0; op->flags && i < LEN(lens); i++) {
			uint32_t pad = -lens[i] & 3;
			uint32_t len = make_frame(frame, (uint8_t)opcode, pad,
			                          op->ext_len + lens[i] + pad);
			bool fits;

			if (!(op->flags & OPF_PAYLOAD))
				fits = lens[i] == 0;
			else if (op->flags & (OPF_FIRST | OPF_MIDDLE))
				fits = pad == 0 && lens[i] >= 4 && lens[i] <= 4096;
			else if (op->flags & OPF_LAST)
				fits = lens[i] >= 1 && lens[i] <= 4096;
			else
				fits = lens[i] <= 4096;
			cr_expect_eq(why_bad(frame, len), fits ? WIRE_BAD_NONE : WIRE_BAD_LENGTH,
			             "%s, %u bytes", op->name, lens[i]);
		}
	}
}

Test(parse, a_body_that_is_no_multiple_of_four_or_less_than_its_pad_is_refused)
{
	uint8_t frame[GOLDEN_FRAME_MAX + 8];

	for (uint32_t body_len = 0; body_len < 12; body_len++)
		for (uint32_t pad = 0; pad < 4; pad++) {
			uint32_t len = make_frame(frame, OP_SEND_ONLY, pad, body_len);
			bool fits = body_len % 4 == 0 && pad <= body_len;

			cr_expect_eq(why_bad(frame, len), fits ? WIRE_BAD_NONE : WIRE_BAD_LENGTH,
			             "%u bytes, pad %u", body_len, pad);
		}
}

Test(parse, icrc_covers_each_bit_but_those_that_routers_change)
{
	static const struct {
		uint32_t vector;
		uint8_t variant[52]; /* masks by offset from the IP header */
	} rows[] = {
		{RC_WRITE,
	         {[1] = 0xff, [8] = 0xff, [10] = 0xff, 0xff, [26] = 0xff, 0xff, [32] = 0xff}},
		{UC_SEND,
	         {[1] = 0xff, [8] = 0xff, [10] = 0xff, 0xff, [26] = 0xff, 0xff, [32] = 0xff}},
		{RC_WRITE_IPV6, {[0] = 0x0f, 0xff, 0xff, 0xff, [7] = 0xff, [46] = 0xff, 0xff}},
	};
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	for (size_t i = 0; i < LEN(rows); i++) {
		const struct golden_frame *f = &frames[rows[i].vector];
		struct wire_pkt w;
		enum wire_bad bad;
		uint8_t frame[256];

		memcpy(frame, f->data, f->len);
		cr_assert_eq(wire_parse(frame, f->len, &w, &bad), WIRE_ROCE);
		for (uint32_t bit = 0; bit < (f->len - L3) * 8; bit++) {
			uint32_t off = bit / 8;
			uint8_t mask = (uint8_t)(1 << bit % 8);
			bool variant = off < 52 && rows[i].variant[off] & mask;

			if (w.ipv6 && off == 52) /* BTH byte 4 */
				variant = true;
			frame[L3 + off] ^= mask;
			cr_expect_eq(wire_icrc_ok(frame, &w), variant, "%s, byte %u, mask %#x",
			             f->name, off, mask);
			frame[L3 + off] ^= mask;
		}
	}
}
