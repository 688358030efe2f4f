/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ARENA_H
#define WEFT_ARENA_H

#include <stdint.h>

/**
 * @file
 * One application's shared memory: a sealed memfd in which its doorbell page and its rings lie.
 *
 * Sparse: pages exist from the first allocation that covers them until it is freed. The book of
 * what is free is private, so that an application can hurt only the contents.
 */

/** Bytes of an arena: room for the doorbells and what WEFT_MAX_QP ordinary QPs need. */
#define ARENA_BYTES (UINT64_C(256) << 20)
/** Unit of allocation. Whole pages, so that what is freed can be given back to the system. */
#define ARENA_PAGE 4096u
#define ARENA_PAGES (ARENA_BYTES / ARENA_PAGE)

struct arena {
	int fd;        /**< sealed against growing, shrinking and other seals */
	uint8_t *base; /**< all of it, mapped */
	uint32_t nb_used_pages;
	uint64_t used[ARENA_PAGES / 64]; /**< bit per page */
};

/** @return 0 or a negative errno; the arena is then unchanged. */
int arena_init(struct arena *arena);
void arena_fini(struct arena *arena);

/**
 * The first run of pages that is free, zeroed.
 *
 * @param bytes   at least 1.
 * @param offset  on success where it begins.
 * @return        0 or -ENOMEM.
 */
int arena_alloc(struct arena *arena, uint64_t bytes, uint64_t *offset);

/** Give back what arena_alloc gave; its pages return to the system. */
void arena_free(struct arena *arena, uint64_t offset, uint64_t bytes);

#endif
