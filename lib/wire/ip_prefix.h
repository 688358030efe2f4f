/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IP_PREFIX_H
#define WEFT_IP_PREFIX_H

#include <assert.h>

#include "ip_addr.h"

/** The addresses that begin as this one does. */
struct ip_prefix {
	struct ip_addr ip;
	uint8_t bits; /**< 0 to 128; an IPv4 prefix counts its 96 mapped bits: 10.0.0.0/8 has 104 */
};

/** The first bits of an address, the others zero. */
static inline struct ip_addr
ip_addr_trim(const struct ip_addr *ip, uint8_t bits)
{
	struct ip_addr trimmed = *ip;

	assert(bits <= 128);
	for (uint32_t bit = bits; bit < 128; bit++)
		trimmed.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return trimmed;
}

/** Whether both are the same; bits behind a prefix count, and are zero as a rule. */
static inline bool
ip_prefix_is_same(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->bits == b->bits && memcmp(&a->ip, &b->ip, sizeof(a->ip)) == 0;
}

/** Whether an address is one of a prefix's. */
static inline bool
ip_prefix_covers(const struct ip_prefix *prefix, const struct ip_addr *ip)
{
	uint32_t bytes = prefix->bits / 8, bits = prefix->bits % 8;

	if (memcmp(prefix->ip.b, ip->b, bytes) != 0)
		return false;
	return bits == 0 || (prefix->ip.b[bytes] ^ ip->b[bytes]) >> (8 - bits) == 0;
}

#endif
