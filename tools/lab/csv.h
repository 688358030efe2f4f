/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_CSV_H
#define WEFT_LAB_CSV_H

#include <stdio.h>

#include "summary.h"

/**
 * @file
 * Comma-separated values. Source of quotes: RFC 4180; lines end in LF alone.
 */

/** Write one field, in quotes where it needs them. */
void csv_field(FILE *f, const char *text);
void csv_value(FILE *f, const struct value *value);

/**
 * Write summary.csv and a file for each sheet (sheets.h) into a folder, which is made if it is not
 * there. A sheet without rows has no file: an older one of its name is removed.
 *
 * @return 0 or -errno, which is logged.
 */
int csv_write(const struct result *result, const struct summary *summary, const char *folder);

#endif
