/* SPDX-License-Identifier: BSD-3-Clause */
#include "outbox.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi.h"

int
outbox_open(struct outbox *box, enum outbox_form form, int *peer_fd)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	box->fd = fds[0];
	box->form = form;
	list_init(&box->waiting);
	*peer_fd = fds[1];
	return 0;
}

void
outbox_close(struct outbox *box)
{
	close(box->fd);
}

void
outbox_mark_init(struct outbox_mark *mark, struct outbox *box, uint64_t cookie)
{
	*mark = (struct outbox_mark){.box = box, .cookie = cookie};
	list_init(&mark->link);
}

/* Flags of a description that is shared are not relied on: MSG_DONTWAIT is the call's own. */
static bool
try_send(const struct outbox_mark *mark, uint32_t type)
{
	const struct shm_event event = {.type = type, .cookie = mark->cookie};
	bool cookies = mark->box->form == OUTBOX_COOKIES;
	ssize_t n =
		send(mark->box->fd, cookies ? (const void *)&event.cookie : &event,
	             cookies ? sizeof(event.cookie) : sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);

	/* Any other error: nobody reads at the other end any more. */
	return n >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

bool
outbox_send(struct outbox_mark *mark, uint32_t type)
{
	struct outbox *box = mark->box;

	if (list_is_empty(&box->waiting) && try_send(mark, type))
		return true;
	if (memchr(mark->types, (int)type, mark->nb_types))
		return false;
	assert(type <= UINT8_MAX && mark->nb_types < OUTBOX_TYPES_MAX);
	if (mark->nb_types == 0)
		list_add_tail(&box->waiting, &mark->link);
	mark->types[mark->nb_types++] = (uint8_t)type;
	return false;
}

/* One of those that wait no longer does. */
static void
remove_type(struct outbox_mark *mark, uint32_t i)
{
	mark->nb_types--;
	memmove(mark->types + i, mark->types + i + 1, mark->nb_types - i);
	if (mark->nb_types == 0)
		list_del(&mark->link);
}

bool
outbox_flush(struct outbox *box)
{
	for (uint32_t n = 0; n < OUTBOX_FLUSH_MAX && !list_is_empty(&box->waiting); n++) {
		struct outbox_mark *mark =
			container_of(box->waiting.next, struct outbox_mark, link);

		if (!try_send(mark, mark->types[0]))
			return false;
		remove_type(mark, 0);
	}
	return list_is_empty(&box->waiting);
}

void
outbox_cancel(struct outbox_mark *mark, uint32_t type)
{
	const uint8_t *at = memchr(mark->types, (int)type, mark->nb_types);

	if (at)
		remove_type(mark, (uint32_t)(at - mark->types));
}

void
outbox_forget(struct outbox_mark *mark)
{
	mark->nb_types = 0;
	list_del(&mark->link);
}
