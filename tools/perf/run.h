/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_RUN_H
#define WEFT_PERF_RUN_H

#include "load.h"
#include "nodes.h"
#include "options.h"

/**
 * Meet the other end, agree, measure, tell. The worker runs, and load is one of its nodes.
 *
 * @return false after a message on stderr.
 */
bool perf_run(const struct options *opt, struct nodes *nodes, struct load *load);

#endif
