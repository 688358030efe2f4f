/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"
#include "cdf.h"
#include "fake_lab.h"

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MS UINT64_C(1000000000)

/* ---- random gaps ---- */

Test(workload_load, the_logarithm_is_right_to_its_last_digits)
{
	struct prng dice;

	prng_seed(&dice, 1);
	cr_expect_eq(arrivals_log(1), 0);
	for (int i = 0; i < 1000000; i++) {
		double u = 1 - prng_unit(&dice), want;

		if (i < 54)
			u = ldexp(1, -i);
		want = log(u);
		cr_assert_leq(fabs(arrivals_log(u) - want), 1e-15 * fabs(want) + 1e-300,
		              "log %.17g = %.17g, not %.17g", u, want, arrivals_log(u));
	}
}

/* What a seed gives is the same everywhere and for ever: golden numbers. */
Test(workload_load, gaps_are_those_of_any_machine)
{
	static const uint64_t want[] = {1205896260, 326771166,  1830255807, 3968472995,
	                                4695125401, 2061789765, 62675809,   110301356};
	struct prng dice;

	prng_seed(&dice, 7);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		uint64_t gap = arrivals_gap_ps(&dice, 1e9);

		cr_expect_eq(gap, want[i], "%zu: %lu", i, (unsigned long)gap);
	}
}

Test(workload_load, gaps_have_the_mean_and_the_tail_of_an_exponential)
{
	struct prng dice;
	double sum = 0;
	uint32_t nb_long = 0;

	prng_seed(&dice, 1);
	for (int i = 0; i < 1000000; i++) {
		uint64_t gap = arrivals_gap_ps(&dice, 1e6);

		sum += (double)gap;
		nb_long += gap > 3000000;
	}
	cr_expect_float_eq(sum / 1e12, 1, 0.005, "%f", sum / 1e12);
	cr_expect_float_eq(nb_long / 1e6, exp(-3), 0.001, "%f", nb_long / 1e6);
	cr_expect_eq(arrivals_gap_ps(&dice, 1e-6), 1, "never none");
	cr_expect_eq(arrivals_gap_ps(&dice, 1e30), UINT64_C(1) << 62, "no overflow");
}

/* ---- load ---- */

static struct cdf *
websearch(void)
{
	char path[512], why[256] = "";
	struct cdf *cdf;
	FILE *in;

	snprintf(path, sizeof(path), "%s/conf/lab/websearch.cdf", getenv("WEFT_SOURCE_ROOT"));
	in = fopen(path, "r");
	cr_assert(in, "%s", path);
	cdf = cdf_read(in, path, why, sizeof(why));
	cr_assert(cdf, "%s", why);
	fclose(in);
	return cdf;
}

/* Share of the links of all hosts that flows took in this time, as src and as dst. */
static double
load_of(const struct fake_lab *lab, uint64_t ps)
{
	double bytes = 0;

	for (uint32_t i = 0; i < lab->nb_flows; i++)
		bytes += (double)lab->flows[i].conf.bytes;
	return bytes * 8e12 / ((double)ps * (double)lab->w.env.rate_bps * lab->w.env.nb_hosts);
}

Test(workload_load, hosts_send_at_the_load_that_was_asked_for)
{
	static const struct {
		const char *kind, *load;
		double want;
		uint64_t ms;
		double within;
	} rows[] = {
		{"uniform", "load=0.3", 0.3, 100, 0.02},
		{"uniform", "load=100%", 1, 100, 0.02},
		{"cdf", "load=0.5", 0.5, 2000, 0.03},
	};
	struct cdf *cdf = websearch();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab =
			fake_lab(rows[i].kind, 32, 1, SET(rows[i].load, "bytes=64K"));
		double load;

		lab->w.cdf = strcmp(rows[i].kind, "cdf") == 0 ? cdf : NULL;
		fake_lab_begin(lab);
		fake_lab_run(lab, rows[i].ms * MS);
		load = load_of(lab, rows[i].ms * MS);
		cr_expect_float_eq(load / rows[i].want, 1, rows[i].within, "row %zu: %f", i, load);
		fake_lab_free(lab);
	}
	cdf_free(cdf);
}

