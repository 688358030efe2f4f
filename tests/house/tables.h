/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TABLES_H
#define WEFT_TABLES_H

#include <stdbool.h>

#include "param.h"

/** A row of a number; page is the row's first word. */
void print_number(const char *page, const char *section, const struct param_desc *d);

/** Rows of scenarios; false without memory. */
bool print_lab(void);

#endif
