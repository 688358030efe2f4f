/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The laboratory on one core: delivered payload packets per second of CPU time, each with its way
 * through the fabric, its ACK and all that a scenario counts. A permutation of 2 MB WRITEs of 1 KB
 * packets, an ACK per packet, gbn and fixed: 128 hosts (fat tree of k = 8) and 432 (RLFT of k =
 * 12).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_rig.h"
#include "timing.h"

static double
run(enum plan_kind kind, uint32_t k, uint64_t bytes)
{
	struct plan_params topology = lab_rig_topology();
	struct lab_rig r;
	struct workload *w;
	const struct result *result;
	uint64_t start_ns, took_ns;
	char text[32];

	topology.k = k;
	topology.levels = 3;
	lab_rig_init(&r, kind, &topology);
	r.conf.sample_ns = 10000;
	r.conf.host.path_mtu_bytes = 1024;
	lab_rig_set_engine(&r.conf.engines.set.cc->info, r.conf.engines.params.cc, "window",
	                   "150K");
	lab_rig_set_engine(&r.conf.engines.set.cc->info, r.conf.engines.params.cc, "ack_every",
	                   "1");
	w = lab_rig_workload(&r, "permutation", FLOW_WRITE);
	snprintf(text, sizeof(text), "%lu", (unsigned long)bytes);
	lab_rig_set(w, "bytes", text);
	start_ns = timing_now_ns();
	result = lab_rig_run(&r);
	took_ns = timing_now_ns() - start_ns;
	if (result->violation.rule)
		printf("%s: %s\n%s\n", result->violation.rule, result->violation.what,
		       result->violation.history ? result->violation.history : "");
	if (getenv("BENCH_LAB_VERBOSE"))
		printf("%lu packets, %lu events, %.3f ms virtual, %.3f s\n",
		       (unsigned long)result->data_pkts, (unsigned long)result->nb_events,
		       (double)result->end_ps / 1e9, (double)took_ns / 1e9);
	took_ns /= result->data_pkts;
	lab_rig_fini(&r);
	return (double)took_ns;
}

static double
report(const char *name, enum plan_kind kind, uint32_t k, uint64_t bytes)
{
	double ns[TIMING_RUNS], median;

	for (uint32_t i = 0; i < TIMING_RUNS; i++)
		ns[i] = run(kind, k, bytes);
	median = timing_median(ns);
	printf("%-40s %9.0f packets/s  (%.0f ns each, %.0f to %.0f)\n", name, 1e9 / median, median,
	       ns[0], ns[TIMING_RUNS - 1]);
	return median;
}

/* An argument: the smaller alone, for a profiler. */
int
main(int argc, char **argv)
{
	double small, large;

	(void)argv;
	small = report("128 hosts, fat tree", PLAN_FAT_TREE, 8, 2000000);
	if (argc > 1)
		return 0;
	large = report("432 hosts, RLFT", PLAN_RLFT, 12, 2000000);

	printf("%-40s %9.2f x\n", "432 hosts beside 128", large / small);
	return 0;
}
