/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "icrc_impl.h"
#include "icrc_x86.h"

#define FEATURES "sse4.1,pclmul,vpclmulqdq,avx512f,avx512bw,avx512vl,avx512vbmi"
#define TARGET __attribute__((target(FEATURES)))
#define INLINE static inline __attribute__((always_inline, target(FEATURES)))

static const uint64_t fold_1024[2] = {0x1e88ef372, 0x14a7fe880};
static const uint64_t fold_1536[2] = {0x1821d8bc0, 0x12e958ac4};
static const uint64_t fold_2048[2] = {0x11542778a, 0x1322d1430};
/* Lanes 0 to 2 to the place of lane 3. */
static const uint64_t fold_lanes[8] = {
	0x03db1ecdc, 0x174359406, 0x0f1da05aa, 0x15a546366, 0x1751997d0, 0x0ccaa009e, 0, 0,
};

/* From byte r on: indices that move 64 bytes down by r. */
static const uint8_t ramp[128] = {
	0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,
	16,  17,  18,  19,  20,  21,  22,  23,  24,  25,  26,  27,  28,  29,  30,  31,
	32,  33,  34,  35,  36,  37,  38,  39,  40,  41,  42,  43,  44,  45,  46,  47,
	48,  49,  50,  51,  52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  62,  63,
	64,  65,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,  78,  79,
	80,  81,  82,  83,  84,  85,  86,  87,  88,  89,  90,  91,  92,  93,  94,  95,
	96,  97,  98,  99,  100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111,
	112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
};

/* From byte len on: indices that move len bytes to the end of 16; the negative ones give zeros. */
static const int8_t ramp16[32] = {
	-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1,
	0,   1,   2,   3,   4,   5,   6,   7,  8,  9,  10, 11, 12, 13, 14, 15,
};

#define AT(p, off) ((p) ? (p) + (off) : NULL)

INLINE __m512i
constants(const uint64_t k[2])
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)k));
}

/* Each lane by itself, as icrc_fold. */
INLINE __m512i
fold(__m512i z, __m512i k, __m512i next)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(z, k, 0x00),
	                                 _mm512_clmulepi64_epi128(z, k, 0x11), next, 0x96);
}

/* Load 64 bytes and, if there is a destination, store them. */
INLINE __m512i
take(uint8_t *dst, const uint8_t *src)
{
	__m512i z = _mm512_loadu_si512(src);

	if (dst)
		_mm512_storeu_si512(dst, z);
	return z;
}

/* The same for the first len bytes, 1 to 63; the others are zeros. */
INLINE __m512i
take_part(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	__mmask64 mask = ~UINT64_C(0) >> (64 - len);
	__m512i z = _mm512_maskz_loadu_epi8(mask, src);

	if (dst)
		_mm512_mask_storeu_epi8(dst, mask, z);
	return z;
}

/* The first len bytes of z, 1 to 63, at its end and zeros in front. */
INLINE __m512i
move_up(__m512i z, uint32_t len)
{
	return _mm512_maskz_permutexvar_epi8(~UINT64_C(0) << (64 - len),
	                                     _mm512_loadu_si512(ramp + len), z);
}

