/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[] = {[PERF_WRITE] = "write",
                                       [PERF_READ] = "read",
                                       [PERF_SEND] = "send",
                                       [PERF_ATOMIC] = "atomic"};

const char *
perf_op_name(enum perf_op op)
{
	return op_names[op];
}

enum perf_op
perf_op_find(const char *name)
{
	enum perf_op op = 0;

	while (op < PERF_OP_NB && strcmp(op_names[op], name) != 0)
		op++;
	return op;
}

void
report_test(const struct perf_test *test, const char *own, const char *peer)
{
	char at_once[32] = "one message at a time";

	if (!test->is_lat)
		snprintf(at_once, sizeof(at_once), "%u outstanding", test->depth);
	printf(" %s %s of %u bytes, RC, %u QP%s, %s, path MTU %u%s\n", perf_op_name(test->op),
	       test->is_lat ? "latency" : "bandwidth", test->size, test->nb_qps,
	       test->nb_qps == 1 ? "" : "s", at_once, test->mtu,
	       test->is_checked ? ", every byte compared" : "");
	printf(" own address %s, peer %s\n", own, peer);
}

/* Columns as ib_write_bw and ib_write_lat 4.5 have them, so that scripts need no change. */
static void
report_bandwidth(const struct perf_test *test, const struct perf_result *r, bool gbits)
{
	double bits = 8.0 * test->size, seconds = (double)r->ns / 1e9;
	double rate = (double)r->iters / seconds;
	double unit = gbits ? 1e9 : 8.0 * 1024 * 1024;
	const char *name = gbits ? "Gb" : "MB";

	printf(" #bytes     #iterations    BW peak[%s/sec]    BW average[%s/sec]   MsgRate[Mpps]\n",
	       name, name);
	printf(" %-7u    %-10" PRIu64 "       %-7.2f            %-7.2f\t\t   %-7.6f\n", test->size,
	       r->iters, r->peak_bps / unit, rate * bits / unit, rate / 1e6);
}

static void
report_lat(const struct perf_test *test, const struct perf_result *r)
{
	puts(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
	     "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]");
	printf(" %-7u %-10" PRIu64 "     %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     "
	       "\t%-7.2f\t\t%-7.2f \t\t%-7.2f\n",
	       test->size, r->iters, r->min_ns / 1e3, r->max_ns / 1e3, r->typical_ns / 1e3,
	       r->avg_ns / 1e3, r->stdev_ns / 1e3, r->p99_ns / 1e3, r->p999_ns / 1e3);
}

void
report_result(const struct perf_test *test, const struct perf_result *result, bool gbits)
{
	if (test->is_lat)
		report_lat(test, result);
	else
		report_bandwidth(test, result, gbits);
}

json_t *
report_json(const struct perf_test *test, const struct perf_result *r)
{
	json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "op", perf_op_name(test->op),
	                      "bytes", (json_int_t)test->size, "qps", (json_int_t)test->nb_qps,
	                      "mtu", (json_int_t)test->mtu, "iterations", (json_int_t)r->iters,
	                      "ns", (json_int_t)r->ns);

	if (test->is_lat)
		json_object_update_new(j, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min_ns",
		                                    r->min_ns, "max_ns", r->max_ns, "typical_ns",
		                                    r->typical_ns, "avg_ns", r->avg_ns, "stdev_ns",
		                                    r->stdev_ns, "p99_ns", r->p99_ns, "p999_ns",
		                                    r->p999_ns));
	else
		json_object_update_new(
			j, json_pack("{s:f, s:f}", "peak_bps", r->peak_bps, "bps",
		                     8e9 * (double)r->iters * test->size / (double)r->ns));
	return j;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double
at_share(const uint64_t *sorted, uint64_t n, double share)
{
	uint64_t idx = (uint64_t)ceil(share * (double)n);

	return (double)sorted[idx ? idx - 1 : 0];
}

void
report_latency(struct perf_result *r, uint64_t *samples_ns, uint64_t n)
{
	double sum = 0, squares = 0;

	qsort(samples_ns, n, sizeof(*samples_ns), compare);
	for (uint64_t i = 0; i < n; i++)
		sum += (double)samples_ns[i];
	r->avg_ns = sum / (double)n;
	for (uint64_t i = 0; i < n; i++)
		squares +=
			((double)samples_ns[i] - r->avg_ns) * ((double)samples_ns[i] - r->avg_ns);
	r->stdev_ns = sqrt(squares / (double)n);
	r->min_ns = (double)samples_ns[0];
	r->max_ns = (double)samples_ns[n - 1];
	r->typical_ns = at_share(samples_ns, n, 0.5);
	r->p99_ns = at_share(samples_ns, n, 0.99);
	r->p999_ns = at_share(samples_ns, n, 0.999);
}
