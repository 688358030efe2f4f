/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The command as a whole, with cells that are quick: y = 10 x + seed; x = 3 crashes; x = bad is
 * refused before anything is done. Each cell that is run leaves a byte in the file "runs".
 */
static char folder[] = "/tmp/weft-sweep-XXXXXX";
static int pause_us;

static long
number_of(char *const *overrides, const char *key)
{
	size_t len = strlen(key);

	for (; *overrides; overrides++) {
		if (strncmp(*overrides, key, len) == 0 && (*overrides)[len] == '=')
			return strtol(*overrides + len + 1, NULL, 10);
	}
	return 0;
}

static int
run_cell(const char *scenario, char *const *overrides, FILE *row)
{
	long x = number_of(overrides, "x"), seed = number_of(overrides, "seed");
	int fd = open("runs", O_WRONLY | O_APPEND | O_CREAT, 0600);

	(void)scenario;
	usleep((useconds_t)pause_us);
	if (x == 3 && access("mended", F_OK) != 0)
		raise(SIGKILL);
	fprintf(row, "y_ms\t%ld\n", 10 * x + seed);
	if (x % 2)
		fprintf(row, "odd\t%ld\n", x);
	return write(fd, "x", 1) == 1 ? 0 : -1;
}

static bool
check_cell(const char *scenario, char *const *overrides, FILE *errors)
{
	for (; *overrides; overrides++) {
		if (strcmp(*overrides, "x=bad") == 0) {
			fprintf(errors, "%s: x is a number\n", scenario);
			return false;
		}
	}
	return true;
}

static const struct sweep_ops ops = {.run = run_cell, .check = check_cell};

static void
write_file(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	cr_assert(out);
	fputs(text, out);
	fclose(out);
}

static char *
read_file(const char *name)
{
	char *text = calloc(1, 1 << 20);
	FILE *in = fopen(name, "r");

	cr_assert(text);
	if (in) {
		cr_assert_lt(fread(text, 1, 1 << 20, in), 1 << 20);
		fclose(in);
	}
	return text;
}

static off_t
size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? st.st_size : 0;
}

static void
setup(void)
{
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	write_file("s.lab", "[lab]\n[workload w]\nfile = flows\n");
	write_file("flows", "1\n");
	pause_us = 0;
	unsetenv("SLURM_PROCID");
	unsetenv("SLURM_NTASKS");
	unsetenv("SLURM_ARRAY_TASK_ID");
	unsetenv("OMPI_COMM_WORLD_SIZE");
}

static void
teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(sweep, .init = setup, .fini = teardown);

