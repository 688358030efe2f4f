/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SUMMARY_H
#define WEFT_LAB_SUMMARY_H

#include <stdint.h>

#include "result.h"
#include "value.h"

/**
 * @file
 * A run in numbers: the same names in the same order for every run of a scenario, whatever came
 * out. They are the columns of a sweep's CSV. docs/lab-results.md says what each means.
 */

#define METRIC_NAME_MAX 80

struct metric {
	char name[METRIC_NAME_MAX];
	const char *unit; /**< "ns", "bps", "B", "pkt"; "1" for a plain number */
	struct value value;
};

struct summary {
	uint32_t nb;
	struct metric *metrics;
};

/** @return 0 or -ENOMEM. */
int summary_create(struct summary *summary, const struct result *result);
void summary_free(struct summary *summary);

/** Value of the metric of this name; none if there is none. */
struct value summary_value(const struct summary *summary, const char *name);

/** The scenario's name: that of its file, without its folder. */
const char *summary_scenario(const struct result *result);

#endif
