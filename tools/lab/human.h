/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_HUMAN_H
#define WEFT_LAB_HUMAN_H

#include "value.h"

/**
 * @file
 * Values as people read them: three or four digits and a unit that fits.
 */

#define HUMAN_TEXT_MAX 32

/**
 * @param unit  "ns" (1.23 us), "bps" (97.5 Gb/s), "B" (12.3 kB, of 1000), any other: 1,234,567.
 * @return      text; "-" for none.
 */
const char *human(struct value value, const char *unit, char text[HUMAN_TEXT_MAX]);

/** The same with a digit less, for where there is little room. */
const char *human_short(struct value value, const char *unit, char text[HUMAN_TEXT_MAX]);

/** A share: "0.12 %". */
const char *human_share(struct value value, char text[HUMAN_TEXT_MAX]);

#endif
