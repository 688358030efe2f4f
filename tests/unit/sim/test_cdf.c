/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdf.h"
#include "prng.h"

static struct cdf *
read_text(const char *text, char *why, size_t size)
{
	FILE *in = *text ? fmemopen((void *)text, strlen(text), "r") : fopen("/dev/null", "r");
	struct cdf *cdf;

	cr_assert(in);
	cdf = cdf_read(in, "x.cdf", why, size);
	fclose(in);
	return cdf;
}

static struct cdf *
shipped(const char *name)
{
	char path[512], why[256] = "";
	struct cdf *cdf;
	FILE *in;

	snprintf(path, sizeof(path), "%s/conf/lab/%s.cdf", getenv("WEFT_SOURCE_ROOT"), name);
	in = fopen(path, "r");
	cr_assert(in, "%s", path);
	cdf = cdf_read(in, path, why, sizeof(why));
	cr_assert(cdf, "%s", why);
	fclose(in);
	return cdf;
}

Test(cdf, shipped_ones_have_the_means_and_quantiles_of_their_tables)
{
	static const struct {
		const char *name;
		double mean;
		struct {
			double share;
			uint64_t bytes;
		} at[9];
	} rows[] = {
		/* .15 x 5,000 + .05 x 15,000 + ... by hand */
		{"websearch",
	         1711250,
	         {{0, 1},
	          {0.15, 10000},
	          {0.175, 15000},
	          {0.5, 73077},
	          {0.7, 1000000},
	          {0.85, 3500000},
	          {0.97, 10000000},
	          {0.985, 20000000},
	          {1, 30000000}}},
		{"fb_hadoop",
	         120420.75,
	         {{0, 1},
	          {0.01, 100},
	          {0.05, 300},
	          {0.5, 700},
	          {0.6, 1000},
	          {0.71, 18500},
	          {0.95, 300000},
	          {0.995, 6000000},
	          {1, 10000000}}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cdf *cdf = shipped(rows[i].name);

		cr_expect_float_eq(cdf_mean_bytes(cdf), rows[i].mean, 0.01, "%s: %f", rows[i].name,
		                   cdf_mean_bytes(cdf));
		for (int q = 0; q < 9; q++)
			cr_expect_eq(cdf_quantile_bytes(cdf, rows[i].at[q].share),
			             rows[i].at[q].bytes, "%s at %g: %lu", rows[i].name,
			             rows[i].at[q].share,
			             (unsigned long)cdf_quantile_bytes(cdf, rows[i].at[q].share));
		cdf_free(cdf);
	}
}

Test(cdf, sizes_drawn_have_the_mean_of_the_file)
{
	static const char *const names[] = {"websearch", "fb_hadoop"};
	struct prng dice;

	prng_seed(&dice, 1);
	for (int i = 0; i < 2; i++) {
		struct cdf *cdf = shipped(names[i]);
		double sum = 0;

		for (int n = 0; n < 1000000; n++)
			sum += (double)cdf_quantile_bytes(cdf, prng_unit(&dice));
		cr_expect_float_eq(sum / 1e6 / cdf_mean_bytes(cdf), 1, 0.01, "%s: %f", names[i],
		                   sum / 1e6);
		cdf_free(cdf);
	}
}

Test(cdf, files_may_have_comments_units_and_any_blanks)
{
	static const struct {
		const char *text;
		double mean;
	} rows[] = {
		{"0 0\n1000 100\n", 500},
		{"1000 100", 500},
		{"1000 0\n1000 100\n", 1000},
		{"1000,0\r\n1000,100\r\n", 1000},
		{"# c\n\n \t 1K 0% # c\n1K;;100%\n", 1024},
		{"500 0\n1000 0\n1000 100\n", 1000},
		{"0 0\n100 50\n100 50\n100 100\n", 75},
		{"10 50\n10 100\n20 100\n", 7.5},
		{"0 0\n0 50\n1 100\n", 0.25},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[256] = "";
		struct cdf *cdf = read_text(rows[i].text, why, sizeof(why));

		cr_assert(cdf, "row %zu: %s", i, why);
		cr_expect_float_eq(cdf_mean_bytes(cdf), rows[i].mean, 1e-9, "row %zu", i);
		for (int s = 0; s <= 1000; s++)
			cr_assert_geq(cdf_quantile_bytes(cdf, s / 1000.0), 1);
		cdf_free(cdf);
	}
}

Test(cdf, a_jump_is_a_size_of_its_own_and_a_level_is_no_size)
{
	char why[256];
	struct cdf *cdf = read_text("100 0\n100 40\n200 40\n300 100\n", why, sizeof(why));

	cr_expect_eq(cdf_quantile_bytes(cdf, 0), 100);
	cr_expect_eq(cdf_quantile_bytes(cdf, 0.39), 100);
	cr_expect_eq(cdf_quantile_bytes(cdf, 0.4), 100);
	cr_expect_eq(cdf_quantile_bytes(cdf, 0.7), 250);
	cr_expect_eq(cdf_quantile_bytes(cdf, 1), 300);
	cdf_free(cdf);
}

Test(cdf, what_is_none_is_told_with_file_line_and_remedy)
{
	static char long_line[400], many[CDF_POINTS_MAX * 8 + 64];
	const struct {
		const char *text, *why;
	} rows[] = {
		{"", "x.cdf:1: the file ends at 0 percent; the last row must be 100"},
		{"100 50\n", "x.cdf:2: the file ends at 50 percent"},
		{"100\n", "x.cdf:1: 1 fields; a row has two: bytes and percent"},
		{"1 2 3\n", "x.cdf:1: 3 fields"},
		{"\n\nten 1\n", "x.cdf:3: bytes 'ten'"},
		{"1.5 10\n", "x.cdf:1: bytes '1.5'"},
		{"-5 10\n", "x.cdf:1: bytes '-5'"},
		{"2T 10\n", "x.cdf:1: bytes '2T': at most 1T"},
		{"99999999999999999999 10\n", "x.cdf:1: bytes '99999999999999999999'"},
		{"10 x\n", "x.cdf:1: percent 'x'"},
		{"10 101\n", "x.cdf:1: percent '101': more than 100"},
		{"10 nan\n", "x.cdf:1: percent 'nan'"},
		{"10 1e1\n", "x.cdf:1: percent '1e1'"},
		{"10 10\n5 100\n", "x.cdf:2: less than in the row before"},
		{"10 10\n15 5\n", "x.cdf:2: less than in the row before"},
		{"0 0\n0 100\n", "all flows have 0 bytes"},
		{"1 2 3 4 5 6 7 8 9\n", "x.cdf:1: more than 8 fields"},
		{long_line, "x.cdf:1: the line is longer than 255 bytes"},
		{many, "x.cdf:4098: more than 4096 rows"},
	};

	memset(long_line, '1', sizeof(long_line) - 1);
	strcpy(many, "# c\n");
	for (int i = 0; i <= CDF_POINTS_MAX; i++)
		strcat(many + strlen(many), "9 1\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[256] = "";

		cr_expect_null(read_text(rows[i].text, why, sizeof(why)), "row %zu", i);
		cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
	}
}
