/* SPDX-License-Identifier: BSD-3-Clause */
#include "trim.h"

#include <assert.h>

#include "csum.h"
#include "psn.h"

bool
wire_may_trim(const uint8_t *frame, uint32_t len, uint32_t l3_off, bool ipv6)
{
	struct weft_at at;

	return weft_find(frame, len, l3_off, ipv6, &at) &&
	       wire_may_trim_found(frame + at.bth_off, at.end_off - at.bth_off,
	                           weft_tag(frame + l3_off, ipv6));
}

/* Put a word that the header checksum covers. */
static void
put_summed(uint8_t *ip, uint32_t off, uint16_t word)
{
	put_be16(ip + 10, csum_adjust(get_be16(ip + 10), get_be16(ip + off), word));
	put_be16(ip + off, word);
}

static void
trim_ipv4(uint8_t *ip)
{
	put_summed(ip, 0, get_be16(ip) | DCP_HEADER_ONLY << DCP_TAG_SHIFT);
	put_summed(ip, 2, IPV4_LEN + WEFT_HEADER_ONLY_UDP_LEN);
}

static void
trim_ipv6(uint8_t *ip)
{
	ip[1] |= DCP_HEADER_ONLY << (DCP_TAG_SHIFT + 4);
	put_be16(ip + 4, WEFT_HEADER_ONLY_UDP_LEN);
}

uint32_t
wire_trim(uint8_t *frame, uint32_t l3_off, bool ipv6)
{
	uint8_t *ip = frame + l3_off;
	uint32_t hdr_len = ipv6 ? IPV6_LEN : IPV4_LEN;
	uint8_t *udp = ip + hdr_len;

	if (ipv6)
		trim_ipv6(ip);
	else
		trim_ipv4(ip);
	put_be16(udp + 4, WEFT_HEADER_ONLY_UDP_LEN);
	put_be16(udp + 6, csum_udp(ip, ipv6));
	return l3_off + hdr_len + WEFT_HEADER_ONLY_UDP_LEN;
}

bool
wire_header_only_sum_ok(const uint8_t *l3, bool ipv6)
{
	uint16_t got = get_be16(l3 + (ipv6 ? IPV6_LEN : IPV4_LEN) + 6);

	return got == 0 || got == csum_udp(l3, ipv6);
}

static void
swap(uint8_t *a, uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

uint32_t
wire_bounce(uint8_t *frame, const struct wire_pkt *w, uint32_t qpn)
{
	uint8_t *ip = frame + w->l3_off;
	uint8_t *udp = ip + (w->ipv6 ? IPV6_LEN : IPV4_LEN);
	uint8_t *bth = udp + UDP_LEN;

	assert(wire_is_header_only(w) && w->op->flags & OPF_STREAM);
	assert(qpn <= PSN_MASK);
	swap(frame, frame + 6, 6);
	if (w->ipv6) {
		ip[7] = WEFT_BOUNCE_TTL;
		swap(ip + 8, ip + 24, 16);
	} else {
		put_summed(ip, 8, (uint16_t)(WEFT_BOUNCE_TTL << 8 | ip[9]));
		swap(ip + 12, ip + 16, 4);
	}
	bth[0] = WEFT_BOUNCE;
	put_be32(bth + 4, (uint32_t)bth[4] << 24 | qpn);
	put_be16(udp + 6, csum_udp(ip, w->ipv6));
	return w->end_off;
}
