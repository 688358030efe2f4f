/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "pcapng.h"

static uint32_t
word(const uint8_t *buf, size_t offset)
{
	uint32_t value;

	memcpy(&value, buf + offset, sizeof(value));
	return value;
}

/* A block's length stands at both ends, and is a multiple of four. */
static void
expect_block(const uint8_t *buf, size_t len, uint32_t type)
{
	cr_expect_eq(word(buf, 0), type);
	cr_expect_eq(len % 4, 0);
	cr_expect_eq(word(buf, 4), len);
	cr_expect_eq(word(buf, len - 4), len);
}

/* Where the value of an option is; 0 = there is none. */
static size_t
option(const uint8_t *buf, size_t from, size_t len, uint16_t code, uint16_t *value_len)
{
	while (from + 4 <= len - 4) {
		uint16_t head[2];

		memcpy(head, buf + from, sizeof(head));
		if (head[0] == 0)
			return 0;
		*value_len = head[1];
		if (head[0] == code)
			return from + 4;
		from += 4 + ((head[1] + 3u) & ~3u);
	}
	cr_assert_fail("options without an end");
	return 0;
}

Test(pcapng, a_section_says_which_byte_order_it_has)
{
	uint8_t buf[PCAPNG_BLOCK_MAX];
	size_t len = pcapng_section(buf, "weft"), at;
	uint16_t n = 0;

	expect_block(buf, len, 0x0a0d0d0a);
	cr_expect_eq(word(buf, 8), 0x1a2b3c4d);
	cr_expect_eq(word(buf, 12), 1, "version 1.0");
	at = option(buf, 24, len, 4, &n);
	cr_assert(at);
	cr_expect_eq(n, 4);
	cr_expect_arr_eq(buf + at, "weft", 4);
}

Test(pcapng, an_interface_has_a_name_and_counts_nanoseconds)
{
	uint8_t buf[PCAPNG_BLOCK_MAX];
	size_t len = pcapng_interface(buf, "sw0/1", 96), at;
	uint16_t n = 0;

	expect_block(buf, len, 1);
	cr_expect_eq(word(buf, 8), 1, "Ethernet");
	cr_expect_eq(word(buf, 12), 96);
	at = option(buf, 16, len, 2, &n);
	cr_assert(at);
	cr_expect_eq(n, 5);
	cr_expect_arr_eq(buf + at, "sw0/1", 5);
	at = option(buf, 16, len, 9, &n);
	cr_assert(at);
	cr_expect_eq(buf[at], 9);
}

Test(pcapng, a_packet_is_padded_and_has_its_direction)
{
	static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7};
	uint8_t buf[PCAPNG_PACKET_EXTRA + sizeof(data) + 3];

	for (uint32_t cap = 0; cap <= sizeof(data); cap++) {
		size_t len, at;
		uint16_t n = 0;

		memset(buf, 0xee, sizeof(buf));
		len = pcapng_packet(buf, 3, cap % 2, 0x123456789abcdef0, data, cap, 1000);
		cr_assert_eq(len, PCAPNG_PACKET_EXTRA + ((cap + 3u) & ~3u));
		expect_block(buf, len, 6);
		cr_expect_eq(word(buf, 8), 3);
		cr_expect_eq(word(buf, 12), 0x12345678);
		cr_expect_eq(word(buf, 16), 0x9abcdef0);
		cr_expect_eq(word(buf, 20), cap);
		cr_expect_eq(word(buf, 24), 1000);
		cr_expect_arr_eq(buf + 28, data, cap);
		at = option(buf, 28 + ((cap + 3u) & ~3u), len, 2, &n);
		cr_assert(at);
		cr_expect_eq(word(buf, at), cap % 2 ? 2 : 1, "2 is out, 1 is in");
	}
}

Test(pcapng, the_end_says_what_is_missing)
{
	uint8_t buf[PCAPNG_BLOCK_MAX];
	size_t len = pcapng_stats(buf, 0, 1, 100, 7), at;
	uint16_t n = 0;

	expect_block(buf, len, 5);
	at = option(buf, 20, len, 4, &n);
	cr_assert(at);
	cr_expect_eq(word(buf, at), 100);
	at = option(buf, 20, len, 5, &n);
	cr_assert(at);
	cr_expect_eq(n, 8);
	cr_expect_eq(word(buf, at), 7);
}
