/* SPDX-License-Identifier: BSD-3-Clause */
#include "arrivals.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

#define LN2 0x1.62e42fefa39efp-1
#define SQRT2 0x1.6a09e667f3bcdp+0
#define GAP_MAX_PS (UINT64_C(1) << 62)

/*
 * x = m 2^e with m from 1/sqrt 2 to sqrt 2, and ln m = 2 (s + s^3/3 + s^5/5 + ...) where
 * s = (m - 1)/(m + 1) is at most 0.172: the first term left out is below 2^-56 of the first one.
 */
double
arrivals_log(double x)
{
	double s, square, sum = 0;
	int e = 0;

	assert(x > 0);
	for (; x > SQRT2; e++)
		x /= 2;
	for (; x < SQRT2 / 2; e--)
		x *= 2;
	s = (x - 1) / (x + 1);
	square = s * s;
	for (int k = 21; k >= 1; k -= 2)
		sum = sum * square + 1.0 / k;
	return e * LN2 + 2 * s * sum;
}

uint64_t
arrivals_gap_ps(struct prng *dice, double mean_ps)
{
	double gap = -arrivals_log(1 - prng_unit(dice)) * mean_ps;

	if (gap < 1)
		return 1;
	return gap < (double)GAP_MAX_PS ? (uint64_t)(gap + 0.5) : GAP_MAX_PS;
}

double
arrivals_mean_ps(double bytes, double load, uint64_t rate_bps)
{
	return bytes * (8.0 * (double)PS_PER_S) / (load * (double)rate_bps);
}

int
arrivals_alloc(struct arrivals *a, struct workload *w, uint32_t nb, double mean_ps,
               uint64_t nb_flows)
{
	uint64_t seed = prng_next(&w->prng);

	*a = (struct arrivals){
		.mean_ps = mean_ps,
		.nb_left = nb_flows,
		.is_limited = nb_flows > 0,
		.nb_live = nb,
		.dice = calloc(nb, sizeof(a->dice[0])),
	};
	if (!a->dice)
		return -ENOMEM;
	for (uint32_t i = 0; i < nb; i++)
		prng_seed(&a->dice[i], prng_splitmix(&seed));
	return 0;
}

void
arrivals_free(struct arrivals *a)
{
	free(a->dice);
	a->dice = NULL;
}

void
arrivals_next(struct arrivals *a, struct workload *w, uint32_t i, uint64_t now_ps, uint64_t tag)
{
	uint64_t at_ps = now_ps + arrivals_gap_ps(&a->dice[i], a->mean_ps);

	if (!workload_is_over(w, at_ps)) {
		w->env.at(w->env.arg, at_ps, tag);
		return;
	}
	assert(a->nb_live > 0);
	a->nb_live--;
}

uint32_t
arrivals_other_host(struct prng *dice, uint32_t src, uint32_t nb_hosts)
{
	uint32_t dst = prng_below(dice, nb_hosts - 1);

	return dst + (dst >= src);
}
