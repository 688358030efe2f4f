/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H

#include <stdbool.h>
#include <stddef.h>

/** The struct that holds this member. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/**
 * Intrusive doubly linked ring: the head of a list, or a member's link in it.
 *
 * A head is initialised by list_init. A link that was initialised, or left by list_del, points to
 * itself; so list_del may be called again, and list_is_linked tells.
 */
struct list {
	struct list *prev, *next;
};

/** Make an empty head, or a link that is in no list. */
static inline void
list_init(struct list *l)
{
	l->prev = l;
	l->next = l;
}

static inline bool
list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool
list_is_linked(const struct list *link)
{
	return link->next != link;
}

/** Put a link that is in no list before pos; with a head as pos, at the list's end. */
static inline void
list_add_tail(struct list *pos, struct list *link)
{
	link->prev = pos->prev;
	link->next = pos;
	pos->prev->next = link;
	pos->prev = link;
}

/** Take a link out of its list, if it is in one. */
static inline void
list_del(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

/** Take the first link out; NULL if the list is empty. */
static inline struct list *
list_pop(struct list *head)
{
	struct list *first = head->next;

	if (first == head)
		return NULL;
	list_del(first);
	return first;
}

/** Move all of one list to the end of another. */
static inline void
list_splice_tail(struct list *to, struct list *from)
{
	if (list_is_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

/** Walk over a list whose links are not changed meanwhile. */
#define LIST_FOREACH(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)

#endif
