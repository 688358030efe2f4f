/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sweep_crew.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sweep_row.h"

/* What becomes of a cell is its first override. */
static int
misfortune(const char *scenario, char *const *overrides, FILE *row)
{
	const struct rlimit no_core = {0};
	const char *what = overrides[0];

	setrlimit(RLIMIT_CORE, &no_core);
	fprintf(row, "said\t%s\n", scenario);
	if (strcmp(what, "ok") == 0)
		return 0;
	if (strcmp(what, "chatter") == 0) {
		for (int i = 0; i < 100000; i++)
			fprintf(stderr, "line %d\n", i);
		puts("nobody reads this");
		return 0;
	}
	if (strcmp(what, "fails") == 0) {
		fputs("\n---\nqueue 3 is\tnot empty\nmore\n", stderr);
		return -1;
	}
	if (strcmp(what, "silent") == 0)
		return 7;
	fflush(row);
	if (strcmp(what, "exit") == 0)
		_exit(9);
	if (strcmp(what, "exit 0") == 0)
		_exit(0);
	if (strcmp(what, "killed") == 0)
		raise(SIGKILL);
	if (strcmp(what, "aborts") == 0) {
		/* Not what others (sanitizers, Criterion) do with it. */
		signal(SIGABRT, SIG_DFL);
		fputs("x.c:1: una <= nxt\n", stderr);
		abort();
	}
	if (strcmp(what, "hangs") == 0) {
		for (;;)
			pause();
	}
	if (strcmp(what, "hangs with a child") == 0) {
		fork();
		for (;;)
			pause();
	}
	if (strcmp(what, "closes") == 0) {
		for (int fd = 0; fd < 64; fd++)
			close(fd);
		return 0;
	}
	if (strcmp(what, "floods") == 0) {
		for (int i = 0; i < ROW_TEXT_MAX; i++)
			fprintf(row, "m%d\t%d\n", i, i);
		return 0;
	}
	if (strcmp(what, "babbles") == 0) {
		fputs("no tabs\n", row);
		return 0;
	}
	if (strcmp(what, "binary") == 0) {
		fwrite("a\0b\t\n", 1, 5, row);
		return 0;
	}
	return 0;
}

static const struct {
	const char *what, *row;
} fates[] = {
	{"ok", "0\tok\tsaid\tfile"},
	{"chatter", "1\tok\tsaid\tfile"},
	{"fails", "2\tfailed: queue 3 is not empty"},
	{"silent", "3\tfailed: exit code 1"},
	{"exit", "4\tfailed: exit code 9"},
	{"exit 0", "5\tfailed: ended without all of its results"},
	{"killed", "6\tfailed: signal KILL"},
	{"aborts", "7\tfailed: signal ABRT: x.c:1: una <= nxt"},
	{"hangs", "8\tfailed: longer than 700ms"},
	{"hangs with a child", "9\tfailed: longer than 700ms"},
	{"closes", "10\tfailed: exit code 124"},
	{"floods", "11\tfailed: more results than a row can have"},
	{"babbles", "12\tfailed: its results are not readable"},
	{"binary", "13\tfailed: its results are not readable"},
	{"ok", "14\tok\tsaid\tfile"},
};
#define NB_FATES (sizeof(fates) / sizeof(fates[0]))

static void
meet_all_fates(uint32_t nb_jobs)
{
	bool has_row[NB_FATES] = {false};
	uint32_t nb_started = 0, nb_ended = 0;
	struct crew crew;

	cr_assert_eq(crew_init(&crew, misfortune, "file", nb_jobs, 700000000), 0);
	while (nb_ended < NB_FATES) {
		char *row;

		while (crew_has_room(&crew) && nb_started < NB_FATES) {
			char *overrides[] = {(char *)fates[nb_started].what, NULL};

			cr_assert_eq(crew_start(&crew, nb_started++, overrides), 0);
		}
		cr_assert_eq(crew_wait(&crew, 60000, &row), 0);
		cr_assert(row);
		for (size_t i = 0; i < NB_FATES; i++) {
			if (strtoul(row, NULL, 10) == i) {
				cr_expect_str_eq(row, fates[i].row);
				has_row[i] = true;
			}
		}
		free(row);
		nb_ended++;
	}
	for (size_t i = 0; i < NB_FATES; i++)
		cr_expect(has_row[i], "row %zu", i);
	cr_expect_eq(crew.nb_running, 0);
	crew_fini(&crew);
}

Test(sweep_crew, whatever_becomes_of_a_cell_it_has_a_row_and_the_others_too)
{
	meet_all_fates(1);
	meet_all_fates(4);
	meet_all_fates(NB_FATES);
}

Test(sweep_crew, waiting_ends_when_nothing_does)
{
	char *overrides[] = {"hangs", NULL}, *row;
	struct crew crew;

	cr_assert_eq(crew_init(&crew, misfortune, "file", 2, 0), 0);
	cr_expect_eq(crew_wait(&crew, 1, &row), 0);
	cr_expect_null(row);
	cr_assert_eq(crew_start(&crew, 0, overrides), 0);
	cr_expect_eq(crew_wait(&crew, 1, &row), 0);
	cr_expect_null(row);
	cr_expect_eq(crew.nb_running, 1);
	raise(SIGTERM);
	cr_expect_eq(crew_wait(&crew, 60000, &row), 0);
	cr_expect_null(row);
	cr_expect_eq(crew_is_told_to_stop, SIGTERM);
	crew_fini(&crew);
}
