/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PARAM_H
#define WEFT_PARAM_H

#include <stddef.h>

/** How a parameter lies in its params struct. */
enum param_type {
	PARAM_U32, /**< uint32_t */
	PARAM_U64, /**< uint64_t */
	PARAM_F64, /**< double */
};

/**
 * One tunable of an engine or of any other part with a params struct.
 *
 * Tables of these are static const and end with a NULL name. def, min and max are in the unit
 * named; as doubles they are exact for integers up to 2^53.
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

#endif
