/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "differ.h"
#include "golden.h"
#include "weft_examples.h"
#include "weft_hdr.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The worked examples, told by their fields. From A to B unless they are answers. */
struct row {
	const char *id;
	bool is_answer, ipv6;
	uint16_t ip_id, sport;
	uint8_t ecn;
	struct wire_pkt w;
};

#define A 0x22
#define B 0x11
#define TO_A(op, psn_, msn_)                                                                       \
	.opcode = OP_WEFT | OP_##op, .dest_qpn = A, .psn = (psn_), .msn = (msn_)
#define TO_B(op, psn_, msn_)                                                                       \
	.opcode = OP_WEFT | OP_##op, .dest_qpn = B, .psn = (psn_), .msn = (msn_)
#define AT(va_, len) .va = (va_), .rkey = 0x12345678, .dma_len = (len)
#define HEADER_ONLY .weft = {.tag = DCP_HEADER_ONLY, .is_header_only = true}

/* An area behind two ports, then the same as sent and behind the first. */
static const uint8_t two_hops[20] = {0x28, 0x00, 0x6b, 0xc6, 0x80, 0xf4, 0x24, 0x03, 0x0d, 0x40,
                                     0x01, 0x38, 0xaf, 0xff, 0xff, 0x0f, 0xff, 0xff, 0x0f, 0xa0};
static const uint8_t one_hop[20] = {0x10, 0x00, 0x3a, 0x01, 0x80, 0xf4,
                                    0x24, 0x03, 0x0d, 0x40, 0x01, 0x38};

