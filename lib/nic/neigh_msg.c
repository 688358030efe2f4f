/* SPDX-License-Identifier: BSD-3-Clause */
#include "neigh_msg.h"

#include <string.h>

#include "be.h"
#include "csum.h"
#include "hdr.h"

#define FRAME_MIN 60

/* RFC 826, for Ethernet and IPv4. */
#define ARP_LEN 28
#define ARP_HTYPE_ETHER 1
#define ARP_REQUEST 1
#define ARP_REPLY 2

/* RFC 4861. */
#define ND_LEN 24 /* type, code, checksum, flags, target */
#define ND_OPT_LEN 8
#define ND_OPT_SOURCE 1
#define ND_OPT_TARGET 2
#define ND_SOLICITED UINT32_C(0x40000000)
#define ND_OVERRIDE UINT32_C(0x20000000)
#define ND_HOP_LIMIT 255 /* anything less has been forwarded by a router */

static const uint8_t solicited_node_prefix[13] = {0xff, 0x02, [11] = 1, 0xff};
static const struct ip_addr all_nodes = {.b = {0xff, 0x02, [15] = 1}};

static bool
is_unicast_mac(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, 6) != 0;
}

static bool
parse_arp(const uint8_t *p, uint32_t len, struct neigh_msg *msg)
{
	uint16_t oper;

	if (len < ARP_LEN)
		return false;
	if (get_be16(p) != ARP_HTYPE_ETHER || get_be16(p + 2) != ETH_TYPE_IPV4)
		return false;
	if (p[4] != 6 || p[5] != 4)
		return false;
	oper = get_be16(p + 6);
	if (oper != ARP_REQUEST && oper != ARP_REPLY)
		return false;
	if (!is_unicast_mac(p + 8))
		return false;
	msg->is_question = oper == ARP_REQUEST;
	msg->has_mac = true;
	memcpy(msg->mac, p + 8, 6);
	ip_addr_from_ipv4(&msg->sender, p + 14);
	ip_addr_from_ipv4(&msg->target, p + 24);
	return true;
}

/* The Internet checksum of an ICMPv6 message with its pseudo header, RFC 8200, section 8.1. */
static uint16_t
icmp6_sum(const uint8_t *ip, const uint8_t *icmp, uint32_t len)
{
	uint32_t sum = len + IP_PROTO_ICMP6;

	sum = csum_add(sum, ip + 8, 32);
	sum = csum_add(sum, icmp, len);
	return (uint16_t)~csum_fold(sum);
}

/* Options up to the end: false if one has no length or too much of it. */
static bool
parse_nd_options(const uint8_t *p, uint32_t len, uint8_t wanted, struct neigh_msg *msg)
{
	while (len > 0) {
		uint32_t opt_len;

		if (len < ND_OPT_LEN)
			return false;
		opt_len = p[1] * ND_OPT_LEN;
		if (opt_len == 0 || opt_len > len)
			return false;
		if (p[0] == wanted && opt_len == ND_OPT_LEN) {
			if (!is_unicast_mac(p + 2))
				return false;
			msg->has_mac = true;
			memcpy(msg->mac, p + 2, 6);
		}
		p += opt_len;
		len -= opt_len;
	}
	return true;
}

static bool
is_solicited_node(const uint8_t *ip)
{
	return memcmp(ip, solicited_node_prefix, sizeof(solicited_node_prefix)) == 0;
}

static bool
parse_solicitation(const uint8_t *ip, const uint8_t *icmp, uint32_t len, struct neigh_msg *msg)
{
	msg->is_question = true;
	memcpy(msg->sender.b, ip + 8, 16);
	memcpy(msg->target.b, icmp + 8, 16);
	if (!parse_nd_options(icmp + ND_LEN, len - ND_LEN, ND_OPT_SOURCE, msg))
		return false;
	if (ip_addr_is_unspecified(&msg->sender))
		return is_solicited_node(ip + 24) && !msg->has_mac;
	return msg->sender.b[0] != 0xff;
}

static bool
parse_advertisement(const uint8_t *ip, const uint8_t *icmp, uint32_t len, struct neigh_msg *msg)
{
	uint32_t flags = get_be32(icmp + 4);

	msg->is_weak = !(flags & ND_OVERRIDE);
	memcpy(msg->sender.b, icmp + 8, 16);
	memcpy(msg->target.b, ip + 24, 16);
	if (ip[24] == 0xff && flags & ND_SOLICITED)
		return false;
	return parse_nd_options(icmp + ND_LEN, len - ND_LEN, ND_OPT_TARGET, msg);
}

static bool
parse_nd(const uint8_t *ip, uint32_t len, struct neigh_msg *msg)
{
	const uint8_t *icmp = ip + IPV6_LEN;
	uint32_t icmp_len;

	if (len < IPV6_LEN + ND_LEN || ip[0] >> 4 != 6)
		return false;
	icmp_len = get_be16(ip + 4);
	if (icmp_len < ND_LEN || icmp_len > len - IPV6_LEN)
		return false;
	if (ip[6] != IP_PROTO_ICMP6 || ip[7] != ND_HOP_LIMIT || icmp[1] != 0)
		return false;
	if (icmp6_sum(ip, icmp, icmp_len) != 0)
		return false;
	if (icmp[8] == 0xff)
		return false;
	if (icmp[0] == ICMP6_NEIGH_SOLICIT)
		return parse_solicitation(ip, icmp, icmp_len, msg);
	if (icmp[0] == ICMP6_NEIGH_ADVERT)
		return parse_advertisement(ip, icmp, icmp_len, msg);
	return false;
}

