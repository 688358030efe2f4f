/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_WORKLOAD_H
#define WEFT_SIM_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"
#include "param.h"
#include "prng.h"

/**
 * @file
 * Workloads: applications of a laboratory that say which flow begins when. They know neither QPs
 * nor packets; whoever runs them gives them time and tells them what ended.
 */

struct workload;

/** What a workload gets from whoever runs it. */
struct workload_env {
	uint32_t nb_hosts;
	uint64_t rate_bps; /**< of a host's link */
	/** A flow begins now; src, dst, bytes and tag are set, the rest from the conf. */
	void (*start)(void *arg, const struct flow_conf *flow);
	/** Call the workload's on_time(tag) at this time, not before now. */
	void (*at)(void *arg, uint64_t at_ps, uint64_t tag);
	void *arg;
};

/** What every kind has; keys of [workload NAME], beside kind, verb and file. */
struct workload_params {
	uint64_t start_ns, stop_ns; /**< no flow begins before or, if not 0, after */
	/**
	 * From one host to another: each time, over all QPs of the pair; allreduce: of a host's
	 * vector; uniform, hotspot: of a flow; cdf, trace: not used.
	 */
	uint64_t bytes;
	uint32_t msg_bytes; /**< largest message */
	/**
	 * Per pair of hosts, each with a flow of its share of bytes; allreduce: rings. Not used
	 * where flows arrive one by one (uniform, cdf, hotspot, trace): they take a free QP.
	 */
	uint32_t qps;
};
extern const struct param_desc workload_param_descs[];

/** A kind of workload. */
struct workload_ops {
	const char *name;
	const struct param_desc *params; /**< of its own; NULL = none */
	size_t params_size;
	size_t state_size;
	bool needs_file; /**< key file */
	/** Whether it starts flows for ever unless stopped; NULL = it doesn't. */
	bool (*is_endless)(const struct workload *w);
	/**
	 * Whether it can run among env.nb_hosts hosts; for workload_check.
	 *
	 * @param[out] key   the number that is wrong, by its key.
	 * @param why, size  one line: what is wrong and what would do.
	 * @return           0 or -EINVAL.
	 */
	int (*check)(const struct workload *w, const char **key, char *why, size_t size);
	/** Time is start_ns. @return 0 or -ENOMEM. */
	int (*begin)(struct workload *w, uint64_t now_ps);
	void (*on_time)(struct workload *w, uint64_t tag, uint64_t now_ps); /**< optional */
	/** The last byte is at dst; the flow is good during the call. Optional. */
	void (*on_delivered)(struct workload *w, const struct flow *flow, uint64_t now_ps);
	/** Completed or failed. Optional. */
	void (*on_end)(struct workload *w, const struct flow *flow, uint64_t now_ps);
	void (*end)(struct workload *w); /**< free what begin made. Optional. */
};

extern const struct workload_ops *const workload_kinds[]; /**< NULL at the end */
const struct workload_ops *workload_find(const char *kind);

struct cdf;
struct trace_file;

/** One that runs, or may. */
struct workload {
	const struct workload_ops *ops;
	char name[32];
	struct workload_params params;
	void *own_params;      /**< ops->params_size bytes */
	const struct cdf *cdf; /**< of file, of kinds that want one */
	const struct trace_file *trace;
	uint8_t verb; /**< enum flow_verb */
	uint32_t index;
	struct workload_env env;
	/* while it runs */
	struct prng prng;              /**< seeded by the run's seed and its index before begin */
	void *state;                   /**< ops->state_size bytes, zero at begin */
	uint64_t nb_started, nb_ended; /**< flows; kept by whoever runs it */
	/** Flows that it starts in all, unless one fails: known once it has begun; 0 = never. */
	uint64_t nb_all;
	/** It will start no more flows of its own accord: done when all have ended. */
	bool is_finite_done;
	/** Of kinds with rounds: when the last round was complete; 0 = not, or it failed. */
	uint64_t done_ps;
	uint64_t nb_rounds; /**< complete so far */
};

/**
 * Whether it can run: what all kinds have in common, then what its kind says. env.nb_hosts and
 * env.rate_bps are set, and cdf or trace if it needs a file.
 *
 * @param key, why, size  as for ops->check.
 * @return                0 or -EINVAL.
 */
int workload_check(const struct workload *w, const char **key, char *why, size_t size);

/** Whether it goes on until stop_ns or, if that is 0, for ever: a run needs a duration then. */
static inline bool
workload_is_endless(const struct workload *w)
{
	return w->params.stop_ns == 0 && w->ops->is_endless && w->ops->is_endless(w);
}

#endif