Test(workload_load, all_hosts_send_and_receive_alike)
{
	struct fake_lab *lab = fake_lab("uniform", 10, 1, SET("bytes=1000", "flows=100000"));
	uint32_t nb[10][10] = {0};

	fake_lab_begin(lab);
	fake_lab_run(lab, NEVER_PS);
	cr_assert_eq(lab->nb_flows, 100000);
	cr_expect(lab->w.is_finite_done);
	for (uint32_t i = 0; i < lab->nb_flows; i++)
		nb[lab->flows[i].conf.src][lab->flows[i].conf.dst]++;
	for (int s = 0; s < 10; s++) {
		for (int d = 0; d < 10; d++)
			cr_expect(s == d ? nb[s][d] == 0 : nb[s][d] > 950 && nb[s][d] < 1280,
			          "%d to %d: %u", s, d, nb[s][d]);
	}
	fake_lab_free(lab);
}

Test(workload_load, flows_stop_at_stop)
{
	struct fake_lab *lab =
		fake_lab("uniform", 4, 1, SET("bytes=1000", "stop=1ms", "start=900us"));

	fake_lab_begin(lab);
	cr_expect(!lab->w.is_finite_done);
	fake_lab_run(lab, NEVER_PS);
	cr_expect_gt(lab->nb_flows, 1000);
	cr_expect_geq(lab->flows[0].start_ps, 900 * MS / 1000);
	cr_expect_leq(lab->flows[lab->nb_flows - 1].start_ps, MS);
	fake_lab_free(lab);
}

/* A host's flows are the same at any load, nearer or farther, and of any number of others. */
Test(workload_load, at_another_load_the_same_flows_come_at_other_times)
{
	struct cdf *cdf = websearch();
	struct fake_lab *lab[2];
	uint32_t at[2] = {0, 0};

	for (int l = 0; l < 2; l++) {
		lab[l] = fake_lab("cdf", 8, 1, SET(l ? "load=0.4" : "load=0.8"));
		lab[l]->w.cdf = cdf;
		fake_lab_begin(lab[l]);
		fake_lab_run(lab[l], 100 * MS);
	}
	for (int n = 0; n < 100; n++) {
		const struct flow *f[2];

		for (int l = 0; l < 2; l++) {
			while (lab[l]->flows[at[l]].conf.src != 5)
				at[l]++;
			f[l] = &lab[l]->flows[at[l]++];
		}
		cr_assert_eq(f[0]->conf.bytes, f[1]->conf.bytes);
		cr_assert_eq(f[0]->conf.dst, f[1]->conf.dst);
		cr_assert_float_eq((double)f[1]->start_ps / (double)f[0]->start_ps, 2, 1e-6);
	}
	fake_lab_free(lab[0]);
	fake_lab_free(lab[1]);
	cdf_free(cdf);
}

/* ---- hot spots ---- */

struct tally {
	uint64_t hot_bytes, early_hot, late_hot, from_senders_while_hot;
	uint64_t to_root[64];
	uint64_t roots, senders; /* bit i: host i */
};

