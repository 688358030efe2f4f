/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "scenario_rig.h"

Test(scenario, mistakes_are_told_with_line_and_what_would_do)
{
	static const struct scenario_row rows[] = {
		{" ", "t.scenario:1: no [workload NAME]: nothing to run\n"},
		{LONG "[labor]\nseed = 1\n",
	         "t.scenario:3: unknown section 'labor' (nearest: 'lab')\n"},
		{LONG "[lab]\nsede = 1\n", "t.scenario:4: unknown key 'sede' (nearest: 'seed')\n"},
		{LONG "[lab]\nseed = 1\nseed = 2\n",
	         "t.scenario:5: key 'seed' was set at line 4 already\n"},
		{LONG "[lab]\n[lab]\n", "t.scenario:4: section [lab] began at line 3 already\n"},
		{LONG "[lab]\npayload = none\n",
	         "t.scenario:4: unknown payload 'none' (known: real, absent)\n"},
		{LONG "[lab]\npsn = 16777216\n",
	         "t.scenario:4: psn = 16777216: out of range (0 to 16777215)\n"},
		{LONG "[lab]\nsample = 5\n",
	         "t.scenario:4: sample = 5: needs a unit of time (ns, us, ms, s, min)\n"},
		{LONG "[topology]\nkind = leaf_spline\n",
	         "t.scenario:4: unknown kind of topology 'leaf_spline' (known: leaf-spine, "
	         "fat-tree, two-paths, dumbbell, star, rlft, back-to-back)\n"},
		{LONG "[topology]\nkind = fat-tree\nk = 5\n",
	         "t.scenario:5: [topology] k: half of 5 ports is no whole number; 4 or 6 would "
	         "do\n"},
		{LONG "[topology]\nhosts = 1\n",
	         "t.scenario:4: hosts = 1: out of range (2 to 4096)\n"},
		{LONG "[host]\ncc = dqcn\n", "t.scenario:4: unknown cc engine 'dqcn' (known: "},
		{LONG "[host]\nreliability = none\n",
	         "t.scenario:4: [host] reliability = none is that of UC and UD; RC needs "
	         "another\n"},
		{LONG "[host]\nframing = wefd\n",
	         "t.scenario:4: framing 'wefd' is none of auto, weft and rocev2\n"},
		{LONG "[host]\nframing = weft\n", ""},
		{LONG "[host]\nframing = auto\n", ""},
		{LONG "[host]\npath_mtu = 1500\n",
	         "t.scenario:4: [host] path_mtu = 1500: 256, 512, 1024, 2048 or 4096, please\n"},
		{LONG "[host]\nmtu = 1500\npath_mtu = 4096\n",
	         "t.scenario:5: [host] path_mtu = 4096 and 84 bytes of headers do not fit into "
	         "mtu = 1500, which has room for 1024\n"},
		{LONG "[host]\nmtu = 600\n",
	         "t.scenario:4: [host] path_mtu = 1024 and 84 bytes of headers do not fit into "
	         "mtu = 600, which has room for 512\n"},
		{LONG "[host]\nmtu = 1110\n", ""},
		{LONG "[host]\nmtu = 1110\nframing = weft\n",
	         "t.scenario:4: [host] path_mtu = 1024 and 92 bytes of headers do not fit into "
	         "mtu = 1110, which has room for 512\n"},
		{LONG "[engine gbn]\nrenack = 1us\n",
	         "t.scenario:4: unknown key 'renack' (known: renak)\n"},
		{LONG "[engine gbn]\n[engine gbn]\n",
	         "t.scenario:4: section [engine gbn] began at line 3 already\n"},
	};

	TRY_ROWS(rows);
}

Test(scenario, every_key_has_a_default)
{
	struct scenario *s = read_good(LONG);
	const struct lab_conf *c = &s->conf;

	cr_expect_str_eq(c->scenario, "t.scenario");
	cr_expect_eq(c->seed, 1);
	cr_expect_eq(c->duration_ns, 0);
	cr_expect_eq(c->sample_ns, 10000);
	cr_expect_not(c->real_payload);
	cr_expect_eq(c->first_psn, LAB_PSN_RANDOM);
	cr_expect_eq(c->plan->kind, PLAN_STAR);
	cr_expect_eq(c->plan->nb_hosts, 8);
	cr_expect_eq(c->host.path_mtu_bytes, 1024);
	cr_expect_eq(c->host.window_pkts, 256);
	cr_expect_eq(c->host.retry_cnt, 7);
	cr_expect(c->host.obeys_pfc);
	cr_expect_eq(c->engines.set.rel, reliability_find("gbn"));
	cr_expect_eq(c->engines.set.cc, cc_find("fixed"));
	cr_expect_eq(c->engines.set.lb, lb_find("fixed", LB_HOST));
	cr_expect_eq(c->engines.rel_dgram, reliability_find("none"));
	cr_expect_not_null(c->engines.params.rel);
	cr_expect_eq(c->sw.lb, lb_find("ecmp", LB_SWITCH));
	cr_expect_eq(c->sw.params.buffer_bytes, 16 << 20);
	cr_expect_eq(c->sw.trim_queue, QUEUE_NONE);
	cr_expect_eq(c->port.beta_dt, 8);
	cr_expect_null(c->faults);
	cr_expect_eq(c->nb_probes, 0);
	cr_assert_eq(c->nb_workloads, 1);
	cr_expect_str_eq(c->workloads[0].name, "w");
	cr_expect_eq(c->workloads[0].ops, workload_find("long"));
	scenario_free(s);
}

