/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IP_ADDR_H
#define WEFT_IP_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** An IPv6 address, or an IPv4 one mapped into it (::ffff:a.b.c.d): the form of a GID. */
struct ip_addr {
	uint8_t b[16];
};

/** What the mapped addresses begin with. Source: RFC 4291, 2.5.5.2. */
static const uint8_t ip_addr_mapped[12] = {[10] = 0xff, [11] = 0xff};

/** Whether an address is an IPv4 one. */
static inline bool
ip_addr_is_ipv4(const struct ip_addr *ip)
{
	return memcmp(ip->b, ip_addr_mapped, sizeof(ip_addr_mapped)) == 0;
}

/** Whether an address is :: or 0.0.0.0. */
static inline bool
ip_addr_is_unspecified(const struct ip_addr *ip)
{
	static const uint8_t zero[16];

	if (ip_addr_is_ipv4(ip))
		return memcmp(ip->b + 12, zero, 4) == 0;
	return memcmp(ip->b, zero, 16) == 0;
}

/** Map an IPv4 address, four bytes in network order. */
static inline void
ip_addr_from_ipv4(struct ip_addr *ip, const uint8_t *ipv4)
{
	memcpy(ip->b, ip_addr_mapped, sizeof(ip_addr_mapped));
	memcpy(ip->b + sizeof(ip_addr_mapped), ipv4, 4);
}

/** Bytes of the longest text with its NUL. */
#define IP_ADDR_TEXT 46

/** "10.0.0.1" or "fd00::1", as people write it. @return text. */
const char *ip_addr_text(const struct ip_addr *ip, char text[IP_ADDR_TEXT]);
/** Of such a text; false if it is none. */
bool ip_addr_parse(const char *text, struct ip_addr *ip);

#endif
