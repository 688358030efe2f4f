/* SPDX-License-Identifier: BSD-3-Clause */
#include "build_impl.h"
#include "csum.h"
#include "int.h"

static_assert(sizeof(((struct wire_path *)0)->hdr) + BTH_LEN + WEFT_MSN_MAP_LEN +
                              INT_LEN(INT_SLOTS_MAX) + LANE_LEN + TS_LEN + 4 * WEFT_EXT_WORDS_MAX +
                              ATOMIC_ETH_LEN + 2 * WEFT_WORD_LEN ==
                      WIRE_HDR_MAX,
              "the longest headers of one path and one packet");

static void
init_ipv4(struct wire_path *path, uint8_t *ip, const struct wire_addr *addr)
{
	ip[0] = IPV4_VERSION_IHL;
	put_be16(ip + 4, addr->ip_id);
	put_be16(ip + 6, IPV4_DF);
	ip[8] = addr->ttl;
	ip[9] = IP_PROTO_UDP;
	memcpy(ip + 12, addr->src.b + 12, 4);
	memcpy(ip + 16, addr->dst.b + 12, 4);
	path->ip_csum = csum_fold(csum_add(0, ip, IPV4_LEN));
}

static void
init_ipv6(uint8_t *ip, const struct wire_addr *addr)
{
	put_be32(ip, 6u << 28 | (addr->tos & 0xfcu) << 20 | (addr->flow_label & 0xfffff));
	ip[6] = IP_PROTO_UDP;
	ip[7] = addr->ttl;
	memcpy(ip + 8, addr->src.b, 16);
	memcpy(ip + 24, addr->dst.b, 16);
}

