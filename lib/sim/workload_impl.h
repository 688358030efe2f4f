/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_WORKLOAD_IMPL_H
#define WEFT_SIM_WORKLOAD_IMPL_H

#include "plan.h"
#include "workload.h"

/**
 * @file
 * What workload_*.c share, for them only.
 */

extern const struct workload_ops workload_long, workload_incast, workload_permutation,
	workload_uniform, workload_cdf, workload_all_to_all, workload_allreduce, workload_hotspot,
	workload_trace;

/** What check says of a number that won't do. */
struct workload_mistake {
	const char **key;
	char *why;
	size_t size;
};

/** @return -EINVAL. */
int workload_refuse(const struct workload_mistake *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** There is no such host. @return -EINVAL. */
int workload_refuse_host(const struct workload_mistake *m, const struct workload *w,
                         const char *key, uint32_t host);

/** A flow begins now. */
void workload_start(struct workload *w, uint32_t src, uint32_t dst, uint32_t qp, uint64_t bytes,
                    uint64_t tag);

/** Whether no flow may begin any more at this time. */
static inline bool
workload_is_over(const struct workload *w, uint64_t at_ps)
{
	return w->params.stop_ns != 0 && at_ps > w->params.stop_ns * PS_PER_NS;
}

/** The i-th of nb parts of bytes: all alike, but that the first ones take what is left over. */
static inline uint64_t
workload_part(uint64_t bytes, uint32_t nb, uint32_t i)
{
	return bytes / nb + (i < bytes % nb);
}

/**
 * Kinds that work in rounds: a round begins some flows, those may lead to others, and it is
 * complete when all have ended. Rounds of a workload never overlap. Their params begin with these
 * two, their state with struct rounds, and these functions are their ops.
 */
struct rounds_params {
	uint32_t repeat;      /**< how many; 0 = until stop */
	uint64_t interval_ns; /**< from begin to begin at least; 0 = one after the other */
};

/** Rows of their table of params. */
#define ROUNDS_ROWS                                                                                \
	{"repeat",                                                                                 \
	 PARAM_U32,                                                                                \
	 offsetof(struct rounds_params, repeat),                                                   \
	 1,                                                                                        \
	 0,                                                                                        \
	 1e9,                                                                                      \
	 "1",                                                                                      \
	 "our choice; 0: until stop"},                                                             \
	{                                                                                          \
		"interval", PARAM_U64, offsetof(struct rounds_params, interval_ns), 0, 0, 1e15,    \
			"ns", "our choice: a round begins when the one before is complete"         \
	}

struct rounds {
	void (*round)(struct workload *w); /**< begins its flows */
	uint64_t begun_ps;
	uint64_t last_ps; /**< latest end of a flow: they are told as hosts run, not as time does */
	uint32_t nb_begun;
	uint64_t nb_running; /**< flows of this round, and 1 while it begins */
	bool has_failed;     /**< a flow did: this round is the last, and never complete */
};

/** The first begins now; struct rounds is zero, as the rest of the state. */
void rounds_begin(struct workload *w, void (*round)(struct workload *w), uint64_t now_ps);
/** A flow of this round. */
void rounds_start(struct workload *w, uint32_t src, uint32_t dst, uint32_t qp, uint64_t bytes,
                  uint64_t tag);
/** One on each QP of a pair, with a part of params.bytes. */
void rounds_start_pair(struct workload *w, uint32_t src, uint32_t dst);

bool rounds_is_endless(const struct workload *w);
void rounds_on_time(struct workload *w, uint64_t tag, uint64_t now_ps);
void rounds_on_end(struct workload *w, const struct flow *flow, uint64_t now_ps);

#endif
