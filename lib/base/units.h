/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_UNITS_H
#define WEFT_UNITS_H

#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * Numbers with units, as people write them in conf files: "55us", "100G", "4K", "1%".
 *
 * A number is decimal, with a point if it likes ("2.5G"), without sign, exponent or blanks. What
 * is read into an integer must come out whole: "0.5ns" is an error, not 0.
 */
enum units {
	UNITS_COUNT, /**< plain number of things; "pkt" may follow */
	UNITS_TIME,  /**< into ns; ns, us, ms, s, min; only 0 may stand without a unit */
	UNITS_RATE,  /**< into bit/s; K, M, G, T are powers of 1000; "bps", "bit/s" or "b/s" may
	                follow */
	UNITS_SIZE,  /**< into bytes; K, M, G, T (Ki, ...) are powers of 1024; "B" may follow */
	UNITS_SHARE, /**< of all, into millionths; % or ppm; only 0 may stand without a unit */
};

/**
 * Read a whole number.
 *
 * @param[out] value  in ns, bit/s or bytes; not written on error.
 * @param[out] why    what is wrong, good for "NAME: WHY"; static. Not written on success.
 * @return            0, -EINVAL (not such a number), or -ERANGE (beyond 2^64 - 1).
 */
int units_parse(enum units units, const char *text, uint64_t *value, const char **why);

/** Read a real number, "0.25" or "25%", in the same way. */
int units_parse_real(const char *text, double *value, const char **why);

/** Text that is long enough for all of units_format. */
#define UNITS_TEXT_MAX 32

/** Write a value with the largest unit that leaves it whole: 55000 ns is "55us". Returns text. */
const char *units_format(enum units units, uint64_t value, char text[UNITS_TEXT_MAX]);

#endif
