/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TURNS_H
#define WEFT_TURNS_H

#include "list.h"

#include <stdbool.h>

/**
 * @file
 * A queue that is served by group, then by member: who has a thousand members in it waits no less
 * for each of them, and who has one waits for one of each other group at most.
 *
 * Members are links in their owners' structs, initialised by list_init.
 */

/** The members of one owner that wait in a queue. */
struct turn_group {
	struct list link;    /**< in turns.groups, while it has members */
	struct list members; /**< in the order of adding */
};

/** The queue: groups, in the order of their turns. */
struct turns {
	struct list groups;
};

static inline void
turns_init(struct turns *t)
{
	list_init(&t->groups);
}

static inline void
turn_group_init(struct turn_group *g)
{
	list_init(&g->link);
	list_init(&g->members);
}

static inline bool
turns_is_empty(const struct turns *t)
{
	return list_is_empty(&t->groups);
}

/** Add a member behind those of its group. Nothing happens if it waits already. */
static inline void
turns_add(struct turns *t, struct turn_group *g, struct list *member)
{
	if (list_is_linked(member))
		return;
	list_add_tail(&g->members, member);
	if (!list_is_linked(&g->link))
		list_add_tail(&t->groups, &g->link);
}

/** Take the member whose turn it is; its group's next comes behind the other groups. */
static inline struct list *
turns_pop(struct turns *t)
{
	struct list *first = list_pop(&t->groups), *member;
	struct turn_group *g;

	if (!first)
		return NULL;
	g = container_of(first, struct turn_group, link);
	member = list_pop(&g->members);
	if (!list_is_empty(&g->members))
		list_add_tail(&t->groups, &g->link);
	return member;
}

/** Take a member of this group out, if it waits. */
static inline void
turns_del(struct turn_group *g, struct list *member)
{
	list_del(member);
	if (list_is_empty(&g->members))
		list_del(&g->link);
}

#endif
