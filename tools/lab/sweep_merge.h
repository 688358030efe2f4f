/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_MERGE_H
#define WEFT_LAB_SWEEP_MERGE_H

#include "sweep_options.h"

/** What the name of a CSV's journal has more than the CSV's. */
#define MERGE_SUFFIX ".journal"

/**
 * Make one CSV of shards: of their journals, which lie beside their CSV files. All cells of the
 * sweep must be there, each once.
 *
 * @return the program's exit code.
 */
int sweep_merge(const struct sweep_options *opt);

#endif
