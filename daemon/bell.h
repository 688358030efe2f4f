/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_BELL_H
#define WEFT_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct qp;

/**
 * @file
 * Doorbells of the applications that a worker serves. All of it is the worker's.
 *
 * An application that rang within the last millisecond is hot: its summary is looked at each turn,
 * one cache line for up to 32,768 QPs. The cold ones are looked at in turns. Before the worker
 * sleeps, all are told to wake it.
 */

/** The doorbells of one application. */
struct bell_client {
	struct shm_bell *page; /**< shared: nothing read from it is trusted */
	int wake_fd;       /**< eventfd that the application writes; never read, see bells_sleep */
	uint64_t rung_ns;  /**< when it last rang */
	uint32_t idx;      /**< in bells.clients */
	uint32_t next_bit; /**< where its next share begins */
	uint32_t nb_words; /**< of the summary, that are in use */
	struct qp *qps[WEFT_MAX_QP]; /**< what each bit stands for; NULL = nothing */
};

/** From now on a bit stands for this QP, or for nothing. The lowest bits are used first. */
static inline void
bell_set(struct bell_client *client, uint32_t bit, struct qp *qp)
{
	client->qps[bit] = qp;
	if (client->nb_words <= bit / SHM_BELL_QPS)
		client->nb_words = bit / SHM_BELL_QPS + 1;
}

/** Bits of one application that are rung in a turn; the others wait for the next. Our choice. */
#define BELL_TURN_BITS 32u
/** Silence after which an application is cold. Source: our choice. */
#define BELL_COLD_NS 1000000u
/** A cold application is looked at once in so many turns. */
#define BELL_COLD_TURNS 32u

struct bells {
	struct bell_client **clients; /**< the hot ones first */
	uint32_t nb_clients, nb_hot;
	uint32_t room;      /**< entries of clients */
	uint32_t next_cold; /**< counts turns of the cold ones */
};

/** @return 0 or -ENOMEM. */
int bells_add(struct bells *bells, struct bell_client *client);
void bells_del(struct bells *bells, struct bell_client *client);

/**
 * Ring what was rung: qp_doorbell. So much of each application that the others do not wait long.
 *
 * @param all  look at the cold ones, too: after a sleep.
 * @return     bits taken.
 */
uint32_t bells_take(struct bells *bells, bool all, uint64_t now_ns);

/**
 * Ask all applications to write their eventfd with their next ring; or not any more. Descriptions
 * of files that an application shares are never read: it could make the read block. So the worker
 * waits for edges (EPOLLET), and the counters grow for ever.
 */
void bells_need_wake(struct bells *bells, bool need);

/** Whether any bit waits to be taken. */
bool bells_rung(const struct bells *bells);

#endif
