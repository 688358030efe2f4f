/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "workload_impl.h"

static bool
is_last(const struct workload *w, uint64_t next_ps)
{
	const struct rounds_params *p = w->own_params;
	const struct rounds *r = w->state;

	return r->has_failed || workload_is_over(w, next_ps) ||
	       (p->repeat != 0 && r->nb_begun >= p->repeat);
}

/** All flows of a round have ended. */
static void
round_over(struct workload *w)
{
	const struct rounds_params *p = w->own_params;
	const struct rounds *r = w->state;
	uint64_t next_ps = r->begun_ps + p->interval_ns * PS_PER_NS;

	if (next_ps < r->last_ps)
		next_ps = r->last_ps;
	if (!r->has_failed)
		w->nb_rounds++;
	if (is_last(w, next_ps)) {
		w->is_finite_done = true;
		w->done_ps = r->has_failed ? 0 : r->last_ps;
	} else {
		/* Also if that is now: nobody expects a flow to begin while another ends. */
		w->env.at(w->env.arg, next_ps, 0);
	}
}

static void
let_go(struct workload *w, uint64_t now_ps)
{
	struct rounds *r = w->state;

	assert(r->nb_running > 0);
	if (now_ps > r->last_ps)
		r->last_ps = now_ps;
	if (--r->nb_running == 0)
		round_over(w);
}

void
rounds_on_time(struct workload *w, uint64_t tag, uint64_t now_ps)
{
	struct rounds *r = w->state;

	(void)tag;
	assert(r->nb_running == 0);
	r->begun_ps = now_ps;
	r->nb_begun++;
	r->nb_running = 1;
	r->round(w);
	let_go(w, now_ps);
}

void
rounds_begin(struct workload *w, void (*round)(struct workload *w), uint64_t now_ps)
{
	const struct rounds_params *p = w->own_params;
	struct rounds *r = w->state;

	r->round = round;
	rounds_on_time(w, 0, now_ps);
	/* With a stop time decides. */
	w->nb_all = w->params.stop_ns == 0 ? p->repeat * r->nb_running : 0;
}

void
rounds_start(struct workload *w, uint32_t src, uint32_t dst, uint32_t qp, uint64_t bytes,
             uint64_t tag)
{
	struct rounds *r = w->state;

	r->nb_running++;
	workload_start(w, src, dst, qp, bytes, tag);
}

void
rounds_start_pair(struct workload *w, uint32_t src, uint32_t dst)
{
	uint32_t nb = w->params.qps;

	for (uint32_t qp = 0; qp < nb; qp++)
		rounds_start(w, src, dst, qp, workload_part(w->params.bytes, nb, qp), 0);
}

void
rounds_on_end(struct workload *w, const struct flow *flow, uint64_t now_ps)
{
	struct rounds *r = w->state;

	if (flow->status != FLOW_DONE)
		r->has_failed = true;
	let_go(w, now_ps);
}

bool
rounds_is_endless(const struct workload *w)
{
	const struct rounds_params *p = w->own_params;

	return p->repeat == 0;
}
