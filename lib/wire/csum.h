/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CSUM_H
#define WEFT_CSUM_H

#include <stdbool.h>
#include <stdint.h>

#include "be.h"
#include "hdr.h"

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

/**
 * The checksum that belongs into the UDP header behind an IP header without options: never 0, which
 * says that there is none. What stands in its field does not count. Source: RFC 768; RFC 8200, 8.1.
 *
 * @param l3  of a packet that is there up to its UDP length, at least UDP_LEN.
 */
static inline uint16_t
csum_udp(const uint8_t *l3, bool ipv6)
{
	const uint8_t *udp = l3 + (ipv6 ? IPV6_LEN : IPV4_LEN);
	uint32_t len = get_be16(udp + 4);
	uint32_t sum = IP_PROTO_UDP + len;

	sum = ipv6 ? csum_add(sum, l3 + 8, 32) : csum_add(sum, l3 + 12, 8);
	sum = csum_add(sum, udp, UDP_LEN - 2);
	sum = csum_add(sum, udp + UDP_LEN, len - UDP_LEN);
	sum = (uint16_t)~csum_fold(sum);
	return sum ? (uint16_t)sum : 0xffff;
}

#endif
