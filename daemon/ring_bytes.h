/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RING_BYTES_H
#define WEFT_RING_BYTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * Records of any length from one thread to another, in order, in a ring of bytes. Neither waits.
 */

struct ring_bytes {
	uint8_t *bytes;
	uint64_t size;                      /**< a power of two */
	_Alignas(64) _Atomic uint64_t tail; /**< the writer's: bytes put so far */
	uint64_t head_seen;                 /**< the writer's: head when it was last looked at */
	_Alignas(64) _Atomic uint64_t head; /**< the reader's: bytes got so far */
};

/** @param size  a power of two. @return false without memory. */
bool ring_bytes_init(struct ring_bytes *ring, uint64_t size);
void ring_bytes_fini(struct ring_bytes *ring);

/** The writer: put a record of two parts, whole or not at all. @return whether there was room. */
bool ring_bytes_put(struct ring_bytes *ring, const void *head, uint32_t head_len, const void *body,
                    uint32_t body_len);

/**
 * The reader: get the oldest record.
 *
 * @param head_len  as it was put.
 * @param size      of body; records are not longer.
 * @return          whether there was one.
 */
bool ring_bytes_get(struct ring_bytes *ring, void *head, uint32_t head_len, void *body,
                    uint32_t size);

#endif
