/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WORKER_H
#define WEFT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "bell.h"
#include "driven.h"
#include "node.h"
#include "port.h"
#include "stat.h"

/**
 * @file
 * A thread that drives nodes in real time: packets from ports to nodes and back, doorbells of
 * applications, deadlines. It owns all of these; others change them through worker_call only.
 */

struct worker;

struct worker_conf {
	const char *name;
	bool poll; /**< never sleep nor yield: for a worker with a core of its own */
	/** Called first on the new thread; optional. @return 0 or a negative errno. */
	int (*thread_start)(void);
	void (*thread_end)(void);
};

/** How a worker spent its turns. Read when it has stopped, or by worker_call. */
struct worker_stats {
	uint64_t turns;      /**< all */
	uint64_t idle_turns; /**< nothing to do */
	uint64_t yields;
	uint64_t slow_yields; /**< somebody else ran meanwhile */
	uint64_t sleeps;
	uint64_t calls;
	uint64_t doorbells;       /**< taken */
	uint64_t paced_doorbells; /**< times that an application's waited for its rate */
};

extern const struct stat_desc worker_stat_descs[];

/** @return NULL and errno. The name stays the caller's. */
struct worker *worker_create(const struct worker_conf *conf);
/** The worker has not been started or was stopped; applications are gone. */
void worker_destroy(struct worker *worker);

/**
 * Before worker_start: drive this node, whose port i is ports[i].
 *
 * @return 0 or a negative errno. Node, ports and array stay the caller's and must outlive the
 * worker.
 */
int worker_add_node(struct worker *worker, struct node *node, struct port **ports);

/** @return 0 or a negative errno, also that of thread_start. */
int worker_start(struct worker *worker);
void worker_stop(struct worker *worker);

/**
 * Run fn(arg, now_ns) on the worker, between two turns, and return when it is done. From any
 * thread but the worker's own. fn must not block.
 */
void worker_call(struct worker *worker, void (*fn)(void *arg, uint64_t now_ns), void *arg);

/** Only on the worker, that is in a function of worker_call: serve an application's doorbells. */
int worker_add_client(struct worker *worker, struct bell_client *client);
void worker_del_client(struct worker *worker, struct bell_client *client);

/** Likewise: put a tap on a node that has none. @return 0 or -EBUSY. It stays the caller's. */
int worker_tap(struct worker *worker, const struct node *node, struct tap *tap);
/** Take it off, if it is on. */
void worker_untap(struct worker *worker, const struct node *node, struct tap *tap);

const struct worker_stats *worker_stats(const struct worker *worker);

/** The clock that all nodes of the daemon see: monotonic ns. */
uint64_t worker_clock_ns(void);

#endif
