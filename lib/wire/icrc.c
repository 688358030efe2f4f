/* SPDX-License-Identifier: BSD-3-Clause */
#include "icrc.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "icrc_impl.h"

/* Ones that stand where IPv4 headers have ToS, TTL, checksum, and IPv6 class, label, hop limit. */
const uint8_t icrc_block_ones[2][ICRC_BLOCK] = {
	{
		[20] = 0xff,
		0xff,
		0xff,
		0xff,            /* second half of the local routing header */
		[24 + 1] = 0xff, /* ToS */
		[24 + 8] = 0xff, /* TTL */
		[24 + 10] = 0xff,
		0xff, /* header checksum */
		[44 + 6] = 0xff,
		0xff,            /* UDP checksum */
		[52 + 4] = 0xff, /* FECN, BECN, reserved */
	},
	{
		[0] = 0xff,
		0xff,
		0xff,
		0xff, /* second half of the local routing header */
		[4] = 0x0f,
		0xff,
		0xff,
		0xff,           /* traffic class, flow label */
		[4 + 7] = 0xff, /* hop limit */
		[44 + 6] = 0xff,
		0xff,            /* UDP checksum */
		[52 + 4] = 0xff, /* FECN, BECN, reserved */
	},
};

/* Row k: the register after a byte and k zero bytes. Filled before main. */
static uint32_t slices[8][256];

static void
fill_slices(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0); /* 0x04C11DB7 reflected */
		slices[0][i] = crc;
	}
	for (uint32_t k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t crc = slices[k - 1][i];

			slices[k][i] = slices[0][crc & 0xff] ^ crc >> 8;
		}
}

/* Slicing by eight: M. Kounavis and F. Berry, ISCC 2005. */
static uint32_t
table_update(uint32_t crc, const void *src, uint32_t len)
{
	const uint8_t *p = src;

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		v = le64toh(v) ^ crc;
		crc = slices[7][v & 0xff] ^ slices[6][v >> 8 & 0xff] ^ slices[5][v >> 16 & 0xff] ^
		      slices[4][v >> 24 & 0xff] ^ slices[3][v >> 32 & 0xff] ^
		      slices[2][v >> 40 & 0xff] ^ slices[1][v >> 48 & 0xff] ^ slices[0][v >> 56];
	}
	for (; len > 0; len--, p++)
		crc = slices[0][(crc ^ *p) & 0xff] ^ crc >> 8;
	return crc;
}

static uint32_t
table_copy(uint32_t crc, void *dst, const void *src, uint32_t len)
{
	memcpy(dst, src, len);
	return table_update(crc, src, len);
}

void
icrc_block(uint8_t block[ICRC_BLOCK], const uint8_t *l3, bool ipv6)
{
	uint32_t hdr = icrc_block_hdr(ipv6);

	memset(block, 0, ICRC_BLOCK);
	memcpy(block + ICRC_BLOCK - hdr, l3, hdr);
	for (uint32_t i = 0; i < ICRC_BLOCK; i++)
		block[i] |= icrc_block_ones[ipv6][i];
}

static uint32_t
table_headers(const uint8_t *l3, bool ipv6, uint32_t len)
{
	uint8_t block[ICRC_BLOCK];
	uint32_t hdr = icrc_block_hdr(ipv6);

	icrc_block(block, l3, ipv6);
	return table_update(table_update(0, block, sizeof(block)), l3 + hdr, len - hdr);
}

static uint32_t
table_unit(uint64_t first, uint64_t second)
{
	uint64_t words[2] = {first, second};

	return table_update(0, words, sizeof(words));
}

static uint32_t
table_two_units(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	uint64_t words[4] = {first, second, third, fourth};

	return table_update(0, words, sizeof(words));
}

static bool
table_usable(void)
{
	return true;
}

const struct icrc_ops icrc_table = {
	.name = "table",
	.usable = table_usable,
	.update = table_update,
	.copy = table_copy,
	.headers = table_headers,
	.unit = table_unit,
	.two_units = table_two_units,
};

const struct icrc_ops *const icrc_impls[] = {
#ifdef __x86_64__
	&icrc_vpclmul,
	&icrc_pclmul,
#endif
	&icrc_table,
	NULL,
};

/* What the functions below call. */
static struct icrc_ops chosen;

/* Before main, so that no call needs to ask. A name that is unknown or can't run here is no wish.
 */
__attribute__((constructor)) static void
choose(void)
{
	const char *wish = getenv("WEFT_ICRC");
	const struct icrc_ops *best = NULL;

	for (uint32_t i = 0; icrc_impls[i]; i++) {
		if (!icrc_impls[i]->usable())
			continue;
		if (!best)
			best = icrc_impls[i];
		if (wish && !strcmp(wish, icrc_impls[i]->name))
			best = icrc_impls[i];
	}
	fill_slices();
	chosen = *best;
}

uint32_t
icrc_update(uint32_t crc, const void *src, uint32_t len)
{
	return chosen.update(crc, src, len);
}

uint32_t
icrc_copy(uint32_t crc, void *dst, const void *src, uint32_t len)
{
	return chosen.copy(crc, dst, src, len);
}

uint32_t
icrc_headers(const uint8_t *l3, bool ipv6, uint32_t len)
{
	return chosen.headers(l3, ipv6, len);
}

uint32_t
icrc_unit(uint64_t first, uint64_t second)
{
	return chosen.unit(first, second);
}

uint32_t
icrc_two_units(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	return chosen.two_units(first, second, third, fourth);
}

const char *
icrc_impl(void)
{
	return chosen.name;
}
