/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_FIB_H
#define WEFT_FIB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/**
 * @file
 * Which port a MAC address was last seen on, for a learning switch; one table for all VLANs.
 *
 * The table has a fixed size, four entries to a cache line. A new address takes the place of the
 * one in its line that was silent for longest, so that a flood of invented addresses costs the
 * silent ones first and never more than flooding. Source: IEEE 802.1Q, 8.7 and 8.8.
 */

/** What fib_find says of an address that it does not know. */
#define FIB_NO_PORT UINT16_MAX

struct fib;

/** The bytes of a MAC address as one number, in the order of this machine. Reads mac[0..7]. */
static inline uint64_t
fib_mac(const uint8_t *mac)
{
	uint64_t v;

	memcpy(&v, mac, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return v & UINT64_C(0xffffffffffff);
#else
	return v >> 16;
#endif
}

/** Whether the group bit of an address is set: the first bit on the wire. */
static inline bool
fib_mac_is_group(uint64_t mac)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return mac & 1;
#else
	return mac >> 40 & 1;
#endif
}

/**
 * @param max_macs  1 to 2^24. There are twice as many entries, in lines of four, so that of so many
 *                  addresses a few in a hundred fall in a full line.
 * @param age_ns    an address that was silent for so long is forgotten.
 * @return          NULL without memory.
 */
struct fib *fib_create(uint32_t max_macs, uint64_t age_ns);
void fib_destroy(struct fib *fib);

/**
 * A frame from mac came in on port. Group addresses and the zero address are not learned.
 *
 * @param port  any but FIB_NO_PORT.
 * @return      whether the table's answer for mac has changed.
 */
bool fib_learn(struct fib *fib, uint64_t mac, uint16_t port, uint64_t now_ns);

/** Forget what is behind a port; walks the whole table. */
void fib_forget_port(struct fib *fib, uint16_t port);

/** Forget everything. */
void fib_forget_all(struct fib *fib);

/** The port of an address, or FIB_NO_PORT. */
uint16_t fib_find(const struct fib *fib, uint64_t mac, uint64_t now_ns);

#endif
