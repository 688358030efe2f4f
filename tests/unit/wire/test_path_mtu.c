/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "hdr.h"
#include "int.h"
#include "path_mtu.h"
#include "wire.h"

static const struct reliability_ops rel_none, rel_ext = {.data_ext_len = 15};
static const struct cc_ops cc_none, cc_int = {.info.wire = WIRE_INT},
				    cc_ect = {.info.wire = WIRE_ECT | WIRE_CE_ECHO};
static const struct lb_ops lb_none, lb_path = {.info.wire = WIRE_PATH};
static const struct reliability_ops rel_ts = {.info.wire = WIRE_TS | WIRE_SACK};

Test(path_mtu, what_a_link_has_room_for_follows_from_framing_and_options)
{
	static const struct {
		struct engine_set set;
		enum framing_wish wish;
		uint32_t overhead;
		uint32_t mtu_1500, mtu_4200, mtu_9000; /* path MTU there */
	} rows[] = {
		/* IPv6 40, UDP 8, BTH 12, RETH 16, ImmDt 4, ICRC 4 */
		{{&rel_none, &cc_none, &lb_none}, FRAMING_WISH_ROCEV2, 84, 1024, 4096, 4096},
		{{&rel_none, &cc_ect, &lb_none}, FRAMING_WISH_ROCEV2, 84, 1024, 4096, 4096},
		/* and MSN with map 4, SSN word 4 */
		{{&rel_none, &cc_none, &lb_none}, FRAMING_WISH_WEFT, 92, 1024, 4096, 4096},
		{{&rel_none, &cc_ect, &lb_none}, FRAMING_WISH_AUTO, 92, 1024, 4096, 4096},
		/* timestamp 4; path header 8; both still fit 4,200 */
		{{&rel_ts, &cc_none, &lb_none}, FRAMING_WISH_WEFT, 96, 1024, 4096, 4096},
		{{&rel_none, &cc_none, &lb_path}, FRAMING_WISH_WEFT, 100, 1024, 4096, 4096},
		{{&rel_ts, &cc_none, &lb_path}, FRAMING_WISH_AUTO, 104, 1024, 4096, 4096},
		/* INT area of 5 slots 44, block X 16 */
		{{&rel_none, &cc_int, &lb_none}, FRAMING_WISH_WEFT, 136, 1024, 2048, 4096},
		{{&rel_ts, &cc_int, &lb_path}, FRAMING_WISH_WEFT, 148, 1024, 2048, 4096},
		{{&rel_ext, &cc_int, &lb_path}, FRAMING_WISH_WEFT, 160, 1024, 2048, 4096},
		/* What is plain sends none of it. */
		{{&rel_ts, &cc_int, &lb_path}, FRAMING_WISH_ROCEV2, 84, 1024, 4096, 4096},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t overhead = path_mtu_overhead(&rows[i].set, rows[i].wish);

		cr_expect_eq(overhead, rows[i].overhead, "row %zu: %u", i, overhead);
		cr_expect_eq(128u << path_mtu_code(1500, overhead), rows[i].mtu_1500, "row %zu", i);
		cr_expect_eq(128u << path_mtu_code(4200, overhead), rows[i].mtu_4200, "row %zu", i);
		cr_expect_eq(128u << path_mtu_code(9000, overhead), rows[i].mtu_9000, "row %zu", i);
	}
}

Test(path_mtu, the_largest_whose_packets_fit_is_taken)
{
	static const struct {
		uint32_t mtu, path_mtu;
	} rows[] = {
		{0, 256},   {347, 256},   {348, 256},   {603, 256},   {604, 512},
		{605, 512}, {1116, 1024}, {4187, 2048}, {4188, 4096}, {65535, 4096},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(128u << path_mtu_code(rows[i].mtu, 92), rows[i].path_mtu, "row %zu",
		             i);
}

/* Bytes of a packet over IPv6 as wire_build makes it, from the IP header to the ICRC. */
static uint32_t
built_bytes(uint8_t opcode, uint32_t payload, const struct engine_set *set)
{
	static const uint8_t ext[15];
	const struct wire_addr addr = {.dst.b[0] = 0xfd, .src.b[0] = 0xfd, .ttl = 64};
	uint32_t wire = engine_set_wire(set), crc;
	struct wire_pkt pkt = {
		.opcode = opcode,
		.payload_len = payload,
		.weft = {.nb_slots = wire & WIRE_INT ? INT_SLOTS_DEFAULT : 0,
	                 .has_ts = wire & WIRE_TS,
	                 .has_lane = wire & WIRE_PATH,
	                 .lane.lanes = 1,
	                 .ext_len = set->rel->data_ext_len,
	                 .ext = ext},
	};
	uint8_t buf[WIRE_HDR_MAX];
	struct wire_path path;

	wire_path_init(&path, &addr);
	return wire_build(buf, &path, &pkt, 0xc000, ECN_NOT_ECT, &crc) - ETH_LEN + payload +
	       ICRC_LEN;
}

Test(path_mtu, no_packet_that_is_built_has_more_headers)
{
	static const struct {
		struct engine_set set;
		enum framing_wish wish;
	} rows[] = {
		{{&rel_none, &cc_none, &lb_none}, FRAMING_WISH_ROCEV2},
		{{&rel_none, &cc_none, &lb_none}, FRAMING_WISH_WEFT},
		{{&rel_ts, &cc_int, &lb_none}, FRAMING_WISH_WEFT},
		{{&rel_ext, &cc_int, &lb_path}, FRAMING_WISH_WEFT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t overhead = path_mtu_overhead(&rows[i].set, rows[i].wish), max = 0;

		for (int op = 0; op < 256; op++) {
			uint32_t flags = opcode_table[op].flags, bytes;

			if (!(flags & OPF_PAYLOAD) ||
			    (rows[i].wish == FRAMING_WISH_ROCEV2 && (flags & OPF_WEFT)))
				continue;
			bytes = built_bytes((uint8_t)op, 1024, &rows[i].set) - 1024;
			max = bytes > max ? bytes : max;
		}
		cr_expect_eq(max, overhead, "row %zu: %u", i, max);
	}
}
