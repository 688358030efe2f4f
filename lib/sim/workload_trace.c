/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_file.h"
#include "workload_impl.h"

/* Flows of a file, at its times counted from start on. */

struct trace {
	uint64_t start_ps;
	uint32_t next;
};

static int
trace_check(const struct workload *w, const char **key, char *why, size_t size)
{
	struct workload_mistake m = {key, why, size};

	for (uint32_t i = 0; i < w->trace->nb; i++) {
		const struct trace_flow *f = &w->trace->flows[i];
		uint32_t most = f->src > f->dst ? f->src : f->dst;

		if (most >= w->env.nb_hosts)
			return workload_refuse(&m, "file",
			                       "%s:%u: there is no host %u; the last is %u, or "
			                       "more hosts would do",
			                       w->trace->name, f->line, most, w->env.nb_hosts - 1);
	}
	return 0;
}

/** Start what is due; ask for the time of the next. */
static void
trace_on_time(struct workload *w, uint64_t tag, uint64_t now_ps)
{
	struct trace *t = w->state;

	(void)tag;
	while (t->next < w->trace->nb) {
		const struct trace_flow *f = &w->trace->flows[t->next];
		uint64_t at_ps = t->start_ps + f->at_ns * PS_PER_NS;

		if (workload_is_over(w, at_ps))
			break;
		if (at_ps > now_ps) {
			w->env.at(w->env.arg, at_ps, 0);
			return;
		}
		workload_start(w, f->src, f->dst, FLOW_QP_FRESH, f->bytes, t->next);
		t->next++;
	}
	w->is_finite_done = true;
}

static int
trace_begin(struct workload *w, uint64_t now_ps)
{
	struct trace *t = w->state;

	t->start_ps = now_ps;
	w->nb_all = w->params.stop_ns == 0 ? w->trace->nb : 0;
	trace_on_time(w, 0, now_ps);
	return 0;
}

const struct workload_ops workload_trace = {
	.name = "trace",
	.state_size = sizeof(struct trace),
	.needs_file = true,
	.check = trace_check,
	.begin = trace_begin,
	.on_time = trace_on_time,
};
