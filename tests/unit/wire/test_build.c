/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "differ.h"
#include "golden.h"
#include "wire.h"

Test(build, gives_every_golden_packet_its_own_bytes_back)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);
	uint8_t out[GOLDEN_FRAME_MAX];

	for (uint32_t i = 0; i < nb; i++) {
		struct wire_pkt w;
		enum wire_bad bad;

		cr_assert_eq(wire_parse(frames[i].data, frames[i].len, &w, &bad), WIRE_ROCE);
		memset(out, 0xa5, sizeof(out));
		cr_assert_eq(golden_rebuild(out, frames[i].data, &w), frames[i].len);
		cr_expect_arr_eq(out, frames[i].data, frames[i].len, "%s (frame %u)",
		                 frames[i].name, i);
	}
}

static uint32_t
random_bits(uint32_t nb)
{
	return (uint32_t)(((uint64_t)random() << 31 ^ (uint64_t)random()) &
	                  ((UINT64_C(1) << nb) - 1));
}

static uint64_t
random64(void)
{
	return (uint64_t)random_bits(32) << 32 | random_bits(32);
}

static void
random_fields(struct wire_pkt *w)
{
	*w = (struct wire_pkt){
		.solicited = random_bits(1),
		.mig_req = random_bits(1),
		.fecn = random_bits(1),
		.becn = random_bits(1),
		.ack_req = random_bits(1),
		.pkey = (uint16_t)random_bits(16),
		.dest_qpn = random_bits(24),
		.psn = random_bits(24),
		.syndrome = (uint8_t)random_bits(8),
		.msn = random_bits(24),
		.va = random64(),
		.rkey = random_bits(32),
		.dma_len = random_bits(32),
		.swap_add = random64(),
		.compare = random64(),
		.atomic_orig = random64(),
		.imm = random_bits(32),
		.inv_rkey = random_bits(32),
		.qkey = random_bits(32),
		.src_qpn = random_bits(24),
	};
}

static void
random_addr(struct wire_addr *addr, bool ipv6, bool vlan)
{
	*addr = (struct wire_addr){
		.vlan_tci = vlan ? (uint16_t)random_bits(16) : 0,
		.has_vlan = vlan,
		.tos = (uint8_t)random_bits(6) << 2,
		.ttl = (uint8_t)random_bits(8),
		.flow_label = ipv6 ? random_bits(20) : 0,
	};
	for (uint32_t i = 0; i < 16; i++) {
		addr->src.b[i] = (uint8_t)(ipv6 || i > 11 ? random_bits(8) : i < 10 ? 0 : 0xff);
		addr->dst.b[i] = (uint8_t)(ipv6 || i > 11 ? random_bits(8) : i < 10 ? 0 : 0xff);
	}
	if (ipv6)
		addr->src.b[0] = addr->dst.b[0] = 0xfd;
}

static uint32_t
random_payload_len(uint32_t flags)
{
	if (!(flags & OPF_PAYLOAD))
		return 0;
	if (flags & (OPF_FIRST | OPF_MIDDLE))
		return 256u << random_bits(2);
	return 1 + random_bits(12);
}