void
wire_path_init(struct wire_path *path, const struct wire_addr *addr)
{
	static const uint8_t no_bth[BTH_LEN];
	uint8_t headers[IPV6_LEN + UDP_LEN + BTH_LEN];
	uint8_t *p = path->hdr;

	*path = (struct wire_path){
		.ipv6 = !ip_addr_is_ipv4(&addr->dst),
		.tos = addr->tos & ~IP_ECN_MASK,
	};
	assert(path->ipv6 == !ip_addr_is_ipv4(&addr->src));
	memcpy(p, addr->dmac, 6);
	memcpy(p + 6, addr->smac, 6);
	p += 12;
	if (addr->has_vlan) {
		put_be16(p, ETH_TYPE_VLAN);
		put_be16(p + 2, addr->vlan_tci);
		p += VLAN_LEN;
	}
	put_be16(p, path->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
	p += 2;
	path->l3_off = (uint8_t)(p - path->hdr);
	if (path->ipv6)
		init_ipv6(p, addr);
	else
		init_ipv4(path, p, addr);
	p += path->ipv6 ? IPV6_LEN : IPV4_LEN;
	put_be16(p + 2, UDP_PORT_ROCE);
	p += UDP_LEN;
	path->len = (uint8_t)(p - path->hdr);

	memcpy(headers, path->hdr + path->l3_off, path->len - path->l3_off);
	memcpy(headers + (path->len - path->l3_off), no_bth, BTH_LEN);
	icrc_block(path->icrc_block, headers, path->ipv6);
}

/* The register of the ICRC behind the UDP header. */
static uint32_t
icrc_to_udp(const struct wire_path *path, uint32_t udp_len, uint16_t udp_sport)
{
	uint8_t block[ICRC_BLOCK];
	uint8_t *udp = block + ICRC_BLOCK - BTH_LEN - UDP_LEN;

	memcpy(block, path->icrc_block, sizeof(block));
	if (path->ipv6)
		put_be16(udp - IPV6_LEN + 4, (uint16_t)udp_len);
	else
		put_be16(udp - IPV4_LEN + 2, (uint16_t)(IPV4_LEN + udp_len));
	put_be16(udp, udp_sport);
	put_be16(udp + 4, (uint16_t)udp_len);
	return icrc_update(0, block, (uint32_t)(udp + UDP_LEN - block));
}

void
path_fit(struct wire_path *path, uint32_t udp_len, uint16_t udp_sport, uint8_t tos)
{
	uint8_t *ip = path->hdr + path->l3_off;
	uint8_t *udp = path->hdr + path->len - UDP_LEN;

	if (path->ipv6) {
		ip[1] = (uint8_t)((ip[1] & 0x0f) | tos << 4); /* the upper half never changes */
		put_be16(ip + 4, (uint16_t)udp_len);
	} else {
		uint32_t ip_len = IPV4_LEN + udp_len;

		ip[1] = tos;
		put_be16(ip + 2, (uint16_t)ip_len);
		put_be16(ip + 10, (uint16_t)~csum_fold(path->ip_csum + tos + ip_len));
	}
	put_be16(udp, udp_sport);
	put_be16(udp + 4, (uint16_t)udp_len);
	path->icrc = icrc_to_udp(path, udp_len, udp_sport);
	path->key = path_key(udp_len, udp_sport, tos);
}

/* The mirror of parse.c's read_ext. */
static void
write_ext(uint8_t *p, uint32_t flags, const struct wire_pkt *w)
{
	if (flags & OPF_DETH) {
		put_be32(p, w->qkey);
		put_be32(p + 4, w->src_qpn & PSN_MASK);
		p += DETH_LEN;
	}
	if (flags & OPF_RETH) {
		write_reth(p, w);
		p += RETH_LEN;
	}
	if (flags & OPF_ATOMIC_ETH) {
		write_atomic_eth(p, w);
		p += ATOMIC_ETH_LEN;
	}
	if (flags & OPF_AETH) {
		put_be32(p, (uint32_t)w->syndrome << 24 | (w->msn & PSN_MASK));
		p += AETH_LEN;
	}
	if (flags & OPF_ATOMIC_ACK_ETH) {
		put_be64(p, w->atomic_orig);
		p += ATOMIC_ACK_ETH_LEN;
	}
	if (flags & OPF_IMM) {
		put_be32(p, w->imm);
		p += IMM_LEN;
	}
	if (flags & OPF_IETH)
		put_be32(p, w->inv_rkey);
	if (flags & OPF_CNP)
		memset(p, 0, CNP_RESERVED_LEN);
}

/* The register behind the BTH. */
static uint32_t
icrc_to_bth(const struct wire_path *path, const uint32_t bth[3])
{
	return icrc_unit(join(0, bth[0] ^ htole32(path->icrc)), join(bth[1] | BTH_VARIANT, bth[2]));
}

uint32_t
wire_hdr_len(const struct wire_pkt *w)
{
	const struct opcode_info *op = &opcode_table[w->opcode];
	uint32_t options = op->flags & OPF_WEFT ? weft_options_len(&w->weft, op->flags) : 0;

	return BTH_LEN + op->ext_len + options;
}

uint32_t
wire_build(uint8_t *buf, struct wire_path *path, const struct wire_pkt *w, uint16_t udp_sport,
           uint8_t ecn, uint32_t *crc)
{
	const struct opcode_info *op = &opcode_table[w->opcode];
	uint32_t pad = -w->payload_len & 3;
	uint32_t udp_len = UDP_LEN + BTH_LEN + op->ext_len + w->payload_len + pad + ICRC_LEN;
	uint8_t *p = buf + path->len;
	uint32_t bth[3];

	assert_fits(w, op->flags);
	if (op->flags & OPF_WEFT)
		return weft_build(buf, path, w, udp_sport, ecn, crc);
	put_path(buf, path, udp_len, udp_sport, path->tos | ecn);
	bth_words(bth, w, pad);
	put_words(p, bth, 3);
	if (op->ext_len)
		write_ext(p + BTH_LEN, op->flags, w);
	if (crc)
		*crc = icrc_to_bth(path, bth);
	if (crc && op->ext_len)
		*crc = icrc_update(*crc, p + BTH_LEN, op->ext_len);
	return path->len + BTH_LEN + op->ext_len;
}

void
wire_set_tos(uint8_t *frame, const struct wire_path *path, uint8_t tos)
{
	uint8_t *ip = frame + path->l3_off;
	uint16_t old = get_be16(ip);

	if (path->ipv6) {
		put_be16(ip, (uint16_t)((old & 0xf00f) | tos << 4));
	} else {
		put_be16(ip, (uint16_t)((old & 0xff00) | tos));
		put_be16(ip + 10, csum_adjust(get_be16(ip + 10), old, get_be16(ip)));
	}
	if (path->l3_off > ETH_LEN)
		frame[ETH_LEN] = (uint8_t)((frame[ETH_LEN] & 0x1f) | tos_class(tos) << 5);
}

uint32_t
wire_end(uint8_t *end, uint32_t payload_len, uint32_t crc)
{
	static const uint8_t zeros[3];
	uint32_t pad = wire_end_len(payload_len) - ICRC_LEN;

	if (pad) {
		memcpy(end, zeros, pad);
		crc = icrc_update(crc, zeros, pad);
	}
	crc = htole32(~crc);
	memcpy(end + pad, &crc, sizeof(crc));
	return pad + ICRC_LEN;
}