Test(scenario, keys_are_what_the_run_has)
{
	struct scenario *s = read_good("[lab]\nseed = 7\nduration = 2ms\nsample = 0\n"
	                               "payload = real\npsn = 16777215\n"
	                               "probes = goodput, drops\nprobes = goodput:h3\n"
	                               "[topology]\nkind = leaf-spine\nleaves = 2\n"
	                               "hosts_per_leaf = 2\ncore_rate = 400G\n"
	                               "[host]\npath_mtu = 4096\nobeys_pfc = no\n"
	                               "[engine gbn]\nrenak = 9us\n" LONG);
	const struct lab_conf *c = &s->conf;

	cr_expect_eq(c->seed, 7);
	cr_expect_eq(c->duration_ns, 2000000);
	cr_expect_eq(c->sample_ns, 0);
	cr_expect(c->real_payload);
	cr_expect_eq(c->first_psn, 0xffffff);
	cr_assert_eq(c->nb_probes, 3);
	cr_expect_str_eq(c->probes[0], "goodput");
	cr_expect_str_eq(c->probes[2], "goodput:h3");
	cr_expect_eq(c->plan->nb_hosts, 4);
	cr_expect_eq(c->plan->nb_switches, 4);
	cr_expect_eq(c->plan->links[4].rate_bps, 400000000000);
	cr_expect_eq(c->host.path_mtu_bytes, 4096);
	cr_expect_not(c->host.obeys_pfc);
	cr_expect_eq(*(const uint64_t *)c->engines.params.rel, 9000);
	scenario_free(s);
}

Test(scenario, a_key_of_the_command_line_stands_in_place_of_the_files)
{
	static const char *const overrides[] = {"seed=9",
	                                        "topology.hosts=4",
	                                        "workload.w.bytes=2M",
	                                        "workload.v.kind=incast",
	                                        "engine.gbn.renak=4us",
	                                        "queue.2.ecn_kmax=10K",
	                                        "probes=drops",
	                                        NULL};
	char *errors;
	struct scenario *s = read_text("[lab]\nseed = 1\nprobes = goodput\n" LONG
	                               "bytes = 1M\n[topology]\nhosts = 16\n",
	                               overrides, &errors);

	cr_assert_not_null(s, "%s", errors);
	cr_expect_str_empty(errors);
	cr_expect_eq(s->conf.seed, 9);
	cr_expect_eq(s->conf.plan->nb_hosts, 4);
	cr_expect_eq(*(const uint64_t *)s->conf.engines.params.rel, 4000);
	cr_expect_eq(s->conf.sw.queues[2].kmax_bytes, 10240);
	cr_assert_eq(s->conf.nb_probes, 1);
	cr_expect_str_eq(s->conf.probes[0], "drops");
	cr_assert_eq(s->conf.nb_workloads, 2);
	cr_expect_eq(s->workloads[0].params.bytes, 2 << 20);
	cr_expect_str_eq(s->workloads[1].name, "v");
	cr_expect_eq(s->workloads[1].ops, workload_find("incast"));
	free(errors);
	scenario_free(s);
}

Test(scenario, mistakes_of_the_command_line_are_told_as_such)
{
	static const struct scenario_row rows[] = {
		{LONG, "command line: seed: seed = x: not a number\n", {"seed=x"}},
		{LONG, "command line: sede: unknown key 'sede' (nearest: 'seed')\n", {"sede=1"}},
		{LONG,
	         "command line: hst.cc: unknown section 'hst' (nearest: 'host')\n",
	         {"hst.cc=x"}},
		{LONG, "command line: seed: [SECTION.]KEY=VALUE, please\n", {"seed"}},
		{LONG "[topology]\nkind = fat-tree\nk = 4\n",
	         "command line: topology.k: [topology] k: half of 5 ports is no whole number; 4 "
	         "or 6 would do\n",
	         {"topology.k=5"}},
		{LONG, "command line: workload.w.fan: unknown key 'fan'", {"workload.w.fan=1"}},
		{LONG,
	         "command line: workload.w.kind: unknown kind of workload 'lung' (known: long",
	         {"workload.w.kind=lung", "workload.w.bytes=1"}},
	};

	TRY_ROWS(rows);
}

Test(scenario, those_that_are_shipped_have_no_mistake)
{
	static const char *const names[] = {"long",      "incast",    "permutation",
	                                    "websearch", "allreduce", "all-to-all"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[512], *errors;
		struct scenario *s;
		size_t size;
		FILE *out = open_memstream(&errors, &size);

		snprintf(path, sizeof(path), "%s/conf/lab/%s.scenario", getenv("WEFT_SOURCE_ROOT"),
		         names[i]);
		s = scenario_read(path, NULL, out);
		fclose(out);
		cr_expect_not_null(s, "%s", names[i]);
		cr_expect_str_empty(errors, "%s", errors);
		free(errors);
		scenario_free(s);
	}
}
