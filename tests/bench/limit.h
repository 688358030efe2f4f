/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LIMIT_H
#define WEFT_LIMIT_H

#include <stdint.h>

/**
 * The cost that no stack avoids, to print its own against in the same run: payload is copied into a
 * frame with the CRC in the same pass, the frame's CRC is taken, its payload copied out. Nothing
 * else, not even the CRC of headers; batches of 32, one core, 512 KiB of memory in all.
 *
 * @param payload_len  bytes of each packet, 64 to 4096.
 * @return             ns per packet, both ends; the median of five runs, about 0.1 s in all.
 */
double limit_ns(uint32_t payload_len);

#endif
