/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload_impl.h"

/*
 * Many hosts send to few at the same time: n to each sink. Sinks are consecutive hosts; senders
 * are the hosts behind them, in turn, as many rounds of these as it takes.
 */

struct incast_params {
	struct rounds_params rounds;
	uint32_t senders; /* of each sink; 0 = all that are no sinks */
	uint32_t sinks;
	uint32_t first_sink;
};

static const struct param_desc incast_param_descs[] = {
	{"senders", PARAM_U32, offsetof(struct incast_params, senders), 0, 0, PLAN_HOSTS_MAX, "1",
         "our choice; 0: all hosts but the sinks"},
	{"sinks", PARAM_U32, offsetof(struct incast_params, sinks), 1, 1, PLAN_HOSTS_MAX, "1",
         "our choice"},
	{"first_sink", PARAM_U32, offsetof(struct incast_params, first_sink), 0, 0,
         PLAN_HOSTS_MAX - 1, "1", "our choice"},
	ROUNDS_ROWS,
	{NULL},
};

static int
incast_check(const struct workload *w, const char **key, char *why, size_t size)
{
	const struct incast_params *p = w->own_params;
	struct workload_mistake m = {key, why, size};
	uint32_t most;

	if (p->sinks >= w->env.nb_hosts)
		return workload_refuse(&m, "sinks",
		                       "%u sinks leave no host to send; at most %u of %u hosts",
		                       p->sinks, w->env.nb_hosts - 1, w->env.nb_hosts);
	most = w->env.nb_hosts - p->sinks;
	if (p->first_sink >= w->env.nb_hosts)
		return workload_refuse_host(&m, w, "first_sink", p->first_sink);
	if (p->senders > most)
		return workload_refuse(&m, "senders",
		                       "%u are more than the %u hosts that are no "
		                       "sinks",
		                       p->senders, most);
	return 0;
}

static void
incast_round(struct workload *w)
{
	const struct incast_params *p = w->own_params;
	uint32_t nb_hosts = w->env.nb_hosts, nb_others = nb_hosts - p->sinks;
	uint32_t nb_senders = p->senders ? p->senders : nb_others;

	for (uint32_t s = 0; s < p->sinks; s++) {
		uint64_t first = (uint64_t)s * nb_senders;

		for (uint32_t i = 0; i < nb_senders; i++) {
			uint32_t other = (uint32_t)((first + i) % nb_others);

			rounds_start_pair(w, (p->first_sink + p->sinks + other) % nb_hosts,
			                  (p->first_sink + s) % nb_hosts);
		}
	}
}

static int
incast_begin(struct workload *w, uint64_t now_ps)
{
	rounds_begin(w, incast_round, now_ps);
	return 0;
}

const struct workload_ops workload_incast = {
	.name = "incast",
	.params = incast_param_descs,
	.params_size = sizeof(struct incast_params),
	.state_size = sizeof(struct rounds),
	.is_endless = rounds_is_endless,
	.check = incast_check,
	.begin = incast_begin,
	.on_time = rounds_on_time,
	.on_end = rounds_on_end,
};
