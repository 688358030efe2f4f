/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "arrivals.h"
#include "workload_impl.h"

/*
 * Uniform traffic of all hosts; at times a share of them, the senders, sends to one or several hot
 * hosts, the roots, and to nobody else. H10 and H25 are shares of 10 and 25 percent, H10-4 the same
 * with four roots. Who is root and who sender is drawn from the seed; senders are dealt out to the
 * roots in turn, so a root has its part of the share.
 *
 * Source: Rocher-Gonzalez et al., "Congestion Management in High-Performance Interconnection
 * Networks Using Adaptive Routing Notifications", 2025. It has no times or loads: those are our
 * choice.
 */

struct hotspot_params {
	double load, hot_load;
	double hot_share;
	uint32_t roots;
	uint64_t on_ns, off_ns, every_ns;
};

struct hotspot {
	uint64_t start_ps;
	struct arrivals background; /* of each host */
	struct arrivals hot;        /* of each sender */
	uint32_t nb_senders;
	uint32_t *order;    /* hosts: the roots, the senders, the others */
	bool *is_sender;    /* of each host */
	uint64_t *spent_ps; /* of each sender: how much of the times that are hot has passed */
};

/* Tags: a host of the background, or a sender by its place in order. */
#define TAG_HOT (UINT64_C(1) << 32)

#define ROW(name, type, member, def, min, max, unit, source)                                       \
	{                                                                                          \
		name, type, offsetof(struct hotspot_params, member), def, min, max, unit, source   \
	}
static const struct param_desc hotspot_param_descs[] = {
	ROW("load", PARAM_F64, load, 0.7, 0, 1, "1", "our choice"),
	ROW("hot_load", PARAM_F64, hot_load, 1, 1e-6, 1, "1", "our choice: full rate"),
	ROW("hot_share", PARAM_F64, hot_share, 0.1, 1e-6, 1, "1", "ARN+AFI: H10, 10 % of hosts"),
	ROW("roots", PARAM_U32, roots, 1, 1, PLAN_HOSTS_MAX, "1", "ARN+AFI: 1 or 4"),
	ROW("on", PARAM_U64, on_ns, 1e6, 0, 1e15, "ns", "our choice"),
	ROW("off", PARAM_U64, off_ns, 3e6, 1, 1e15, "ns", "our choice"),
	ROW("every", PARAM_U64, every_ns, 0, 0, 1e15, "ns", "our choice; 0: once"),
	{NULL},
};
#undef ROW

static uint32_t
nb_senders(const struct workload *w)
{
	const struct hotspot_params *p = w->own_params;
	uint32_t nb = (uint32_t)(p->hot_share * w->env.nb_hosts + 0.5);

	return nb > 0 ? nb : 1;
}

static int
hotspot_check(const struct workload *w, const char **key, char *why, size_t size)
{
	const struct hotspot_params *p = w->own_params;
	struct workload_mistake m = {key, why, size};
	uint32_t nb = nb_senders(w);

	if (p->off_ns <= p->on_ns)
		return workload_refuse(&m, "off", "not after on; hot spots are hot from on to off");
	if (p->every_ns != 0 && p->every_ns < p->off_ns - p->on_ns)
		return workload_refuse(&m, "every",
		                       "shorter than from on to off, %llu ns; at least that, or "
		                       "0 = once, would do",
		                       (unsigned long long)(p->off_ns - p->on_ns));
	if (p->roots > nb)
		return workload_refuse(&m, "roots",
		                       "%u roots for %u senders; fewer roots, or a larger "
		                       "hot_share or more hosts, would do",
		                       p->roots, nb);
	if ((uint64_t)p->roots + nb > w->env.nb_hosts)
		return workload_refuse(&m, "hot_share",
		                       "%u senders and %u roots are more than %u hosts; a smaller "
		                       "share would do",
		                       nb, p->roots, w->env.nb_hosts);
	return 0;
}

static bool
hotspot_is_endless(const struct workload *w)
{
	const struct hotspot_params *p = w->own_params;

	return p->load > 0 || p->every_ns > 0;
}

static bool
is_hot(const struct workload *w, uint64_t now_ps)
{
	const struct hotspot_params *p = w->own_params;
	const struct hotspot *s = w->state;
	uint64_t on_ps = s->start_ps + p->on_ns * PS_PER_NS, since_ps;

	if (now_ps < on_ps)
		return false;
	since_ps = now_ps - on_ps;
	if (p->every_ns > 0)
		since_ps %= p->every_ns * PS_PER_NS;
	return since_ps < (p->off_ns - p->on_ns) * PS_PER_NS;
}

/**
 * The next flow of a sender to its root. Its process runs only while it is hot: gaps are counted in
 * such times, laid end to end.
 */
