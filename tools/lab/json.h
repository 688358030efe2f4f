/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_JSON_H
#define WEFT_LAB_JSON_H

#include "summary.h"

/**
 * Write all of a run into one JSON file: an object with the scenario's name, "summary" (an object,
 * metrics by name) and each sheet (sheets.h) as an array of objects.
 *
 * @return 0 or -errno, which is logged.
 */
int json_write(const struct result *result, const struct summary *summary, const char *path);

#endif
