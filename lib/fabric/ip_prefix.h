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

/** The same prefix with zeros behind its bits. */
static inline struct ip_prefix
ip_prefix_trim(const struct ip_prefix *prefix)
{
	struct ip_prefix p = *prefix;

	assert(p.bits <= 128);
	for (uint32_t bit = p.bits; bit < 128; bit++)
		p.ip.b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return p;
}

#endif
