/* SPDX-License-Identifier: BSD-3-Clause */
#include "ip_addr.h"

#include <arpa/inet.h>
#include <assert.h>

const char *
ip_addr_text(const struct ip_addr *ip, char text[IP_ADDR_TEXT])
{
	static_assert(IP_ADDR_TEXT >= INET6_ADDRSTRLEN, "room for either kind");
	if (ip_addr_is_ipv4(ip))
		return inet_ntop(AF_INET, ip->b + 12, text, IP_ADDR_TEXT);
	return inet_ntop(AF_INET6, ip->b, text, IP_ADDR_TEXT);
}

bool
ip_addr_parse(const char *text, struct ip_addr *ip)
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET, text, ipv4) == 1) {
		ip_addr_from_ipv4(ip, ipv4);
		return true;
	}
	return inet_pton(AF_INET6, text, ip->b) == 1;
}
