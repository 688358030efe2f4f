/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any file may be called a distribution of sizes: none crashes the reader; it gives a distribution
 * whose sizes rise with their share and have its mean, or one line that says what is wrong.
 *
 * Inputs are the rows of a good file, some out of place, mutated.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdf.h"
#include "fuzz.h"
#include "tables.h"

static uint64_t nb_inputs, nb_good;

#define NB_STEPS 512

static void
check_cdf(const struct cdf *cdf)
{
	double mean = cdf_mean_bytes(cdf), low = 0, high = 0;
	uint64_t before = 0;

	FUZZ_CHECK(isfinite(mean) && mean > 0 && mean <= (double)CDF_BYTES_MAX);
	for (uint32_t i = 0; i <= NB_STEPS; i++) {
		uint64_t bytes = cdf_quantile_bytes(cdf, (double)i / NB_STEPS);

		FUZZ_CHECK(bytes >= 1 && bytes <= CDF_BYTES_MAX && bytes >= before);
		if (i > 0) {
			low += (double)before / NB_STEPS;
			high += (double)bytes / NB_STEPS;
		}
		before = bytes;
	}
	/* The mean lies between what the steps say from below and from above, but for rounding. */
	FUZZ_CHECK(low - 1 <= mean && mean <= high + 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FILE *in = len > 0 ? fmemopen((void *)data, len, "r") : fopen("/dev/null", "r");
	char why[512] = "";
	struct cdf *cdf;

	nb_inputs++;
	if (!in)
		abort();
	cdf = cdf_read(in, "fuzz", why, sizeof(why));
	fclose(in);
	tables_check_line(why, cdf != NULL);
	if (cdf) {
		nb_good++;
		check_cdf(cdf);
	}
	cdf_free(cdf);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
/* Both columns rise, by nothing at times; in the end all flows. */
static size_t
make(struct prng *rng, uint8_t *data)
{
	uint32_t nb = 1 + prng_below(rng, 20), percent = 0;
	struct tables t = {.rng = rng, .buf = (char *)data};
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < nb; i++) {
		bytes += prng_below(rng, 3) ? prng_next(rng) >> (20 + prng_below(rng, 44)) >> 4 : 0;
		percent += prng_below(rng, 2 * (100 - percent) / nb + 2);
		if (percent > 100 || i == nb - 1)
			percent = 100;
		tables_add(&t, "%llu%s%u%s\n", (unsigned long long)bytes, tables_blank(&t), percent,
		           prng_below(rng, 8) ? "" : "%");
	}
	tables_mutate(&t);
	return t.len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "cdf",
		.unit = "files",
		.max_len = TABLES_MAX_LEN,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them good\n", (unsigned long long)nb_good);
	/* Mutants that nobody accepts would test nothing but the first check. */
	return code ? code : nb_good < nb_inputs / 10;
}
#endif
