/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PARAM_H
#define WEFT_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * Tunables by name: tables that describe params structs, and texts that change them.
 */

/** How a parameter lies in its params struct. */
enum param_type {
	PARAM_U32, /**< uint32_t */
	PARAM_U64, /**< uint64_t */
	PARAM_F64, /**< double */
	/* not numbers: written in another way; unit "1", min 0, max 1, def 0 or 1 */
	PARAM_YES_NO,  /**< bool; yes or no */
	PARAM_PATTERN, /**< struct param_pattern; 1 to 64 digits, each 0 or 1; def 0 */
};

/** A row of digits: bit i is the i-th from the left. */
struct param_pattern {
	uint64_t bits;
	uint32_t nb_bits; /**< 1 to 64; 0 = none of them is 1 */
};

/**
 * One tunable of an engine or of any other part with a params struct.
 *
 * Tables of these are static const and end with a NULL name. def, min and max are in the unit
 * named; as doubles they are exact for integers up to 2^53, which is also the most that max can be
 * for integers.
 */
struct param_desc {
	const char *name; /**< key in a conf file, without a unit: values have it (renak = 4us) */
	enum param_type type;
	size_t offset; /**< of the member in the params struct */
	double def;    /**< min <= def <= max */
	double min, max;
	const char *unit;   /**< "ns", "bps", "B", "pkt", "ppm", or "1" for a plain number */
	const char *source; /**< parent of the default, e.g. "IRN SIGCOMM'18 s3.2", "our choice" */
};

/** Set all members that descs (NULL = none) describes to their defaults. */
void param_defaults(const struct param_desc *descs, void *params);

/** The description of a name, or NULL. */
const struct param_desc *param_find(const struct param_desc *descs, const char *name);

/**
 * Set one member from text.
 *
 * The text has a unit of the parameter's kind (units.h); a real number may be written in percent.
 *
 * @param descs      NULL = no parameters.
 * @param why, size  gets one line on error: what is wrong with name or text, the nearest known
 * name, the range.
 * @return           0, -ENOENT (no such name), -EINVAL (not such a number), -ERANGE; params are
 *                   unchanged on error.
 */
int param_set(const struct param_desc *descs, void *params, const char *name, const char *text,
              char *why, size_t size);

/** Set one member to what it is in another struct of the same type. */
void param_copy(const struct param_desc *desc, void *params, const void *from);

/** Text that is long enough for all of param_format. */
#define PARAM_TEXT_MAX 72

/** Write a member's present value so that param_set reads it back. Returns text. */
const char *param_format(const struct param_desc *desc, const void *params,
                         char text[PARAM_TEXT_MAX]);

#endif
