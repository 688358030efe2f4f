/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ICRC_IMPL_H
#define WEFT_ICRC_IMPL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * One way to compute the ICRC. Inside this folder and its tests: everyone else calls icrc.h, which
 * chooses.
 */
struct icrc_ops {
	const char *name;
	bool (*usable)(void); /**< on this CPU */
	uint32_t (*update)(uint32_t crc, const void *src, uint32_t len);
	uint32_t (*copy)(uint32_t crc, void *dst, const void *src, uint32_t len);
	uint32_t (*headers)(const uint8_t *l3, bool ipv6, uint32_t len);
	uint32_t (*unit)(uint64_t first, uint64_t second);
	uint32_t (*two_units)(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);
};

/** Fastest first, ends with NULL; the one before is "table", which runs anywhere. */
extern const struct icrc_ops *const icrc_impls[];

extern const struct icrc_ops icrc_vpclmul; /**< x86: AVX-512, carry-less multiply of 4 x 128 bits */
extern const struct icrc_ops icrc_pclmul;  /**< x86: SSE4.1, carry-less multiply */
extern const struct icrc_ops icrc_table;   /**< eight bytes a step */

/**
 * The masked headers as one block of 64 bytes. A CRC's register of ones is the same as one of zeros
 * with the message's first four bytes inverted. The message begins with eight bytes of ones (the
 * local routing header that is not there), of which the first four so become zeros, and zeros in
 * front of a message do not change a register of zeros. What remains are 4 bytes of ones and the
 * IP, UDP and BTH headers: 44 bytes with IPv4 and just 64 with IPv6, filled up with zeros in front.
 */
#define ICRC_BLOCK 64

/** The block of headers in memory, IP to BTH. */
void icrc_block(uint8_t block[ICRC_BLOCK], const uint8_t *l3, bool ipv6);

/**
 * The register after 16 bytes, from a register of zeros: any other is XORed into the first four.
 * They come as two words in the order of memory, in registers: a wide load of what was just stored
 * field by field waits until all the stores are done.
 */
uint32_t icrc_unit(uint64_t first, uint64_t second);

/** The same after 32 bytes. */
uint32_t icrc_two_units(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);

/** Bytes of IP, UDP and BTH headers: the end of the block. */
static inline uint32_t
icrc_block_hdr(bool ipv6)
{
	return ipv6 ? 60 : 40;
}

/** Ones where a block has them whatever the packet says; by ipv6. */
extern const uint8_t icrc_block_ones[2][ICRC_BLOCK];

#endif
