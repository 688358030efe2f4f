/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PIECES_H
#define WEFT_PIECES_H

/* What is mapped in a range that is to be registered. Called with backing_lock held. */

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/** More mappings than this are not looked at one by one. */
#define PIECES_MAX 256

/** A mapping in the range, with what lies below it. */
struct piece {
	struct maps_entry entry;
	bool guarded; /**< a small mapping without rights ends where it begins: it may be a stack */
};

/**
 * The mappings of [lo, hi), which must have no hole and the rights asked for.
 *
 * @param pieces  gets up to PIECES_MAX of them.
 * @return        their number, PIECES_MAX + 1 if there are more; -EFAULT, or another errno.
 */
int pieces_look(uint64_t lo, uint64_t hi, bool write, struct piece *pieces);

/**
 * Whether memory from lo on may become a mapped object: private and anonymous (or an orphan, which
 * was that once), and nobody's stack, because the child of a fork would run on its parent's. A
 * thread's stack has no name, but a guard below it.
 */
bool piece_may_move(const struct piece *piece, uint64_t lo);

#endif
