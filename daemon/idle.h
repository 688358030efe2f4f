/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IDLE_H
#define WEFT_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * What a worker does with a turn in which nothing was done: pause, give the core away, or sleep.
 * It only decides; the worker does it, and tells what it cost.
 */

struct idle {
	bool poll;           /**< never sleep nor yield */
	uint64_t busy_ns;    /**< end of the last turn that had work */
	uint32_t nb_turns;   /**< idle ones since then */
	uint32_t yield_off;  /**< idle turns for which yielding is off */
	uint32_t yield_cost; /**< idle turns that the next slow yield costs */
};

enum idle_act {
	IDLE_PAUSE,      /**< a pause of the CPU */
	IDLE_STEP_ASIDE, /**< somebody wants the next turn at once: let others run before, if any */
	IDLE_YIELD,      /**< the same, and tell idle_yielded how long they ran */
	IDLE_SLEEP,      /**< until the next deadline, or until somebody wakes us */
};

/** @param poll  For a worker with a core of its own: it never gives the core away. */
void idle_init(struct idle *idle, bool poll);

/** A turn had work. */
void idle_busy(struct idle *idle, uint64_t now_ns);

/**
 * A turn had none.
 *
 * @param now_ns   When the turn began.
 * @param next_ns  When somebody wants a turn by himself; NEVER_NS = not at all.
 */
enum idle_act idle_next(struct idle *idle, uint64_t now_ns, uint64_t next_ns);

/** Learn from a yield. @return whether it was slow: somebody ran who does not wait for us. */
bool idle_yielded(struct idle *idle, uint64_t took_ns);

#endif
