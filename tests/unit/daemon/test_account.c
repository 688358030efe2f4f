/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "account.h"
#include "log.h"

static struct accounts accounts;
static char last[LOG_LINE_MAX];
static uint32_t nb_lines;

static void
keep(enum log_level level, const char *line)
{
	cr_expect_eq(level, LOG_LEVEL_WARN);
	snprintf(last, sizeof(last), "%s", line);
	nb_lines++;
}

/* client_qps 4, user_qps 6, 100 bytes and 150, and two clients of a user. */
static void
begin(void)
{
	struct account_limits limits = {
		.of_client = {[ACCOUNT_QPS] = 4, [ACCOUNT_MEMORY] = 100},
		.of_user = {[ACCOUNT_CLIENTS] = 2, [ACCOUNT_QPS] = 6, [ACCOUNT_MEMORY] = 150},
	};

	accounts_init(&accounts, &limits);
	log_fn = keep;
	nb_lines = 0;
}

static struct account
open_client(pid_t pid, uid_t uid)
{
	struct account a;

	cr_assert_eq(account_open(&a, &accounts, pid, uid), 0);
	a.device = "weft0";
	return a;
}

static uint32_t
take_qps(struct account *a, uint32_t nb)
{
	uint32_t n = 0;

	for (; n < nb && account_check(a, ACCOUNT_QPS, 1) == 0; n++)
		account_add(a, ACCOUNT_QPS, 1);
	return n;
}

static void
close_client(struct account *a)
{
	for (uint32_t kind = ACCOUNT_QPS; kind < ACCOUNT_NB; kind++)
		account_sub(a, kind, a->used[kind]);
	account_close(a);
}

Test(account, a_program_has_its_limit_and_a_line_says_which)
{
	struct account a;

	begin();
	a = open_client(17, 1000);
	cr_expect_eq(take_qps(&a, 10), 4);
	cr_expect_eq(nb_lines, 1);
	cr_expect_str_eq(last, "weft0: pid 17 (uid 1000) was refused a QP: the program has 4, "
	                       "and [daemon] client_qps allows no more");
	cr_expect_eq(accounts.stats.refused[ACCOUNT_QPS], 1);
	account_sub(&a, ACCOUNT_QPS, 1);
	cr_expect_eq(take_qps(&a, 10), 1);
	close_client(&a);
	accounts_fini(&accounts);
}

Test(account, the_programs_of_a_user_share_his_limit_and_others_do_not)
{
	struct account a, b, other;

	begin();
	a = open_client(17, 1000);
	b = open_client(18, 1000);
	other = open_client(19, 0);
	cr_expect_eq(take_qps(&a, 10), 4);
	cr_expect_eq(take_qps(&b, 10), 2);
	cr_expect_str_eq(last, "weft0: pid 18 (uid 1000) was refused a QP: its user has 6, "
	                       "and [daemon] user_qps allows no more");
	cr_expect_eq(take_qps(&other, 10), 4, "root is a user, too");
	close_client(&a);
	cr_expect_eq(take_qps(&b, 10), 2, "what one gives back the other may have");
	close_client(&b);
	close_client(&other);
	accounts_fini(&accounts);
}

Test(account, bytes_are_counted_without_overflow)
{
	struct account a, b;

	begin();
	a = open_client(17, 1000);
	b = open_client(18, 1000);
	cr_expect_eq(account_check(&a, ACCOUNT_MEMORY, UINT64_MAX), ENOMEM);
	cr_expect_eq(account_check(&a, ACCOUNT_MEMORY, 101), ENOMEM);
	cr_expect_eq(account_check(&a, ACCOUNT_MEMORY, 100), 0);
	account_add(&a, ACCOUNT_MEMORY, 100);
	cr_expect_eq(account_check(&a, ACCOUNT_MEMORY, 1), ENOMEM);
	cr_expect_eq(account_check(&b, ACCOUNT_MEMORY, 51), ENOMEM);
	cr_expect_str_eq(last, "weft0: pid 18 (uid 1000) was refused shared memory: its user has "
	                       "100, and [daemon] user_memory allows 150 bytes, not 51 more");
	cr_expect_eq(account_check(&b, ACCOUNT_MEMORY, 50), 0);
	close_client(&a);
	close_client(&b);
	accounts_fini(&accounts);
}

