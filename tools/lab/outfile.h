/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_OUTFILE_H
#define WEFT_LAB_OUTFILE_H

#include <limits.h>
#include <stdio.h>

/**
 * @file
 * Files that are written, with what goes wrong logged once: which file, and why.
 */

struct outfile {
	FILE *f; /**< to be written to, unless the open failed */
	char path[PATH_MAX];
};

/** Make a folder, or use one that is there and may be written into. @return 0 or -errno. */
int outfile_folder(const char *folder);

/**
 * Whether a file could be begun, as far as one can tell without doing it: for what is written at
 * the end of a long run.
 *
 * @return 0 or -errno, which is logged.
 */
int outfile_check(const char *path);

/**
 * Begin a file, in the place of an older one.
 *
 * @param folder  NULL = name is a path.
 * @return        0 or -errno.
 */
int outfile_open(struct outfile *out, const char *folder, const char *name);

/** End it. @return 0, or -errno if not all of it was written. */
int outfile_close(struct outfile *out);

#endif
