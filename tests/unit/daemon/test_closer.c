/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer.h"

/* For a close() that may never end. */
static struct closer closer;

static int
connected(int *peer)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*peer = fds[1];
	return fds[0];
}

Test(closer, closes_all_that_it_was_given_before_it_ends, .timeout = 20)
{
	struct pollfd p[CLOSER_MAX];
	uint32_t nb_put = 0;

	cr_assert_eq(closer_start(&closer), 0);
	while (nb_put < CLOSER_MAX) {
		cr_assert(closer_has_room(&closer, 1));
		closer_put(&closer, connected(&p[nb_put++].fd));
	}
	for (uint32_t i = 0; i < nb_put; i++) {
		p[i].events = POLLIN;
		cr_expect_eq(poll(&p[i], 1, 10000), 1);
		cr_expect(p[i].revents & POLLHUP, "socket %u", i);
		close(p[i].fd);
	}
	closer_stop(&closer);
}

Test(closer, without_a_start_there_is_nothing_to_stop)
{
	closer.fds[0] = closer.fds[1] = -1;
	closer_stop(&closer);
}
