/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ARENA_H
#define WEFT_ARENA_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * One application's shared memory: a sealed memfd in which its doorbell page and its rings lie.
 *
 * Sparse: pages exist from the first allocation that touches them until the last is freed. Small
 * rings share pages, or a hundred thousand QPs would need nearly a gigabyte of them. The book of
 * what is free is private, so that an application can hurt only the contents.
 */

/** Bytes of an arena: room for the doorbells and what WEFT_MAX_QP ordinary QPs need, 3 KB each. */
#define ARENA_BYTES (UINT64_C(512) << 20)
/** Unit of allocation: four cache lines. */
#define ARENA_UNIT 256u
#define ARENA_UNITS (ARENA_BYTES / ARENA_UNIT)
/** Unit of what goes back to the system. */
#define ARENA_PAGE 4096u

struct arena {
	int fd;           /**< sealed against growing, shrinking and other seals */
	uint8_t *base;    /**< all of it, mapped */
	uint32_t nb_used; /**< units */
	uint32_t nb_full; /**< words of used without a free unit before the first that may have one
	                   */
	uint64_t *used;   /**< bit per unit */
	bool is_left;     /**< arena_leave was called */
};

/** @return 0 or a negative errno; the arena is then unchanged. */
int arena_init(struct arena *arena);
void arena_fini(struct arena *arena);

/**
 * The first run of units that is free, zeroed.
 *
 * @param bytes   at least 1.
 * @param offset  on success where it begins.
 * @return        0 or -ENOMEM.
 */
int arena_alloc(struct arena *arena, uint64_t bytes, uint64_t *offset);

/**
 * The daemon is about to leave the application: what is freed from now on keeps its contents. From
 * the rings' indices the application learns what it has to flush itself.
 */
void arena_leave(struct arena *arena);

/** Give back what arena_alloc gave; pages that are wholly free return to the system. */
void arena_free(struct arena *arena, uint64_t offset, uint64_t bytes);

#endif
