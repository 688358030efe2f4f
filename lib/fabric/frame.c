/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include <stddef.h>

#include "be.h"
#include "fib.h"
#include "hdr.h"
#include "weft_hdr.h"

#define IP_PROTO_TCP 6
#define IPV6_PROTO_FRAGMENT 44

void
frame_parse(const uint8_t *data, uint32_t len, struct frame *f)
{
	uint32_t off = ETH_LEN;

	*f = (struct frame){
		.dst_mac = fib_mac(data),
		.src_mac = fib_mac(data + 6),
		.eth_type = get_be16(data + 12),
	};
	if (f->eth_type == ETH_TYPE_VLAN && len >= off + VLAN_LEN) {
		f->has_vlan = true;
		f->pcp = data[ETH_LEN] >> 5;
		f->eth_type = get_be16(data + ETH_LEN + 2);
		off += VLAN_LEN;
	}
	if (f->eth_type == ETH_TYPE_IPV4 && len >= off + IPV4_LEN && data[off] >> 4 == 4) {
		f->l3_off = (uint16_t)off;
		f->tos = weft_tos(data + off, false);
	} else if (f->eth_type == ETH_TYPE_IPV6 && len >= off + IPV6_LEN && data[off] >> 4 == 6) {
		f->l3_off = (uint16_t)off;
		f->ipv6 = true;
		f->tos = weft_tos(data + off, true);
	}
}

/* A multiplication spreads a word to the high bits, a shift brings them back: murmur's finalizer.
 */
static uint64_t
mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

static uint64_t
load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Source and destination port as they lie, or 0. */
static uint32_t
ports(const uint8_t *l4, const uint8_t *end, uint8_t proto)
{
	uint32_t v;

	if ((proto != IP_PROTO_UDP && proto != IP_PROTO_TCP) || end - l4 < (ptrdiff_t)sizeof(v))
		return 0;
	memcpy(&v, l4, sizeof(v));
	return v;
}

static uint64_t
hash_ipv4(const uint8_t *l3, const uint8_t *end, uint64_t h)
{
	uint32_t hdr_len = (l3[0] & 0xfu) * 4;
	bool is_fragment = get_be16(l3 + 6) & (IPV4_MF | IPV4_OFFSET_MASK);
	uint8_t proto = l3[9];
	uint64_t rest = (uint64_t)proto << 32;

	if (!is_fragment && hdr_len >= IPV4_LEN && (ptrdiff_t)hdr_len <= end - l3)
		rest |= ports(l3 + hdr_len, end, proto);
	return mix(mix(h, load64(l3 + 12)), rest);
}

/* Behind extension headers lie no ports that we look for; a flow has them in all packets or none.
 */
static uint64_t
hash_ipv6(const uint8_t *l3, const uint8_t *end, uint64_t h)
{
	uint8_t proto = l3[6];
	uint64_t rest = (uint64_t)proto << 32 | ports(l3 + IPV6_LEN, end, proto);

	if (proto == IPV6_PROTO_FRAGMENT)
		rest = 0;
	h = mix(mix(h, load64(l3 + 8)), load64(l3 + 16));
	return mix(mix(mix(h, load64(l3 + 24)), load64(l3 + 32)), rest);
}

uint32_t
frame_flow_hash(const uint8_t *data, uint32_t len, const struct frame *f, uint64_t salt)
{
	uint64_t h;

	if (f->l3_off && f->ipv6)
		h = hash_ipv6(data + f->l3_off, data + len, salt);
	else if (f->l3_off)
		h = hash_ipv4(data + f->l3_off, data + len, salt);
	else
		h = mix(mix(mix(salt, f->dst_mac), f->src_mac), f->eth_type);
	return (uint32_t)(h >> 32);
}
