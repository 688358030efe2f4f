/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_REPORT_H
#define WEFT_LAB_SWEEP_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "sweep_journal.h"

/**
 * Tell which cells failed, why, and how each is run by itself; of many the first only.
 *
 * @param scenario  NULL = nobody knows here.
 * @return          how many failed.
 */
uint32_t sweep_report_failures(FILE *out, struct journal *journals, uint32_t nb_journals,
                               const char *scenario);

#endif
