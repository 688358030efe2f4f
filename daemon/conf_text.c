/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "conf_read.h"

/* How values that are not plain numbers are written. */

/* Whether a host may call itself so. */
static bool
is_host_ip(const struct ip_addr *ip)
{
	static const struct ip_addr any;
	static const struct ip_addr loopback = {{[15] = 1}};

	if (ip_addr_is_ipv4(ip))
		return ip->b[12] != 0 && ip->b[12] != 127 && ip->b[12] < 224;
	return memcmp(ip, &any, sizeof(any)) != 0 && memcmp(ip, &loopback, sizeof(loopback)) != 0 &&
	       ip->b[0] != 0xff;
}

/* "10.0.0.1/24", as other programs want it. */
static bool
has_prefix_length(const char *text)
{
	size_t len = strcspn(text, "/");
	char addr[64];
	struct ip_addr ip;

	if (!text[len] || len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	return ip_addr_parse(addr, &ip);
}

bool
conf_host_ip(struct conf_reader *r, const char *text, struct ip_addr *ip)
{
	if (ip_addr_parse(text, ip) && is_host_ip(ip))
		return true;
	if (has_prefix_length(text)) {
		conf_error(r, r->line, "'%s': without a prefix length, please: there is no routing",
		           text);
		return false;
	}
	conf_error(r, r->line, "'%s' is not an address of a host", text);
	return false;
}

/* Whether it is an address, and perhaps a length; bits behind that may be set. */
static bool
parse_prefix(const char *text, struct ip_prefix *prefix)
{
	char addr[64];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	uint32_t most, bits = 0;

	if (len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (!ip_addr_parse(addr, &prefix->ip))
		return false;
	/* One of IPv4 may be written as one of IPv6. */
	most = strchr(addr, ':') ? 128 : 32;
	if (slash) {
		if (!slash[1] || strlen(slash + 1) > 3 ||
		    strspn(slash + 1, "0123456789") != strlen(slash + 1))
			return false;
		bits = (uint32_t)strtoul(slash + 1, NULL, 10);
	} else {
		bits = most;
	}
	if (bits > most)
		return false;
	prefix->bits = (uint8_t)(128 - most + bits);
	return true;
}

bool
conf_prefix(struct conf_reader *r, const char *text, struct ip_prefix *prefix)
{
	struct ip_addr trimmed;
	char addr[IP_ADDR_TEXT];
	const char *length, *mapped;

	if (!parse_prefix(text, prefix)) {
		conf_error(r, r->line, "'%s' is not a prefix such as 10.0.0.0/8 or fd00::/16",
		           text);
		return false;
	}
	trimmed = ip_addr_trim(&prefix->ip, prefix->bits);
	if (memcmp(&trimmed, &prefix->ip, sizeof(trimmed)) == 0)
		return true;
	/* A length that leaves less than all of it stands there. */
	length = strchr(text, '/');
	mapped = strchr(text, ':') && ip_addr_is_ipv4(&trimmed) ? "::ffff:" : "";
	conf_error(r, r->line, "'%s': bits behind %s are set; is %s%s%s meant?", text, length,
	           mapped, ip_addr_text(&trimmed, addr), length);
	return false;
}

bool
conf_mac(struct conf_reader *r, const char *text, uint8_t mac[6])
{
	unsigned int b[6];
	int end = -1;

	if (strlen(text) != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
	           &end) != 6 ||
	    end != 17) {
		conf_error(r, r->line, "mac '%s' is not of the form 02:00:0a:4d:00:01", text);
		return false;
	}
	if (b[0] & 1) {
		conf_error(r, r->line, "mac '%s' is a group's", text);
		return false;
	}
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	return true;
}
