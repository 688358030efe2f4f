/* SPDX-License-Identifier: BSD-3-Clause */
#include "arrivals.h"
#include "cdf.h"
#include "workload_impl.h"

/*
 * Each host sends at a share of its link's rate to all others alike: flows of one size (uniform),
 * or of sizes from a file (cdf). Each flow draws a gap, a destination and, of cdf, a size.
 */

struct poisson_params {
	double load;
	uint64_t flows;
};

static const struct param_desc poisson_param_descs[] = {
	{"load", PARAM_F64, offsetof(struct poisson_params, load), 0.5, 1e-6, 1, "1",
         "HPCC simulator: 30, 50, 70 %"},
	{"flows", PARAM_U64, offsetof(struct poisson_params, flows), 0, 0, 1e12, "1",
         "0: until stop"},
	{NULL},
};

static bool
poisson_is_endless(const struct workload *w)
{
	const struct poisson_params *p = w->own_params;

	return p->flows == 0;
}

static int
poisson_begin(struct workload *w, uint64_t now_ps)
{
	const struct poisson_params *p = w->own_params;
	struct arrivals *a = w->state;
	double bytes = w->cdf ? cdf_mean_bytes(w->cdf) : (double)w->params.bytes;
	double mean_ps = arrivals_mean_ps(bytes, p->load, w->env.rate_bps);
	int rc = arrivals_alloc(a, w, w->env.nb_hosts, mean_ps, p->flows);

	w->nb_all = w->params.stop_ns == 0 ? p->flows : 0;
	for (uint32_t i = 0; i < w->env.nb_hosts && rc == 0; i++)
		arrivals_next(a, w, i, now_ps, i);
	return rc;
}

static void
poisson_on_time(struct workload *w, uint64_t tag, uint64_t now_ps)
{
	struct arrivals *a = w->state;
	uint32_t src = (uint32_t)tag;

	if (arrivals_take(a)) {
		struct prng *dice = &a->dice[src];
		uint32_t dst = arrivals_other_host(dice, src, w->env.nb_hosts);
		uint64_t bytes = w->params.bytes;

		if (w->cdf)
			bytes = cdf_quantile_bytes(w->cdf, prng_unit(dice));
		workload_start(w, src, dst, FLOW_QP_FRESH, bytes, 0);
		arrivals_next(a, w, src, now_ps, src);
	}
	w->is_finite_done = arrivals_are_over(a);
}

static void
poisson_end(struct workload *w)
{
	arrivals_free(w->state);
}

const struct workload_ops workload_uniform = {
	.name = "uniform",
	.params = poisson_param_descs,
	.params_size = sizeof(struct poisson_params),
	.state_size = sizeof(struct arrivals),
	.is_endless = poisson_is_endless,
	.begin = poisson_begin,
	.on_time = poisson_on_time,
	.end = poisson_end,
};

const struct workload_ops workload_cdf = {
	.name = "cdf",
	.params = poisson_param_descs,
	.params_size = sizeof(struct poisson_params),
	.state_size = sizeof(struct arrivals),
	.needs_file = true,
	.is_endless = poisson_is_endless,
	.begin = poisson_begin,
	.on_time = poisson_on_time,
	.end = poisson_end,
};