Test(build, every_opcode_over_every_path_parses_back)
{
	uint8_t buf[GOLDEN_FRAME_MAX], payload[4096];
	struct wire_pkt in, out;
	struct wire_addr addr;
	struct wire_path path;
	enum wire_bad bad;

	srandom(2);
	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)random();
	for (uint32_t i = 0; i < 256 * 4 * 8; i++) {
		const struct opcode_info *op = &opcode_table[i & 0xff];
		bool ipv6 = i >> 8 & 1, vlan = i >> 9 & 1;
		uint16_t sport = (uint16_t)random();
		uint8_t ecn = random() & 3;
		uint32_t len, crc;

		if (!op->flags || op->flags & OPF_WEFT) /* those: test_weft.c */
			continue;
		random_addr(&addr, ipv6, vlan);
		wire_path_init(&path, &addr);
		random_fields(&in);
		in.opcode = (uint8_t)i;
		in.payload_len = random_payload_len(op->flags);
		memset(buf, 0xa5, sizeof(buf));

		len = wire_build(buf, &path, &in, sport, ecn, &crc);
		cr_assert_leq(len, WIRE_HDR_MAX);
		crc = icrc_copy(crc, buf + len, payload, in.payload_len);
		len += in.payload_len;
		len += wire_end(buf + len, in.payload_len, crc);

		cr_assert_eq(wire_parse(buf, len, &out, &bad), WIRE_ROCE, "%s: bad %d", op->name,
		             bad);
		cr_expect(wire_icrc_ok(buf, &out), "%s", op->name);
		cr_expect_eq(out.end_off, len);
		cr_expect_null(wire_differ(&in, &out), "%s: %s", op->name, wire_differ(&in, &out));
		cr_expect_arr_eq(out.payload, payload, in.payload_len);
		cr_expect_eq(out.udp_sport, sport);
		cr_expect_eq(out.tos, addr.tos | ecn);
		cr_expect_eq(out.ttl, addr.ttl);
		cr_expect_eq(out.flow_label, addr.flow_label);
		cr_expect_eq(out.has_vlan, vlan);
		cr_expect_eq(out.vlan_tci, addr.vlan_tci);
		cr_expect_eq(out.ipv6, ipv6);
		cr_expect_arr_eq(out.src.b, addr.src.b, 16);
		cr_expect_arr_eq(out.dst.b, addr.dst.b, 16);
	}
}

Test(build, a_path_remembers_nothing_that_the_next_packet_has_otherwise)
{
	uint8_t buf[WIRE_HDR_MAX + 8], want[WIRE_HDR_MAX + 8];
	struct wire_addr addr;
	struct wire_path path, fresh;
	uint32_t len, crc, want_crc;

	srandom(4);
	for (uint32_t ipv6 = 0; ipv6 < 2; ipv6++) {
		random_addr(&addr, ipv6, false);
		wire_path_init(&path, &addr);
		for (uint32_t i = 0; i < 1000; i++) {
			uint16_t sport = random() & 1;
			uint8_t ecn = random() & 3;
			struct wire_pkt w = {
				.opcode = OP_WRITE_MIDDLE,
				.psn = i,
				.pkey = PKEY_DEFAULT,
				.payload_len = 256u << (random() & 1),
			};

			wire_path_init(&fresh, &addr);
			len = wire_build(want, &fresh, &w, sport, ecn, &want_crc);
			cr_assert_eq(wire_build(buf, &path, &w, sport, ecn, &crc), len);
			cr_assert_arr_eq(buf, want, len);
			cr_assert_eq(crc, want_crc);
		}
	}
}

/* The sum is mended, not taken anew: whatever the constant part, it must come out right. */
Test(build, ipv4_checksum_is_right_for_every_identification)
{
	uint8_t buf[WIRE_HDR_MAX + 8];
	struct wire_pkt in = {.opcode = OP_ACK}, out;
	struct wire_addr addr;
	struct wire_path path;
	enum wire_bad bad;
	uint32_t len, crc;

	srandom(3);
	random_addr(&addr, false, false);
	for (uint32_t i = 0; i < 4 * 65536; i++) {
		uint8_t ecn = (uint8_t)(i >> 16);

		addr.ip_id = (uint16_t)i;
		wire_path_init(&path, &addr);
		len = wire_build(buf, &path, &in, 1, ecn, &crc);
		len += wire_end(buf + len, 0, crc);
		cr_assert_eq(wire_parse(buf, len, &out, &bad), WIRE_ROCE, "%u: bad %d", i, bad);
		cr_assert_eq(out.tos & 3, ecn);
	}
}

Test(build, path_drops_ecn_bits_and_flow_label_beyond_20)
{
	uint8_t buf[WIRE_HDR_MAX + 8];
	struct wire_pkt in = {.opcode = OP_ACK}, out;
	struct wire_addr addr;
	struct wire_path path;
	enum wire_bad bad;
	uint32_t len, crc;

	for (uint32_t ipv6 = 0; ipv6 < 2; ipv6++) {
		random_addr(&addr, ipv6, false);
		addr.tos = 0x6b;
		addr.flow_label = 0xfff12345;
		wire_path_init(&path, &addr);
		len = wire_build(buf, &path, &in, 1, 2, &crc);
		len += wire_end(buf + len, 0, crc);
		cr_assert_eq(wire_parse(buf, len, &out, &bad), WIRE_ROCE);
		cr_expect_eq(out.tos, 0x6a);
		cr_expect_eq(out.flow_label, ipv6 ? 0x12345 : 0);
	}
}

