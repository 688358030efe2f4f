/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PATH_MTU_H
#define WEFT_PATH_MTU_H

#include <stdint.h>

#include "bind.h"

/**
 * @file
 * How much of a link's MTU is left for payload: packets of a full path MTU have the longest headers
 * that framing and engines may give them.
 */

/**
 * Headers and ICRC of the longest packet that can carry a full path MTU, from the IP header on.
 * Over IPv6: every NIC has its link-local address.
 *
 * @param set   what they want in packets; not looked at if the wish is rocev2.
 * @param wish  weft and auto have the longer ones, which are weft's.
 * @return      bytes: 84 of plain RoCEv2, 92 of weft without optional parts, at most 164.
 */
uint32_t path_mtu_overhead(const struct engine_set *set, enum framing_wish wish);

/**
 * The largest path MTU whose packets fit a link.
 *
 * @param ip_mtu_bytes    of the link: the longest IP packet.
 * @param overhead_bytes  path_mtu_overhead, the largest of all sets in use.
 * @return                code 1 to 5: 128 << code bytes. 1 also if not even that fits.
 */
uint8_t path_mtu_code(uint32_t ip_mtu_bytes, uint32_t overhead_bytes);

#endif