static const struct row rows[] = {
	{"1", .ip_id = 1, .ecn = 2,
         .w = {TO_B(WRITE_FIRST, 0x100, 7), AT(0x10000, 600), .payload_len = 256,
               .weft.tag = DCP_DATA}},
	{"2", .ip_id = 2, .ecn = 2,
         .w = {TO_B(WRITE_MIDDLE, 0x101, 7), AT(0x10100, 600), .payload_len = 256,
               .weft.tag = DCP_DATA}},
	{"3", .ip_id = 3, .ecn = 2,
         .w = {TO_B(WRITE_LAST, 0x102, 7), AT(0x10200, 600), .payload_len = 88,
               .weft.tag = DCP_DATA, .ack_req = true}},
	{"3b", .ip_id = 9, .ecn = 2,
         .w = {TO_B(WRITE_MIDDLE, 0x101, 7), AT(0x10100, 600), .payload_len = 256,
               .weft = {.tag = DCP_DATA, .retry = 1}}},
	{"3c", .ipv6 = true, .ecn = 2,
         .w = {TO_B(WRITE_MIDDLE, 0x101, 7), AT(0x10100, 600), .payload_len = 256,
               .weft.tag = DCP_DATA}},
	{"4", .ip_id = 2, .ecn = 2, .w = {TO_B(WRITE_MIDDLE, 0x101, 7), HEADER_ONLY}},
	{"5", true, .ip_id = 2, .ecn = 2, .w = {TO_A(BOUNCE, 0x101, 7), HEADER_ONLY}},
	{"6", .ipv6 = true, .ecn = 2, .w = {TO_B(WRITE_MIDDLE, 0x101, 7), HEADER_ONLY}},
	{"7", true, .ip_id = 1,
         .w = {TO_A(ACK, 0x103, 8), .syndrome = 0x40, .weft = {.tag = DCP_ACK, .value = 3}}},
	{"8", true, .ip_id = 2, .w = {TO_A(ACK, 4, 0), .syndrome = 0x60, .weft.value = 5}},
	{"9", true, .ip_id = 3,
         .w = {TO_A(ACK, 0x100, 7), .syndrome = 0x1f,
               .weft = {.value = 0x103,
                        .has_sack = true,
                        .sack_bits = 0xe,
                        .has_ts = true,
                        .ts_ns = 16000000,
                        .held_ns = 1500}}},
	{"10", .ip_id = 11, .sport = 0xc004, .ecn = 2,
         .w = {TO_B(WRITE_ONLY, 11, 11), AT(0x2000, 8), .payload_len = 8,
               .weft = {.has_lane = true,
                        .lane = {.lanes = 4, .offset = 1, .first_psn = 11, .back = 255}}}},
	{"11", true, .ip_id = 4, .sport = 0xc003,
         .w = {TO_A(ACK, 7, 1), .syndrome = 0x65, .weft.value = 7}},
	{"12", .ip_id = 12, .ecn = 2,
         .w = {TO_B(READ_REQUEST, 0x200, 9), AT(0x3000, 8), .ack_req = true, .weft.ssn = 5}},
	{"13", true, .ip_id = 7, .ecn = 2,
         .w = {TO_A(READ_RESP_ONLY, 0x900, 0), .payload_len = 8, .ack_req = true,
               .weft = {.msg_len = 8, .req_msn = 9}}},
	{"14", .ip_id = 13, .ecn = 2,
         .w = {TO_B(CMP_SWAP, 0x201, 10), AT(0x4000, 0), .swap_add = 0x1122334455667788,
               .compare = 1, .ack_req = true, .weft = {.ssn = 5, .opp_emsn = 1}}},
	{"15", true, .ip_id = 8, .ecn = 2,
         .w = {TO_A(ATOMIC_ACK, 0x901, 1), .ack_req = true, .atomic_orig = 1, .weft.req_msn = 10}},
	{"16", .ip_id = 14, .ecn = 2,
         .w = {TO_B(SEND_ONLY_IMM, 0x203, 11), .ack_req = true, .solicited = true, .payload_len = 3,
               .imm = 0xcafef00d, .weft = {.msg_len = 3, .ssn = 5}}},
	{"17", true, .ip_id = 5,
         .w = {TO_A(ACK, 0x204, 12), .syndrome = 0x1f,
               .weft = {.value = 0x203,
                        .has_rnr = true,
                        .rnr_ssn = 5,
                        .rnr_code = 12,
                        .rnr_msn = 11}}},
	{"18", .ip_id = 15, .ecn = 2,
         .w = {TO_B(VOID, 0x206, 13), .weft = {.offset = 0x100, .msg_len = 600, .ssn = 7}}},
	{"19", .ip_id = 16, .ecn = 2,
         .w = {TO_B(WRITE_ONLY_IMM, 0x204, 12), .ack_req = true, .imm = 1, .weft.ssn = 6}},
	{"20", true, .ip_id = 6, .w = {TO_A(ACK, 0x102, 7), .syndrome = 0x62, .weft.value = 0x102}},
	{"21", .ip_id = 17, .ecn = 2,
         .w = {TO_B(WRITE_ONLY, 0x300, 0x20), AT(0x5000, 8), .payload_len = 8, .ack_req = true,
               .weft.nb_slots = 2}},
	{"22", .ip_id = 17, .ecn = 2,
         .w = {TO_B(WRITE_ONLY, 0x300, 0x20), AT(0x5000, 8), .payload_len = 8, .ack_req = true,
               .weft = {.nb_slots = 2, .int_area = one_hop}}},
	{"23", .ip_id = 17, .ecn = 2,
         .w = {TO_B(WRITE_ONLY, 0x300, 0x20), AT(0x5000, 8), .payload_len = 8, .ack_req = true,
               .weft = {.nb_slots = 2, .int_area = two_hops}}},
	{"24", true, .ip_id = 9,
         .w = {TO_A(ACK, 0x301, 0x21), .syndrome = 0x1f,
               .weft = {.value = 0x300, .nb_slots = 2, .int_area = two_hops}}},
};

/* What a row's fields stand for, with the P_Key that all have. */
static struct wire_pkt
pkt_of(const struct row *r)
{
	struct wire_pkt w = r->w;

	w.pkey = PKEY_DEFAULT;
	return w;
}

