/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MEM_H
#define WEFT_MEM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem;

/** One run of an application's memory. */
struct mem_seg {
	uint64_t va;  /**< in the application */
	uint64_t len; /**< bytes */
	uint8_t *map; /**< where this thread can reach it; NULL: through mem_ops */
};

/**
 * Memory that is not mapped here. Both may be slow; neither blocks on what an application does.
 * A NIC whose payload is absent never reads, and writes with src NULL: so many bytes came.
 *
 * @return false if the application's memory is gone: the request fails, nothing else.
 */
struct mem_ops {
	bool (*read)(const struct mem *mem, uint64_t va, void *dst, uint32_t len);
	bool (*write)(const struct mem *mem, uint64_t va, const void *src, uint32_t len);
};

/** The memory behind a registration; owned by the driver and kept until the MR is destroyed. */
struct mem {
	const struct mem_ops *ops; /**< NULL if all segments are mapped */
	void *owner;
	uint32_t nb_segs; /**< in order of address, touching */
	const struct mem_seg *segs;
};

/** The segment that holds va; va must lie in the memory. */
static inline const struct mem_seg *
mem_seg_of(const struct mem *mem, uint64_t va)
{
	uint32_t lo = 0, hi = mem->nb_segs;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (mem->segs[mid].va <= va)
			lo = mid;
		else
			hi = mid;
	}
	assert(va - mem->segs[lo].va < mem->segs[lo].len);
	return &mem->segs[lo];
}

/** Where this thread reaches [va, va + len), if one mapped segment holds it; else NULL. */
static inline uint8_t *
mem_reach(const struct mem *mem, uint64_t va, uint32_t len)
{
	const struct mem_seg *seg = mem_seg_of(mem, va);
	uint64_t off = va - seg->va;

	return seg->map && len <= seg->len - off ? seg->map + off : NULL;
}

#endif
