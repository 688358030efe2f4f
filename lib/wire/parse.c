/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "csum.h"
#include "hello.h"
#include "int.h"
#include "psn.h"
#include "weft_hdr.h"
#include "wire_impl.h"

/* What the layers of one frame agree on while it is read from the outside in. */
struct cursor {
	const uint8_t *frame;
	uint32_t len; /* of the frame, then of what IP says */
	uint32_t off; /* next byte to read */
	enum wire_bad bad;
};

static enum wire_kind
refuse(struct cursor *c, enum wire_bad why)
{
	c->bad = why;
	return WIRE_BAD;
}

/* What another reader says of a packet to RoCE's port. */
static enum wire_kind
judged(struct cursor *c, enum wire_bad bad)
{
	c->bad = bad;
	return bad == WIRE_BAD_NONE ? WIRE_ROCE : WIRE_BAD;
}

/* Extended headers stand in this order in every opcode that has several. */
static void
read_ext(const uint8_t *p, struct wire_pkt *w)
{
	uint32_t flags = w->op->flags;

	if (flags & OPF_DETH) {
		w->qkey = get_be32(p);
		w->src_qpn = get_be32(p + 4) & PSN_MASK;
		p += DETH_LEN;
	}
	if (flags & OPF_RETH) {
		read_reth(p, w);
		p += RETH_LEN;
	}
	if (flags & OPF_ATOMIC_ETH) {
		read_atomic_eth(p, w);
		p += ATOMIC_ETH_LEN;
	}
	if (flags & OPF_AETH) {
		w->syndrome = p[0];
		w->msn = get_be32(p) & PSN_MASK;
		p += AETH_LEN;
	}
	if (flags & OPF_ATOMIC_ACK_ETH) {
		w->atomic_orig = get_be64(p);
		p += ATOMIC_ACK_ETH_LEN;
	}
	if (flags & OPF_IMM) {
		w->imm = get_be32(p);
		p += IMM_LEN;
	}
	if (flags & OPF_IETH)
		w->inv_rkey = get_be32(p);
}

/* off stands at the BTH, len is the end of the UDP datagram and holds at least BTH and ICRC. */
static enum wire_kind
parse_roce(struct cursor *c, struct wire_pkt *w)
{
	const uint8_t *p = c->frame + c->off;
	uint32_t body_len = c->len - c->off - BTH_LEN - ICRC_LEN;

	read_bth(p, w);
	if ((w->op->flags & (OPF_VALID | OPF_WEFT)) != OPF_VALID || p[1] & 0x0f)
		return judged(c, is_spoken(w->op->flags, p) ? weft_read(p, c->len - c->off, w)
		                                            : WIRE_BAD_OPCODE);
	if (body_len < (uint32_t)w->op->ext_len + w->pad || body_len % 4)
		return refuse(c, WIRE_BAD_LENGTH);
	w->payload = p + BTH_LEN + w->op->ext_len;
	w->payload_len = body_len - w->op->ext_len - w->pad;
	if (!payload_fits(w->op->flags, w->payload_len, w->pad))
		return refuse(c, WIRE_BAD_LENGTH);
	if (w->op->ext_len)
		read_ext(p + BTH_LEN, w);
	return WIRE_ROCE;
}

/* off stands at the UDP header, len is the end of the IP packet. */
static enum wire_kind
parse_udp(struct cursor *c, struct wire_pkt *w)
{
	const uint8_t *p = c->frame + c->off;
	uint32_t udp_len = get_be16(p + 4);

	/* The checksum is not looked at: senders leave it 0, and the ICRC covers more. */
	if (udp_len != c->len - c->off)
		return refuse(c, WIRE_BAD_UDP);
	w->udp_sport = get_be16(p);
	c->off += UDP_LEN;
	w->end_off = c->len;
	if (udp_len < UDP_LEN + BTH_LEN + ICRC_LEN)
		return judged(c, udp_len == WEFT_HEADER_ONLY_UDP_LEN
		                         ? weft_read_header_only(p + UDP_LEN, w)
		                         : WIRE_BAD_SHORT);
	return parse_roce(c, w);
}

static uint32_t
udp_dport(const struct cursor *c, uint32_t off)
{
	return get_be16(c->frame + off + 2);
}