static struct wire_addr
addr_of(const struct row *r)
{
	struct wire_addr addr = {
		.ip_id = r->ip_id,
		.tos = 0x60,
		.ttl = 64,
	};
	struct ip_addr a = {.b = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
	struct ip_addr b = {.b = {[10] = 0xff, 0xff, 10, 0, 0, 2}};

	if (r->ipv6) {
		a = (struct ip_addr){.b = {0xfd, [15] = 1}};
		b = (struct ip_addr){.b = {0xfd, [15] = 2}};
	}
	addr.src = r->is_answer ? b : a;
	addr.dst = r->is_answer ? a : b;
	memcpy(addr.smac, r->is_answer ? "\2\0\0\0\0\2" : "\2\0\0\0\0\1", 6);
	memcpy(addr.dmac, r->is_answer ? "\2\0\0\0\0\1" : "\2\0\0\0\0\2", 6);
	return addr;
}

static uint16_t
sport_of(const struct row *r)
{
	return r->sport ? r->sport : 0xc000;
}

/* A frame over this path, with its payload. */
static uint32_t
build(uint8_t *frame, struct wire_path *path, const struct wire_pkt *w, const uint8_t *payload,
      uint16_t sport, uint8_t ecn)
{
	uint32_t crc, len;

	memset(frame, 0xa5, GOLDEN_FRAME_MAX);
	len = wire_build(frame, path, w, sport, ecn, &crc);
	cr_assert_leq(len, WIRE_HDR_MAX);
	crc = icrc_copy(crc, frame + len, payload, w->payload_len);
	len += w->payload_len;
	return len + wire_end(frame + len, w->payload_len, crc);
}

Test(weft_examples, the_fields_of_every_example_give_its_bytes)
{
	for (size_t i = 0; i < LEN(rows); i++) {
		const struct weft_example *x = weft_example(rows[i].id);
		struct wire_addr addr = addr_of(&rows[i]);
		struct wire_pkt w = pkt_of(&rows[i]);
		uint8_t frame[GOLDEN_FRAME_MAX];
		struct wire_path path;
		uint32_t len;

		if (!x->has_icrc)
			continue;
		wire_path_init(&path, &addr);
		len = build(frame, &path, &w,
		            x->frame + x->len - 4 - w.payload_len - (-w.payload_len & 3),
		            sport_of(&rows[i]), rows[i].ecn);
		cr_assert_eq(len, x->len, "%s: %u bytes", x->id, len);
		cr_expect_arr_eq(frame, x->frame, len, "%s", x->id);
	}
}

Test(weft_examples, the_bytes_of_every_example_give_its_fields)
{
	uint32_t nb;

	weft_examples(&nb);
	cr_assert_eq(nb, LEN(rows));
	for (size_t i = 0; i < LEN(rows); i++) {
		const struct weft_example *x = weft_example(rows[i].id);
		struct wire_addr addr = addr_of(&rows[i]);
		struct wire_pkt want = pkt_of(&rows[i]), w;
		enum wire_bad bad;

		cr_assert_eq(wire_parse(x->frame, x->len, &w, &bad), WIRE_ROCE, "%s: bad %d", x->id,
		             bad);
		cr_expect_null(wire_differ(&want, &w), "%s: %s", x->id, wire_differ(&want, &w));
		cr_expect_eq(w.end_off, x->len);
		cr_expect_eq(w.udp_sport, sport_of(&rows[i]));
		cr_expect_eq(w.tos, 0x60 | want.weft.tag << 2 | rows[i].ecn, "%s", x->id);
		cr_expect_eq(w.ttl, 64);
		cr_expect_arr_eq(&w.src, &addr.src, sizeof(addr.src));
		cr_expect_arr_eq(&w.dst, &addr.dst, sizeof(addr.dst));
		cr_expect_eq(wire_is_header_only(&w), !x->has_icrc);
		if (x->has_icrc)
			cr_expect(wire_icrc_ok(x->frame, &w), "%s", x->id);
	}
}
