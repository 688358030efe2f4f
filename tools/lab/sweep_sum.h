/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_SUM_H
#define WEFT_LAB_SWEEP_SUM_H

#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * FNV-1a, 64 bits: tells whether a text is still the same. It guards against accidents, not
 * against people.
 *
 * Source: Fowler, Noll, Vo, Eastlake, "The FNV Non-Cryptographic Hash Algorithm".
 */
#define SUM_INIT UINT64_C(0xcbf29ce484222325)

static inline uint64_t
sum_add(uint64_t sum, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len--)
		sum = (sum ^ *p++) * UINT64_C(0x100000001b3);
	return sum;
}

#endif
