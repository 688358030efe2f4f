/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sweep_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prng.h"
#include "sweep_sum.h"
#include "sweep_table.h"

static const struct journal_id id = {.scenario = 17, .program = 4, .nb_shards = 1};
static char folder[] = "/tmp/weft-journal-XXXXXX";
static char path[64], csv[64], why[512];
static struct matrix matrix;

static void
setup(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/j", folder);
	snprintf(csv, sizeof(csv), "%s/t.csv", folder);
	cr_assert_eq(matrix_add(&matrix, "cc=fixed,dcqcn", why, sizeof(why)), 0);
	cr_assert_eq(matrix_add(&matrix, "seed=1..3", why, sizeof(why)), 0);
}

static void
teardown(void)
{
	matrix_free(&matrix);
	unlink(path);
	unlink(csv);
	rmdir(folder);
}

TestSuite(sweep_journal, .init = setup, .fini = teardown);

static char *
slurp(const char *name, size_t *len)
{
	FILE *in = fopen(name, "r");
	char *text = calloc(1, 1 << 20);

	cr_assert(in && text);
	*len = fread(text, 1, (1 << 20) - 1, in);
	fclose(in);
	return text;
}

static void
spill(const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	cr_assert(out);
	cr_assert_eq(fwrite(text, 1, len, out), len);
	fclose(out);
}

/* A line with a right sum. */
static size_t
sealed(char *to, const char *text)
{
	uint64_t sum = sum_add(SUM_INIT, text, strlen(text));

	return (size_t)sprintf(to, "%s\t%08" PRIx32 "\n", text, (uint32_t)(sum ^ sum >> 32));
}

static void
expect_table(struct journal *j, uint32_t nb, const char *wanted)
{
	size_t len;
	char *text;

	cr_assert_eq(sweep_table_write(csv, j, nb, why, sizeof(why)), 0, "%s", why);
	text = slurp(csv, &len);
	cr_expect_str_eq(text, wanted);
	free(text);
}

Test(sweep_journal, rows_are_there_again_after_the_program_died)
{
	struct journal j;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0, "%s",
	             why);
	cr_expect_eq(j.nb_mine, 6);
	cr_expect_eq(journal_append(&j, "4\tok\tgoodput\t5\tdrops\t0"), 0);
	cr_expect_eq(journal_append(&j, "1\tfailed: signal SEGV"), 0);
	cr_expect_eq(journal_append(&j, "0\tok"), 0);
	journal_close(&j);

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0, "%s",
	             why);
	cr_expect_eq(j.nb_done, 3);
	cr_expect_eq(j.nb_failed, 1);
	for (uint32_t i = 0; i < 6; i++)
		cr_expect_eq(journal_is_done(&j, i), i == 0 || i == 1 || i == 4);
	cr_expect_str_eq(journal_row(&j, 4)->metrics[1].name, "drops");
	cr_expect_str_eq(journal_row(&j, 1)->status, "failed: signal SEGV");

	journal_retry(&j);
	cr_expect_eq(j.nb_done, 2);
	cr_expect_eq(journal_append(&j, "1\tok\tgoodput\t7"), 0);
	journal_close(&j);
	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	cr_expect_eq(j.nb_done, 3);
	cr_expect_eq(j.nb_failed, 0);
	cr_expect_str_eq(journal_row(&j, 1)->metrics[0].value, "7");
	journal_close(&j);
}

