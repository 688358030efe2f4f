/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_REPORT_H
#define WEFT_PERF_REPORT_H

#include <jansson.h>

#include "perf.h"

/** What is going to be measured, and where: a few lines before the start. */
void report_test(const struct perf_test *test, const char *own, const char *peer);

/** perftest's two lines: names of the columns and one row. Bandwidth in MB/s (2^20) or Gb/s. */
void report_result(const struct perf_test *test, const struct perf_result *result, bool gbits);

/** The same as JSON; the caller's to free. */
json_t *report_json(const struct perf_test *test, const struct perf_result *result);

/** Latencies from samples (ns), which are sorted on the way. n is at least 1. */
void report_latency(struct perf_result *result, uint64_t *samples_ns, uint64_t n);

#endif
