/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every load balancer of lb/engines.c, those of hosts and those of switches, under random
 * schedules; and engines with planted faults, which the same check must find. A failure names the
 * seed: the seeds below run from 1 on, and one that once failed stays, with a line of its story.
 */
#include <criterion/criterion.h>

#include "lb_bad.h"
#include "lb_check.h"

#define NB_STEPS 1000
#define NB_SEEDS_BAD 20

/* "fixed" is for one path and leaves nothing to chance. */
static bool
is_fixed(const struct lb_ops *ops)
{
	return strcmp(ops->info.name, "fixed") == 0;
}

Test(conformance_lb, every_engine_keeps_its_promises)
{
	uint64_t nb_seeds = getenv("WEFT_TEST_LONG") ? 20000 : 500;

	for (const struct lb_ops *const *e = lb_engines; *e; e++) {
		for (uint64_t seed = 1; seed <= nb_seeds; seed++) {
			struct lb_verdict v =
				lb_check_run(*e, is_fixed(*e) ? 1 : LB_GROUP_MAX, seed, NB_STEPS);

			cr_assert_eq(v.fault, LB_KEPT, "%s of %s: seed %llu, step %u: %s",
			             (*e)->info.name, (*e)->where == LB_HOST ? "hosts" : "switches",
			             (unsigned long long)seed, v.step, lb_fault_text(v.fault));
		}
	}
}

/* With a small chance for two seeds to agree, as an engine in turn can begin at one place. */
Test(conformance_lb, another_seed_chooses_differently_where_chance_has_a_say)
{
	for (const struct lb_ops *const *e = lb_engines; *e; e++) {
		uint32_t nb = lb_check_seeds(*e, 1, 32);

		cr_expect(is_fixed(*e) ? nb == 0 : nb >= 28, "%s: %u of 32 pairs differ",
		          (*e)->info.name, nb);
	}
}

Test(conformance_lb, each_planted_fault_is_found_and_named)
{
	uint32_t nb_found[LB_NB_FAULTS] = {0};

	for (const struct lb_bad *bad = lb_bad_engines; bad->ops.info.name; bad++) {
		struct lb_verdict v = {LB_KEPT, 0};

		for (uint64_t seed = 1; seed <= NB_SEEDS_BAD && !v.fault; seed++)
			v = lb_check_run(&bad->ops, LB_GROUP_MAX, seed, NB_STEPS);
		cr_expect_eq(v.fault, bad->fault, "%s: %s", bad->ops.info.name,
		             lb_fault_text(v.fault));
		nb_found[v.fault]++;
	}
	for (int i = 0; i < LB_NB_FAULTS; i++)
		cr_expect_gt(nb_found[i], 0, "no engine that %s", lb_fault_text((enum lb_fault)i));
}

Test(conformance_lb, an_engine_that_ignores_its_seed_is_found)
{
	cr_expect_eq(lb_check_seeds(&lb_seedless, 1, 32), 0);
	cr_expect_eq(lb_check_seeds(&lb_bad_engines[0].ops, 1, 32), 32);
}

Test(conformance_lb, names_are_unique_at_each_place)
{
	for (const struct lb_ops *const *e = lb_engines; *e; e++)
		cr_expect_eq(lb_find((*e)->info.name, (*e)->where), *e, "%s", (*e)->info.name);
}
