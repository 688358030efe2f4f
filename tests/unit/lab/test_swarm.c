/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "scenario.h"
#include "swarm_make.h"

#define SEEDS 600

Test(sketch, writes_what_was_set_and_not_what_was_dropped)
{
	struct sketch *s = calloc(1, sizeof(*s));
	struct sketch_section *lab;
	char *text;

	cr_assert(s);
	lab = sketch_section(s, "lab");
	sketch_set(lab, "seed", "%u", 1);
	sketch_set(lab, "psn", "0");
	sketch_set(sketch_section(s, "host"), "window", "1");
	sketch_set(sketch_section(s, "lab"), "seed", "%u", 2);
	cr_expect_str_eq(sketch_get(lab, "seed"), "2");
	cr_expect_null(sketch_get(lab, "window"));
	cr_expect_null(sketch_find(s, "switch"));
	sketch_drop_key(lab, 1);
	text = sketch_text(s);
	cr_expect_str_eq(text, "[lab]\nseed = 2\n\n[host]\nwindow = 1\n");
	free(text);
	sketch_drop_section(s, 0);
	text = sketch_text(s);
	cr_expect_str_eq(text, "[host]\nwindow = 1\n");
	free(text);
	free(s);
}

static char *
text_of(uint64_t seed)
{
	struct sketch *s = malloc(sizeof(*s));
	char *text;

	cr_assert(s);
	swarm_make(seed, s);
	text = sketch_text(s);
	cr_assert(text);
	free(s);
	return text;
}

Test(swarm_make, makes_the_same_of_the_same_seed_and_something_else_of_another)
{
	char *a = text_of(7), *b = text_of(7), *c = text_of(8);

	cr_expect_str_eq(a, b);
	cr_expect_str_neq(a, c);
	free(a);
	free(b);
	free(c);
}

/* What scenarios of a swarm have, of what there is. */
struct variety {
	uint32_t plans[PLAN_NB_KINDS], verbs[FLOW_NB_VERBS];
	uint32_t workloads[64], switch_lbs[64], psns_before_wrap, real, lossless, faulty;
};

static void
count(struct variety *v, const struct scenario *s)
{
	const struct lab_conf *c = &s->conf;

	v->plans[c->plan->kind]++;
	for (uint32_t i = 0; i < c->nb_workloads; i++) {
		v->verbs[c->workloads[i].verb]++;
		for (uint32_t k = 0; workload_kinds[k]; k++)
			v->workloads[k] += workload_kinds[k] == c->workloads[i].ops;
	}
	for (uint32_t k = 0; lb_engines[k]; k++)
		v->switch_lbs[k] += lb_engines[k] == c->sw.lb;
	v->psns_before_wrap += c->first_psn != LAB_PSN_RANDOM && c->first_psn > 0xfffbff;
	v->real += c->real_payload;
	v->lossless += c->sw.lossless != 0;
	v->faulty += c->faults != NULL;
}

Test(swarm_make, makes_good_scenarios_of_all_kinds)
{
	struct variety v = {0};

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		char *text = text_of(seed), *errors;
		size_t size;
		FILE *in = fmemopen(text, strlen(text), "r"), *out = open_memstream(&errors, &size);
		struct scenario *s = scenario_read_stream(in, "swarm", NULL, out);

		fclose(in);
		fclose(out);
		cr_assert(s, "seed %lu: %s\n%s", seed, errors, text);
		count(&v, s);
		scenario_free(s);
		free(errors);
		free(text);
	}
	for (int i = 0; i < PLAN_NB_KINDS; i++)
		cr_expect_gt(v.plans[i], SEEDS / 30, "%s", plan_kind_names[i]);
	for (int i = 0; i < FLOW_NB_VERBS; i++)
		cr_expect_gt(v.verbs[i], SEEDS / 4, "%s", flow_verb_names[i]);
	for (uint32_t k = 0; workload_kinds[k]; k++)
		cr_expect(v.workloads[k] > SEEDS / 30 || workload_kinds[k]->needs_file, "%s",
		          workload_kinds[k]->name);
	for (uint32_t k = 0; lb_engines[k]; k++)
		cr_expect(v.switch_lbs[k] > SEEDS / 30 || lb_engines[k]->where == LB_HOST, "%s",
		          lb_engines[k]->info.name);
	cr_expect_gt(v.psns_before_wrap, SEEDS / 4);
	cr_expect_gt(v.real, SEEDS / 4);
	cr_expect_gt(v.lossless, SEEDS / 6);
	cr_expect_gt(v.faulty, SEEDS / 3);
}