/* Whether the UDP header at off is there and names a port of ours. */
static bool
is_our_port(const struct cursor *c, uint32_t off)
{
	return c->len >= off + UDP_LEN &&
	       (udp_dport(c, off) == UDP_PORT_ROCE || udp_dport(c, off) == UDP_PORT_HELLO);
}

/* Whether the sum is all ones looks the same in either byte order: RFC 1071. */
static bool
ipv4_checksum_ok(const uint8_t *ip)
{
	uint32_t word[IPV4_LEN / 4];
	uint64_t sum;

	memcpy(word, ip, sizeof(word));
	sum = (uint64_t)word[0] + word[1] + word[2] + word[3] + word[4];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/*
 * A packet that is not to a port of ours is not ours and not judged further. One that is must be as
 * we would send it: no options, no fragment, a right checksum. WIRE_ROCE: so far.
 */
static enum wire_kind
parse_ipv4(struct cursor *c, struct wire_pkt *w)
{
	const uint8_t *p = c->frame + c->off;
	uint32_t ihl, ip_len, frag;

	if (c->len < c->off + IPV4_LEN)
		return refuse(c, WIRE_BAD_SHORT);
	ihl = (p[0] & 0x0fu) * 4;
	if (p[0] >> 4 != 4 || ihl < IPV4_LEN)
		return refuse(c, WIRE_BAD_IP);
	ip_len = get_be16(p + 2);
	frag = get_be16(p + 6);
	if (p[9] != IP_PROTO_UDP || frag & IPV4_OFFSET_MASK)
		return WIRE_OTHER;
	if (c->len < c->off + ihl + UDP_LEN)
		return refuse(c, WIRE_BAD_SHORT);
	if (!is_our_port(c, c->off + ihl))
		return WIRE_OTHER;
	if (ihl != IPV4_LEN || frag & IPV4_MF || !ipv4_checksum_ok(p))
		return refuse(c, WIRE_BAD_IP);
	if (ip_len < IPV4_LEN + UDP_LEN)
		return refuse(c, WIRE_BAD_IP);
	if (ip_len > c->len - c->off)
		return refuse(c, WIRE_BAD_SHORT);

	w->ipv6 = false;
	w->tos = p[1];
	w->ttl = p[8];
	w->flow_label = 0;
	ip_addr_from_ipv4(&w->src, p + 12);
	ip_addr_from_ipv4(&w->dst, p + 16);
	c->len = c->off + ip_len;
	c->off += IPV4_LEN;
	return WIRE_ROCE;
}

static enum wire_kind
parse_ipv6(struct cursor *c, struct wire_pkt *w)
{
	const uint8_t *p = c->frame + c->off;
	uint32_t word, ip_len;

	if (c->len < c->off + IPV6_LEN)
		return refuse(c, WIRE_BAD_SHORT);
	word = get_be32(p);
	if (word >> 28 != 6)
		return refuse(c, WIRE_BAD_IP);
	if (p[6] == IP_PROTO_ICMP6) {
		if (c->len < c->off + IPV6_LEN + 1)
			return refuse(c, WIRE_BAD_SHORT);
		return p[IPV6_LEN] == ICMP6_NEIGH_SOLICIT || p[IPV6_LEN] == ICMP6_NEIGH_ADVERT
		               ? WIRE_ND
		               : WIRE_OTHER;
	}
	if (p[6] != IP_PROTO_UDP)
		return WIRE_OTHER;
	if (c->len < c->off + IPV6_LEN + UDP_LEN)
		return refuse(c, WIRE_BAD_SHORT);
	if (!is_our_port(c, c->off + IPV6_LEN))
		return WIRE_OTHER;
	ip_len = get_be16(p + 4);
	if (ip_len < UDP_LEN)
		return refuse(c, WIRE_BAD_IP);
	if (ip_len > c->len - c->off - IPV6_LEN)
		return refuse(c, WIRE_BAD_SHORT);

	w->ipv6 = true;
	w->tos = word >> 20 & 0xff;
	w->ttl = p[7];
	w->flow_label = word & 0xfffff;
	memcpy(w->src.b, p + 8, 16);
	memcpy(w->dst.b, p + 24, 16);
	c->off += IPV6_LEN;
	c->len = c->off + ip_len;
	return WIRE_ROCE;
}

static enum wire_kind
parse_eth(struct cursor *c, struct wire_pkt *w)
{
	struct wire_pfc pfc;
	uint32_t type;

	if (c->len < ETH_LEN)
		return refuse(c, WIRE_BAD_SHORT);
	type = get_be16(c->frame + 12);
	c->off = ETH_LEN;
	w->has_vlan = type == ETH_TYPE_VLAN;
	w->vlan_tci = 0;
	if (w->has_vlan) {
		if (c->len < ETH_LEN + VLAN_LEN)
			return refuse(c, WIRE_BAD_SHORT);
		w->vlan_tci = get_be16(c->frame + ETH_LEN);
		type = get_be16(c->frame + ETH_LEN + 2);
		c->off += VLAN_LEN;
	}
	w->l3_off = c->off;
	if (type == ETH_TYPE_IPV4)
		return parse_ipv4(c, w);
	if (type == ETH_TYPE_IPV6)
		return parse_ipv6(c, w);
	if (type == ETH_TYPE_ARP)
		return WIRE_ARP;
	if (wire_parse_pfc(c->frame, c->len, &pfc))
		return WIRE_PFC;
	return WIRE_OTHER;
}

/* off stands at the UDP header, len is the end of the IP packet. */
static enum wire_kind
parse_hello(struct cursor *c, struct wire_pkt *w)
{
	const uint8_t *p = c->frame + c->off;
	uint32_t udp_len = get_be16(p + 4);

	if (udp_len != c->len - c->off || get_be16(p) != UDP_PORT_HELLO)
		return refuse(c, WIRE_BAD_UDP);
	if (udp_len > UDP_LEN + HELLO_PAYLOAD_MAX)
		return refuse(c, WIRE_BAD_LENGTH);
	if (get_be16(p + 6) != csum_udp(c->frame + w->l3_off, w->ipv6))
		return refuse(c, WIRE_BAD_SUM);
	w->udp_sport = UDP_PORT_HELLO;
	w->payload = p + UDP_LEN;
	w->payload_len = udp_len - UDP_LEN;
	w->end_off = c->len;
	return WIRE_HELLO;
}

enum wire_kind
wire_parse(const uint8_t *frame, uint32_t len, struct wire_pkt *w, enum wire_bad *bad)
{
	struct cursor c = {.frame = frame, .len = len, .bad = WIRE_BAD_NONE};
	enum wire_kind kind = parse_eth(&c, w);

	if (kind == WIRE_ROCE)
		kind = udp_dport(&c, c.off) == UDP_PORT_ROCE ? parse_udp(&c, w)
		                                             : parse_hello(&c, w);
	*bad = c.bad;
	assert((kind == WIRE_BAD) == (c.bad != WIRE_BAD_NONE));
	return kind;
}

/* With the INT area as ones: switches write to it. len bytes from the IP header to the ICRC. */
static uint32_t
icrc_without_int(const uint8_t *l3, uint32_t len, const struct wire_pkt *w)
{
	/* Constant: a wide load of what was just stored in parts waits for the stores. */
	static const uint64_t ones[8] = {
		UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
		UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
	};
	uint32_t begin = (w->ipv6 ? IPV6_LEN : IPV4_LEN) + UDP_LEN + WEFT_OFF_INT;
	uint32_t end = begin + INT_LEN(w->weft.nb_slots);
	uint32_t crc = icrc_headers(l3, w->ipv6, begin);

	static_assert(INT_LEN(INT_SLOTS_MAX) <= sizeof(ones), "the largest area");
	crc = icrc_update(crc, ones, end - begin);
	return icrc_update(crc, l3 + end, len - end);
}

/* The register at the end of a parsed frame. */
static uint32_t
icrc_of(const uint8_t *frame, const struct wire_pkt *w)
{
	const uint8_t *l3 = frame + w->l3_off;
	uint32_t len = w->end_off - ICRC_LEN - w->l3_off;

	if (w->opcode >= OP_WEFT) {
		assert(!w->weft.is_header_only);
		if (w->weft.nb_slots && w->op->flags & OPF_STREAM)
			return icrc_without_int(l3, len, w);
	}
	return icrc_headers(l3, w->ipv6, len);
}

uint32_t
wire_icrc(const uint8_t *frame, const struct wire_pkt *w)
{
	return ~icrc_of(frame, w);
}

bool
wire_icrc_ok(const uint8_t *frame, const struct wire_pkt *w)
{
	uint32_t got;

	memcpy(&got, frame + w->end_off - ICRC_LEN, sizeof(got));
	return le32toh(got) == ~icrc_of(frame, w);
}