static void
hot_next(struct workload *w, uint32_t i)
{
	const struct hotspot_params *p = w->own_params;
	struct hotspot *s = w->state;
	uint64_t length_ps = (p->off_ns - p->on_ns) * PS_PER_NS, nb_times, at_ps;

	s->spent_ps[i] += arrivals_gap_ps(&s->hot.dice[i], s->hot.mean_ps);
	nb_times = s->spent_ps[i] / length_ps;
	at_ps = s->start_ps + p->on_ns * PS_PER_NS + s->spent_ps[i] % length_ps;
	if (nb_times > 0 &&
	    (p->every_ns == 0 || nb_times > (NEVER_PS >> 2) / PS_PER_NS / p->every_ns)) {
		s->hot.nb_live--;
		return;
	}
	at_ps += nb_times * p->every_ns * PS_PER_NS;
	if (workload_is_over(w, at_ps))
		s->hot.nb_live--;
	else
		w->env.at(w->env.arg, at_ps, TAG_HOT | i);
}

/** Who is what. */
static void
cast_roles(struct workload *w)
{
	const struct hotspot_params *p = w->own_params;
	struct hotspot *s = w->state;
	uint32_t nb = w->env.nb_hosts;

	for (uint32_t i = 0; i < nb; i++)
		s->order[i] = i;
	for (uint32_t i = 0; i < p->roots + s->nb_senders; i++) {
		uint32_t j = i + prng_below(&w->prng, nb - i), was = s->order[i];

		s->order[i] = s->order[j];
		s->order[j] = was;
		s->is_sender[s->order[i]] = i >= p->roots;
	}
}

static int
hotspot_alloc(struct workload *w)
{
	const struct hotspot_params *p = w->own_params;
	uint32_t nb = w->env.nb_hosts;
	double bytes = (double)w->params.bytes;
	struct hotspot *s = w->state;
	double mean_ps = arrivals_mean_ps(bytes, p->load > 0 ? p->load : 1, w->env.rate_bps);

	s->nb_senders = nb_senders(w);
	s->order = calloc(nb, sizeof(s->order[0]));
	s->is_sender = calloc(nb, sizeof(s->is_sender[0]));
	s->spent_ps = calloc(s->nb_senders, sizeof(s->spent_ps[0]));
	if (!s->order || !s->is_sender || !s->spent_ps ||
	    arrivals_alloc(&s->background, w, nb, mean_ps, 0) < 0)
		return -ENOMEM;
	mean_ps = arrivals_mean_ps(bytes, p->hot_load, w->env.rate_bps);
	return arrivals_alloc(&s->hot, w, s->nb_senders, mean_ps, 0);
}

static void
note_end(struct workload *w)
{
	const struct hotspot *s = w->state;

	w->is_finite_done = arrivals_are_over(&s->background) && arrivals_are_over(&s->hot);
}

static int
hotspot_begin(struct workload *w, uint64_t now_ps)
{
	const struct hotspot_params *p = w->own_params;
	struct hotspot *s = w->state;

	s->start_ps = now_ps;
	if (hotspot_alloc(w) < 0)
		return -ENOMEM;
	cast_roles(w);
	if (p->load <= 0)
		s->background.nb_live = 0;
	for (uint32_t i = 0; i < w->env.nb_hosts && p->load > 0; i++)
		arrivals_next(&s->background, w, i, now_ps, i);
	for (uint32_t i = 0; i < s->nb_senders; i++)
		hot_next(w, i);
	note_end(w);
	return 0;
}

static void
hotspot_on_time(struct workload *w, uint64_t tag, uint64_t now_ps)
{
	const struct hotspot_params *p = w->own_params;
	struct hotspot *s = w->state;
	uint32_t i = (uint32_t)tag;

	if (tag & TAG_HOT) {
		workload_start(w, s->order[p->roots + i], s->order[i % p->roots], FLOW_QP_FRESH,
		               w->params.bytes, 1);
		hot_next(w, i);
	} else {
		uint32_t dst = arrivals_other_host(&s->background.dice[i], i, w->env.nb_hosts);

		if (!s->is_sender[i] || !is_hot(w, now_ps))
			workload_start(w, i, dst, FLOW_QP_FRESH, w->params.bytes, 0);
		arrivals_next(&s->background, w, i, now_ps, i);
	}
	note_end(w);
}

static void
hotspot_end(struct workload *w)
{
	struct hotspot *s = w->state;

	arrivals_free(&s->background);
	arrivals_free(&s->hot);
	free(s->order);
	free(s->is_sender);
	free(s->spent_ps);
}

const struct workload_ops workload_hotspot = {
	.name = "hotspot",
	.params = hotspot_param_descs,
	.params_size = sizeof(struct hotspot_params),
	.state_size = sizeof(struct hotspot),
	.is_endless = hotspot_is_endless,
	.check = hotspot_check,
	.begin = hotspot_begin,
	.on_time = hotspot_on_time,
	.end = hotspot_end,
};
