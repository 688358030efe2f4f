/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "workload_impl.h"

/*
 * Collectives, of all hosts or of groups of them at the same time; a round is complete when those
 * of all groups are.
 *
 * - all-to-all: each member sends to each other of its group. All flows begin at once; whom a host
 *   serves first is the order in which it posts them. synchronous: all begin with member 0, so
 *   that packets of all meet at one egress after the other; staggered: member i begins with i + 1.
 *   Source: Odin, SIGCOMM 2026, worst case of buffers of an all-to-all.
 * - allreduce: a ring. The vector is cut into as many chunks as a group has members. In each of
 *   2 (n - 1) steps a member sends a chunk to the next one: first its own, then the one that it
 *   has just got, as soon as all of it is here. Adding up takes no time. With several QPs as many
 *   rings run side by side, each with a part of the vector.
 *   Source: P. Patarasuk and X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
 *   Workstations", JPDC 69(2), 2009; several rings: NCCL's channels.
 */

/* Connected QPs at most: a million take some gigabytes. Our choice. */
#define ALL_TO_ALL_QPS_MAX (1u << 22)

struct collective_params {
	struct rounds_params rounds;
	uint32_t group; /* hosts of each; 0 = all */
	bool spread;    /* members are not next to each other, but as far apart as can be */
	bool staggered;
};

#define ROW(name, type, member, max, source)                                                       \
	{                                                                                          \
		name, type, offsetof(struct collective_params, member), 0, 0, max, "1", source     \
	}
#define GROUP_ROW ROW("group", PARAM_U32, group, PLAN_HOSTS_MAX, "our choice; 0: all hosts are one")
#define SPREAD_ROW ROW("spread", PARAM_YES_NO, spread, 1, "our choice: members are neighbours")

static const struct param_desc all_to_all_param_descs[] = {
	ROW("staggered", PARAM_YES_NO, staggered, 1, "Odin: all at once is the worst case"),
	GROUP_ROW,
	SPREAD_ROW,
	ROUNDS_ROWS,
	{NULL},
};

static const struct param_desc allreduce_param_descs[] = {
	GROUP_ROW,
	SPREAD_ROW,
	ROUNDS_ROWS,
	{NULL},
};

static uint32_t
group_size(const struct workload *w)
{
	const struct collective_params *p = w->own_params;

	return p->group ? p->group : w->env.nb_hosts;
}

/** The host that is a member of a group. */
static uint32_t
member(const struct workload *w, uint32_t group, uint32_t i)
{
	const struct collective_params *p = w->own_params;
	uint32_t size = group_size(w), nb_groups = w->env.nb_hosts / size;

	return p->spread ? i * nb_groups + group : group * size + i;
}

/** Which member of which group a host is. */
static uint32_t
place(const struct workload *w, uint32_t host, uint32_t *group)
{
	const struct collective_params *p = w->own_params;
	uint32_t size = group_size(w), nb_groups = w->env.nb_hosts / size;

	*group = p->spread ? host % nb_groups : host / size;
	return p->spread ? host / nb_groups : host % size;
}

static int
group_check(const struct workload *w, const struct workload_mistake *m)
{
	const struct collective_params *p = w->own_params;

	if (p->group == 0)
		return 0;
	if (p->group < 2)
		return workload_refuse(m, "group",
		                       "a host alone has nobody to talk to; 2 or more, "
		                       "or 0 = all, would do");
	if (w->env.nb_hosts % p->group != 0)
		return workload_refuse(m, "group",
		                       "%u hosts are no whole number of groups of %u; a divisor, "
		                       "or 0 = all, would do",
		                       w->env.nb_hosts, p->group);
	return 0;
}

static int
all_to_all_check(const struct workload *w, const char **key, char *why, size_t size)
{
	uint64_t nb_qps = (uint64_t)w->env.nb_hosts * (group_size(w) - 1) * w->params.qps;
	struct workload_mistake m = {key, why, size};
	int rc = group_check(w, &m);

	if (rc == 0 && nb_qps > ALL_TO_ALL_QPS_MAX)
		rc = workload_refuse(&m, "group",
		                     "%u hosts in groups of %u with %u QPs for each pair are %llu "
		                     "QPs; smaller groups or fewer qps, for at most %u",
		                     w->env.nb_hosts, group_size(w), w->params.qps,
		                     (unsigned long long)nb_qps, ALL_TO_ALL_QPS_MAX);
	return rc;
}

