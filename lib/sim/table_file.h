/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_TABLE_FILE_H
#define WEFT_SIM_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * @file
 * Files of numbers that users give: rows of fields with blanks, commas or semicolons between them;
 * '#' begins a comment, empty lines are skipped. Any bytes are survived.
 */

/** Longest line, and most fields of one. Our choice. */
#define TABLE_LINE_MAX 255
#define TABLE_FIELDS_MAX 8

struct table_file {
	FILE *in;         /**< the caller's */
	const char *name; /**< for messages */
	uint32_t line;    /**< the last one read, from 1 on */
	char *why;        /**< gets one line on error: "NAME:LINE: what is wrong; what would do" */
	size_t why_size;
	char text[TABLE_LINE_MAX + 1];
	const char *fields[TABLE_FIELDS_MAX];
};

/**
 * Read the next row into fields; good until the next call.
 *
 * @return  how many fields, 0 at the end of the file, or -EINVAL.
 */
int table_file_next(struct table_file *t);

/** Say what is wrong in this line. @return -EINVAL. */
int table_file_refuse(const struct table_file *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * A file of the laboratory by name: FILE itself if it is an absolute path, FILE in folder, or a
 * shipped one, of which FILE is the name without suffix.
 *
 * @param folder     of the scenario; NULL = the current one.
 * @param suffix     ".cdf"
 * @param why, size  gets one line on error: where it was looked for, and what would do.
 * @return           the stream, the caller's; NULL with why.
 */
FILE *table_file_open(const char *folder, const char *file, const char *suffix, char *why,
                      size_t size);

#endif
