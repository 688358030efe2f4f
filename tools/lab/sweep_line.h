/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_LINE_H
#define WEFT_LAB_SWEEP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sweep_row.h"

/**
 * @file
 * Lines of a journal: a text, a tab, a sum of the text as eight digits, a newline. A line that was
 * written in part only, or is not ours, is told by it.
 */

/** What a line has more than its text. */
#define LINE_SEAL 10
/** Room for the longest line and a 0. */
#define LINE_MAX_SIZE (ROW_TEXT_MAX + LINE_SEAL + 1)

/** Make a text of len bytes, with room for LINE_SEAL more and a 0, a line. */
void line_seal(char *text, size_t len);

/**
 * Make a line, of len bytes without its newline, a text again.
 *
 * @return length of the text; 0: the sum is wrong.
 */
size_t line_open(char *line, size_t len);

/**
 * Read a line.
 *
 * @param line           has LINE_MAX_SIZE bytes.
 * @param[out] is_whole  there was a newline.
 * @return               its length without the newline; 0 and not whole: the end.
 */
size_t line_read(FILE *in, char *line, bool *is_whole);

#endif
