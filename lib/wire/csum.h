/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CSUM_H
#define WEFT_CSUM_H

#include <stdint.h>

#include "be.h"

/** Add 16-bit words, the last half of zero if len is odd; up to 64 KB in all. Source: RFC 1071. */
static inline uint32_t
csum_add(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (; len >= 2; len -= 2, p += 2)
		sum += get_be16(p);
	return len ? sum + ((uint32_t)p[0] << 8) : sum;
}

/** Ones' complement sum of 16-bit words, folded to 16 bits and not complemented. Source: RFC 1071.
 */
static inline uint16_t
csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

/** A header checksum after one of its words has changed. Source: RFC 1624, equation 3. */
static inline uint16_t
csum_adjust(uint16_t checksum, uint16_t old, uint16_t now)
{
	return (uint16_t)~csum_fold((uint32_t)(uint16_t)~checksum + (uint16_t)~old + now);
}

#endif
