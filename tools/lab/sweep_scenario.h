/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_SCENARIO_H
#define WEFT_LAB_SWEEP_SCENARIO_H

#include <stdint.h>

#include "sweep_matrix.h"

/**
 * @file
 * Fingerprints by which a sweep that goes on knows that it is still the same.
 */

/**
 * Of a scenario: of the file's bytes, and of those of all files that a key "file" in it, or in the
 * matrix, names.
 *
 * @return 0 or a negative errno: the scenario cannot be read.
 */
int sweep_sum_scenario(const char *path, const struct matrix *matrix, uint64_t *sum);

/** Of the program that is running; 0 if it cannot be read. */
uint64_t sweep_sum_program(void);

#endif