bool
neigh_msg_parse(const uint8_t *frame, uint32_t len, struct neigh_msg *msg)
{
	uint32_t off = ETH_LEN, type;

	*msg = (struct neigh_msg){0};
	if (len < ETH_LEN + VLAN_LEN)
		return false;
	memcpy(msg->eth_dst, frame, 6);
	memcpy(msg->eth_src, frame + 6, 6);
	if (!is_unicast_mac(msg->eth_src))
		return false;
	type = get_be16(frame + 12);
	if (type == ETH_TYPE_VLAN) {
		msg->has_vlan = true;
		msg->vlan_tci = get_be16(frame + ETH_LEN);
		type = get_be16(frame + ETH_LEN + 2);
		off += VLAN_LEN;
	}
	if (type == ETH_TYPE_ARP)
		return parse_arp(frame + off, len - off, msg);
	if (type == ETH_TYPE_IPV6)
		return parse_nd(frame + off, len - off, msg);
	return false;
}

static uint32_t
build_arp(uint8_t *p, const struct neigh_msg *msg)
{
	static const uint8_t unknown[6];

	put_be16(p, ARP_HTYPE_ETHER);
	put_be16(p + 2, ETH_TYPE_IPV4);
	p[4] = 6;
	p[5] = 4;
	put_be16(p + 6, msg->is_question ? ARP_REQUEST : ARP_REPLY);
	memcpy(p + 8, msg->mac, 6);
	memcpy(p + 14, msg->sender.b + 12, 4);
	memcpy(p + 18, msg->is_question ? unknown : msg->eth_dst, 6);
	memcpy(p + 24, msg->target.b + 12, 4);
	return ARP_LEN;
}

static void
solicited_node(uint8_t *ip, const struct ip_addr *target)
{
	memcpy(ip, solicited_node_prefix, sizeof(solicited_node_prefix));
	memcpy(ip + 13, target->b + 13, 3);
}

/* Where a message goes: to one if the frame does, else to the group that it concerns. */
static void
nd_destination(uint8_t *ip, const struct neigh_msg *msg)
{
	bool is_group = msg->eth_dst[0] & 1;

	if (!is_group)
		memcpy(ip, msg->target.b, 16);
	else if (msg->is_question)
		solicited_node(ip, &msg->target);
	else
		memcpy(ip, all_nodes.b, 16);
}

static uint32_t
build_nd(uint8_t *ip, const struct neigh_msg *msg)
{
	bool tells_mac = !msg->is_question || !ip_addr_is_unspecified(&msg->sender);
	uint32_t icmp_len = ND_LEN + (tells_mac ? ND_OPT_LEN : 0);
	uint8_t *icmp = ip + IPV6_LEN;

	put_be32(ip, UINT32_C(6) << 28);
	put_be16(ip + 4, (uint16_t)icmp_len);
	ip[6] = IP_PROTO_ICMP6;
	ip[7] = ND_HOP_LIMIT;
	memcpy(ip + 8, msg->sender.b, 16);
	nd_destination(ip + 24, msg);

	icmp[0] = msg->is_question ? ICMP6_NEIGH_SOLICIT : ICMP6_NEIGH_ADVERT;
	if (!msg->is_question)
		put_be32(icmp + 4, ND_OVERRIDE | (msg->is_solicited ? ND_SOLICITED : 0));
	memcpy(icmp + 8, msg->is_question ? msg->target.b : msg->sender.b, 16);
	if (tells_mac) {
		icmp[ND_LEN] = msg->is_question ? ND_OPT_SOURCE : ND_OPT_TARGET;
		icmp[ND_LEN + 1] = 1;
		memcpy(icmp + ND_LEN + 2, msg->mac, 6);
	}
	put_be16(icmp + 2, icmp6_sum(ip, icmp, icmp_len));
	return IPV6_LEN + icmp_len;
}

uint32_t
neigh_msg_build(uint8_t *buf, const struct neigh_msg *msg)
{
	bool is_ipv4 = ip_addr_is_ipv4(&msg->target);
	uint32_t off = ETH_LEN - 2;

	memset(buf, 0, NEIGH_MSG_MAX);
	memcpy(buf, msg->eth_dst, 6);
	memcpy(buf + 6, msg->eth_src, 6);
	if (msg->has_vlan) {
		put_be16(buf + off, ETH_TYPE_VLAN);
		put_be16(buf + off + 2, msg->vlan_tci);
		off += VLAN_LEN;
	}
	put_be16(buf + off, is_ipv4 ? ETH_TYPE_ARP : ETH_TYPE_IPV6);
	off += 2;
	off += is_ipv4 ? build_arp(buf + off, msg) : build_nd(buf + off, msg);
	return off < FRAME_MIN ? FRAME_MIN : off;
}

void
neigh_msg_group(uint8_t mac[6], const struct ip_addr *target)
{
	static const uint8_t multicast[3] = {0x33, 0x33, 0xff};

	if (ip_addr_is_ipv4(target)) {
		memset(mac, 0xff, 6);
		return;
	}
	memcpy(mac, multicast, 3);
	memcpy(mac + 3, target->b + 13, 3);
}
