/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ICRC_X86_H
#define WEFT_ICRC_X86_H

#include <immintrin.h>
#include <stdint.h>

/*
 * Folding with carry-less multiplication: V. Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel 2009, in its bit-reflected form.
 *
 * 16 bytes of message are moved d bits on, in front of later bytes, by multiplying their first half
 * with x^(d+32) mod P and their second with x^(d-32) mod P. Each constant is reflected and shifted
 * left by one, because the product of two reflected numbers comes out one bit too far right.
 */
static const uint64_t icrc_fold_128[2] = {0x1751997d0, 0x0ccaa009e};
static const uint64_t icrc_fold_512[2] = {0x154442bd4, 0x1c6e41596};

#define ICRC_SSE static inline __attribute__((always_inline, target("sse4.1,pclmul")))

/* Move x by the constants' distance and add what stands there. */
ICRC_SSE __m128i
icrc_fold(__m128i x, __m128i k, __m128i next)
{
	return _mm_xor_si128(
		_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)),
		next);
}

/* The register after the 16 bytes that x stands for: down to 64 bits, to 32, then Barrett. */
ICRC_SSE uint32_t
icrc_reduce(__m128i x)
{
	const __m128i k96 = _mm_cvtsi64_si128(0x0ccaa009e);         /* x^96 mod P */
	const __m128i k64 = _mm_cvtsi64_si128(0x163cd6124);         /* x^64 mod P */
	const __m128i p = _mm_set_epi64x(0x1f7011641, 0x1db710641); /* floor(x^64 / P), P */
	const __m128i low = _mm_cvtsi32_si128(-1);
	__m128i q;

	x = _mm_xor_si128(_mm_clmulepi64_si128(x, k96, 0x00), _mm_srli_si128(x, 8));
	x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low), k64, 0x00),
	                  _mm_srli_si128(x, 4));
	q = _mm_clmulepi64_si128(_mm_and_si128(x, low), p, 0x10);
	q = _mm_clmulepi64_si128(_mm_and_si128(q, low), p, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, q), 1);
}

/* The register after 32 bytes, from one of zeros. */
ICRC_SSE uint32_t
icrc_reduce_two(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	const __m128i k = _mm_loadu_si128((const __m128i *)icrc_fold_128);

	return icrc_reduce(icrc_fold(_mm_set_epi64x((long long)second, (long long)first), k,
	                             _mm_set_epi64x((long long)fourth, (long long)third)));
}

#endif
