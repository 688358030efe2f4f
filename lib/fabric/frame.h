/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FRAME_H
#define WEFT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "ip_addr.h"

/**
 * @file
 * What a switch reads of a frame before it knows where to. Any content is survived; what cannot be
 * read is as if it were not there.
 */

struct frame {
	uint64_t dst_mac, src_mac; /**< as fib_mac */
	uint16_t eth_type;         /**< behind a VLAN tag */
	uint16_t l3_off; /**< of a whole IPv4 or IPv6 header of this version; 0 = has none */
	bool ipv6;       /**< if l3_off */
	bool has_vlan;
	uint8_t pcp; /**< priority of the VLAN tag, 0 without */
	uint8_t tos; /**< or IPv6 traffic class; 0 without an IP header */
};

/**
 * Read the headers up to IP's.
 *
 * @param data, len  from the destination MAC on, without FCS; at least ETH_LEN bytes.
 */
void frame_parse(const uint8_t *data, uint32_t len, struct frame *f);

/** Where an IP packet goes; only if f->l3_off. */
static inline void
frame_dst_ip(const uint8_t *data, const struct frame *f, struct ip_addr *ip)
{
	if (f->ipv6)
		memcpy(ip->b, data + f->l3_off + 24, 16);
	else
		ip_addr_from_ipv4(ip, data + f->l3_off + 16);
}

/**
 * A hash of what tells flows apart: addresses, protocol and ports (of fragments, and of other
 * protocols than TCP and UDP, without ports); of frames without IP their MACs and EtherType.
 * Fragments of a datagram and all frames of a flow have the same.
 *
 * @param salt  of the switch: without one of its own each would choose as the one before did.
 */
uint32_t frame_flow_hash(const uint8_t *data, uint32_t len, const struct frame *f, uint64_t salt);

#endif
