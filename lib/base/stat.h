/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include <stddef.h>
#include <stdint.h>

/** One exported counter: a uint64_t at this offset of a state. Tables end with a NULL name. */
struct stat_desc {
	const char *name; /**< as `rdma statistic` and ethtool name it, where they do */
	size_t offset;    /**< of a uint64_t member that only ever grows, or of a present level */
};

/** Present value of a counter. */
static inline uint64_t
stat_read(const struct stat_desc *desc, const void *state)
{
	return *(const uint64_t *)(const void *)((const char *)state + desc->offset);
}

/** Walk over a table; descs may be NULL: STAT_FOREACH (d, descs) show(d->name, stat_read(d, s)). */
#define STAT_FOREACH(it, descs) for (const struct stat_desc *it = (descs); it && it->name; it++)

/**
 * Add a state's counters to sums, so that they outlive it.
 *
 * @param sums  one per row of descs, in its order.
 */
void stat_add(const struct stat_desc *descs, const void *state, uint64_t *sums);

#endif