/* A command line of words without blanks, in a process of its own; what it says is in "said". */
static pid_t
begin(const char *line)
{
	pid_t pid = fork();
	char words[512], *argv[32];
	int argc = 0;

	if (pid != 0)
		return pid;
	snprintf(words, sizeof(words), "sweep %s", line);
	for (char *p = strtok(words, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	argv[argc] = NULL;
	if (!freopen("said", "w", stderr))
		_exit(99);
	setvbuf(stderr, NULL, _IONBF, 0);
	_exit(sweep_main(argc, argv, &ops));
}

static int
end(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int
sweep(const char *line)
{
	return end(begin(line));
}

static void
expect_said(const char *what)
{
	char *text = read_file("said");

	cr_expect(strstr(text, what), "no '%s' in: %s", what, text);
	free(text);
}

static void
expect_same(const char *a, const char *b)
{
	char *x = read_file(a), *y = read_file(b);

	cr_expect(*x);
	cr_expect_str_eq(x, y);
	free(x);
	free(y);
}

Test(sweep, a_table_has_a_line_for_each_cell)
{
	char *text;

	cr_expect_eq(sweep("s.lab x=1,2 --seeds 7..8 -o a.csv"), 0);
	text = read_file("a.csv");
	cr_expect_str_eq(text, "cell,x,seed,status,y_ms,odd\n"
	                       "0,1,7,ok,17,1\n"
	                       "1,1,8,ok,18,1\n"
	                       "2,2,7,ok,27,\n"
	                       "3,2,8,ok,28,\n");
	free(text);
	cr_expect_eq(access("a.csv.journal", F_OK), -1);
}

Test(sweep, a_table_is_the_same_however_it_was_made)
{
	char parts[512] = "--merge -o m.csv";

	cr_assert_eq(sweep("s.lab x=1..2,4..9 --seeds 1..3 -o a.csv -j 1"), 0);
	cr_assert_eq(sweep("s.lab x=1..2,4..9 --seeds 1..3 -o b.csv -j 7"), 0);
	expect_same("b.csv", "a.csv");
	for (int i = 0; i < 5; i++) {
		char line[128], part[32];

		snprintf(line, sizeof(line),
		         "-q s.lab x=1..2,4..9 --seeds 1..3 --shard %d/5 -o p%d.csv", i, i);
		cr_assert_eq(sweep(line), 0);
		snprintf(part, sizeof(part), " p%d.csv%s", 4 - i, i % 2 ? ".journal" : "");
		strcat(parts, part);
	}
	cr_assert_eq(sweep(parts), 0);
	expect_same("m.csv", "a.csv");
	for (int i = 0; i < 3; i++) {
		char number[2] = {(char)('0' + i), '\0'};

		setenv("SLURM_PROCID", number, 1);
		setenv("SLURM_NTASKS", "3", 1);
		cr_assert_eq(sweep("s.lab x=1..2,4..9 --seeds 1..3 -o n.csv"), 0);
	}
	cr_assert_eq(sweep("--merge -o n.csv n.0-of-3.csv n.1-of-3.csv n.2-of-3.csv"), 0);
	expect_same("n.csv", "a.csv");
}

Test(sweep, a_sweep_that_is_killed_goes_on_and_does_no_cell_twice)
{
	int nb_kills = 0;
	off_t before;

	cr_assert_eq(sweep("s.lab x=4..9 --seeds 1..10 -o a.csv"), 0);
	before = size_of("runs");
	cr_assert_eq(before, 60);
	pause_us = 3000;
	for (;;) {
		pid_t pid = begin("s.lab x=4..9 --seeds 1..10 -o b.csv -j 3");
		int status;

		usleep(20000u + (useconds_t)nb_kills * 500);
		if (waitpid(pid, &status, WNOHANG) == pid) {
			cr_expect_eq(status, 0);
			break;
		}
		nb_kills++;
		kill(pid, SIGKILL);
		cr_expect_eq(end(pid), 1000 + SIGKILL);
	}
	cr_expect_gt(nb_kills, 0);
	expect_same("b.csv", "a.csv");
	/* A kill takes away what three jobs do, and what three have done and is not yet written. */
	cr_expect_leq(size_of("runs") - before, 60 + 6 * nb_kills);
}

Test(sweep, asked_to_stop_it_says_how_to_go_on)
{
	pid_t pid;

	pause_us = 200000;
	pid = begin("s.lab x=4 --seeds 1..100 -o a.csv -j 2");
	while (size_of("runs") < 4)
		usleep(10000);
	kill(pid, SIGTERM);
	cr_expect_eq(end(pid), 128 + SIGTERM);
	expect_said("the same command goes on");
	cr_expect_eq(access("a.csv", F_OK), -1);
	pause_us = 0;
	cr_expect_eq(sweep("s.lab x=4 --seeds 1..100 -o a.csv -j 2"), 0);
	expect_said("of 100 cells are done already");
	cr_expect_leq(size_of("runs"), 102);
}

Test(sweep, a_cell_that_fails_is_told_and_can_be_done_again)
{
	char *text;

	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv"), 1);
	text = read_file("a.csv");
	cr_expect_str_eq(text, "cell,x,status,y_ms\n"
	                       "0,2,ok,20\n1,3,failed: signal KILL,\n2,4,ok,40\n");
	free(text);
	expect_said("1 of 3 cells failed");
	expect_said("weft-lab run s.lab x=3\n");
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv"), 1);
	cr_expect_eq(size_of("runs"), 2, "nothing was to do");
	write_file("mended", "");
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv --retry"), 0);
	cr_expect_eq(size_of("runs"), 3);
	text = read_file("a.csv");
	cr_expect_str_eq(text, "cell,x,status,y_ms,odd\n0,2,ok,20,\n1,3,ok,30,3\n2,4,ok,40,\n");
	free(text);
}

Test(sweep, what_has_changed_is_not_mixed_with_what_was)
{
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv"), 1);
	cr_expect_eq(sweep("s.lab x=2..5 -o a.csv"), 2);
	expect_said("its parameters are others");
	write_file("flows", "2\n");
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv"), 2);
	expect_said("the scenario has changed");
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv --shard 0/2 --fresh"), 0);
	cr_expect_eq(sweep("s.lab x=2..4 -o a.csv"), 2);
	expect_said("it is another shard");
}

Test(sweep, mistakes_are_told_before_anything_is_done)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{"", "-o FILE.csv"},
		{"s.lab", "-o FILE.csv"},
		{"-o a.csv", "which scenario"},
		{"s.lab y -o a.csv", "'y' is not KEY=VALUE"},
		{"s.lab x=1 x=2 -o a.csv", "x is there twice"},
		{"s.lab seed=1 --seeds 2 -o a.csv", "seed is there twice"},
		{"s.lab x=1,bad,2 y=1..3 -o a.csv", "s.lab: x is a number"},
		{"none.lab -o a.csv", "none.lab: No such file"},
		{"s.lab -o a.csv --jobs 0", "--jobs '0': not in 1 to 1024"},
		{"s.lab -o a.csv --timeout 5", "--timeout '5': needs a unit"},
		{"s.lab -o a.csv --shard 4/4", "--shard '4/4': not I/N"},
		{"s.lab -o none/a.csv", "none/a.csv.journal: No such file"},
		{"s.lab -o a.csv --never", "try --help"},
		{"--merge -o a.csv", "--merge has the CSV files"},
		{"--merge x.csv -o a.csv", "x.csv.journal: No such file"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(sweep(rows[i].line), 2, "row %zu", i);
		expect_said(rows[i].said);
	}
	cr_expect_eq(size_of("runs"), 0);
	cr_expect_eq(access("a.csv.journal", F_OK), -1);
}

Test(sweep, parts_that_are_not_a_whole_are_refused)
{
	cr_assert_eq(sweep("s.lab x=4..7 --shard 0/2 -o 0.csv"), 0);
	cr_assert_eq(sweep("s.lab x=4..7 --shard 1/2 -o 1.csv"), 0);
	cr_assert_eq(sweep("s.lab x=4..8 --shard 1/2 -o 2.csv"), 0);
	cr_expect_eq(sweep("--merge -o m.csv 0.csv"), 2);
	expect_said("2 of 4 cells, the first is 1, are in no part");
	cr_expect_eq(sweep("--merge -o m.csv 0.csv 1.csv 1.csv"), 2);
	expect_said("2 cells, the first is 1, are in more than one part");
	cr_expect_eq(sweep("--merge -o m.csv 0.csv 2.csv"), 2);
	expect_said("are of different sweeps");
	cr_expect_eq(access("m.csv", F_OK), -1);
	cr_expect_eq(sweep("--merge -o m.csv 1.csv 0.csv"), 0);
}
