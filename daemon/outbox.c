/* SPDX-License-Identifier: BSD-3-Clause */
#include "outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int
outbox_open(struct outbox *box, uint32_t msg_size, int *peer_fd)
{
	int fds[2];

	assert(msg_size <= OUTBOX_MSG_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	*box = (struct outbox){.fd = fds[0], .msg_size = msg_size};
	*peer_fd = fds[1];
	return 0;
}

void
outbox_close(struct outbox *box)
{
	close(box->fd);
	free(box->waiting);
}

/* Flags of a description that is shared are not relied on: MSG_DONTWAIT is the call's own. */
static bool
try_send(const struct outbox *box, const void *msg)
{
	ssize_t n = send(box->fd, msg, box->msg_size, MSG_DONTWAIT | MSG_NOSIGNAL);

	/* Any other error: nobody reads at the other end any more. */
	return n >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

static void
remember(struct outbox *box, const void *msg)
{
	for (uint32_t i = 0; i < box->nb_waiting; i++) {
		if (memcmp(box->waiting[i], msg, box->msg_size) == 0)
			return;
	}
	if (box->nb_waiting == box->room) {
		uint32_t room = box->room ? box->room * 2 : 64;
		void *p = NULL;

		if (room <= OUTBOX_WAIT_MAX)
			p = realloc(box->waiting, room * sizeof(*box->waiting));
		if (!p) {
			box->nb_lost++;
			return;
		}
		box->waiting = p;
		box->room = room;
	}
	memcpy(box->waiting[box->nb_waiting++], msg, box->msg_size);
}

bool
outbox_send(struct outbox *box, const void *msg)
{
	if (box->nb_waiting == 0 && try_send(box, msg))
		return true;
	remember(box, msg);
	return false;
}

bool
outbox_flush(struct outbox *box)
{
	uint32_t n = 0;

	while (n < box->nb_waiting && try_send(box, box->waiting[n]))
		n++;
	if (n == 0)
		return box->nb_waiting == 0;
	box->nb_waiting -= n;
	memmove(box->waiting, box->waiting + n, box->nb_waiting * sizeof(*box->waiting));
	return box->nb_waiting == 0;
}
