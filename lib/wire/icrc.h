/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ICRC_H
#define WEFT_ICRC_H

#include <stdbool.h>
#include <stdint.h>

/** Bytes of the ICRC at the end of every RoCE packet. */
#define ICRC_LEN 4

/**
 * The CRC's state between two runs of bytes: the register of the reflected Ethernet polynomial
 * 0x04C11DB7 before the final complement. It starts as all ones.
 */
#define ICRC_INIT 0xffffffffu

/**
 * Continue the CRC over len bytes.
 *
 * @param crc  ICRC_INIT or what an earlier call returned.
 * @return     the register after these bytes, not complemented.
 */
uint32_t icrc_update(uint32_t crc, const void *src, uint32_t len);

/**
 * Copy len bytes and continue the CRC over them in the same pass.
 *
 * @param dst, src  must not overlap; any alignment.
 * @return          as icrc_update(crc, src, len).
 */
uint32_t icrc_copy(uint32_t crc, void *dst, const void *src, uint32_t len);

/**
 * Start the ICRC of a packet: the register over the eight bytes of ones that stand for the local
 * routing header, IP, UDP and BTH with their variant fields as ones, and whatever follows, as is.
 *
 * Variant: IPv4 ToS, TTL, checksum; IPv6 traffic class, flow label, hop limit; UDP checksum;
 * BTH byte 4 (FECN, BECN, reserved). Source: IBA vol. 1, annex A17.
 *
 * @param l3    the IP header: IPv4 without options or IPv6 without extension headers.
 * @param len   bytes from l3 on, at least 40 (IPv4) or 60 (IPv6): the end of the BTH.
 */
uint32_t icrc_headers(const uint8_t *l3, bool ipv6, uint32_t len);

/**
 * Name of the code path in use: "vpclmul", "pclmul" or "table". Chosen once at start-up from what
 * the CPU offers; the environment variable WEFT_ICRC names a lesser one for tests.
 */
const char *icrc_impl(void);

#endif
