/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_VALUE_H
#define WEFT_LAB_VALUE_H

#include <stdint.h>

/**
 * @file
 * One number or word of what the laboratory tells. What is not defined (the mean of nothing) is
 * NONE: empty in CSV, null in JSON, "-" in a table; there are no NaNs.
 */
enum value_kind { VALUE_NONE, VALUE_COUNT, VALUE_REAL, VALUE_WORD };

struct value {
	enum value_kind kind;
	union {
		uint64_t count;
		double real;
		const char *word; /**< lives as long as what it is said of */
	};
};

/** Digits of a real number: all that come out the same on every machine. */
#define VALUE_DIGITS 15
#define VALUE_TEXT_MAX 32

static inline struct value
value_none(void)
{
	return (struct value){.kind = VALUE_NONE};
}

static inline struct value
value_count(uint64_t count)
{
	return (struct value){.kind = VALUE_COUNT, .count = count};
}

static inline struct value
value_real(double real)
{
	return (struct value){.kind = VALUE_REAL, .real = real};
}

/** NULL = none. */
static inline struct value
value_word(const char *word)
{
	return word ? (struct value){.kind = VALUE_WORD, .word = word} : value_none();
}

/** A time, or none if it never came; in whole picoseconds. */
struct value value_time(uint64_t at_ps);

/** a / b, or none if b is 0. */
struct value value_ratio(double a, double b);

/** As CSV has it, but unquoted; words are returned as they are. */
const char *value_text(const struct value *value, char text[VALUE_TEXT_MAX]);

#endif
