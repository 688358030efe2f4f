/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sim_run.h"

/*
 * Nodes run through windows of time one after the other (docs/adr/0015). What a run finds depends
 * neither on where those windows begin and end nor on who looks on.
 */

static const char *const topologies[] = {
	"kind = back-to-back\n",
	"kind = star\nhosts = 4\ndelay = 0\n",
	"kind = two-paths\nhosts = 4\nrate2 = 25G\ndelay2 = 7us\n",
	"kind = leaf-spine\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\ncore_rate = 400G\n",
};
#define NB_TOPOLOGIES (sizeof(topologies) / sizeof(topologies[0]))

static const char *const workloads[] = {
	"kind = all-to-all\nbytes = 20K\nrepeat = 3\n",
	"kind = allreduce\nbytes = 60K\nqps = 2\nverb = SEND\n",
	"kind = permutation\nbytes = 20K\nverb = READ\nrepeat = 3\ninterval = 30us\n",
	"kind = uniform\nbytes = 3K\nflows = 60\nload = 0.9\n",
};
#define NB_WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

/* A run with losses; sample and probes are lines of [lab]. */
static struct sim_run
read_run(size_t i, const char *lab)
{
	return sim_run_read("[lab]\n%s[topology]\n%s[host]\ntimeout = 3\n"
	                    "[link all]\nfault_loss = 0.5%%\nfault_rx_duplicate = 0.5%%\n"
	                    "[workload w]\n%s",
	                    lab, topologies[i / NB_WORKLOADS], workloads[i % NB_WORKLOADS]);
}

static int
by_begin(const void *x, const void *y)
{
	const struct flow *a = x, *b = y;

	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	if (a->conf.src != b->conf.src)
		return a->conf.src < b->conf.src ? -1 : 1;
	if (a->conf.dst != b->conf.dst)
		return a->conf.dst < b->conf.dst ? -1 : 1;
	return a->conf.qp < b->conf.qp ? -1 : a->conf.qp > b->conf.qp;
}

/* Flows by when they began: they are numbered as they were handed out, which windows decide. */
static struct flow *
flows_of(const struct sim_run *r)
{
	struct flow *flows = calloc(r->result->nb_flows, sizeof(*flows));

	cr_assert_not_null(flows);
	memcpy(flows, r->result->flows, r->result->nb_flows * sizeof(*flows));
	qsort(flows, r->result->nb_flows, sizeof(*flows), by_begin);
	return flows;
}

static void
expect_same(const struct sim_run *a, const struct sim_run *b, size_t row)
{
	struct flow *of_a = flows_of(a), *of_b = flows_of(b);

	cr_assert_eq(a->result->nb_flows, b->result->nb_flows, "run %zu", row);
	for (uint32_t i = 0; i < a->result->nb_flows; i++) {
		cr_expect_eq(of_a[i].start_ps, of_b[i].start_ps, "run %zu flow %u", row, i);
		cr_expect_eq(of_a[i].delivered_ps, of_b[i].delivered_ps, "run %zu flow %u", row, i);
		cr_expect_eq(of_a[i].end_ps, of_b[i].end_ps, "run %zu flow %u", row, i);
		cr_expect_eq(of_a[i].status, of_b[i].status, "run %zu flow %u", row, i);
	}
	cr_expect_eq(a->result->data_pkts, b->result->data_pkts, "run %zu", row);
	cr_expect_eq(a->result->workloads[0].done_ps, b->result->workloads[0].done_ps, "run %zu",
	             row);
	free(of_a);
	free(of_b);
}

Test(windows, samples_cut_them_and_change_nothing)
{
	for (size_t i = 0; i < NB_TOPOLOGIES * NB_WORKLOADS; i++) {
		struct sim_run plain = read_run(i, "sample = 0\n");
		struct sim_run cut = read_run(i, "sample = 77ns\nprobes = goodput inflight\n");

		sim_run_go(&plain, NULL);
		sim_run_go(&cut, NULL);
		expect_same(&plain, &cut, i);
		sim_run_end(&plain);
		sim_run_end(&cut);
	}
}

Test(windows, a_workload_is_done_when_its_last_flow_is)
{
	for (size_t i = 0; i < NB_TOPOLOGIES * NB_WORKLOADS; i++) {
		struct sim_run r = read_run(i, "sample = 0\n");
		uint64_t last_ps = 0;

		sim_run_go(&r, NULL);
		for (uint32_t f = 0; f < r.result->nb_flows; f++)
			if (r.result->flows[f].end_ps > last_ps)
				last_ps = r.result->flows[f].end_ps;
		cr_expect_eq(r.result->workloads[0].done_ps, last_ps, "run %zu: %lu ps, not %lu", i,
		             r.result->workloads[0].done_ps, last_ps);
		sim_run_end(&r);
	}
}

/* ---- slices ---- */

static void
go_by(struct sim_run *r, uint64_t nb_events)
{
	r->lab = lab_create(&r->scenario->conf);
	cr_assert_not_null(r->lab);
	while (lab_run(r->lab, nb_events))
		;
	r->result = lab_result(r->lab);
	cr_expect_null(r->result->violation.rule);
}

Test(windows, slices_of_a_run_make_the_same_run)
{
	static const uint64_t slices[] = {1, 7, 1000000};

	for (size_t i = 0; i < NB_TOPOLOGIES * NB_WORKLOADS; i++) {
		struct sim_run whole = read_run(i, "sample = 10us\n");

		sim_run_go(&whole, NULL);
		for (size_t s = 0; s < sizeof(slices) / sizeof(slices[0]); s++) {
			struct sim_run r = read_run(i, "sample = 10us\n");

			go_by(&r, slices[s]);
			expect_same(&whole, &r, i);
			cr_expect_eq(r.result->end_ps, whole.result->end_ps);
			cr_expect_eq(r.result->nb_events, whole.result->nb_events);
			cr_expect_eq(memcmp(r.result->links, whole.result->links,
			                    r.result->plan->nb_links * sizeof(*r.result->links)),
			             0, "run %zu, links", i);
			sim_run_end(&r);
		}
		sim_run_end(&whole);
	}
}