Test(sweep_journal, what_is_no_row_of_it_is_not_taken)
{
	static const char *const rows[] = {
		"",
		"6\tok",
		"0",
		"x\tok",
		"-1\tok",
		"0\tfine",
		"0\tok\tname",
		"0\tok\tname\t1\tname",
		"0\tok\t\t1",
		"0\tok\tname\t1\t",
		"0\tok\tname\t1\n1\tok",
		"0\tfailed\tname\t1",
		"2\tok",
		"00000000\tok",
	};
	struct journal j;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	cr_assert_eq(journal_append(&j, "2\tok"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(journal_append(&j, rows[i]), -EBADMSG, "row %zu", i);
	cr_expect_eq(j.nb_done, 1);
	journal_close(&j);
}

Test(sweep_journal, another_sweep_is_told_apart_and_not_mixed)
{
	struct journal_id other[] = {id, id, id};
	struct matrix less = {0};
	struct journal j;

	other[0].scenario++;
	other[1].nb_shards = 2;
	other[2].program++;
	cr_assert_eq(matrix_add(&less, "cc=fixed,dcqcn", why, sizeof(why)), 0);
	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	cr_assert_eq(journal_append(&j, "2\tok"), 0);
	journal_close(&j);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(
			journal_open(&j, path, &other[i], &matrix, JOURNAL_SAME, why, sizeof(why)),
			-EEXIST, "row %d", i);
		cr_expect(strstr(why, "--fresh"), "%s", why);
	}
	cr_expect_eq(journal_open(&j, path, &id, &less, JOURNAL_SAME, why, sizeof(why)), -EEXIST);
	cr_expect_eq(
		journal_open(&j, path, &other[0], &matrix, JOURNAL_ANY_PROGRAM, why, sizeof(why)),
		-EEXIST);
	cr_assert_eq(
		journal_open(&j, path, &other[2], &matrix, JOURNAL_ANY_PROGRAM, why, sizeof(why)),
		0);
	cr_expect_eq(j.nb_done, 1);
	journal_close(&j);
	cr_assert_eq(journal_open(&j, path, &other[0], &less, JOURNAL_FRESH, why, sizeof(why)), 0);
	cr_expect_eq(j.nb_done, 0);
	cr_expect_eq(j.nb_cells, 2);
	journal_close(&j);
	matrix_free(&less);
}

Test(sweep_journal, only_one_program_writes_it)
{
	struct journal j, k;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	cr_expect_eq(journal_open(&k, path, &id, &matrix, JOURNAL_FRESH, why, sizeof(why)), -EBUSY);
	cr_expect_eq(journal_read(&k, path, why, sizeof(why)), -EBUSY);
	journal_close(&j);
	cr_expect_eq(journal_read(&k, path, why, sizeof(why)), 0);
	journal_close(&k);
}

/* Of a journal with three rows: wherever it is cut off, whole rows stay, and it can go on. */
Test(sweep_journal, a_death_at_any_byte_loses_at_most_the_row_that_was_being_written)
{
	static const char *const rows[] = {"4\tok\tgoodput\t5", "1\tfailed: why", "5\tok"};
	size_t ends[4], len;
	struct stat st;
	struct journal j;
	char *whole;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	for (int i = 0; i < 3; i++) {
		ends[i] = j.end;
		cr_assert_eq(journal_append(&j, rows[i]), 0);
	}
	ends[3] = j.end;
	journal_close(&j);
	whole = slurp(path, &len);
	cr_assert_eq(len, ends[3]);
	for (size_t cut = 0; cut < len; cut++) {
		uint32_t nb = 0;

		spill(whole, cut);
		while (nb < 3 && ends[nb + 1] <= cut)
			nb++;
		cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)),
		             0, "cut at %zu: %s", cut, why);
		cr_assert_eq(j.nb_done, nb, "cut at %zu", cut);
		cr_assert_eq(j.was_torn, cut > ends[0] && cut != ends[nb], "cut at %zu", cut);
		for (uint32_t i = nb; i < 3; i++)
			cr_assert_eq(journal_append(&j, rows[i]), 0);
		journal_close(&j);
		cr_assert_eq(stat(path, &st), 0);
		cr_assert_eq((size_t)st.st_size, len, "cut at %zu", cut);
	}
	/* What a power failure leaves of a last line. */
	spill(whole, len);
	cr_assert_eq(truncate(path, (off_t)len - 5), 0);
	cr_assert_eq(truncate(path, (off_t)len + 4096), 0);
	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0, "%s",
	             why);
	cr_expect(j.was_torn);
	cr_expect_eq(j.nb_done, 2);
	journal_close(&j);
	free(whole);
}

