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
 *
 * Whoever rings more often than he may is served at that rate: what he rang waits in his page, with
 * what he rings meanwhile, so that nothing is lost and a doorbell stands for more requests.
 */

/** The doorbells of one application. */
struct bell_client {
	struct shm_bell *page; /**< shared: nothing read from it is trusted */
	int wake_fd;       /**< eventfd that the application writes; never read, see bells_sleep */
	uint64_t rung_ns;  /**< when it last rang */
	uint32_t idx;      /**< in bells.clients */
	uint32_t next_bit; /**< where its next share begins */
	uint32_t nb_words; /**< of the summary, that are in use */
	bool waits;        /**< rung, and not yet due */
	uint64_t ns_per_ring; /**< the rate that it may ring at; 0 = any */
	uint64_t due_ns;      /**< what it rings is not taken before */
	/** On the worker, when it first rings too often; NULL = nobody wants to know. */
	void (*too_fast)(struct bell_client *client);
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
/** Bits of all applications in a turn, which has 32 packets for each node. Our choice. */
#define BELL_TURN_BITS_ALL 128u
/** What an application did not ring of its rate for so long it may ring at once. Our choice. */
#define BELL_BURST_NS 10000000u
/** Silence after which an application is cold. Source: our choice. */
#define BELL_COLD_NS 1000000u
/** A cold application is looked at once in so many turns. */
#define BELL_COLD_TURNS 32u

struct bells {
	struct bell_client **clients; /**< the hot ones first */
	uint32_t nb_clients, nb_hot;
	uint32_t room;       /**< entries of clients */
	uint32_t next_hot;   /**< of the hot ones: where the next turn begins */
	uint32_t next_cold;  /**< counts turns of the cold ones */
	uint32_t nb_waiting; /**< clients that wait for their rate */
	uint64_t nb_waits;   /**< times that one did */
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

/** Whether any bit waits to be taken, of those that may be. */
bool bells_rung(const struct bells *bells);

/** When bells_take wants to be called for those who rang too often; UINT64_MAX = there are none. */
uint64_t bells_next_ns(const struct bells *bells);

#endif
