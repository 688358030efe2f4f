/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "turns.h"

struct member {
	struct list link;
	int group;
};

static struct turns turns;
static struct turn_group groups[3];
static struct member members[3][4];

static void
begin(void)
{
	turns_init(&turns);
	for (int g = 0; g < 3; g++) {
		turn_group_init(&groups[g]);
		for (int m = 0; m < 4; m++) {
			list_init(&members[g][m].link);
			members[g][m].group = g;
		}
	}
}

static const struct member *
pop(void)
{
	struct list *l = turns_pop(&turns);

	return l ? container_of(l, struct member, link) : NULL;
}

Test(turns, groups_take_turns_and_so_do_their_members)
{
	begin();
	cr_expect(turns_is_empty(&turns));
	cr_expect_null(turns_pop(&turns));
	for (int m = 0; m < 4; m++)
		turns_add(&turns, &groups[0], &members[0][m].link);
	turns_add(&turns, &groups[1], &members[1][0].link);
	turns_add(&turns, &groups[2], &members[2][0].link);
	turns_add(&turns, &groups[2], &members[2][1].link);

	cr_expect_eq(pop(), &members[0][0]);
	cr_expect_eq(pop(), &members[1][0]);
	cr_expect_eq(pop(), &members[2][0]);
	cr_expect_eq(pop(), &members[0][1]);
	cr_expect_eq(pop(), &members[2][1]);
	cr_expect_eq(pop(), &members[0][2]);
	cr_expect_eq(pop(), &members[0][3]);
	cr_expect(turns_is_empty(&turns));
}

Test(turns, one_that_waits_is_not_added_twice_and_one_that_was_taken_is_added_behind)
{
	begin();
	turns_add(&turns, &groups[0], &members[0][0].link);
	turns_add(&turns, &groups[0], &members[0][0].link);
	turns_add(&turns, &groups[0], &members[0][1].link);
	cr_expect_eq(pop(), &members[0][0]);
	turns_add(&turns, &groups[0], &members[0][0].link);
	cr_expect_eq(pop(), &members[0][1]);
	cr_expect_eq(pop(), &members[0][0]);
	cr_expect_null(pop());
}

Test(turns, one_that_goes_leaves_the_others_and_no_empty_group)
{
	begin();
	turns_del(&groups[0], &members[0][0].link); /* does not wait */
	turns_add(&turns, &groups[0], &members[0][0].link);
	turns_add(&turns, &groups[1], &members[1][0].link);
	turns_add(&turns, &groups[1], &members[1][1].link);
	turns_del(&groups[0], &members[0][0].link);
	turns_del(&groups[1], &members[1][0].link);
	cr_expect_eq(pop(), &members[1][1]);
	cr_expect(turns_is_empty(&turns));
	turns_add(&turns, &groups[0], &members[0][0].link);
	turns_del(&groups[0], &members[0][0].link);
	cr_expect(turns_is_empty(&turns));
}