Test(sweep_journal, a_bad_byte_before_the_last_line_is_told_with_its_line)
{
	struct journal j;
	size_t len, end;
	char *whole;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	cr_assert_eq(journal_append(&j, "4\tok\tgoodput\t5"), 0);
	end = j.end;
	cr_assert_eq(journal_append(&j, "3\tok\tgoodput\t5"), 0);
	journal_close(&j);
	whole = slurp(path, &len);
	/* Without its newline the line before the last is part of that. */
	for (size_t i = 0; i < end - 1; i++) {
		char was = whole[i];

		whole[i] ^= 1;
		spill(whole, len);
		whole[i] = was;
		cr_assert_eq(journal_read(&j, path, why, sizeof(why)), -EBADMSG, "byte %zu", i);
		cr_assert(strstr(why, "/j:") && strstr(why, "--fresh"), "%s", why);
	}
	free(whole);
}

/* Whoever makes the sums right can write anything, and it is refused as well. */
Test(sweep_journal, lies_with_right_sums_are_refused)
{
	static const char first[] = "weft-lab sweep 1\t2\t0\t1\t0000000000000011\t0000000000000004";
	static const char *const lies[][6] = {
		{"nothing"},
		{"weft-lab sweep 1\t2\t0\t1\t11"},
		{"weft-lab sweep 1\t2\t0\t0\t11\t4", "key\ta", "value\t1", "value\t2"},
		{"weft-lab sweep 1\t2\t1\t1\t11\t4", "key\ta", "value\t1", "value\t2"},
		{"weft-lab sweep 1\t-2\t0\t1\t11\t4", "key\ta", "value\t1", "value\t2"},
		{"weft-lab sweep 1\t9999999\t0\t1\t11\t4"},
		{"weft-lab sweep 1\t0\t0\t1\t11\t4"},
		{"weft-lab sweep 1\t2\t0\t1\t11\t4 x", "key\ta", "value\t1", "value\t2"},
		{first},
		{first, "value\t1"},
		{first, "key\ta"},
		{first, "key\ta", "key\tb", "value\t1", "value\t2"},
		{first, "key\ta", "value\t1", "value\t2", "value\t3"},
		{first, "key\ta", "value\t1", "value\t2", "2\tok"},
		{first, "key\ta", "value\t1", "value\t2", "1\tok\tx"},
		{first, "key\ta", "value\t1", "1\tok", "value\t2"},
		{first, "key\ta", "value\t1", "value\t2", "1\tok", "1\tok"},
		{first, "key\ta", "value\t1", "value\t2", "1\tok", "1\tfailed"},
		{first, "key\ta", "value\t1", "value\t2", "1\tok", "key\tb"},
		{first, "key\t", "value\t1", "value\t2"},
		{first, "anything", "value\t1", "value\t2"},
		{first, "key\ta", "value\t1", "value\t2", "4294967297\tok"},
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		char text[2048];
		struct journal j;
		size_t len = 0;

		for (int k = 0; k < 6 && lies[i][k]; k++)
			len += sealed(text + len, lies[i][k]);
		spill(text, len);
		cr_expect_eq(journal_read(&j, path, why, sizeof(why)), -EBADMSG, "row %zu", i);
	}
}

Test(sweep_journal, what_is_not_a_file_is_refused_without_waiting)
{
	struct journal j;

	cr_expect_eq(journal_read(&j, path, why, sizeof(why)), -ENOENT);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(journal_read(&j, path, why, sizeof(why)), -EINVAL);
	cr_expect_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), -EINVAL);
	unlink(path);
	spill("", 0);
	cr_expect_eq(journal_read(&j, path, why, sizeof(why)), -EBADMSG);
	cr_expect_eq(journal_read(&j, folder, why, sizeof(why)), -EINVAL);
	cr_expect_eq(journal_read(&j, "/dev/zero", why, sizeof(why)), -EINVAL);
}

