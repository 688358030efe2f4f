/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "opcode.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define EXT                                                                                        \
	(OPF_RETH | OPF_AETH | OPF_ATOMIC_ETH | OPF_ATOMIC_ACK_ETH | OPF_IMM | OPF_IETH |          \
	 OPF_DETH | OPF_SPH | OPF_SSN | OPF_ORDER | OPF_REQ_MSN)

/*
 * IBA vol. 1, ch. 9, written down a second time: every opcode of RC, UC and UD, and CNP. Then
 * docs/wire.md: the weft framing, MSN and map counted in.
 */
static const struct {
	uint8_t opcode, ext_len;
	uint32_t ext;
} spoken[] = {
	{0x00, 0, 0},
	{0x01, 0, 0},
	{0x02, 0, 0},
	{0x03, 4, OPF_IMM},
	{0x04, 0, 0},
	{0x05, 4, OPF_IMM},
	{0x06, 16, OPF_RETH},
	{0x07, 0, 0},
	{0x08, 0, 0},
	{0x09, 4, OPF_IMM},
	{0x0a, 16, OPF_RETH},
	{0x0b, 20, OPF_RETH | OPF_IMM},
	{0x0c, 16, OPF_RETH},
	{0x0d, 4, OPF_AETH},
	{0x0e, 0, 0},
	{0x0f, 4, OPF_AETH},
	{0x10, 4, OPF_AETH},
	{0x11, 4, OPF_AETH},
	{0x12, 12, OPF_AETH | OPF_ATOMIC_ACK_ETH},
	{0x13, 28, OPF_ATOMIC_ETH},
	{0x14, 28, OPF_ATOMIC_ETH},
	{0x16, 4, OPF_IETH},
	{0x17, 4, OPF_IETH},
	{0x20, 0, 0},
	{0x21, 0, 0},
	{0x22, 0, 0},
	{0x23, 4, OPF_IMM},
	{0x24, 0, 0},
	{0x25, 4, OPF_IMM},
	{0x26, 16, OPF_RETH},
	{0x27, 0, 0},
	{0x28, 0, 0},
	{0x29, 4, OPF_IMM},
	{0x2a, 16, OPF_RETH},
	{0x2b, 20, OPF_RETH | OPF_IMM},
	{0x64, 8, OPF_DETH},
	{0x65, 12, OPF_DETH | OPF_IMM},
	{0x81, 16, 0},
	{0xe0, 16, OPF_SPH},
	{0xe1, 16, OPF_SPH},
	{0xe2, 16, OPF_SPH},
	{0xe3, 20, OPF_SPH | OPF_IMM},
	{0xe4, 16, OPF_SPH},
	{0xe5, 20, OPF_SPH | OPF_IMM},
	{0xe6, 20, OPF_RETH},
	{0xe7, 20, OPF_RETH},
	{0xe8, 20, OPF_RETH},
	{0xe9, 28, OPF_RETH | OPF_SSN | OPF_IMM},
	{0xea, 20, OPF_RETH},
	{0xeb, 28, OPF_RETH | OPF_SSN | OPF_IMM},
	{0xec, 28, OPF_RETH | OPF_ORDER},
	{0xed, 16, OPF_SPH},
	{0xee, 16, OPF_SPH},
	{0xef, 16, OPF_SPH},
	{0xf0, 16, OPF_SPH},
	{0xf1, 8, 0},
	{0xf2, 16, OPF_REQ_MSN | OPF_ATOMIC_ACK_ETH},
	{0xf3, 40, OPF_ATOMIC_ETH | OPF_ORDER},
	{0xf4, 40, OPF_ATOMIC_ETH | OPF_ORDER},
	{0xf5, 16, OPF_SPH},
	{0xf6, 20, OPF_SPH | OPF_IETH},
	{0xf7, 20, OPF_SPH | OPF_IETH},
	{0xf9, 3, 0},
};

#define KINDS (OPF_REQUEST | OPF_RESPONSE | OPF_CNP | OPF_VOID | OPF_BOUNCE)
#define PLACES (OPF_START | OPF_END | OPF_MIDDLE)

Test(opcode, table_has_the_standards_opcodes_and_no_others)
{
	size_t n = 0;

	for (uint32_t i = 0; i < 256; i++) {
		bool want = n < LEN(spoken) && spoken[n].opcode == i;

		cr_expect_eq(!!(opcode_table[i].flags & OPF_VALID), want, "opcode %#x", i);
		cr_expect_eq(opcode_table[i].name != NULL, want, "opcode %#x", i);
		if (!want) {
			cr_expect_eq(opcode_table[i].flags, 0, "opcode %#x", i);
			continue;
		}
		cr_expect_eq(opcode_table[i].ext_len, spoken[n].ext_len, "opcode %#x", i);
		cr_expect_eq(opcode_table[i].flags & EXT, spoken[n].ext, "opcode %#x", i);
		n++;
	}
	cr_expect_eq(n, LEN(spoken));
}

static uint32_t
bits(uint32_t v)
{
	return (uint32_t)__builtin_popcount(v);
}

Test(opcode, each_row_is_of_one_kind_and_one_place_in_its_message)
{
	for (size_t i = 0; i < LEN(spoken); i++) {
		const struct opcode_info *op = &opcode_table[spoken[i].opcode];
		uint32_t kind = op->flags & KINDS;
		uint32_t placeless = OPF_ACK | OPF_CNP | OPF_VOID | OPF_BOUNCE;

		cr_expect_eq(bits(kind), 1, "%s", op->name);
		cr_expect_eq(bits(op->flags & PLACES), kind & placeless ? 0 : 1, "%s", op->name);
		cr_expect_eq(!!(op->flags & OPF_PAYLOAD),
		             !!(op->flags & (OPF_SEND | OPF_WRITE | OPF_READ_RESP)), "%s",
		             op->name);
	}
}

Test(opcode, uc_and_ud_have_no_reads_and_no_acknowledgements)
{
	for (uint32_t i = OP_UC; i < OP_WEFT; i++)
		cr_expect_eq(opcode_table[i].flags & (OPF_READ | OPF_ATOMIC | OPF_RESPONSE), 0,
		             "opcode %#x", i);
}

/* Host code serves both framings by the same flags. */
Test(opcode, a_weft_operation_is_of_the_kind_and_place_that_it_has_in_rc)
{
	for (uint32_t i = OP_SEND_FIRST; i <= OP_SEND_ONLY_INV; i++) {
		uint32_t rc = opcode_table[OP_RC | i].flags, weft = opcode_table[OP_WEFT | i].flags;
		uint32_t same = KINDS | PLACES | OPF_PAYLOAD | OPF_IMM | OPF_IETH | OPF_ATOMIC_ETH;

		if (i == OP_ATOMIC_ACK || i == OP_VOID)
			continue;
		cr_expect_eq(rc & same, weft & same, "operation %#x", i);
	}
}

Test(opcode, all_of_the_weft_group_but_answers_are_stream_packets)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t flags = opcode_table[i].flags;
		bool is_weft = flags && i >= OP_WEFT;

		cr_expect_eq(!!(flags & OPF_WEFT), is_weft, "opcode %#x", i);
		cr_expect_eq(!!(flags & OPF_STREAM),
		             is_weft && i != (OP_WEFT | OP_ACK) && i != (OP_WEFT | OP_BOUNCE),
		             "opcode %#x", i);
		if (flags & OPF_STREAM)
			cr_expect_eq(
				bits(flags & (OPF_RETH | OPF_SPH | OPF_ATOMIC_ETH | OPF_REQ_MSN)),
				1, "opcode %#x", i);
	}
}
