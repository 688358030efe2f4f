/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_OPTIONS_H
#define WEFT_LAB_SWEEP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sweep_journal.h"
#include "sweep_matrix.h"
#include "sweep_shard.h"

/** The command line of weft-lab sweep. */
struct sweep_options {
	const char *scenario; /**< argv's; NULL with is_merge */
	struct matrix matrix;
	const char *out;
	uint32_t nb_jobs;    /**< 0 = not said */
	uint64_t timeout_ns; /**< 0 = none */
	struct shard shard;
	bool has_shard; /**< it was said */
	enum journal_how how;
	bool retry, is_quiet;
	bool is_merge;
	uint32_t nb_parts;
	char *const *parts; /**< argv's */
};

/**
 * @return -1 to go on, and sweep_options_free is due; else the exit code: help was printed, or a
 *         mistake was told.
 */
int sweep_options_parse(struct sweep_options *opt, int argc, char **argv);

void sweep_options_free(struct sweep_options *opt);

#endif
