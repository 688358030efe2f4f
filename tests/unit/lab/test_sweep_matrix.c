/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sweep_matrix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep_shard.h"

Test(sweep_matrix, the_last_parameter_varies_fastest)
{
	static const char *const wanted[] = {
		"cc=fixed seed=8",  "cc=fixed seed=9",  "cc=fixed seed=10",
		"cc=dcqcn seed=8",  "cc=dcqcn seed=9",  "cc=dcqcn seed=10",
		"cc=a,b..c seed=8", "cc=a,b..c seed=9", "cc=a,b..c seed=10",
	};
	struct matrix m = {0};
	char why[256];

	cr_expect_eq(matrix_nb_cells(&m), 1);
	cr_assert_eq(matrix_add(&m, "cc=fixed,dcqcn,a\\,b..c", why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(matrix_add(&m, "seed=8..10", why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(matrix_nb_cells(&m), 9);
	for (uint32_t i = 0; i < 9; i++) {
		char **overrides = matrix_overrides(&m, i), text[64];

		cr_assert(overrides);
		snprintf(text, sizeof(text), "%s %s", overrides[0], overrides[1]);
		cr_expect_str_eq(text, wanted[i]);
		cr_expect_null(overrides[2]);
		free(overrides);
	}
	matrix_free(&m);
}

Test(sweep_matrix, values_are_lists_of_words_and_ranges)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"k=1..3", "1|2|3|"},  {"k=7..7", "7|"},      {"k=1,4..5,2us", "1|4|5|2us|"},
		{"k=../x", "../x|"},   {"k=1..x", "1..x|"},   {"k=x..2", "x..2|"},
		{"k=1...2", "1...2|"}, {"k=-1..2", "-1..2|"}, {"k=", "|"},
		{"k=a,", "a||"},       {"k=x=y", "x=y|"},     {"k=\\,", ",|"},
		{"k=a\\b", "a\\b|"},   {"k=0..1", "0|1|"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct matrix m = {0};
		char why[256], text[256] = "";

		cr_assert_eq(matrix_add(&m, rows[i].text, why, sizeof(why)), 0, "row %zu: %s", i,
		             why);
		for (uint32_t k = 0; k < matrix_nb_cells(&m); k++) {
			strcat(text, matrix_value(&m, 0, k));
			strcat(text, "|");
		}
		cr_expect_str_eq(text, rows[i].wanted, "row %zu", i);
		matrix_free(&m);
	}
}

Test(sweep_matrix, what_makes_no_sense_is_refused_with_a_reason)
{
	static char long_value[400] = "k=";
	static const struct {
		const char *first, *text, *why;
	} rows[] = {
		{NULL, "seed", "'seed' is not KEY=VALUE"},
		{NULL, "=1", "'=1' is not KEY=VALUE"},
		{NULL, "", "'' is not KEY=VALUE"},
		{"a=1", "a=2", "a is there twice"},
		{NULL, "a=3..1", "'3..1' runs backwards"},
		{NULL, "a=1..3,2", "a has the value '2' twice"},
		{NULL, "a=x,y,x", "a has the value 'x' twice"},
		{NULL, "a=1..1000001", "more than 1000000 cells with a"},
		{NULL, "a=0..999999999999999999", "more than 1000000 cells with a"},
		{"a=1..1000", "b=1..1001", "more than 1000000 cells with b"},
		{NULL, "a=x\ty", "longer than 255 letters, or not of letters"},
		{NULL, "a\n=x", "a parameter is KEY=VALUE"},
		{NULL, long_value, "longer than 255 letters, or not of letters"},
	};

	memset(long_value + 2, 'x', sizeof(long_value) - 3);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct matrix m = {0};
		char why[256] = "";

		if (rows[i].first)
			cr_assert_eq(matrix_add(&m, rows[i].first, why, sizeof(why)), 0);
		cr_expect_eq(matrix_add(&m, rows[i].text, why, sizeof(why)), -EINVAL, "row %zu", i);
		cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
		matrix_free(&m);
	}
}

Test(sweep_shard, a_share_is_a_number_below_another)
{
	static const struct {
		const char *text;
		bool ok;
		uint32_t idx, nb;
	} rows[] = {
		{"0/1", true, 0, 1},
		{"3/4", true, 3, 4},
		{"4/4", false, 0, 0},
		{"1", false, 0, 0},
		{"-1/4", false, 0, 0},
		{"1/", false, 0, 0},
		{"/4", false, 0, 0},
		{"0/0", false, 0, 0},
		{"0/4x", false, 0, 0},
		{"", false, 0, 0},
		{"0/99999999999", false, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shard shard = {0};

		cr_expect_eq(shard_parse(rows[i].text, &shard), rows[i].ok, "row %zu", i);
		cr_expect_eq(shard.idx, rows[i].idx, "row %zu", i);
		cr_expect_eq(shard.nb, rows[i].nb, "row %zu", i);
	}
}

Test(sweep_shard, slurm_says_which_share_is_ours)
{
	static const char *const names[] = {
		"SLURM_PROCID",           "SLURM_NTASKS",         "SLURM_ARRAY_TASK_ID",
		"SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP",
	};
	static const struct {
		const char *values[6];
		bool ok;
		uint32_t idx, nb;
	} rows[] = {
		{{NULL}, true, 0, 1},
		{{"2", "4"}, true, 2, 4},
		{{"0", "1"}, true, 0, 1},
		{{"0", NULL}, true, 0, 1},
		{{NULL, "4"}, true, 0, 1},
		{{NULL, NULL, "5", "8", "0", "1"}, true, 5, 8},
		{{NULL, NULL, "5", "3", "1", "2"}, true, 2, 3},
		{{"0", "1", "8", "8", "1", "1"}, true, 7, 8},
		{{"1", "2", "5", "8", "1", "1"}, true, 9, 16},
		{{"4", "4"}, false, 0, 0},
		{{"x", "4"}, false, 0, 0},
		{{NULL, NULL, "7", "3", "1", "1"}, false, 0, 0},
		{{NULL, NULL, "4", "3", "1", "2"}, false, 0, 0},
		{{NULL, NULL, "0", "3", "1", "1"}, false, 0, 0},
		{{NULL, NULL, "1", "3", "1", "0"}, false, 0, 0},
		{{"0", "10000", "0", "10000", "0", "1"}, false, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shard shard;
		char why[256] = "";

		for (size_t k = 0; k < 6; k++) {
			unsetenv(names[k]);
			if (rows[i].values[k])
				setenv(names[k], rows[i].values[k], 1);
		}
		cr_expect_eq(shard_of_slurm(&shard, why, sizeof(why)), rows[i].ok, "row %zu", i);
		cr_expect_eq(why[0] == '\0', rows[i].ok, "row %zu", i);
		if (!rows[i].ok)
			continue;
		cr_expect_eq(shard.idx, rows[i].idx, "row %zu", i);
		cr_expect_eq(shard.nb, rows[i].nb, "row %zu", i);
		cr_expect_eq(shard.is_of_slurm, rows[i].nb > 1, "row %zu", i);
	}
}

Test(sweep_shard, a_share_has_a_file_of_its_own)
{
	static const char *const rows[][2] = {
		{"out.csv", "out.1-of-4.csv"},
		{"a.b/out", "a.b/out.1-of-4"},
		{"/x/out.v2.csv", "/x/out.v2.1-of-4.csv"},
		{".csv", ".csv.1-of-4"},
		{"x/.csv", "x/.csv.1-of-4"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *path = shard_path(rows[i][0], &(struct shard){.idx = 1, .nb = 4});

		cr_expect_str_eq(path, rows[i][1]);
		free(path);
	}
}
