/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CRASH_H
#define WEFT_CRASH_H

#include <stdatomic.h>
#include <stdint.h>

#include "pair.h"

/* Programs that die, and those that must not notice, each a process forked by crash.c. */

/** Shared between the processes of a test. */
struct crash_board {
	atomic_bool stop;          /**< the innocent end */
	_Atomic uint32_t nb_ready; /**< programs that are in the middle of their work */
	_Atomic uint64_t nb_bytes; /**< that the innocent have moved and compared */
	_Atomic uint64_t kill_ns;  /**< when the daemon was killed */
	_Atomic uint64_t told_ns;  /**< longest time from then until a program knew */
};
extern struct crash_board *board;
/** Two devices. */
extern const char *crash_dev[2];

/** The second device is another daemon's, which is not killed. */
extern bool crash_dev1_lives;

uint64_t crash_now_ns(void);

/** What a victim does until it is killed. */
struct crash_op {
	const char *name;
	enum ibv_qp_type type;
	void (*run)(struct end *end, const struct end *peer);
};
extern const struct crash_op crash_ops[];
extern const uint32_t crash_nb_ops;

/** Both ends' processes; sock leads to the other one's. Never return. */
_Noreturn void crash_victim(const struct crash_op *op, int sock);
_Noreturn void crash_peer(const struct crash_op *op, int sock);
/** Moves data between two devices and compares, until it is told to stop. */
_Noreturn void crash_innocent(const char *dev_a, const char *dev_b);

/** Programs that see the daemon die, each in another call; then they open the next one. */
struct crash_role {
	const char *name;
	void (*run)(void);
};
extern const struct crash_role crash_roles[];
extern const uint32_t crash_nb_roles;

#endif
