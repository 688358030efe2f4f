/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PSN_H
#define WEFT_PSN_H

#include <stdint.h>

/** PSNs, MSNs and QPNs have 24 bits on the wire. */
#define PSN_MASK 0xffffffu
/** What the host adds to a wire PSN to start the unwrapped count, so that psn - n never underflows.
 */
#define PSN_BIAS (UINT64_C(1) << 24)

/**
 * Distance from b to a on the 24-bit PSN circle.
 *
 * @param a, b  PSNs as on the wire, 0 to 2^24-1; higher bits are ignored.
 * @return      a - b in packets, -2^23 to 2^23-1; negative if a is older.
 * Source: IBA vol. 1, ch. 9 (PSN ordering).
 */
static inline int32_t
psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/**
 * The unwrapped number nearest to a reference.
 *
 * @param ref  an unwrapped PSN, at least 2^23.
 * @param psn  PSN as on the wire.
 * @return     the 64-bit PSN with these low 24 bits in [ref - 2^23, ref + 2^23).
 */
static inline uint64_t
psn_unwrap(uint64_t ref, uint32_t psn)
{
	return ref + (int64_t)psn_diff(psn, (uint32_t)ref);
}

#endif
