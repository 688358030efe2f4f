/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload_impl.h"

/* A flow from one host to another, over one QP or several. */

struct long_params {
	struct rounds_params rounds;
	uint32_t src, dst;
};

static const struct param_desc long_param_descs[] = {
	{"src", PARAM_U32, offsetof(struct long_params, src), 0, 0, PLAN_HOSTS_MAX - 1, "1",
         "our choice"},
	{"dst", PARAM_U32, offsetof(struct long_params, dst), 1, 0, PLAN_HOSTS_MAX - 1, "1",
         "our choice"},
	ROUNDS_ROWS,
	{NULL},
};

static int
long_check(const struct workload *w, const char **key, char *why, size_t size)
{
	const struct long_params *p = w->own_params;
	struct workload_mistake m = {key, why, size};

	if (p->src >= w->env.nb_hosts)
		return workload_refuse_host(&m, w, "src", p->src);
	if (p->dst >= w->env.nb_hosts)
		return workload_refuse_host(&m, w, "dst", p->dst);
	if (p->src == p->dst)
		return workload_refuse(&m, "dst", "host %u is src too; another would do", p->dst);
	return 0;
}

static void
long_round(struct workload *w)
{
	const struct long_params *p = w->own_params;

	rounds_start_pair(w, p->src, p->dst);
}

static int
long_begin(struct workload *w, uint64_t now_ps)
{
	rounds_begin(w, long_round, now_ps);
	return 0;
}

const struct workload_ops workload_long = {
	.name = "long",
	.params = long_param_descs,
	.params_size = sizeof(struct long_params),
	.state_size = sizeof(struct rounds),
	.is_endless = rounds_is_endless,
	.check = long_check,
	.begin = long_begin,
	.on_time = rounds_on_time,
	.on_end = rounds_on_end,
};
