/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranges.h"

#include <stdatomic.h>
#include <stddef.h>

#include "maps.h"

/**
 * A slot and its sequence count, odd while the slot is being written. Whoever reads a word of a
 * later content (acquire, stored with release) sees the count that announced it as well, and drops
 * what it read. Readers never wait for a writer, which may be the thread that they interrupted.
 */
struct range {
	_Atomic uint32_t seq;
	_Atomic uint64_t lo, hi; /**< hi 0 = free */
	_Atomic uint64_t dev, ino;
};

/** A slot's content. */
struct copy {
	uint64_t lo, hi, dev, ino;
};

static struct range ranges[RANGES_MAX];
static _Atomic uint32_t nb_ranges; /**< slots ever used */

static uint64_t
dev_of(const struct maps_entry *entry)
{
	return (uint64_t)entry->dev_major << 32 | entry->dev_minor;
}

static void
write_slot(struct range *range, const struct copy *content)
{
	uint32_t seq = atomic_load_explicit(&range->seq, memory_order_relaxed);

	atomic_store_explicit(&range->seq, seq + 1, memory_order_relaxed);
	atomic_store_explicit(&range->lo, content->lo, memory_order_release);
	atomic_store_explicit(&range->hi, content->hi, memory_order_release);
	atomic_store_explicit(&range->dev, content->dev, memory_order_release);
	atomic_store_explicit(&range->ino, content->ino, memory_order_release);
	atomic_store_explicit(&range->seq, seq + 2, memory_order_release);
}

/** @return false if the slot is free, or is changing. */
static bool
read_slot(struct range *range, struct copy *content)
{
	uint32_t seq = atomic_load_explicit(&range->seq, memory_order_acquire);

	content->lo = atomic_load_explicit(&range->lo, memory_order_acquire);
	content->hi = atomic_load_explicit(&range->hi, memory_order_acquire);
	content->dev = atomic_load_explicit(&range->dev, memory_order_acquire);
	content->ino = atomic_load_explicit(&range->ino, memory_order_acquire);
	return seq % 2 == 0 && content->hi != 0 &&
	       atomic_load_explicit(&range->seq, memory_order_relaxed) == seq;
}

struct range *
ranges_add(uint64_t lo, uint64_t hi, const struct maps_entry *object)
{
	const struct copy content = {lo, hi, dev_of(object), object->ino};
	uint32_t nb = atomic_load_explicit(&nb_ranges, memory_order_relaxed), i = 0;

	while (i < nb && atomic_load_explicit(&ranges[i].hi, memory_order_relaxed))
		i++;
	if (i == RANGES_MAX)
		return NULL;
	write_slot(&ranges[i], &content);
	if (i == nb)
		atomic_store_explicit(&nb_ranges, nb + 1, memory_order_release);
	return &ranges[i];
}

void
ranges_remove(struct range *range)
{
	write_slot(range, &(struct copy){0});
}

void
ranges_reset(void)
{
	uint32_t nb = atomic_load_explicit(&nb_ranges, memory_order_relaxed);

	for (uint32_t i = 0; i < nb; i++)
		ranges_remove(&ranges[i]);
}

bool
ranges_touch(uint64_t lo, uint64_t hi)
{
	uint32_t nb = atomic_load_explicit(&nb_ranges, memory_order_acquire);
	struct copy range;

	for (uint32_t i = 0; i < nb; i++) {
		if (read_slot(&ranges[i], &range) && range.hi > lo && range.lo < hi)
			return true;
	}
	return false;
}

bool
ranges_hold(const struct maps_entry *entry)
{
	uint32_t nb = atomic_load_explicit(&nb_ranges, memory_order_acquire);
	uint64_t dev = dev_of(entry);
	struct copy range;

	for (uint32_t i = 0; entry->shared && i < nb; i++) {
		if (read_slot(&ranges[i], &range) && range.ino == entry->ino && range.dev == dev)
			return true;
	}
	return false;
}
