/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <string.h>

#include "icrc_impl.h"
#include "icrc_x86.h"

#define TARGET __attribute__((target("sse4.1,pclmul")))

ICRC_SSE __m128i
load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

/* Load 16 bytes and, if there is a destination, store them. */
ICRC_SSE __m128i
take(uint8_t *dst, const uint8_t *src)
{
	__m128i x = load(src);

	if (dst)
		_mm_storeu_si128((__m128i *)dst, x);
	return x;
}

#define AT(p, off) ((p) ? (p) + (off) : NULL)

/* Continue from 16 bytes in x over len more; at least 16 bytes lie before src (and dst). */
ICRC_SSE uint32_t
finish(__m128i x, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	/* From byte r on: the bytes of a block moved up by 16 - r; from 16 + r: down by r. */
	static const uint8_t move[48] = {
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,    6,    7,
		8,    9,    10,   11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	};
	const __m128i k = load((const uint8_t *)icrc_fold_128);

	for (; len >= 16; len -= 16, src += 16, dst = AT(dst, 16))
		x = icrc_fold(x, k, take(dst, src));
	if (len) {
		/* x and the rest are 16 + len bytes: their first len, then their last 16. */
		__m128i last = take(AT(dst, (ptrdiff_t)len - 16), src + len - 16);
		__m128i down = load(move + 16 + len);
		__m128i tail = _mm_blendv_epi8(_mm_shuffle_epi8(x, down), last, down);

		x = icrc_fold(_mm_shuffle_epi8(x, load(move + len)), k, tail);
	}
	return icrc_reduce(x);
}

/* Continue from 64 bytes in x0 to x3 over len more; as finish(). */
ICRC_SSE uint32_t
run(__m128i x0, __m128i x1, __m128i x2, __m128i x3, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	const __m128i k512 = load((const uint8_t *)icrc_fold_512);
	const __m128i k128 = load((const uint8_t *)icrc_fold_128);

	for (; len >= 64; len -= 64, src += 64, dst = AT(dst, 64)) {
		x0 = icrc_fold(x0, k512, take(dst, src));
		x1 = icrc_fold(x1, k512, take(AT(dst, 16), src + 16));
		x2 = icrc_fold(x2, k512, take(AT(dst, 32), src + 32));
		x3 = icrc_fold(x3, k512, take(AT(dst, 48), src + 48));
	}
	x1 = icrc_fold(x0, k128, x1);
	x2 = icrc_fold(x1, k128, x2);
	x3 = icrc_fold(x2, k128, x3);
	return finish(x3, dst, src, len);
}

ICRC_SSE uint32_t
update(uint32_t crc, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	const __m128i init = _mm_cvtsi32_si128((int)crc);

	if (len < 64)
		return finish(_mm_xor_si128(take(dst, src), init), AT(dst, 16), src + 16, len - 16);
	return run(_mm_xor_si128(take(dst, src), init), take(AT(dst, 16), src + 16),
	           take(AT(dst, 32), src + 32), take(AT(dst, 48), src + 48), AT(dst, 64), src + 64,
	           len - 64);
}

TARGET static uint32_t
pclmul_update(uint32_t crc, const void *src, uint32_t len)
{
	return len < 16 ? icrc_table.update(crc, src, len) : update(crc, NULL, src, len);
}

TARGET static uint32_t
pclmul_copy(uint32_t crc, void *dst, const void *src, uint32_t len)
{
	return len < 16 ? icrc_table.copy(crc, dst, src, len) : update(crc, dst, src, len);
}

TARGET static uint32_t
pclmul_headers(const uint8_t *l3, bool ipv6, uint32_t len)
{
	uint8_t block[ICRC_BLOCK] = {0};
	const uint8_t *ones = icrc_block_ones[ipv6];
	uint32_t hdr = icrc_block_hdr(ipv6);
	__m128i x[4];

	memcpy(block + ICRC_BLOCK - hdr, l3, hdr);
	for (uint32_t i = 0; i < 4; i++)
		x[i] = _mm_or_si128(load(block + 16 * i), load(ones + 16 * i));
	return run(x[0], x[1], x[2], x[3], NULL, l3 + hdr, len - hdr);
}

TARGET static uint32_t
pclmul_unit(uint64_t first, uint64_t second)
{
	return icrc_reduce(_mm_set_epi64x((long long)second, (long long)first));
}

TARGET static uint32_t
pclmul_two_units(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	return icrc_reduce_two(first, second, third, fourth);
}

static bool
pclmul_usable(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

const struct icrc_ops icrc_pclmul = {
	.name = "pclmul",
	.usable = pclmul_usable,
	.update = pclmul_update,
	.copy = pclmul_copy,
	.headers = pclmul_headers,
	.unit = pclmul_unit,
	.two_units = pclmul_two_units,
};
