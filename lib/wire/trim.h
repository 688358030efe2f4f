/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TRIM_H
#define WEFT_TRIM_H

#include <stdbool.h>
#include <stdint.h>

#include "weft_hdr.h"
#include "wire.h"

/**
 * @file
 * Trimming: a switch whose queue is full does not drop a packet of DCP but cuts it behind the MSN,
 * so that its receiver learns at once what is missing. Source: Li et al., "Revisiting RDMA
 * Reliability for Lossy Fabrics", SIGCOMM 2025; the packet's form: our choice, docs/wire.md.
 */

/**
 * Whether a frame may be trimmed: a stream packet of the weft framing with the tag DCP_DATA that
 * has something to cut off. Not: acknowledgements, header-only packets and bounces, plain RoCEv2
 * and all else whatever its DSCP, fragments, packets with IPv4 options or IPv6 extension headers.
 *
 * @param frame, len    from the destination MAC on, without FCS; any content.
 * @param l3_off, ipv6  as in weft_find.
 */
bool wire_may_trim(const uint8_t *frame, uint32_t len, uint32_t l3_off, bool ipv6);

/** The same of a packet that weft_find found: bth_len bytes from the BTH to the datagram's end. */
static inline bool
wire_may_trim_found(const uint8_t *bth, uint32_t bth_len, enum dcp_tag tag)
{
	/* A map and an ICRC at the least, or it is no whole packet of this tag. */
	return tag == DCP_DATA && weft_is_stream(bth) && bth_len >= WEFT_OFF_INT + ICRC_LEN;
}

/**
 * Cut a frame that wire_may_trim allowed to header-only: tag, lengths and sums are set. A wrong
 * IPv4 header checksum stays wrong.
 *
 * @return  the new length, l3_off + 43 (IPv4) or + 63 (IPv6): 57 or 77 bytes without a VLAN tag.
 */
uint32_t wire_trim(uint8_t *frame, uint32_t l3_off, bool ipv6);

/** Whether the UDP checksum of a header-only packet is right, or 0: that of some other switch. */
bool wire_header_only_sum_ok(const uint8_t *l3, bool ipv6);

/**
 * Make a trimmed stream packet that its receiver got its bounce: back to the sender, addressed to
 * the sender's QP. PSN, MSN, retry number, UDP ports, type of service and VLAN tag stay.
 *
 * @param frame  the packet's own; its destination MAC is ours, and becomes the source.
 * @param w      as wire_parse read it: header-only, not a bounce.
 * @param qpn    of the sender's QP.
 * @return       the length, w->end_off.
 */
uint32_t wire_bounce(uint8_t *frame, const struct wire_pkt *w, uint32_t qpn);

#endif
