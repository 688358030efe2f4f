/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HDR_H
#define WEFT_HDR_H

/*
 * Lengths and field offsets of the headers that parse.c reads and build.c writes. They are read
 * through be.h and not through structs, because a VLAN tag leaves every header unaligned.
 */

enum eth_type {
	ETH_TYPE_IPV4 = 0x0800,
	ETH_TYPE_ARP = 0x0806,
	ETH_TYPE_VLAN = 0x8100,
	ETH_TYPE_IPV6 = 0x86dd,
	ETH_TYPE_MAC_CONTROL = 0x8808,
};

enum ip_proto {
	IP_PROTO_UDP = 17,
	IP_PROTO_ICMP6 = 58,
};

/** RFC 4861, sections 4.3 and 4.4. */
enum icmp6_type {
	ICMP6_NEIGH_SOLICIT = 135,
	ICMP6_NEIGH_ADVERT = 136,
};

#define ETH_LEN 14
#define FCS_LEN 4 /* behind a frame; ports add and take it away */
#define VLAN_LEN 4
#define IPV4_LEN 20 /* without options: we neither send nor take any */
#define IPV6_LEN 40
#define UDP_LEN 8
#define BTH_LEN 12

/** IPv4: version 4, header of 5 words. */
#define IPV4_VERSION_IHL 0x45
/** IPv4: don't fragment; more fragments; offset of a fragment. */
#define IPV4_DF 0x4000
#define IPV4_MF 0x2000
#define IPV4_OFFSET_MASK 0x1fff

/* extended headers, IBA vol. 1, ch. 9 */
#define RETH_LEN 16
#define AETH_LEN 4
#define ATOMIC_ETH_LEN 28
#define ATOMIC_ACK_ETH_LEN 8
#define IMM_LEN 4
#define IETH_LEN 4
#define DETH_LEN 8
/** What a CNP carries behind its BTH: reserved, zero. Source: IBA vol. 1, annex A17. */
#define CNP_RESERVED_LEN 16

/* the weft framing, docs/wire.md */
#define WEFT_MSN_LEN 3
#define WEFT_MSN_MAP_LEN 4
#define WEFT_ACK_LEN 4  /* syndrome, value */
#define WEFT_WORD_LEN 4 /* SSN, order and request words: 24 bits and a zero */
#define SPH_LEN 12
#define LANE_LEN 8 /* path header */
#define TS_LEN 4
#define TS_ECHO_LEN 8
#define RNR_BLOCK_LEN 8
#define SACK_BLOCK_LEN 12

/** Largest path MTU of RoCE, so the most payload of one packet. */
#define PMTU_MAX 4096

#endif