/* No sum is right here but those of lines that were not touched: it must not matter to memory. */
Test(sweep_journal, random_damage_never_does_more_than_to_be_told)
{
	struct journal j;
	struct prng rng;
	size_t len;
	char *whole;

	prng_seed(&rng, 5);
	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	for (int i = 0; i < 6; i++) {
		char row[64];

		snprintf(row, sizeof(row), "%d\tok\tgoodput\t%d", i, i * i);
		cr_assert_eq(journal_append(&j, row), 0);
	}
	journal_close(&j);
	whole = slurp(path, &len);
	for (int i = 0; i < 3000; i++) {
		char *copy = malloc(len);
		size_t keep = len - prng_below(&rng, 2) * prng_below(&rng, len);
		int err;

		memcpy(copy, whole, len);
		for (uint64_t k = prng_below(&rng, 4); k > 0; k--)
			copy[prng_below(&rng, len)] = (char)prng_next(&rng);
		spill(copy, keep);
		free(copy);
		err = journal_read(&j, path, why, sizeof(why));
		cr_assert(err == 0 || err == -EBADMSG);
		if (err == 0) {
			for (uint32_t cell = 0; cell < j.nb_cells; cell++)
				cr_assert(!journal_is_done(&j, cell) || journal_row(&j, cell));
			journal_close(&j);
		}
	}
	free(whole);
}

Test(sweep_journal, the_table_has_cells_in_order_and_a_column_for_each_metric)
{
	struct journal j;

	cr_assert_eq(journal_open(&j, path, &id, &matrix, JOURNAL_SAME, why, sizeof(why)), 0);
	expect_table(&j, 1, "cell,cc,seed,status\n");
	cr_assert_eq(journal_append(&j, "5\tok\tb_ns\t1\ta\t2\tseed\t3"), 0);
	cr_assert_eq(journal_append(&j, "1\tfailed: \"no\", he said"), 0);
	cr_assert_eq(journal_append(&j, "0\tok\tseed\t1\ta\t\tc\t1e-05\tb_us\tx,y"), 0);
	expect_table(&j, 1,
	             "cell,cc,seed,status,a,c,b_us,b_ns\n"
	             "0,fixed,1,ok,,1e-05,\"x,y\",\n"
	             "1,fixed,2,\"failed: \"\"no\"\", he said\",,,,\n"
	             "5,dcqcn,3,ok,2,,,1\n");
	journal_close(&j);
}

Test(sweep_journal, shards_together_make_the_table_of_all)
{
	struct journal parts[4];
	char name[4][80];
	struct sweep_gaps gaps;

	for (uint32_t i = 0; i < 4; i++) {
		struct journal_id of = id;

		of.shard = i;
		of.nb_shards = 4;
		snprintf(name[i], sizeof(name[i]), "%s/%u", folder, i);
		cr_assert_eq(journal_open(&parts[i], name[i], &of, &matrix, JOURNAL_SAME, why,
		                          sizeof(why)),
		             0, "%s", why);
		cr_expect_eq(parts[i].nb_mine, i < 2 ? 2 : 1);
		for (uint32_t cell = 6; cell-- > 0;) {
			char row[64];

			snprintf(row, sizeof(row), "%u\tok\tm%u\t%u", cell, cell % 2, cell);
			cr_expect_eq(journal_append(&parts[i], row), cell % 4 == i ? 0 : -EBADMSG);
		}
		cr_expect_eq(parts[i].nb_done, parts[i].nb_mine);
	}
	expect_table(parts, 4,
	             "cell,cc,seed,status,m0,m1\n"
	             "0,fixed,1,ok,0,\n1,fixed,2,ok,,1\n2,fixed,3,ok,2,\n"
	             "3,dcqcn,1,ok,,3\n4,dcqcn,2,ok,4,\n5,dcqcn,3,ok,,5\n");
	gaps = sweep_table_gaps(parts, 4);
	cr_expect_eq(gaps.nb_missing + gaps.nb_double, 0);
	gaps = sweep_table_gaps(parts, 3);
	cr_expect_eq(gaps.nb_missing, 1);
	cr_expect_eq(gaps.first_missing, 3);
	for (uint32_t i = 0; i < 4; i++) {
		journal_close(&parts[i]);
		unlink(name[i]);
	}
}
