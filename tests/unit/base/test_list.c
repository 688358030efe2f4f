/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "list.h"

struct item {
	int number;
	struct list link;
};

static int
number_of(const struct list *l)
{
	return container_of(l, struct item, link)->number;
}

Test(list, keeps_the_order_in_which_items_were_added)
{
	struct item items[4];
	struct list head;
	int want = 0;

	list_init(&head);
	cr_assert(list_is_empty(&head));
	for (int i = 0; i < 4; i++) {
		items[i].number = i;
		list_init(&items[i].link);
		cr_assert_not(list_is_linked(&items[i].link));
	}
	list_add_tail(&head, &items[1].link);
	list_add_tail(&head, &items[2].link);
	list_add_tail(&items[1].link, &items[0].link);
	list_add_tail(&head, &items[3].link);
	LIST_FOREACH (l, &head) {
		cr_expect_eq(number_of(l), want++);
	}
	cr_expect_eq(want, 4);
	for (want = 0; want < 4; want++)
		cr_expect_eq(number_of(list_pop(&head)), want);
	cr_expect_null(list_pop(&head));
}

Test(list, deletes_from_the_middle_and_twice)
{
	struct item items[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
	struct list head;

	list_init(&head);
	for (int i = 0; i < 3; i++)
		list_add_tail(&head, &items[i].link);
	list_del(&items[1].link);
	list_del(&items[1].link);
	cr_expect_not(list_is_linked(&items[1].link));
	cr_expect_eq(number_of(list_pop(&head)), 0);
	cr_expect_eq(number_of(list_pop(&head)), 2);
	cr_expect(list_is_empty(&head));
}

Test(list, splices_behind_what_is_there_and_empties_the_source)
{
	struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	struct list to, from;

	list_init(&to);
	list_init(&from);
	list_splice_tail(&to, &from);
	cr_expect(list_is_empty(&to));
	list_add_tail(&to, &items[0].link);
	list_add_tail(&to, &items[1].link);
	list_add_tail(&from, &items[2].link);
	list_add_tail(&from, &items[3].link);
	list_splice_tail(&to, &from);
	cr_expect(list_is_empty(&from));
	for (int i = 0; i < 4; i++)
		cr_expect_eq(number_of(list_pop(&to)), i);
	cr_expect_null(list_pop(&to));
}
