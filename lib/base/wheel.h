/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WHEEL_H
#define WEFT_WHEEL_H

#include "list.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * Timers: arm, cancel and expire in constant time, without allocation, at any distance.
 *
 * A hierarchical timing wheel: level 0 has 64 slots of one tick, each further level 64 slots that
 * span 64 of the level below. A bit per slot says whether it holds timers, so that empty time costs
 * nothing, however long. A timer comes down at most one level at a time, so it is moved a few times
 * in its life. Re-arming a timer to a later time, what a retransmission timer sees with every
 * packet, only stores the time: the timer is moved when its old slot comes up.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 7.
 */

/** Slots per level: one word of bits. */
#define WHEEL_SLOTS 64
/** Levels that 63-bit times in ticks of at least 16 ns need: 10 x 6 bits. */
#define WHEEL_LEVELS 10
#define WHEEL_TICK_SHIFT_MIN 4

/** No deadline; the same number as the engines' NEVER_NS. */
#define WHEEL_NEVER_NS UINT64_MAX
/** Times from here on (292 years) are taken for never, so that no sum overflows. */
#define WHEEL_END_NS (UINT64_C(1) << 63)

/** One timer, embedded in its owner's struct. Set up by wheel_timer_init. */
struct wheel_timer {
	struct list link;  /**< in a slot, or in the list of those that came up */
	uint64_t due_ns;   /**< when it is wanted; good while armed */
	uint64_t filed_ns; /**< due_ns when it was put into its slot, never later */
	uint16_t slot;     /**< index of the slot it was put into */
};

struct wheel {
	uint64_t now_tick;           /**< all slots up to here are empty */
	uint32_t tick_shift;         /**< a tick is 2^this ns */
	uint32_t levels_used;        /**< bit per level: has timers */
	struct list up;              /**< came up and not taken yet */
	uint64_t used[WHEEL_LEVELS]; /**< bit per slot: has timers */
	struct list slots[WHEEL_LEVELS * WHEEL_SLOTS];
};

/**
 * Make an empty wheel. Heads point into the wheel: it must not be moved afterwards.
 *
 * @param now_ns      present time; no timer fires before it.
 * @param tick_shift  resolution is 2^tick_shift ns, 4 to 20. A timer fires up to one tick late,
 *                    never early.
 */
void wheel_init(struct wheel *w, uint64_t now_ns, uint32_t tick_shift);

/** Make a timer that is not armed. */
void wheel_timer_init(struct wheel_timer *t);

/**
 * Set a timer, armed or not.
 *
 * @param due_ns  any time. One in the past fires within a tick; WHEEL_END_NS or more cancels, and
 *                with it WHEEL_NEVER_NS.
 */
void wheel_arm(struct wheel *w, struct wheel_timer *t, uint64_t due_ns);

/** Unset a timer, armed or not. */
void wheel_cancel(struct wheel *w, struct wheel_timer *t);

static inline bool
wheel_is_armed(const struct wheel_timer *t)
{
	return list_is_linked(&t->link);
}

/**
 * Take out one timer that is due; call until NULL. Timers come in the order of their ticks.
 *
 * Timers may be armed and cancelled between the calls, the one returned too. One that is armed
 * again for a time up to now_ns may be returned again in the same loop.
 *
 * @param now_ns  present time, not before that of an earlier call.
 * @return        a timer that is no longer armed, with due_ns <= now_ns; NULL if none is due.
 */
struct wheel_timer *wheel_expired(struct wheel *w, uint64_t now_ns);

/**
 * When wheel_expired wants to be called next.
 *
 * @return  never later than the time at which the first timer fires. It may be earlier: then a call
 *          finds nothing due and the next answer lies further ahead. WHEEL_NEVER_NS if no timer
 *          is armed; 0 if some came up already.
 */
uint64_t wheel_next_ns(const struct wheel *w);

#endif
