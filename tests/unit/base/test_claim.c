/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "claim.h"

static char dir[] = "/tmp/weft-claim-XXXXXX";

static void
make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
}

static void
remove_dir(void)
{
	cr_expect_eq(rmdir(dir), 0, "claims leave nothing behind");
}

TestSuite(claim, .init = make_dir, .fini = remove_dir);

Test(claim, a_second_claimant_hears_who_has_it)
{
	struct claim first, second;
	char holder[64] = "";

	cr_assert_eq(claim_take(&first, dir, "x", "daemon one", holder, sizeof(holder)), 0);
	cr_expect_eq(claim_take(&second, dir, "x", "daemon two", holder, sizeof(holder)), -EBUSY);
	cr_expect_str_eq(holder, "daemon one");
	claim_drop(&second);
	cr_expect_eq(access(first.path, F_OK), 0, "a loser takes nothing away");
	claim_drop(&first);
	cr_expect_eq(claim_take(&second, dir, "x", "daemon two", holder, sizeof(holder)), 0);
	claim_drop(&second);
	claim_drop(&second);
}

Test(claim, whose_file_was_removed_does_not_remove_that_of_the_next)
{
	struct claim first, second, third;
	char holder[64] = "";

	cr_assert_eq(claim_take(&first, dir, "x", "one", holder, sizeof(holder)), 0);
	cr_assert_eq(unlink(first.path), 0);
	cr_assert_eq(claim_take(&second, dir, "x", "two", holder, sizeof(holder)), 0);
	claim_drop(&first);
	cr_expect_eq(claim_take(&third, dir, "x", "three", holder, sizeof(holder)), -EBUSY);
	cr_expect_str_eq(holder, "two");
	claim_drop(&second);
}

Test(claim, ends_with_the_process_that_holds_it)
{
	struct claim claim;
	char holder[64] = "";
	int pipefd[2], status;
	pid_t pid;
	char c;

	cr_assert_eq(pipe(pipefd), 0);
	pid = fork();
	if (pid == 0) {
		if (claim_take(&claim, dir, "x", "child", holder, sizeof(holder)) == 0)
			(void)!write(pipefd[1], "x", 1);
		pause();
		_exit(0);
	}
	cr_assert_eq(read(pipefd[0], &c, 1), 1);
	cr_expect_eq(claim_take(&claim, dir, "x", "parent", holder, sizeof(holder)), -EBUSY);
	cr_expect_str_eq(holder, "child");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	cr_expect_eq(claim_take(&claim, dir, "x", "parent", holder, sizeof(holder)), 0);
	claim_drop(&claim);
}

Test(claim, errors_of_the_folder_are_told)
{
	struct claim claim;
	char holder[64];

	cr_expect_eq(claim_take(&claim, "/no/such", "x", "t", holder, sizeof(holder)), -ENOENT);
}
