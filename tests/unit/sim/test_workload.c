/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fake_lab.h"
#include "plan.h"
#include "trace_file.h"

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})
#define US UINT64_C(1000000)

/* ---- long, incast, permutation ---- */

Test(workload, a_long_flow_is_split_over_its_qps)
{
	struct fake_lab *lab = fake_lab("long", 4, 1, SET("src=2", "dst=0", "bytes=10", "qps=3"));

	fake_lab_begin(lab);
	fake_lab_run(lab, NEVER_PS);
	cr_assert_eq(lab->nb_flows, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct flow_conf *f = &lab->flows[i].conf;

		cr_expect(f->src == 2 && f->dst == 0 && f->qp == i);
		cr_expect_eq(f->bytes, i == 0 ? 4 : 3);
	}
	cr_expect(lab->w.is_finite_done);
	cr_expect_eq(lab->w.nb_rounds, 1);
	cr_expect_eq(lab->w.done_ps, lab->now_ps);
	fake_lab_free(lab);
}

Test(workload, rounds_follow_each_other_or_an_interval)
{
	/* A flow of 12,500 bytes takes 1 us there and 1 us until it ends. */
	static const struct {
		const char *settings[5];
		uint64_t begins_us[4]; /* 0 = no more, but for the first */
		uint64_t done_us;
	} rows[] = {
		{{"repeat=3"}, {0, 2, 4}, 6},
		{{"repeat=3", "interval=5us"}, {0, 5, 10}, 12},
		{{"repeat=2", "interval=1us"}, {0, 2}, 4},
		{{"repeat=0", "stop=4us"}, {0, 2, 4}, 6},
		{{"repeat=0", "stop=3999ns"}, {0, 2}, 4},
		{{"repeat=2", "start=7us"}, {7, 9}, 11},
		{{"repeat=3", "stop=4us", "interval=5us"}, {0}, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *settings[6] = {"bytes=12500"};
		struct fake_lab *lab;
		uint32_t nb = 0;

		memcpy(settings + 1, rows[i].settings, sizeof(rows[i].settings));
		lab = fake_lab("long", 2, 1, settings);
		fake_lab_begin(lab);
		fake_lab_run(lab, NEVER_PS);
		while (nb < 4 && (nb == 0 || rows[i].begins_us[nb] > 0))
			nb++;
		cr_assert_eq(lab->nb_flows, nb, "row %zu: %u", i, lab->nb_flows);
		for (uint32_t f = 0; f < nb; f++)
			cr_expect_eq(lab->flows[f].start_ps, rows[i].begins_us[f] * US, "row %zu",
			             i);
		cr_expect(lab->w.is_finite_done);
		cr_expect_eq(lab->w.nb_rounds, nb);
		cr_expect_eq(lab->w.done_ps, rows[i].done_us * US, "row %zu", i);
		fake_lab_free(lab);
	}
}

Test(workload, a_failed_flow_ends_the_rounds_without_a_time)
{
	struct fake_lab *lab = fake_lab("incast", 4, 1, SET("repeat=5"));

	lab->fails = 5; /* in the second round */
	fake_lab_begin(lab);
	fake_lab_run(lab, NEVER_PS);
	cr_expect_eq(lab->nb_flows, 6);
	cr_expect(lab->w.is_finite_done);
	cr_expect_eq(lab->w.nb_rounds, 1);
	cr_expect_eq(lab->w.done_ps, 0);
	fake_lab_free(lab);
}

Test(workload, an_incast_has_its_senders_at_each_sink)
{
	static const struct {
		const char *settings[4];
		uint32_t nb_flows;
		struct {
			uint32_t src, dst;
		} flows[8];
	} rows[] = {
		{{"qps=1"}, 4, {{1, 0}, {2, 0}, {3, 0}, {4, 0}}},
		{{"senders=2"}, 2, {{1, 0}, {2, 0}}},
		{{"senders=2", "first_sink=3"}, 2, {{4, 3}, {0, 3}}},
		{{"senders=2", "sinks=2"}, 4, {{2, 0}, {3, 0}, {4, 1}, {2, 1}}},
		{{"senders=1", "sinks=4"}, 4, {{4, 0}, {4, 1}, {4, 2}, {4, 3}}},
		{{"qps=2", "senders=1"}, 2, {{1, 0}, {1, 0}}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab = fake_lab("incast", 5, 1, rows[i].settings);

		fake_lab_begin(lab);
		fake_lab_run(lab, NEVER_PS);
		cr_assert_eq(lab->nb_flows, rows[i].nb_flows, "row %zu", i);
		for (uint32_t f = 0; f < lab->nb_flows; f++) {
			cr_expect_eq(lab->flows[f].conf.src, rows[i].flows[f].src, "row %zu", i);
			cr_expect_eq(lab->flows[f].conf.dst, rows[i].flows[f].dst, "row %zu", i);
			cr_expect_eq(lab->flows[f].start_ps, 0);
		}
		fake_lab_free(lab);
	}
}

Test(workload, a_permutation_leaves_nobody_out_and_nobody_to_himself)
{
	for (uint32_t nb = 2; nb < 40; nb++) {
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct fake_lab *lab = fake_lab("permutation", nb, seed, SET("repeat=2"));
			uint64_t seen = 0;

			fake_lab_begin(lab);
			fake_lab_run(lab, NEVER_PS);
			cr_assert_eq(lab->nb_flows, 2 * nb);
			for (uint32_t i = 0; i < nb; i++) {
				seen |= UINT64_C(1) << lab->flows[i].conf.dst;
				cr_expect_eq(lab->flows[i].conf.src, i);
				cr_expect_eq(lab->flows[nb + i].conf.dst, lab->flows[i].conf.dst,
				             "the same in each round");
			}
			cr_expect_eq(seen, (UINT64_C(1) << nb) - 1);
			fake_lab_free(lab);
		}
	}
}

/* Of four hosts there are 9 such permutations. */
Test(workload, random_permutations_are_equally_likely)
{
	uint32_t count[256] = {0}, nb_seen = 0;

	for (uint64_t seed = 0; seed < 9000; seed++) {
		struct fake_lab *lab = fake_lab("permutation", 4, seed, NULL);
		uint32_t code = 0;

		fake_lab_begin(lab);
		for (int i = 0; i < 4; i++)
			code = code << 2 | lab->flows[i].conf.dst;
		count[code]++;
		fake_lab_free(lab);
	}
	for (int i = 0; i < 256; i++) {
		if (count[i] == 0)
			continue;
		nb_seen++;
		cr_expect(count[i] > 850 && count[i] < 1150, "%u", count[i]);
	}
	cr_expect_eq(nb_seen, 9);
}

Test(workload, a_shift_goes_to_the_host_so_much_further)
{
	struct fake_lab *lab = fake_lab("permutation", 5, 1, SET("shift=3"));

	fake_lab_begin(lab);
	for (uint32_t i = 0; i < 5; i++)
		cr_expect_eq(lab->flows[i].conf.dst, (i + 3) % 5);
	fake_lab_free(lab);
}

/* ---- a trace ---- */

Test(workload, a_trace_plays_at_its_times_from_start_on)
{
	static struct trace_flow rows[] = {
		{0, 5, 0, 1, 1},
		{1000, 6, 2, 1, 2},
		{1000, 7, 1, 2, 3},
		{5000, 8, 0, 2, 4},
	};
	struct trace_file trace = {.name = "x", .nb = 4, .flows = rows};

	for (int stopped = 0; stopped < 2; stopped++) {
		struct fake_lab *lab =
			fake_lab("trace", 3, 1, SET("start=2us", stopped ? "stop=6us" : "qps=1"));

		lab->w.trace = &trace;
		fake_lab_begin(lab);
		fake_lab_run(lab, NEVER_PS);
		cr_assert_eq(lab->nb_flows, stopped ? 3 : 4);
		for (uint32_t i = 0; i < lab->nb_flows; i++) {
			const struct flow *f = &lab->flows[i];

			cr_expect_eq(f->start_ps, (2000 + rows[i].at_ns) * PS_PER_NS);
			cr_expect_eq(f->conf.src, rows[i].src);
			cr_expect_eq(f->conf.dst, rows[i].dst);
			cr_expect_eq(f->conf.bytes, rows[i].bytes);
			cr_expect_eq(f->conf.qp, FLOW_QP_FRESH);
		}
		cr_expect(lab->w.is_finite_done);
		fake_lab_free(lab);
	}
}

/* ---- what can't run ---- */

Test(workload, what_cannot_run_is_refused_with_key_and_remedy)
{
	static struct trace_flow far_flow = {0, 5, 0, 8, 17};
	struct trace_file trace = {.name = "x.trace", .nb = 1, .flows = &far_flow};
	static const struct {
		const char *kind;
		uint32_t nb_hosts;
		const char *settings[4];
		const char *key, *why;
	} rows[] = {
		{"long", 1, {NULL}, "kind", "2 would do"},
		{"long", 8, {"dst=8"}, "dst", "there is no host 8; the last is 7"},
		{"long", 8, {"src=9"}, "src", "there is no host 9"},
		{"long", 8, {"src=1"}, "dst", "host 1 is src too"},
		{"long", 8, {"start=5us", "stop=5us"}, "stop", "not after start"},
		{"long", 8, {"bytes=3", "qps=4"}, "bytes", "fewer qps"},
		{"incast", 8, {"senders=8"}, "senders", "7 hosts"},
		{"incast", 8, {"sinks=8"}, "sinks", "at most 7"},
		{"incast", 8, {"first_sink=8"}, "first_sink", "no host 8"},
		{"permutation", 8, {"shift=8"}, "shift", "1 to 7"},
		{"all-to-all", 8, {"group=1"}, "group", "2 or more"},
		{"all-to-all", 8, {"group=3"}, "group", "a divisor"},
		{"all-to-all", 3456, {NULL}, "group", "11940480 QPs"},
		{"allreduce", 8, {"group=16"}, "group", "a divisor"},
		{"allreduce", 8, {"bytes=31", "qps=4"}, "bytes", "at least 32"},
		{"hotspot", 8, {"on=3ms"}, "off", "not after on"},
		{"hotspot", 8, {"every=1ms"}, "every", "2000000 ns"},
		{"hotspot", 8, {"roots=4"}, "roots", "4 roots for 1 senders"},
		{"hotspot", 8, {"hot_share=100%"}, "hot_share", "a smaller share"},
		{"trace", 8, {NULL}, "file", "x.trace:17: there is no host 8; the last is 7"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab =
			fake_lab(rows[i].kind, rows[i].nb_hosts, 1, rows[i].settings);
		const char *key;
		char why[256] = "";

		lab->w.trace = &trace;
		key = fake_lab_check(lab, why, sizeof(why));
		cr_assert(key, "row %zu passes", i);
		cr_expect_str_eq(key, rows[i].key, "row %zu: %s", i, why);
		cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
		free(lab->w.own_params);
		free(lab->w.state);
		free(lab);
	}
}

Test(workload, which_end_by_themselves_is_known)
{
	static const struct {
		const char *kind, *settings[3];
		bool is_endless;
	} rows[] = {
		{"long", {NULL}, false},
		{"incast", {"repeat=0"}, true},
		{"incast", {"repeat=0", "stop=1ms"}, false},
		{"uniform", {NULL}, true},
		{"uniform", {"flows=5"}, false},
		{"cdf", {"stop=1s"}, false},
		{"hotspot", {NULL}, true},
		{"hotspot", {"load=0"}, false},
		{"hotspot", {"load=0", "every=5ms"}, true},
		{"trace", {NULL}, false},
		{"allreduce", {"repeat=0"}, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab = fake_lab(rows[i].kind, 8, 1, rows[i].settings);

		cr_expect_eq(workload_is_endless(&lab->w), rows[i].is_endless, "row %zu", i);
		fake_lab_free(lab);
	}
}

/* Also the widest fabric there may be, with the defaults of each kind. */
/* That it is true is what a fake laboratory looks after in all tests. */
Test(workload, how_many_flows_there_will_be_is_known)
{
	static const struct {
		const char *kind, *settings[3];
		uint64_t want;
	} rows[] = {
		{"long", {"qps=3", "repeat=2"}, 6},
		{"incast", {"repeat=0"}, 0},
		{"incast", {"repeat=5", "stop=1ms"}, 0},
		{"incast", {"senders=2"}, 2},
		{"permutation", {"repeat=3"}, 24},
		{"all-to-all", {"qps=2"}, 112},
		{"allreduce", {"repeat=2"}, 224},
		{"allreduce", {"group=4", "qps=3"}, 144},
		{"uniform", {"flows=5"}, 5},
		{"uniform", {"stop=1ms"}, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_lab *lab = fake_lab(rows[i].kind, 8, 1, rows[i].settings);

		fake_lab_begin(lab);
		cr_expect_eq(lab->w.nb_all, rows[i].want, "row %zu: %llu", i,
		             (unsigned long long)lab->w.nb_all);
		if (rows[i].want)
			fake_lab_run(lab, NEVER_PS);
		fake_lab_free(lab);
	}
}

Test(workload, each_kind_begins_among_2_and_among_many_hosts)
{
	static struct trace_flow one = {0, 5, 0, 1, 1};
	struct trace_file trace = {.name = "x", .nb = 1, .flows = &one};
	static const uint32_t nbs[] = {2, 3, 64};

	for (const struct workload_ops *const *k = workload_kinds; *k; k++) {
		cr_expect_eq(workload_find((*k)->name), *k);
		for (int i = 0; i < 3; i++) {
			struct fake_lab *lab = fake_lab((*k)->name, nbs[i], 1, NULL);

			lab->w.trace = &trace;
			fake_lab_begin(lab);
			fake_lab_run(lab, 100 * US);
			cr_expect_gt(lab->nb_flows, 0, "%s among %u", (*k)->name, nbs[i]);
			fake_lab_free(lab);
		}
	}
	cr_expect_null(workload_find("incas"));
	cr_expect_null(workload_find(""));
}
