/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_HDR_H
#define WEFT_WEFT_HDR_H

#include <stdbool.h>
#include <stdint.h>

#include "be.h"
#include "hdr.h"

/**
 * @file
 * The weft framing as far as one must know it who forwards a packet: opcodes, where the MSN ends
 * and the INT area begins, and the tag in the type of service. RoCEv2's UDP port and BTH, the
 * manufacturer's opcode group, TVer 1. Source: our choice; docs/wire.md.
 */

/** Opcodes: WEFT_GROUP + the operation of RC, enum opcode, unless named here. */
enum weft_opcode {
	WEFT_GROUP = 0xe0, /**< the first of the group; it ends at 0xff */
	WEFT_ACK = 0xf1,   /**< acknowledgements of all kinds */
	WEFT_VOID = 0xf5,  /**< rest of a refused SEND */
	/** Last opcode of the stream packets: all from WEFT_GROUP on but WEFT_ACK. */
	WEFT_STREAM_LAST = 0xf7,
	WEFT_BOUNCE = 0xf9, /**< a header-only packet on its way back */
};

/** Low four bits of BTH byte 1; plain RoCEv2 has 0. */
#define WEFT_TVER 1

/** BTH byte 8: A, and the retry number. */
#define WEFT_RETRY_MASK 0x7f

/** Offsets from the BTH on. */
enum weft_offset {
	WEFT_OFF_MSN = BTH_LEN,
	WEFT_OFF_MAP = 15, /**< what follows; also the first byte that a trim cuts off */
	WEFT_OFF_INT = 16, /**< of stream packets with slots: int.h */
};

/** UDP length of a header-only packet: up to and with the MSN. */
#define WEFT_HEADER_ONLY_UDP_LEN (UDP_LEN + WEFT_OFF_MAP)

/** A bounce's way begins at its receiver, so with a full TTL or hop limit. */
#define WEFT_BOUNCE_TTL 64

/** Bits 3-2 of the type of service. They count in weft packets only: DSCP 26, 46 end in 10 too. */
enum dcp_tag {
	DCP_OTHER = 0,
	DCP_ACK = 1,
	DCP_DATA = 2,        /**< may be trimmed */
	DCP_HEADER_ONLY = 3, /**< was; belongs in the control queue */
};
#define DCP_TAG_SHIFT 2

/** Bit 4 of the type of service: some switch sent the packet an adapted way (AFI). */
#define TOS_ADAPTED 0x10

/** IPv4 type of service or IPv6 traffic class. */
static inline uint8_t
weft_tos(const uint8_t *l3, bool ipv6)
{
	return ipv6 ? (uint8_t)(l3[0] << 4 | l3[1] >> 4) : l3[1];
}

/** The tag of a weft packet. */
static inline enum dcp_tag
weft_tag(const uint8_t *l3, bool ipv6)
{
	return (enum dcp_tag)(weft_tos(l3, ipv6) >> DCP_TAG_SHIFT & 3);
}

/** Whether a BTH, to RoCEv2's UDP port, is one of this framing. */
static inline bool
weft_is_bth(const uint8_t *bth)
{
	return bth[0] >= WEFT_GROUP && (bth[1] & 0x0f) == WEFT_TVER;
}

/** Whether a weft BTH begins a stream packet: a request or a response, with or without payload. */
static inline bool
weft_is_stream(const uint8_t *bth)
{
	return bth[0] >= WEFT_GROUP && bth[0] <= WEFT_STREAM_LAST && bth[0] != WEFT_ACK;
}

/** Slots of a stream packet's INT area, 0 to 7; 0 = it has no area. bth holds the map byte. */
static inline uint32_t
weft_int_slots(const uint8_t *bth)
{
	return bth[WEFT_OFF_MAP] >> 5;
}

/** Where a weft packet stands in its frame. */
struct weft_at {
	uint32_t bth_off;
	uint32_t end_off; /**< first byte behind the UDP datagram; Ethernet padding may follow */
};

/**
 * Look whether a frame is a weft packet, header-only ones included: to RoCEv2's UDP port, whole,
 * not a fragment, without IPv4 options and IPv6 extension headers, IP's and UDP's lengths in
 * agreement, at least as long as a header-only packet. Sums and the ICRC are the receiver's.
 *
 * @param frame, len  from the destination MAC on, without FCS; any content.
 * @param l3_off      of the IP header, at most len.
 * @param ipv6        by EtherType; the version in the header must be the same.
 * @param at          written if it is.
 */
bool weft_find(const uint8_t *frame, uint32_t len, uint32_t l3_off, bool ipv6, struct weft_at *at);

#endif
