/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
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

Test(closer, after_a_start_that_failed_there_is_nothing_to_stop)
{
	struct rlimit limit, none;
	int err;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = closer_start(&closer);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(err, -EMFILE);
	cr_expect_eq(closer.fds[0], -1);
	cr_expect_eq(closer.fds[1], -1);
	/* Would close what isn't open, and join a thread that isn't there. */
	errno = 0;
	closer_stop(&closer);
	cr_expect_eq(errno, 0);
	cr_expect_eq(closer_start(&closer), 0);
	closer_stop(&closer);
	errno = 0;
	closer_stop(&closer);
	cr_expect_eq(errno, 0);
}
