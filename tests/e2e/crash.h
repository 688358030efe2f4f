/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CRASH_H
#define WEFT_CRASH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "pair.h"

/* Programs that die, and those that must not notice, each a process forked by crash.c. */

/** Spans of 10 ms: a quarter of an hour. */
#define CRASH_SPANS 90000

/** Shared between the processes of a test. */
struct crash_board {
	uint64_t start_ns;                   /**< of the first span */
	atomic_bool stop;                    /**< the innocent end */
	_Atomic uint32_t nb_ready;           /**< programs that are in the middle of their work */
	_Atomic uint64_t nb_bytes;           /**< that the innocent have moved and compared */
	_Atomic uint64_t kill_ns;            /**< when the daemon was killed */
	_Atomic uint64_t told_ns;            /**< longest time from then until a program knew */
	_Atomic uint64_t spans[CRASH_SPANS]; /**< bytes of the innocent in each */
};
extern struct crash_board *board;
/** Two devices. */
extern const char *crash_dev[2];

/** The second device is another daemon's, which is not killed. */
extern bool crash_dev1_lives;

uint64_t crash_now_ns(void);
void crash_nap_us(uint64_t us);

/** What a victim does until it is killed. */
struct crash_op {
	const char *name;
	enum ibv_qp_type type;
	void (*run)(struct end *end, const struct end *peer);
	size_t bytes; /**< of its memory, beside an end's */
};
extern const struct crash_op crash_ops[];
extern const uint32_t crash_nb_ops;

/** Both ends' processes; sock leads to the other one's. Never return. */
_Noreturn void crash_victim(const struct crash_op *op, int sock);
_Noreturn void crash_peer(const struct crash_op *op, int sock);
/** Bytes of one transfer of the innocent. */
#define CRASH_INNOCENT_BYTES 65536u
/** Moves data between two devices and compares, until it is told to stop. */
_Noreturn void crash_innocent(const char *dev_a, const char *dev_b);

/** Programs that see the daemon die, each in another call; then they open the next one. */
struct crash_role {
	const char *name;
	void (*run)(void);
};
extern const struct crash_role crash_roles[];
extern const uint32_t crash_nb_roles;

/* ---- what a daemon holds ---- */

enum held {
	HELD_FDS,
	HELD_MAPS,
	/* weftctl clients, sums over all */
	HELD_CLIENTS,
	HELD_QPS,
	HELD_MRS,
	HELD_MWS,
	HELD_CQS,
	HELD_SRQS,
	HELD_PDS,
	HELD_CHANNELS,
	HELD_MAPPINGS,
	HELD_MEMORY,
	/* weftctl nodes: what the worker knows */
	HELD_NIC_QPS,
	HELD_NIC_KEYS,
	HELD_NB,
};
struct crash_held {
	uint64_t nb[HELD_NB];
};
struct crash_held crash_held(pid_t daemon);
void crash_held_tell(const struct crash_held *held);
/** Waits, 20 s at most, until it holds the same again; else tells what it has too much. */
bool crash_held_again(pid_t daemon, const struct crash_held *before);
uint64_t crash_rss_kb(pid_t daemon);
/** Whether the answer to an order as JSON has all these texts, the last of which is NULL. */
bool crash_weftctl_says(const char *what, const char *const *texts);

/* ---- what others lose ---- */

#define CRASH_LOSSES 256
struct crash_losses {
	uint32_t nb;
	double loss[CRASH_LOSSES];    /**< part of what is usual in 100 ms */
	double slow_ms[CRASH_LOSSES]; /**< longest run of spans below 90 % of what is usual */
};
/** The innocent has moved so much more. */
void crash_count(uint64_t bytes);
/** Something was killed just now, or nothing. Waits until what comes behind that is measured. */
void crash_loss_take(struct crash_losses *all, uint64_t when_ns);
void crash_loss_tell(const char *what, struct crash_losses *all);
/** A process with so much memory, as busy as a victim. Never returns. */
_Noreturn void crash_stranger(size_t bytes);

#endif
