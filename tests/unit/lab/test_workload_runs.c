/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

/* Workloads over the real stack and fabric, in scenarios of a few lines. */

struct run {
	struct scenario *scenario;
	struct lab *lab;
	const struct result *result;
};

__attribute__((format(printf, 1, 2))) static struct run
run(const char *fmt, ...)
{
	char text[1024], *errors;
	size_t size;
	FILE *in, *out = open_memstream(&errors, &size);
	struct run r;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cr_assert(len > 0 && (size_t)len < sizeof(text) && out);
	in = fmemopen(text, (size_t)len, "r");
	r.scenario = scenario_read_stream(in, "x.scenario", NULL, out);
	fclose(in);
	fclose(out);
	cr_assert(r.scenario, "%s", errors);
	free(errors);
	r.lab = lab_create(&r.scenario->conf);
	cr_assert(r.lab);
	while (lab_run(r.lab, 1 << 16)) {
	}
	r.result = lab_result(r.lab);
	cr_expect_null(r.result->violation.rule, "%s: %s\n%s", r.result->violation.rule,
	               r.result->violation.what, text);
	return r;
}

static void
end(struct run *r)
{
	lab_destroy(r->lab);
	scenario_free(r->scenario);
}

/* All of them are done, and none before light could have been. */
static void
expect_done(const struct run *r, const char *what)
{
	uint64_t bytes = 0, delivered = 0;

	cr_expect_gt(r->result->nb_flows, 0, "%s", what);
	for (uint32_t i = 0; i < r->result->nb_flows; i++) {
		const struct flow *f = &r->result->flows[i];

		cr_expect_eq(f->status, FLOW_DONE, "%s: flow %u", what, i);
		cr_expect_geq(f->end_ps - f->start_ps, f->ideal_ps, "%s: flow %u: %lu < %lu", what,
		              i, f->end_ps - f->start_ps, f->ideal_ps);
		cr_expect(f->start_ps < f->delivered_ps && f->delivered_ps <= f->end_ps, "%s",
		          what);
		bytes += f->conf.bytes;
	}
	for (uint32_t h = 0; h < r->result->plan->nb_hosts; h++)
		delivered += r->result->hosts[h].delivered_bytes;
	cr_expect_eq(bytes, delivered, "%s", what);
}

Test(workload_runs, each_kind_moves_its_bytes_by_each_verb)
{
	static const struct {
		const char *kind, *keys;
		uint32_t nb_flows; /* 0 = as many as come */
	} rows[] = {
		{"long", "bytes = 100K\nmessage = 30K\nqps = 2\nrepeat = 2", 4},
		{"incast", "bytes = 20K\nsinks = 2\nsenders = 5\nrepeat = 3\ninterval = 50us", 30},
		{"permutation", "bytes = 50K", 16},
		{"uniform", "bytes = 10000\nflows = 300\nload = 0.6", 300},
		{"cdf", "file = fb_hadoop\nflows = 200", 200},
		{"all-to-all", "bytes = 8K\nqps = 2\nrepeat = 2", 16 * 15 * 2 * 2},
		{"all-to-all", "bytes = 8K\nstaggered = yes\ngroup = 4\nspread = yes", 16 * 3},
		{"allreduce", "bytes = 160K\nqps = 2\nrepeat = 2", 16 * 30 * 2 * 2},
		{"allreduce", "bytes = 3001\ngroup = 2", 16 * 2},
		{"hotspot",
	         "bytes = 8K\non = 20us\noff = 60us\nstop = 100us\nroots = 2\n"
	         "hot_share = 25%",
	         0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int verb = 0; verb < FLOW_NB_VERBS; verb++) {
			struct run r = run("[topology]\nkind = fat-tree\n"
			                   "[workload w]\nkind = %s\nverb = %s\n%s\n",
			                   rows[i].kind, flow_verb_names[verb], rows[i].keys);
			char what[64];

			snprintf(what, sizeof(what), "row %zu, %s %s", i, rows[i].kind,
			         flow_verb_names[verb]);
			expect_done(&r, what);
			if (rows[i].nb_flows > 0)
				cr_expect_eq(r.result->nb_flows, rows[i].nb_flows, "%s: %u", what,
				             r.result->nb_flows);
			end(&r);
		}
	}
}

