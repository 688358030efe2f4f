/* SPDX-License-Identifier: BSD-3-Clause */
#include "roce_frames.h"

#include <assert.h>
#include <string.h>

#include "be.h"
#include "hdr.h"

#define DATA_LEN 16

struct builder {
	struct roce_frame *frames;
	uint32_t n;
};

/* A new frame up to its Ethernet header, with so many tags. */
static struct roce_frame *
begin(struct builder *b, const char *name, uint32_t nb_tags, uint16_t type)
{
	struct roce_frame *f = &b->frames[b->n++];

	assert(b->n <= ROCE_FRAMES_MAX);
	*f = (struct roce_frame){.name = name, .has_tag = nb_tags > 0};
	memset(f->bytes, 2, 12);
	f->len = 12;
	for (uint32_t i = 0; i < nb_tags; i++, f->len += VLAN_LEN) {
		put_be16(f->bytes + f->len, ETH_TYPE_VLAN);
		put_be16(f->bytes + f->len + 2, 100);
	}
	put_be16(f->bytes + f->len, type);
	f->len += 2;
	return f;
}

static void
add_udp(struct roce_frame *f, uint16_t sport, uint16_t dport)
{
	put_be16(f->bytes + f->len, sport);
	put_be16(f->bytes + f->len + 2, dport);
	put_be16(f->bytes + f->len + 4, UDP_LEN + DATA_LEN);
	f->len += UDP_LEN + DATA_LEN;
}

struct ipv4 {
	uint32_t nb_tags;
	uint16_t frag;
	uint8_t proto;
	uint8_t options_len;
	uint16_t dport;
	bool is_ours;
};

static void
add_ipv4(struct builder *b, const char *name, struct ipv4 is)
{
	struct roce_frame *f = begin(b, name, is.nb_tags, ETH_TYPE_IPV4);
	uint8_t *ip = f->bytes + f->len;
	uint8_t header_len = (uint8_t)(IPV4_LEN + is.options_len);

	ip[0] = (uint8_t)(0x40 | header_len / 4);
	put_be16(ip + 2, (uint16_t)(header_len + UDP_LEN + DATA_LEN));
	put_be16(ip + 6, is.frag);
	ip[8] = 64;
	ip[9] = is.proto;
	memset(ip + 12, 10, 8);
	/* Options that would be our port if they were taken for a UDP header. */
	for (uint32_t i = 0; i < is.options_len; i += 2)
		put_be16(ip + IPV4_LEN + i, 4791);
	f->len += header_len;
	add_udp(f, 49152, is.dport);
	f->is_ours = is.is_ours;
}

static void
add_ipv6(struct builder *b, const char *name, uint32_t nb_tags, uint8_t next, uint16_t dport,
         bool is_ours)
{
	struct roce_frame *f = begin(b, name, nb_tags, ETH_TYPE_IPV6);
	uint8_t *ip = f->bytes + f->len;

	ip[0] = 0x60;
	put_be16(ip + 4, UDP_LEN + DATA_LEN);
	ip[6] = next;
	ip[7] = 64;
	memset(ip + 8, 0xfd, 32);
	f->len += IPV6_LEN;
	add_udp(f, 49152, dport);
	f->is_ours = is_ours;
}

/* The last frame, cut. */
static void
cut(struct builder *b, const char *name, uint32_t len)
{
	struct roce_frame *f = &b->frames[b->n - 1];

	assert(len < f->len);
	f->name = name;
	f->len = len;
	f->is_ours = false;
}

uint32_t
roce_frames(struct roce_frame frames[ROCE_FRAMES_MAX])
{
	static const struct ipv4 roce = {.proto = 17, .dport = 4791, .frag = 0x4000, .is_ours = 1};
	struct builder b = {.frames = frames};
	struct ipv4 p;

	add_ipv4(&b, "RoCE over IPv4", roce);
	p = roce, p.frag = 0;
	add_ipv4(&b, "RoCE over IPv4 that may be fragmented and was not", p);
	p = roce, p.dport = 61791;
	add_ipv4(&b, "HELLO over IPv4", p);
	p = roce, p.nb_tags = 1;
	add_ipv4(&b, "RoCE over IPv4 in a VLAN", p);
	p.dport = 61791;
	add_ipv4(&b, "HELLO over IPv4 in a VLAN", p);
	add_ipv6(&b, "RoCE over IPv6", 0, 17, 4791, true);
	add_ipv6(&b, "HELLO over IPv6", 0, 17, 61791, true);
	add_ipv6(&b, "RoCE over IPv6 in a VLAN", 1, 17, 4791, true);

	begin(&b, "a pause of classes", 0, ETH_TYPE_MAC_CONTROL)->is_ours = true;
	b.frames[b.n - 1].len = 60;
	put_be16(b.frames[b.n - 1].bytes + ETH_LEN, 0x0101);

	p = roce, p.is_ours = false, p.dport = 4790;
	add_ipv4(&b, "VXLAN-GPE's port", p);
	p.dport = 53;
	add_ipv4(&b, "DNS", p);
	p.nb_tags = 1;
	add_ipv4(&b, "DNS in a VLAN", p);
	p = roce, p.is_ours = false, p.proto = 6;
	add_ipv4(&b, "TCP to port 4791", p);
	p.proto = 1;
	add_ipv4(&b, "ICMP", p);
	p = roce, p.is_ours = false, p.frag = 0x2000;
	add_ipv4(&b, "a first fragment", p);
	p.frag = 0x2010;
	add_ipv4(&b, "a middle fragment", p);
	p.frag = 0x0010;
	add_ipv4(&b, "a last fragment", p);
	p = roce, p.is_ours = false, p.options_len = 8, p.dport = 22;
	add_ipv4(&b, "options that look like the port", p);
	p = roce, p.is_ours = false, p.nb_tags = 2;
	add_ipv4(&b, "RoCE in a VLAN in a VLAN", p);
	add_ipv6(&b, "DNS over IPv6", 0, 17, 53, false);
	add_ipv6(&b, "TCP over IPv6 to port 4791", 0, 6, 4791, false);
	add_ipv6(&b, "IPv6 with a fragment header", 0, 44, 4791, false);
	add_ipv6(&b, "ICMPv6", 0, 58, 4791, false);
	begin(&b, "ARP", 0, ETH_TYPE_ARP)->len += 28;
	begin(&b, "LLDP", 0, 0x88cc)->len += 40;

	add_ipv4(&b, "", roce);
	cut(&b, "cut before the IPv4 header", ETH_LEN);
	add_ipv4(&b, "", roce);
	cut(&b, "cut in the IPv4 header", ETH_LEN + 12);
	add_ipv4(&b, "", roce);
	cut(&b, "cut before the port over IPv4", ETH_LEN + IPV4_LEN + 2);
	add_ipv6(&b, "", 0, 17, 4791, true);
	cut(&b, "cut in the IPv6 header", ETH_LEN + IPV6_LEN - 1);
	add_ipv6(&b, "", 0, 17, 4791, true);
	cut(&b, "cut in the port over IPv6", ETH_LEN + IPV6_LEN + 3);
	p = roce, p.nb_tags = 1;
	add_ipv4(&b, "", p);
	cut(&b, "cut behind the tag", ETH_LEN + VLAN_LEN);
	return b.n;
}
