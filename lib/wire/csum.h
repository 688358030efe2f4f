/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CSUM_H
#define WEFT_CSUM_H

#include <stdint.h>

/** Ones' complement sum of 16-bit words, folded to 16 bits and not complemented. Source: RFC 1071.
 */
static inline uint16_t
csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

#endif