Test(build, a_cnp_ends_in_sixteen_zeros)
{
	uint8_t buf[WIRE_HDR_MAX + 8], zeros[16] = {0};
	struct wire_pkt w = {.opcode = OP_CNP, .becn = true, .pkey = PKEY_DEFAULT};
	struct wire_addr addr;
	struct wire_path path;
	uint32_t len, crc;

	random_addr(&addr, false, false);
	wire_path_init(&path, &addr);
	memset(buf, 0xa5, sizeof(buf));
	len = wire_build(buf, &path, &w, 0, 2, &crc);
	cr_expect_eq(len, 14 + 60 - 4);
	cr_expect_arr_eq(buf + len - 16, zeros, 16);
	cr_expect_eq(wire_end(buf + len, 0, crc), 4);
}

Test(build, pad_is_zero_and_counted)
{
	uint8_t buf[WIRE_HDR_MAX + 16], payload[8] = "payload";
	struct wire_pkt w = {.opcode = OP_SEND_ONLY}, out;
	struct wire_addr addr;
	struct wire_path path;
	enum wire_bad bad;

	random_addr(&addr, true, false);
	wire_path_init(&path, &addr);
	for (w.payload_len = 0; w.payload_len <= 8; w.payload_len++) {
		uint32_t pad = (4 - w.payload_len % 4) % 4;
		uint32_t len, crc;

		memset(buf, 0xa5, sizeof(buf));
		len = wire_build(buf, &path, &w, 0, 0, &crc);
		crc = icrc_copy(crc, buf + len, payload, w.payload_len);
		len += w.payload_len;
		cr_expect_eq(wire_end(buf + len, w.payload_len, crc), pad + 4);
		for (uint32_t i = 0; i < pad; i++)
			cr_expect_eq(buf[len + i], 0);
		cr_expect_eq(buf[len + pad + 4], 0xa5);
		cr_assert_eq(wire_parse(buf, len + pad + 4, &out, &bad), WIRE_ROCE);
		cr_expect(wire_icrc_ok(buf, &out));
		cr_expect_eq(out.pad, pad);
		cr_expect_eq(out.payload_len, w.payload_len);
	}
}

Test(build, another_type_of_service_leaves_all_sums_right)
{
	uint32_t nb;
	const struct golden_frame *frames = golden_frames(&nb);

	for (uint32_t i = 0; i < nb; i++)
		for (uint32_t vlan = 0; vlan < 2; vlan++) {
			uint8_t frame[GOLDEN_FRAME_MAX], out[GOLDEN_FRAME_MAX];
			struct wire_path path = {.l3_off = vlan ? 18 : 14};
			struct wire_pkt w, after;
			enum wire_bad bad;
			uint32_t len;

			cr_assert_eq(wire_parse(frames[i].data, frames[i].len, &w, &bad),
			             WIRE_ROCE);
			w.has_vlan = vlan;
			w.vlan_tci = 0x5fed; /* priority 2, drop eligible */
			len = golden_rebuild(frame, frames[i].data, &w);
			memcpy(out, frame, len);
			path.ipv6 = w.ipv6;
			wire_set_tos(out, &path, 0xc2);
			cr_assert_eq(wire_parse(out, len, &after, &bad), WIRE_ROCE);
			cr_expect(wire_icrc_ok(out, &after));
			cr_expect_eq(after.tos, 0xc2);
			cr_expect_eq(after.flow_label, w.flow_label);
			if (vlan)
				cr_expect_eq(after.vlan_tci, 0xdfed);
			wire_set_tos(out, &path, w.tos);
			if (vlan)
				out[14] = frame[14];
			cr_expect_arr_eq(out, frame, len);
		}
}
