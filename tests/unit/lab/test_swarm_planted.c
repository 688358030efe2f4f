/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bad_gbn.h"
#include "bind.h"
#include "scenario.h"
#include "swarm.h"

/*
 * A swarm finds an engine that is wrong. This program has a table of engines of its own, in place
 * of the library's: who adds one there gets no more than this.
 */

extern const struct reliability_ops gbn_ops, none_ops;
const struct reliability_ops *const reliability_engines[] = {&gbn_ops, &bad_gbn_ops, &none_ops,
                                                             NULL};

static struct swarm_result *
find(enum bad_gbn bad, char **told)
{
	size_t size;
	struct swarm_conf conf = {
		.first = 1,
		.last = 1000,
		.timeout_ns = UINT64_C(300000000000),
		.findings_max = 1,
		.nb_jobs = 2,
		.out = open_memstream(told, &size),
		.is_quiet = true,
	};
	struct swarm_result *r = malloc(sizeof(*r));

	cr_assert(r && conf.out);
	bad_gbn = bad;
	cr_assert_eq(swarm_run(&conf, r), 0);
	fclose(conf.out);
	cr_assert_gt(r->nb_findings, 0, "nobody noticed in %lu seeds", r->nb_seeds);
	return r;
}

/* What weft-lab run finds in a file of that text. */
static void
expect_small(const char *text, const char *rule)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct scenario *s = scenario_read_stream(in, "found", NULL, stderr);
	uint32_t nb_qps = 0, nb_messages = 0;
	const struct result *r;
	struct lab *lab;

	fclose(in);
	cr_assert(s);
	lab = lab_create(&s->conf);
	cr_assert(lab);
	while (lab_run(lab, 10000))
		;
	r = lab_result(lab);
	cr_assert(r->violation.rule, "%s", text);
	cr_expect_str_eq(r->violation.rule, rule);
	for (uint32_t i = 0; i < r->plan->nb_hosts; i++)
		nb_qps += r->hosts[i].nb_qps;
	for (uint32_t i = 0; i < r->nb_flows; i++)
		nb_messages += (r->flows[i].conf.bytes - 1) / r->flows[i].conf.msg_bytes + 1;
	cr_expect_eq(r->plan->nb_hosts, 2, "%s", text);
	cr_expect_eq(nb_qps, 2, "one at each end: %s", text);
	cr_expect_leq(nb_messages, 3, "%s", text);
	lab_destroy(lab);
	scenario_free(s);
}

Test(swarm, finds_an_off_by_one_at_the_psn_wrap_and_makes_it_small)
{
	char *told, *text;
	struct swarm_result *r = find(BAD_WRAP, &told);

	text = sketch_text(&r->last.sketch);
	cr_assert(text);
	expect_small(text, r->last.finding.rule);
	cr_expect(strstr(told, "made smaller"), "%s", told);
	free(text);
	free(told);
	free(r);
}

/* Asserts, signals, sanitizers: all end the process. */
Test(swarm, survives_a_scenario_that_crashes_and_makes_it_small)
{
	char *told;
	struct swarm_result *r = find(BAD_CRASH, &told);

	cr_expect(strstr(r->last.finding.rule, "signal ABRT"), "%s", told);
	cr_expect_leq(r->last.sketch.nb_sections, 5, "%s", told);
	free(told);
	free(r);
}

Test(swarm, finds_who_falls_silent)
{
	char *told;
	struct swarm_result *r = find(BAD_MUTE, &told);

	cr_expect_str_eq(r->last.finding.rule, "nobody waits for ever", "%s", told);
	cr_expect_leq(r->last.sketch.nb_sections, 5, "%s", told);
	free(told);
	free(r);
}