static void
all_to_all_round(struct workload *w)
{
	const struct collective_params *p = w->own_params;
	uint32_t nb = group_size(w);

	for (uint32_t src = 0; src < w->env.nb_hosts; src++) {
		uint32_t group, me = place(w, src, &group);
		uint32_t first = p->staggered ? me + 1 : 0;

		for (uint32_t i = 0; i < nb; i++) {
			uint32_t dst = member(w, group, (first + i) % nb);

			if (dst != src)
				rounds_start_pair(w, src, dst);
		}
	}
}

static int
all_to_all_begin(struct workload *w, uint64_t now_ps)
{
	rounds_begin(w, all_to_all_round, now_ps);
	return 0;
}

static int
allreduce_check(const struct workload *w, const char **key, char *why, size_t size)
{
	struct workload_mistake m = {key, why, size};
	uint64_t nb_chunks = (uint64_t)group_size(w) * w->params.qps;
	int rc = group_check(w, &m);

	if (rc == 0 && w->params.bytes < nb_chunks)
		rc = workload_refuse(&m, "bytes",
		                     "%llu bytes are no chunk for each of %u members on %u QPs; "
		                     "at least %llu",
		                     (unsigned long long)w->params.bytes, group_size(w),
		                     w->params.qps, (unsigned long long)nb_chunks);
	return rc;
}

static void
send_chunk(struct workload *w, uint32_t src, uint32_t ring, uint64_t bytes, uint64_t step)
{
	uint32_t group, me = place(w, src, &group);
	uint32_t dst = member(w, group, (me + 1) % group_size(w));

	rounds_start(w, src, dst, ring, bytes, step);
}

static void
allreduce_round(struct workload *w)
{
	uint32_t nb = group_size(w);

	for (uint32_t src = 0; src < w->env.nb_hosts; src++) {
		uint32_t group, me = place(w, src, &group);

		for (uint32_t ring = 0; ring < w->params.qps; ring++) {
			uint64_t vector = workload_part(w->params.bytes, w->params.qps, ring);

			send_chunk(w, src, ring, workload_part(vector, nb, me), 0);
		}
	}
}

static uint64_t
allreduce_steps(const struct workload *w)
{
	return 2 * (uint64_t)(group_size(w) - 1);
}

static int
allreduce_begin(struct workload *w, uint64_t now_ps)
{
	rounds_begin(w, allreduce_round, now_ps);
	w->nb_all *= allreduce_steps(w);
	return 0;
}

/** The flow's tag is its step, and its QP the ring. Who has a chunk now hands it on. */
static void
allreduce_on_delivered(struct workload *w, const struct flow *flow, uint64_t now_ps)
{
	uint64_t nb_steps = allreduce_steps(w);
	const struct flow_conf *f = &flow->conf;

	(void)now_ps;
	assert(f->tag < nb_steps);
	if (f->tag + 1 < nb_steps)
		send_chunk(w, f->dst, f->qp, f->bytes, f->tag + 1);
}

const struct workload_ops workload_all_to_all = {
	.name = "all-to-all",
	.params = all_to_all_param_descs,
	.params_size = sizeof(struct collective_params),
	.state_size = sizeof(struct rounds),
	.is_endless = rounds_is_endless,
	.check = all_to_all_check,
	.begin = all_to_all_begin,
	.on_time = rounds_on_time,
	.on_end = rounds_on_end,
};

const struct workload_ops workload_allreduce = {
	.name = "allreduce",
	.params = allreduce_param_descs,
	.params_size = sizeof(struct collective_params),
	.state_size = sizeof(struct rounds),
	.is_endless = rounds_is_endless,
	.check = allreduce_check,
	.begin = allreduce_begin,
	.on_time = rounds_on_time,
	.on_delivered = allreduce_on_delivered,
	.on_end = rounds_on_end,
};
