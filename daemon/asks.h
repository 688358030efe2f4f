/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ASKS_H
#define WEFT_ASKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ip_addr.h"

/**
 * @file
 * What a worker asks another thread about neighbours: a bounded ring with one writer and one
 * reader. The writer never waits.
 */

/** Questions that wait; the worker asks again for what found no room. A power of two. */
#define ASKS_MAX 256

struct ask {
	struct ip_addr ip;
	uint16_t vlan;
};

struct asks {
	_Alignas(64) _Atomic uint32_t tail; /**< the writer's */
	_Alignas(64) _Atomic uint32_t head; /**< the reader's */
	struct ask slots[ASKS_MAX];
};

/** @return false if there is no room. */
static inline bool
asks_put(struct asks *a, const struct ask *ask)
{
	uint32_t tail = atomic_load_explicit(&a->tail, memory_order_relaxed);

	if (tail - atomic_load_explicit(&a->head, memory_order_acquire) == ASKS_MAX)
		return false;
	a->slots[tail % ASKS_MAX] = *ask;
	atomic_store_explicit(&a->tail, tail + 1, memory_order_release);
	return true;
}

/** @return false if there is none. */
static inline bool
asks_take(struct asks *a, struct ask *ask)
{
	uint32_t head = atomic_load_explicit(&a->head, memory_order_relaxed);

	if (head == atomic_load_explicit(&a->tail, memory_order_acquire))
		return false;
	*ask = a->slots[head % ASKS_MAX];
	atomic_store_explicit(&a->head, head + 1, memory_order_release);
	return true;
}

#endif