/* The register after the 64 bytes that z stands for. */
INLINE uint32_t
reduce(__m512i z)
{
	__m512i k = _mm512_loadu_si512(fold_lanes);
	__m512i last = _mm512_maskz_mov_epi64(0xc0, z);
	__m256i y;

	z = fold(z, k, last);
	y = _mm256_xor_si256(_mm512_castsi512_si256(z), _mm512_extracti64x4_epi64(z, 1));
	return icrc_reduce(
		_mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
}

/* Continue from 64 bytes in z0 over len more. */
INLINE uint32_t
run(__m512i z0, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	const __m512i k512 = constants(icrc_fold_512);

	if (len >= 256) {
		const __m512i k2048 = constants(fold_2048);
		__m512i z1 = take(dst, src);
		__m512i z2 = take(AT(dst, 64), src + 64);
		__m512i z3 = take(AT(dst, 128), src + 128);

		len -= 192, src += 192, dst = AT(dst, 192);
		for (; len >= 256; len -= 256, src += 256, dst = AT(dst, 256)) {
			z0 = fold(z0, k2048, take(dst, src));
			z1 = fold(z1, k2048, take(AT(dst, 64), src + 64));
			z2 = fold(z2, k2048, take(AT(dst, 128), src + 128));
			z3 = fold(z3, k2048, take(AT(dst, 192), src + 192));
		}
		z3 = fold(z0, constants(fold_1536), z3);
		z2 = fold(z1, constants(fold_1024), fold(z2, k512, z3));
		z0 = z2;
	}
	for (; len >= 64; len -= 64, src += 64, dst = AT(dst, 64))
		z0 = fold(z0, k512, take(dst, src));
	if (len) {
		/* z0 and the rest are 64 + len bytes: their first len, then their last 64. */
		__m512i tail = _mm512_permutex2var_epi8(z0, _mm512_loadu_si512(ramp + len),
		                                        take_part(dst, src, len));

		z0 = fold(move_up(z0, len), k512, tail);
	}
	return reduce(z0);
}

/* 4 to 16 bytes: extended headers, which need no wide registers (8 ns instead of 15). */
INLINE uint32_t
update_short(uint32_t crc, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	__mmask16 mask = (__mmask16)(0xffff >> (16 - len));
	__m128i x = _mm_maskz_loadu_epi8(mask, src);

	if (dst)
		_mm_mask_storeu_epi8(dst, mask, x);
	x = _mm_xor_si128(x, _mm_cvtsi32_si128((int)crc));
	return icrc_reduce(_mm_shuffle_epi8(x, _mm_loadu_si128((const __m128i *)(ramp16 + len))));
}

INLINE uint32_t
update(uint32_t crc, uint8_t *dst, const uint8_t *src, uint32_t len)
{
	const __m512i init = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc));

	if (len <= 16)
		return update_short(crc, dst, src, len);
	if (len < 64)
		return reduce(move_up(_mm512_xor_si512(take_part(dst, src, len), init), len));
	return run(_mm512_xor_si512(take(dst, src), init), AT(dst, 64), src + 64, len - 64);
}

/* The register has four bytes, so that fewer bytes of message can't take it up. */
TARGET static uint32_t
vpclmul_update(uint32_t crc, const void *src, uint32_t len)
{
	return len < 4 ? icrc_table.update(crc, src, len) : update(crc, NULL, src, len);
}

TARGET static uint32_t
vpclmul_copy(uint32_t crc, void *dst, const void *src, uint32_t len)
{
	return len < 4 ? icrc_table.copy(crc, dst, src, len) : update(crc, dst, src, len);
}

TARGET static uint32_t
vpclmul_headers(const uint8_t *l3, bool ipv6, uint32_t len)
{
	uint32_t hdr = icrc_block_hdr(ipv6);
	/* The bytes in front of the header are not read: the mask leaves them out. */
	__m512i z = _mm512_maskz_loadu_epi8(~UINT64_C(0) << (64 - hdr), l3 + hdr - 64);

	z = _mm512_or_si512(z, _mm512_loadu_si512(icrc_block_ones[ipv6]));
	return run(z, NULL, l3 + hdr, len - hdr);
}

TARGET static uint32_t
vpclmul_unit(uint64_t first, uint64_t second)
{
	return icrc_reduce(_mm_set_epi64x((long long)second, (long long)first));
}

TARGET static uint32_t
vpclmul_two_units(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	return icrc_reduce_two(first, second, third, fourth);
}

static bool
vpclmul_usable(void)
{
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("sse4.1");
}

const struct icrc_ops icrc_vpclmul = {
	.name = "vpclmul",
	.usable = vpclmul_usable,
	.update = vpclmul_update,
	.copy = vpclmul_copy,
	.headers = vpclmul_headers,
	.unit = vpclmul_unit,
	.two_units = vpclmul_two_units,
};