Test(account, a_user_has_so_many_clients)
{
	struct account a, b, c;

	begin();
	a = open_client(17, 1000);
	b = open_client(18, 1000);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(account_open(&c, &accounts, 19, 1000), EAGAIN);
	cr_expect_eq(nb_lines, 1);
	cr_expect_str_eq(last,
	                 "control: pid 19 (uid 1000) was refused a connection: its user has 2, "
	                 "and [daemon] user_clients allows no more");
	cr_expect_eq(accounts.stats.refused[ACCOUNT_CLIENTS], 3);
	close_client(&a);
	a = open_client(20, 1000);
	cr_expect_eq(account_open(&c, &accounts, 21, 1000), EAGAIN);
	cr_expect_eq(nb_lines, 2);
	close_client(&a);
	close_client(&b);
	accounts_fini(&accounts);
}

Test(account, the_most_is_the_lesser_of_both_limits)
{
	struct account a;

	begin();
	a = open_client(17, 1000);
	cr_expect_eq(account_most(&a, ACCOUNT_QPS), 4);
	accounts.limits.of_user[ACCOUNT_QPS] = 3;
	cr_expect_eq(account_most(&a, ACCOUNT_QPS), 3);
	close_client(&a);
	accounts_fini(&accounts);
}

/* A thousand programs, each refused once: the log has a few lines, and says that they are few. */
Test(account, refusals_do_not_flood_the_log)
{
	struct account a;

	begin();
	for (int i = 0; i < 1000; i++) {
		a = open_client(i, 1000);
		cr_expect_eq(take_qps(&a, 10), 4);
		close_client(&a);
	}
	cr_expect_geq(nb_lines, 20);
	cr_expect_lt(nb_lines, 100);
	cr_expect_eq(accounts.stats.refused[ACCOUNT_QPS], 1000);
	accounts.quiet_ns = 0; /* long after */
	a = open_client(1, 1000);
	cr_expect_eq(take_qps(&a, 10), 4);
	cr_expect(strstr(last, " such lines were left out)"), "%s", last);
	close_client(&a);
	accounts_fini(&accounts);
}

/* What a program that has ended gives back at a time. */
static bool
give_back_one(void *arg)
{
	struct account *ended = arg;

	if (!ended->all)
		return false;
	if (ended->used[ACCOUNT_QPS] > 0) {
		account_sub(ended, ACCOUNT_QPS, 1);
		return true;
	}
	account_close(ended);
	ended->all = NULL;
	return true;
}

Test(account, what_the_dead_have_yet_is_got_back_before_anybody_is_refused)
{
	struct account ended, next;

	begin();
	ended = open_client(17, 1000);
	cr_expect_eq(take_qps(&ended, 4), 4);
	accounts.reclaim = give_back_one;
	accounts.reclaim_arg = &ended;
	next = open_client(18, 1000);
	cr_expect_eq(take_qps(&next, 4), 4);
	cr_expect_eq(ended.used[ACCOUNT_QPS], 2, "no more than is needed");
	cr_expect_eq(take_qps(&next, 1), 0, "a program's own limit");
	close_client(&next);
	cr_expect_eq(nb_lines, 1);
	/* The last of a user's clients: he is forgotten, and known anew. */
	accounts.limits.of_user[ACCOUNT_CLIENTS] = 1;
	next = open_client(19, 1000);
	cr_expect_null(ended.all);
	cr_expect_eq(accounts.stats.refused[ACCOUNT_CLIENTS], 0);
	close_client(&next);
	accounts_fini(&accounts);
}