static struct tally
tally_of(const struct fake_lab *lab, uint64_t on_ps, uint64_t off_ps, uint64_t every_ps)
{
	struct tally t = {0};

	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow_conf *f = &lab->flows[i].conf;

		if (f->tag == 1) {
			t.roots |= UINT64_C(1) << f->dst;
			t.senders |= UINT64_C(1) << f->src;
		}
	}
	for (uint32_t i = 0; i < lab->nb_flows; i++) {
		const struct flow_conf *f = &lab->flows[i].conf;
		uint64_t at = lab->flows[i].start_ps;
		uint64_t since = at < on_ps ? UINT64_MAX : at - on_ps;
		bool is_hot = (every_ps && at >= on_ps ? since % every_ps : since) < off_ps - on_ps;

		if (f->tag == 1) {
			t.hot_bytes += f->bytes;
			t.early_hot += at < on_ps;
			t.late_hot += !is_hot;
			t.to_root[f->dst] += f->bytes;
		} else if (is_hot && t.senders >> f->src & 1) {
			t.from_senders_while_hot++;
		}
	}
	return t;
}

Test(workload_load, hot_spots_are_hot_from_on_to_off)
{
	static const struct {
		const char *settings[6];
		int nb_roots, nb_senders;
		uint64_t every_ms, run_ms;
		double hot_ms; /* of each sender, in all */
	} rows[] = {
		{{"hot_share=10%"}, 1, 6, 0, 6, 2},
		{{"hot_share=25%"}, 1, 16, 0, 6, 2},
		{{"hot_share=25%", "roots=4"}, 4, 16, 0, 6, 2},
		{{"hot_share=10%", "roots=4", "hot_load=0.5"}, 4, 6, 0, 6, 1},
		{{"hot_share=25%", "every=5ms"}, 1, 16, 5, 14, 6},
		{{"hot_share=25%", "load=0"}, 1, 16, 0, 6, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *settings[8] = {"bytes=4K"};
		struct fake_lab *lab;
		struct tally t;
		double want;

		memcpy(settings + 1, rows[i].settings, sizeof(rows[i].settings));
		lab = fake_lab("hotspot", 64, 1 + i, settings);
		fake_lab_begin(lab);
		fake_lab_run(lab, rows[i].run_ms * MS);
		t = tally_of(lab, MS, 3 * MS, rows[i].every_ms * MS);
		cr_expect_eq(t.early_hot, 0, "row %zu", i);
		cr_expect_eq(t.late_hot, 0, "row %zu", i);
		cr_expect_eq(t.from_senders_while_hot, 0, "row %zu", i);
		cr_expect_eq(__builtin_popcountll(t.roots), rows[i].nb_roots, "row %zu", i);
		cr_expect_eq(__builtin_popcountll(t.senders), rows[i].nb_senders, "row %zu", i);
		cr_expect_eq(t.roots & t.senders, 0, "row %zu", i);
		want = rows[i].nb_senders * rows[i].hot_ms * 12.5e6;
		cr_expect_float_eq((double)t.hot_bytes / want, 1, 0.05, "row %zu: %f", i,
		                   (double)t.hot_bytes / want);
		cr_expect_eq(lab->w.is_finite_done, i == 5, "row %zu", i);
		fake_lab_free(lab);
	}
}

/* Nobody's background depends on who is hot or how. */
Test(workload_load, the_background_is_the_same_with_any_hot_spot)
{
	struct fake_lab *lab[2];
	uint32_t n = 0;

	for (int l = 0; l < 2; l++) {
		lab[l] = fake_lab("hotspot", 16, 1, SET("bytes=64K", l ? "hot_load=0.1" : "qps=1"));
		fake_lab_begin(lab[l]);
		fake_lab_run(lab[l], 4 * MS);
	}
	for (uint32_t i = 0; i < lab[0]->nb_flows; i++) {
		if (lab[0]->flows[i].conf.tag == 1)
			continue;
		while (n < lab[1]->nb_flows && lab[1]->flows[n].conf.tag == 1)
			n++;
		cr_assert_lt(n, lab[1]->nb_flows);
		cr_assert_eq(lab[0]->flows[i].start_ps, lab[1]->flows[n].start_ps);
		cr_assert_eq(lab[0]->flows[i].conf.dst, lab[1]->flows[n].conf.dst);
		n++;
	}
	fake_lab_free(lab[0]);
	fake_lab_free(lab[1]);
}
