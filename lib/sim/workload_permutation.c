/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

/*
 * Each host sends to one other, and each receives from one: to the host a shift further, or by a
 * permutation from the seed that leaves nobody to himself, the same in all rounds.
 */

struct permutation_params {
	struct rounds_params rounds;
	uint32_t shift;
};

struct permutation {
	struct rounds rounds;
	uint32_t *dst; /* of each host */
};

static const struct param_desc permutation_param_descs[] = {
	{"shift", PARAM_U32, offsetof(struct permutation_params, shift), 0, 0, PLAN_HOSTS_MAX - 1,
         "1", "our choice; 0: a random permutation"},
	ROUNDS_ROWS,
	{NULL},
};

static int
permutation_check(const struct workload *w, const char **key, char *why, size_t size)
{
	const struct permutation_params *p = w->own_params;
	struct workload_mistake m = {key, why, size};

	if (p->shift >= w->env.nb_hosts)
		return workload_refuse(&m, "shift",
		                       "%u is no way among %u hosts; 1 to %u, or 0 = "
		                       "a random permutation, would do",
		                       p->shift, w->env.nb_hosts, w->env.nb_hosts - 1);
	return 0;
}

/** Each such permutation is equally likely: others are thrown away, of e about e - 1. */
static void
derange(struct prng *dice, uint32_t *dst, uint32_t nb)
{
	bool is_good;

	do {
		is_good = true;
		for (uint32_t i = 0; i < nb; i++)
			dst[i] = i;
		for (uint32_t i = nb - 1; i > 0; i--) {
			uint32_t j = prng_below(dice, i + 1), was = dst[i];

			dst[i] = dst[j];
			dst[j] = was;
			is_good &= dst[i] != i; /* i stays from here on */
		}
		is_good &= dst[0] != 0;
	} while (!is_good);
}

static void
permutation_round(struct workload *w)
{
	const struct permutation *s = w->state;

	for (uint32_t i = 0; i < w->env.nb_hosts; i++)
		rounds_start_pair(w, i, s->dst[i]);
}

static int
permutation_begin(struct workload *w, uint64_t now_ps)
{
	const struct permutation_params *p = w->own_params;
	struct permutation *s = w->state;
	uint32_t nb = w->env.nb_hosts;

	s->dst = calloc(nb, sizeof(s->dst[0]));
	if (!s->dst)
		return -ENOMEM;
	if (p->shift == 0)
		derange(&w->prng, s->dst, nb);
	for (uint32_t i = 0; i < nb && p->shift != 0; i++)
		s->dst[i] = (i + p->shift) % nb;
	rounds_begin(w, permutation_round, now_ps);
	return 0;
}

static void
permutation_end(struct workload *w)
{
	struct permutation *s = w->state;

	free(s->dst);
	s->dst = NULL;
}

const struct workload_ops workload_permutation = {
	.name = "permutation",
	.params = permutation_param_descs,
	.params_size = sizeof(struct permutation_params),
	.state_size = sizeof(struct permutation),
	.is_endless = rounds_is_endless,
	.check = permutation_check,
	.begin = permutation_begin,
	.on_time = rounds_on_time,
	.on_end = rounds_on_end,
	.end = permutation_end,
};
