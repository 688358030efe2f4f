/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SLAB_H
#define WEFT_SLAB_H

#include "list.h"

#include <stdbool.h>
#include <stdint.h>

/* A sanitizer build notices who uses a block that was given back. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define SLAB_POISON(p, bytes) __asan_poison_memory_region(p, bytes)
#define SLAB_UNPOISON(p, bytes) __asan_unpoison_memory_region(p, bytes)
#else
#define SLAB_POISON(p, bytes) ((void)0)
#define SLAB_UNPOISON(p, bytes) ((void)0)
#endif

/**
 * @file
 * Blocks of one size for what comes and goes with work: taken and given back in constant time, the
 * one given last first, while it is still in the cache.
 *
 * Memory comes from the system in chunks of several blocks when none is free, and goes back when a
 * chunk was empty for a whole period between two calls of slab_trim. So steady work makes no system
 * call, and a peak is not kept for ever. The few blocks given last stay at hand, outside of their
 * chunks: taking and giving one of those is a handful of instructions. One thread uses a slab at a
 * time.
 */

/** Blocks begin at a multiple of this: a cache line. */
#define SLAB_ALIGN 64u
/** Chunks that one slab_trim gives back at most: a system call each. Source: our choice. */
#define SLAB_TRIM_MAX 16u
/** Blocks at hand: so many, and not more than so many bytes of them. Source: our choice. */
#define SLAB_HOT_MAX 256u
#define SLAB_HOT_BYTES (UINT32_C(1) << 20)
/** Different sizes that one set has. */
#define SLAB_SET_MAX 80u

/** A run of blocks, at its own start. Aligned to its size, so that a block finds it. */
struct slab_chunk {
	struct list link; /**< in slab.partial, unless all blocks are taken */
	void *free;       /**< blocks given back, each with the next one in its first bytes */
	uint32_t nb_used; /**< blocks taken from here */
	uint32_t nb_made; /**< blocks ever taken; those behind were never touched */
};

/** Blocks of one size. */
struct slab {
	void *hot; /**< blocks at hand, each with the next one in its first bytes */
	uint32_t nb_hot, max_hot;
	uint32_t block_bytes; /**< a multiple of SLAB_ALIGN */
	uint32_t chunk_bytes; /**< a power of two */
	uint32_t nb_per_chunk;
	uint32_t nb_chunks;
	uint32_t nb_empty;     /**< chunks without a block taken: at the end of partial */
	uint32_t nb_empty_min; /**< least of nb_empty since the last slab_trim */
	uint32_t nb_out;       /**< blocks that are not in their chunks: taken, or at hand */
	uint32_t nb_users;     /**< may be counted by the user: while not 0, some memory is kept */
	uint64_t nb_failed;    /**< blocks that the system had no memory for */
	struct list partial;   /**< chunks with a free block */
};

/** Slabs by size. All zero is an empty set. */
struct slab_set {
	struct slab *slabs[SLAB_SET_MAX];
	uint32_t nb_slabs;
};

/** @param bytes  of a block, 1 to 2^20. */
void slab_init(struct slab *s, uint32_t bytes);
/** Give everything back to the system. All blocks were given back. */
void slab_fini(struct slab *s);

/** The other half of slab_take and slab_give. */
void *slab_take_cold(struct slab *s);
void slab_give_cold(struct slab *s, void *block);

/** A block with anything in it, or NULL if the system has no memory. */
static inline void *
slab_take(struct slab *s)
{
	void *block = s->hot;

	if (__builtin_expect(!block, 0))
		return slab_take_cold(s);
	SLAB_UNPOISON(block, s->block_bytes);
	s->hot = *(void **)block;
	s->nb_hot--;
	return block;
}

/** Give back what slab_take gave. */
static inline void
slab_give(struct slab *s, void *block)
{
	if (__builtin_expect(s->nb_hot >= s->max_hot, 0)) {
		slab_give_cold(s, block);
		return;
	}
	*(void **)block = s->hot;
	SLAB_POISON(block, s->block_bytes);
	s->hot = block;
	s->nb_hot++;
}

/** Blocks taken. */
static inline uint32_t
slab_used(const struct slab *s)
{
	return s->nb_out - s->nb_hot;
}
/** Whether slab_trim has something to do, now or when it is called again. */
static inline bool
slab_has_surplus(const struct slab *s)
{
	return s->nb_users ? s->nb_empty > 1 : s->nb_empty + s->nb_hot > 0;
}
/** Now and then: give back to the system what was not needed since the last call. */
void slab_trim(struct slab *s);

/** Bytes that a slab has from the system. */
static inline uint64_t
slab_bytes(const struct slab *s)
{
	return (uint64_t)s->nb_chunks * s->chunk_bytes;
}

/**
 * The slab of blocks of so many bytes, or little more. Control time.
 *
 * @return its index, below SLAB_SET_MAX; -1 without memory.
 */
int slab_set_find(struct slab_set *set, uint32_t bytes);
/** slab_trim of each. Whether one has a surplus left. */
bool slab_set_trim(struct slab_set *set);
/** Bytes that all have from the system. */
uint64_t slab_set_bytes(const struct slab_set *set);
void slab_set_fini(struct slab_set *set);

#endif
