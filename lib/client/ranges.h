/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_RANGES_H
#define WEFT_RANGES_H

/*
 * What interposers need to know of remapped memory: where an object was mapped, and which object.
 * One thread at a time adds and removes (it holds backing_lock); any number ask meanwhile, without
 * a lock and without malloc, because they may run inside malloc while that lock is held.
 *
 * A range that is there throughout a question is seen whole; one that is added or removed meanwhile
 * is seen whole or not at all.
 */

#include <stdbool.h>
#include <stdint.h>

struct maps_entry;

/** Remapped ranges at the same time; each costs the process a few of its 65,530 mappings. */
#define RANGES_MAX 4096

/** A place in the table. */
struct range;

/**
 * Note a range before it is remapped.
 *
 * @param object  of which only device and inode are read.
 * @return        to be given to ranges_remove; NULL: there are too many.
 */
struct range *ranges_add(uint64_t lo, uint64_t hi, const struct maps_entry *object);
void ranges_remove(struct range *range);
/** Forget all of them. */
void ranges_reset(void);

/** Whether [lo, hi) touches a range that was remapped. */
bool ranges_touch(uint64_t lo, uint64_t hi);
/** Whether a mapping found there is of an object that was noted. */
bool ranges_hold(const struct maps_entry *entry);

#endif