Test(workload_runs, a_trace_begins_its_flows_at_its_times)
{
	char path[] = "/tmp/weft-test-trace-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w");
	struct run r;

	cr_assert(fd >= 0 && out);
	fputs("time,src,dst,bytes\n20us,1,0,10000\n0,h2,h0,64K\n20000,3,2,1\n", out);
	fclose(out);
	r = run("[topology]\nkind = star\nhosts = 4\n"
	        "[workload w]\nkind = trace\nfile = %s\nstart = 5us\n",
	        path);
	unlink(path);
	expect_done(&r, "trace");
	cr_assert_eq(r.result->nb_flows, 3);
	cr_expect_eq(r.result->flows[0].start_ps, 5 * 1000000);
	cr_expect_eq(r.result->flows[0].conf.bytes, 65536);
	cr_expect_eq(r.result->flows[1].start_ps, 25 * 1000000);
	cr_expect_eq(r.result->flows[1].conf.src, 1);
	cr_expect_eq(r.result->flows[2].start_ps, 25 * 1000000);
	cr_expect_eq(r.result->flows[2].conf.src, 3);
	end(&r);
}

/*
 * All hosts send their first packet to the same one, then to the next: of what arrives at an egress
 * in a slice it sends one packet, and (N - 1)(N - 2)/2 are left when all have come. Staggered,
 * nobody meets. Source: Odin, SIGCOMM 2026, appendix A.
 */
Test(workload_runs, a_synchronous_all_to_all_needs_the_buffer_of_its_formula)
{
	static const uint32_t nbs[] = {8, 16, 32};
	const double pkt_bytes = PLAN_DATA_BYTES - 24 + 16; /* with a RETH */

	for (size_t i = 0; i < sizeof(nbs) / sizeof(nbs[0]); i++) {
		uint32_t n = nbs[i], formula = (n - 1) * (n - 2) / 2;

		for (int staggered = 0; staggered < 2; staggered++) {
			struct run r = run("[topology]\nkind = star\nhosts = %u\n[workload w]\n"
			                   "kind = all-to-all\nbytes = 1K\nstaggered = %s\n",
			                   n, staggered ? "yes" : "no");
			uint64_t max = r.result->switches[0].stats.buffer_used_bytes_max;
			double pkts = (double)max / pkt_bytes;

			expect_done(&r, "all-to-all");
			if (staggered)
				cr_expect_leq(pkts, 0.2 * n, "%u hosts: %f", n, pkts);
			else
				cr_expect(pkts >= formula && pkts <= formula + 0.1 * n + 1,
				          "%u hosts: %f, not %u", n, pkts, formula);
			end(&r);
		}
	}
}

/* 2 (n - 1)/n of the vector must leave and enter each host. */
Test(workload_runs, a_ring_of_an_idle_star_is_as_fast_as_its_links)
{
	struct run r = run("[topology]\nkind = star\nhosts = 8\n[host]\npath_mtu = 4096\n"
	                   "[workload w]\nkind = allreduce\nbytes = 16M\nmessage = 2M\n");
	double bytes = 2 * 7 / 8.0 * (16 << 20) * (4096 + 82) / 4096, want_ps = bytes * 80;
	double ps;

	expect_done(&r, "allreduce");
	ps = (double)r.result->workloads[0].done_ps;
	/* And 14 times the way to the next host. */
	cr_expect(ps > want_ps && ps < want_ps + 14 * 5e6, "%f us, not %f", ps / 1e6,
	          want_ps / 1e6);
	end(&r);
}
