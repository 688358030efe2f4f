/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BITMAP_H
#define WEFT_BITMAP_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * A window of bits that slides along the unwrapped PSNs, for engines that accept out of order.
 *
 * Bit n of the stream lies at n mod nb_bits of an array that the caller owns. Which bits mean
 * something (those of [base, base + nb_bits)) is the caller's to know; what leaves the window must
 * be cleared before it comes in again at the other end.
 */
struct bitmap {
	uint64_t *words;
	uint32_t nb_bits; /**< a power of two, 64 or more */
};

/** Least length of a bitmap for a window of so many packets, up to 2^31. Words: this / 64. */
static inline uint32_t
bitmap_len(uint32_t window)
{
	assert(window <= 1u << 31);
	return window <= 64 ? 64 : 1u << (32 - __builtin_clz(window - 1));
}

/** Make a bitmap of zeroed words; nb_bits comes from bitmap_len. */
static inline struct bitmap
bitmap_of(uint64_t *words, uint32_t nb_bits)
{
	assert(nb_bits >= 64 && (nb_bits & (nb_bits - 1)) == 0);
	return (struct bitmap){words, nb_bits};
}

static inline uint64_t *
bitmap_word(const struct bitmap *b, uint64_t n)
{
	return &b->words[(n & (b->nb_bits - 1)) / 64];
}

static inline bool
bitmap_test(const struct bitmap *b, uint64_t n)
{
	return *bitmap_word(b, n) >> (n % 64) & 1;
}

/** Set a bit; returns whether it was set before. */
static inline bool
bitmap_set(struct bitmap *b, uint64_t n)
{
	uint64_t *word = bitmap_word(b, n), bit = UINT64_C(1) << (n % 64);
	bool was = *word & bit;

	*word |= bit;
	return was;
}

static inline void
bitmap_clear(struct bitmap *b, uint64_t n)
{
	*bitmap_word(b, n) &= ~(UINT64_C(1) << (n % 64));
}

/** The bits of [n, end) that share a word with n, as a mask of that word. n < end. */
static inline uint64_t
bitmap_mask(uint64_t n, uint64_t end)
{
	uint64_t count = end - n;
	uint64_t ones = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;

	return ones << (n % 64);
}

/** Clear [first, end), at most the bitmap's length. */
static inline void
bitmap_clear_range(struct bitmap *b, uint64_t first, uint64_t end)
{
	assert(end - first <= b->nb_bits);
	for (uint64_t n = first; n < end; n = (n | 63) + 1)
		*bitmap_word(b, n) &= ~bitmap_mask(n, end);
}

/** How many bits of [first, end) are set; at most the bitmap's length. */
static inline uint32_t
bitmap_count(const struct bitmap *b, uint64_t first, uint64_t end)
{
	uint32_t count = 0;

	assert(end - first <= b->nb_bits);
	for (uint64_t n = first; n < end; n = (n | 63) + 1)
		count += (uint32_t)__builtin_popcountll(*bitmap_word(b, n) & bitmap_mask(n, end));
	return count;
}

/** First bit of [first, end) that has the value wanted; end if none has. */
static inline uint64_t
bitmap_next(const struct bitmap *b, uint64_t first, uint64_t end, bool value)
{
	assert(end - first <= b->nb_bits);
	for (uint64_t n = first; n < end; n = (n | 63) + 1) {
		uint64_t word = *bitmap_word(b, n);

		word = (value ? word : ~word) & bitmap_mask(n, end);
		if (word)
			return (n & ~UINT64_C(63)) + (uint64_t)__builtin_ctzll(word);
	}
	return end;
}

#endif
