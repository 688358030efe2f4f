/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_FUZZ_TABLES_H
#define WEFT_TESTS_FUZZ_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "prng.h"

/* Files of rows of numbers, made and mutated. */

#define TABLES_MAX_LEN 4096

struct tables {
	struct prng *rng;
	char *buf; /* TABLES_MAX_LEN */
	size_t len;
};

/* Add text, if there is room for it. */
void tables_add(struct tables *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What may stand between two fields. */
const char *tables_blank(struct tables *t);
/* Change a few bytes, or many, or none. */
void tables_mutate(struct tables *t);

/* What a reader of "fuzz" says: one line with file and line number, or nothing if the file is good.
 */
void tables_check_line(const char *why, bool is_good);

#endif
