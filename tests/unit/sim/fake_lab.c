/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_lab.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- a heap of events, the earliest first, of the same time in order of number ---- */

static bool
is_before(const struct fake_event *a, const struct fake_event *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->number < b->number;
}

static void
swap(struct fake_event *a, struct fake_event *b)
{
	struct fake_event was = *a;

	*a = *b;
	*b = was;
}

static void
push(struct fake_lab *lab, uint64_t at_ps, int kind, uint64_t what)
{
	uint32_t i = lab->nb_events++;

	if (i == lab->heap_room) {
		lab->heap_room = 2 * i + 64;
		lab->heap = realloc(lab->heap, lab->heap_room * sizeof(lab->heap[0]));
		cr_assert(lab->heap);
	}
	lab->heap[i] = (struct fake_event){at_ps, lab->number++, what, kind};
	for (; i > 0 && is_before(&lab->heap[i], &lab->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&lab->heap[i], &lab->heap[(i - 1) / 2]);
}

static struct fake_event
pop(struct fake_lab *lab)
{
	struct fake_event first = lab->heap[0];
	uint32_t i = 0;

	lab->heap[0] = lab->heap[--lab->nb_events];
	for (;;) {
		uint32_t least = i;

		for (uint32_t c = 2 * i + 1; c <= 2 * i + 2 && c < lab->nb_events; c++)
			least = is_before(&lab->heap[c], &lab->heap[least]) ? c : least;
		if (least == i)
			return first;
		swap(&lab->heap[i], &lab->heap[least]);
		i = least;
	}
}

/* ---- env ---- */

static void
start(void *arg, const struct flow_conf *f)
{
	struct fake_lab *lab = arg;
	const struct workload *w = &lab->w;
	uint64_t time_ps = (f->bytes * 8000 * 1000 + w->env.rate_bps / 1000000 - 1) /
	                   (w->env.rate_bps / 1000000);

	cr_assert(f->src < w->env.nb_hosts && f->dst < w->env.nb_hosts && f->src != f->dst);
	cr_assert(f->bytes >= 1 && f->msg_bytes == w->params.msg_bytes);
	cr_assert(f->workload == w->index && f->verb == w->verb);
	cr_assert(f->qp == FLOW_QP_FRESH || f->qp < w->params.qps);
	cr_assert_geq(lab->now_ps, w->params.start_ns * PS_PER_NS);
	cr_assert(w->params.stop_ns == 0 || lab->now_ps <= w->params.stop_ns * PS_PER_NS);
	cr_assert(!w->is_finite_done, "a flow after the last");
	if (lab->nb_flows == lab->room) {
		lab->room = 2 * lab->room + 64;
		lab->flows = realloc(lab->flows, lab->room * sizeof(lab->flows[0]));
		cr_assert(lab->flows);
	}
	lab->flows[lab->nb_flows] = (struct flow){
		.conf = *f,
		.start_ps = lab->now_ps,
		.delivered_ps = NEVER_PS,
		.end_ps = NEVER_PS,
	};
	push(lab, lab->now_ps + time_ps, FAKE_DELIVERED, lab->nb_flows);
	push(lab, lab->now_ps + 2 * time_ps, FAKE_END, lab->nb_flows);
	lab->nb_flows++;
	lab->w.nb_started++;
}

static void
at(void *arg, uint64_t at_ps, uint64_t tag)
{
	struct fake_lab *lab = arg;

	cr_assert_geq(at_ps, lab->now_ps);
	cr_assert(lab->w.ops->on_time);
	push(lab, at_ps, FAKE_TIME, tag);
}

/* ---- its life ---- */

static void
set(struct workload *w, const char *setting)
{
	char key[64], why[256] = "";
	const char *eq = strchr(setting, '=');
	const struct param_desc *own = w->ops->params;

	cr_assert(eq && eq - setting < (int)sizeof(key));
	memcpy(key, setting, (size_t)(eq - setting));
	key[eq - setting] = '\0';
	if (param_find(own, key))
		cr_assert_eq(param_set(own, w->own_params, key, eq + 1, why, sizeof(why)), 0, "%s",
		             why);
	else
		cr_assert_eq(
			param_set(workload_param_descs, &w->params, key, eq + 1, why, sizeof(why)),
			0, "%s", why);
}

struct fake_lab *
fake_lab(const char *kind, uint32_t nb_hosts, uint64_t seed, const char *const *settings)
{
	struct fake_lab *lab = calloc(1, sizeof(*lab));
	struct workload *w = &lab->w;

	w->ops = workload_find(kind);
	cr_assert(w->ops, "%s", kind);
	w->own_params = calloc(1, w->ops->params_size + 1);
	w->state = calloc(1, w->ops->state_size + 1);
	param_defaults(workload_param_descs, &w->params);
	param_defaults(w->ops->params, w->own_params);
	for (; settings && *settings; settings++)
		set(w, *settings);
	w->index = 3;
	w->verb = FLOW_SEND;
	w->env = (struct workload_env){nb_hosts, 100000000000, start, at, lab};
	prng_seed(&w->prng, seed);
	return lab;
}

const char *
fake_lab_check(struct fake_lab *lab, char *why, size_t size)
{
	const char *key = NULL;
	int rc = workload_check(&lab->w, &key, why, size);

	cr_assert_eq(rc == 0, key == NULL);
	return key;
}

void
fake_lab_begin(struct fake_lab *lab)
{
	char why[256] = "";

	cr_assert_null(fake_lab_check(lab, why, sizeof(why)), "%s", why);
	lab->now_ps = lab->w.params.start_ns * PS_PER_NS;
	cr_assert_eq(lab->w.ops->begin(&lab->w, lab->now_ps), 0);
}

static void
end_flow(struct fake_lab *lab, uint32_t i)
{
	struct flow f = lab->flows[i];

	f.status = i + 1 == lab->fails ? FLOW_FAILED : FLOW_DONE;
	f.end_ps = lab->now_ps;
	lab->flows[i] = f;
	lab->w.nb_ended++;
	if (lab->w.ops->on_end)
		lab->w.ops->on_end(&lab->w, &f, lab->now_ps);
}

static void
deliver(struct fake_lab *lab, uint32_t i)
{
	struct flow f = lab->flows[i];

	if (i + 1 == lab->fails)
		return;
	f.delivered_ps = lab->now_ps;
	lab->flows[i] = f;
	if (lab->w.ops->on_delivered)
		lab->w.ops->on_delivered(&lab->w, &f, lab->now_ps);
}

void
fake_lab_run(struct fake_lab *lab, uint64_t until_ps)
{
	while (lab->nb_events > 0 && lab->heap[0].at_ps <= until_ps) {
		struct fake_event e = pop(lab);

		lab->now_ps = e.at_ps;
		if (e.kind == FAKE_TIME)
			lab->w.ops->on_time(&lab->w, e.what, e.at_ps);
		else if (e.kind == FAKE_DELIVERED)
			deliver(lab, (uint32_t)e.what);
		else
			end_flow(lab, (uint32_t)e.what);
	}
	if (lab->nb_events == 0 && lab->fails == 0 && lab->w.nb_all != 0)
		cr_expect_eq(lab->w.nb_started, lab->w.nb_all);
}

void
fake_lab_free(struct fake_lab *lab)
{
	if (lab->w.ops->end)
		lab->w.ops->end(&lab->w);
	free(lab->w.own_params);
	free(lab->w.state);
	free(lab->flows);
	free(lab->heap);
	free(lab);
}
