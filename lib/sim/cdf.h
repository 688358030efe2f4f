/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SIM_CDF_H
#define WEFT_SIM_CDF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * @file
 * Sizes of flows as a cumulative distribution from a file: rows of bytes and percent of all flows
 * that are not larger, both rising, up to 100 percent. Between two rows sizes are equally likely;
 * what the first row leaves open lies between 0 bytes and it. A row with the bytes of the one
 * before is a jump: all of that share have this size.
 *
 * Source of the form: traffic_gen of alibaba-edu's HPCC simulator.
 */

/** Rows at most, and bytes of a flow. Our choice. */
#define CDF_POINTS_MAX 4096
#define CDF_BYTES_MAX (UINT64_C(1) << 40)

struct cdf;

/**
 * Read one.
 *
 * @param in         any bytes; stays the caller's.
 * @param name       of the file, for messages.
 * @param why, size  gets one line on error: "NAME:LINE: what is wrong; what would do".
 * @return           NULL if it is none, or without memory.
 */
struct cdf *cdf_read(FILE *in, const char *name, char *why, size_t size);
/** NULL does nothing. */
void cdf_free(struct cdf *cdf);

/** Mean size in bytes, above 0. */
double cdf_mean_bytes(const struct cdf *cdf);

/**
 * The size that a share of the flows do not exceed, rounded to whole bytes.
 *
 * @param share  0 to 1.
 * @return       1 to CDF_BYTES_MAX.
 */
uint64_t cdf_quantile_bytes(const struct cdf *cdf, double share);

#endif
