/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft_hdr.h"

#include <assert.h>

#include "wire.h"

static_assert(WEFT_OFF_MAP == WEFT_OFF_MSN + 3, "a trim leaves the MSN whole");

/* Bytes of the IP packet if its header is one that weft sends, else 0. */
static uint32_t
ipv4_len(const uint8_t *ip)
{
	if (ip[0] != IPV4_VERSION_IHL || ip[9] != IP_PROTO_UDP)
		return 0;
	if (get_be16(ip + 6) & (IPV4_MF | IPV4_OFFSET_MASK))
		return 0;
	return get_be16(ip + 2);
}

static uint32_t
ipv6_len(const uint8_t *ip)
{
	if (ip[0] >> 4 != 6 || ip[6] != IP_PROTO_UDP)
		return 0;
	return IPV6_LEN + get_be16(ip + 4);
}

bool
weft_find(const uint8_t *frame, uint32_t len, uint32_t l3_off, bool ipv6, struct weft_at *at)
{
	const uint8_t *ip = frame + l3_off;
	uint32_t hdr_len = ipv6 ? IPV6_LEN : IPV4_LEN;
	uint32_t ip_len;
	const uint8_t *udp;

	assert(l3_off <= len);
	if (len - l3_off < hdr_len + WEFT_HEADER_ONLY_UDP_LEN)
		return false;
	ip_len = ipv6 ? ipv6_len(ip) : ipv4_len(ip);
	if (ip_len < hdr_len + WEFT_HEADER_ONLY_UDP_LEN || ip_len > len - l3_off)
		return false;
	udp = ip + hdr_len;
	if (get_be16(udp + 2) != UDP_PORT_ROCE || get_be16(udp + 4) != ip_len - hdr_len)
		return false;
	if (!weft_is_bth(udp + UDP_LEN))
		return false;
	at->bth_off = l3_off + hdr_len + UDP_LEN;
	at->end_off = l3_off + ip_len;
	return true;
}
