/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_run.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct sim_run
read_text(char *text)
{
	struct sim_run r = {0};
	char *errors;
	size_t size;
	FILE *in = fmemopen(text, strlen(text), "r"), *out = open_memstream(&errors, &size);

	cr_assert(in && out);
	r.scenario = scenario_read_stream(in, "t.scenario", NULL, out);
	fclose(in);
	fclose(out);
	cr_assert(r.scenario, "%s", errors);
	free(errors);
	return r;
}

static struct sim_run
vread(const char *fmt, va_list ap)
{
	char *text;
	int len = vasprintf(&text, fmt, ap);
	struct sim_run r;

	cr_assert_gt(len, 0);
	r = read_text(text);
	free(text);
	return r;
}

struct sim_run
sim_run_read(const char *fmt, ...)
{
	struct sim_run r;
	va_list ap;

	va_start(ap, fmt);
	r = vread(fmt, ap);
	va_end(ap);
	return r;
}

void
sim_run_go(struct sim_run *r, const struct lab_tap *tap)
{
	r->lab = lab_create(&r->scenario->conf);
	cr_assert(r->lab);
	lab_set_tap(r->lab, tap);
	while (lab_run(r->lab, 1 << 20))
		;
	r->result = lab_result(r->lab);
	cr_assert(!r->result->violation.rule, "%s: %s", r->result->violation.rule,
	          r->result->violation.what);
}

struct sim_run
sim_run(const char *fmt, ...)
{
	struct sim_run r;
	va_list ap;

	va_start(ap, fmt);
	r = vread(fmt, ap);
	va_end(ap);
	sim_run_go(&r, NULL);
	return r;
}

void
sim_run_end(struct sim_run *r)
{
	lab_destroy(r->lab);
	scenario_free(r->scenario);
}

uint32_t
sim_run_link(const struct sim_run *r, const char *from, const char *to)
{
	const struct plan *plan = &r->scenario->plan;
	uint32_t a = plan_find(plan, from), b = plan_find(plan, to), i = 0;

	while (i < plan->nb_links &&
	       (plan->links[i].end[0].node != a || plan->links[i].end[1].node != b))
		i++;
	cr_assert_lt(i, plan->nb_links, "no link %s to %s", from, to);
	return i;
}

uint64_t
sim_run_engine_stat(const struct sim_run *r, uint32_t host, const char *name)
{
	for (uint32_t e = 0; e < r->result->nb_engine_stats; e++) {
		const struct stat_desc *desc = r->result->engine_stats[e];

		for (uint32_t i = 0; desc[i].name; i++)
			if (strcmp(desc[i].name, name) == 0)
				return r->result->hosts[host].engines->engine[e][i];
	}
	cr_assert(false, "no counter %s", name);
	return 0;
}

bool
sim_run_is_long(void)
{
	return getenv("WEFT_TEST_LONG") != NULL;
}
