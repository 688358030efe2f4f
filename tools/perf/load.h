/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_LOAD_H
#define WEFT_PERF_LOAD_H

#include <semaphore.h>

#include "local.h"
#include "node.h"
#include "perf.h"

/**
 * @file
 * The application of one end: a node without ports, whose turns post and poll. So the worker drives
 * it like everything else. All functions run on the worker, except where it says otherwise.
 */

/** One connection. Its messages use the slots of its part of the memory in turn. */
struct load_qp {
	struct local_qp app;
	uint64_t remote_addr; /**< of the peer's part */
	uint32_t remote_rkey;
	uint32_t psn;
	uint8_t *mem;
	uint64_t nb_posted;   /**< sends */
	uint64_t nb_done;     /**< of them */
	uint64_t nb_recvs;    /**< receives posted */
	uint64_t nb_received; /**< of them */
};

struct load {
	struct node node; /**< first member */
	struct nic *nic;
	struct perf_test test;
	bool is_client;
	uint32_t slot_bytes; /**< between two messages in memory */
	uint32_t nb_slots;   /**< per QP */
	uint8_t *mem;
	uint64_t mem_bytes;
	struct local_mr mr;
	struct load_qp *qps;

	/* of the present round: so many messages per QP, from here on */
	uint64_t first, end;
	bool is_running;
	bool is_told; /**< done was posted */
	uint64_t start_ns, last_ns, stop_ns;
	uint64_t nb_total; /**< messages done, all QPs and rounds */
	uint64_t spent_ns; /**< in rounds that are over */
	uint64_t peak_ns, peak_total;
	double peak_bps;
	uint64_t *samples_ns; /**< of a latency test */
	uint64_t nb_samples, max_samples;
	uint64_t sent_ns;
	char why[512]; /**< what failed; "" = nothing */
	sem_t done;    /**< posted when the own part of a round is over, or something failed */
};

/** Registered memory that a test takes, bytes. */
uint64_t load_memory(const struct perf_test *test);
/** All that one end takes for a test, bytes: that, and the queues of its QPs. */
uint64_t load_needs(const struct perf_test *test);
/** Messages per QP of one round: all, if nothing is compared. */
uint64_t load_round(const struct perf_test *test);

/** Before the worker starts: an application of this NIC that does nothing yet. */
void load_init(struct load *load, struct nic *nic);
/** Not on the worker: free everything. */
void load_fini(struct load *load);
/** Not on the worker: take memory for a test. @return 0 or -ENOMEM. */
int load_plan(struct load *load, const struct perf_test *test, bool is_client);

/** Make the QPs and register the memory. @return 0 or a negative errno. */
int load_open(struct load *load);
/** Undo it, also in the middle of a round: nothing is posted or polled any more. */
void load_close(struct load *load);

/** Begin a round; its receives are posted. */
void load_prepare(struct load *load, uint64_t first, uint64_t end, uint64_t now_ns);
/** Go: load.done tells when it is over. */
void load_go(struct load *load, uint64_t now_ns);
/** The peer says that it is over. */
void load_stop(struct load *load);

/** Fill the memory that this end's messages of the round come from, if it is the one that sends. */
void load_fill(struct load *load);
/** Compare what has arrived. @return messages that are wrong. */
uint64_t load_verify(const struct load *load);

#endif
