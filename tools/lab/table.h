/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_TABLE_H
#define WEFT_LAB_TABLE_H

#include <stdio.h>

#include "summary.h"

/**
 * Write the summary for a terminal of 100 columns: what was run, what came of it, and how long it
 * took on the clock of the wall (the one part that differs from run to run).
 */
void table_print(FILE *f, const struct result *result, const struct summary *summary);

#endif
