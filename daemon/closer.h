/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CLOSER_H
#define WEFT_CLOSER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * A thread that closes what applications send us. close() may wait for as long as they like: for a
 * socket that lingers, or for the server of a file system of their own. It waits here and nobody
 * else does.
 */

/** Descriptors that may wait; with so many no more are taken. Source: our choice. */
#define CLOSER_MAX 256u

struct closer {
	int fds[2]; /**< pipe: numbers of descriptors; -1 = not started */
	_Atomic uint32_t nb_waiting;
	pthread_t thread;
};

/** @return 0 or a negative errno. The struct must outlive the process if a close() never ends. */
int closer_start(struct closer *closer);
/** Does not wait for a close() that goes on. */
void closer_stop(struct closer *closer);

/** Whether so many more may be put. */
bool closer_has_room(const struct closer *closer, uint32_t nb);
/** There must be room. */
void closer_put(struct closer *closer, int fd);

#endif
