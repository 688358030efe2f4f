/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "opcode.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define EXT                                                                                        \
	(OPF_RETH | OPF_AETH | OPF_ATOMIC_ETH | OPF_ATOMIC_ACK_ETH | OPF_IMM | OPF_IETH | OPF_DETH)

/* IBA vol. 1, ch. 9, written down a second time: every opcode of RC, UC and UD, and CNP. */
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
};

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
		uint32_t kind = op->flags & (OPF_REQUEST | OPF_RESPONSE | OPF_CNP);
		uint32_t place = op->flags & (OPF_START | OPF_END | OPF_MIDDLE);

		cr_expect_eq(bits(kind), 1, "%s", op->name);
		cr_expect_eq(bits(place), kind & (OPF_ACK | OPF_CNP) ? 0 : 1, "%s", op->name);
		cr_expect_eq(!!(op->flags & OPF_PAYLOAD),
		             !!(op->flags & (OPF_SEND | OPF_WRITE | OPF_READ_RESP)), "%s",
		             op->name);
	}
}

Test(opcode, uc_and_ud_have_no_reads_and_no_acknowledgements)
{
	for (uint32_t i = OP_UC; i < 256; i++)
		cr_expect_eq(opcode_table[i].flags & (OPF_READ | OPF_ATOMIC | OPF_RESPONSE), 0,
		             "opcode %#x", i);
}
