/* SPDX-License-Identifier: BSD-3-Clause */
#include "closer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void *
close_all(void *arg)
{
	struct closer *closer = arg;
	int from = closer->fds[0], fd;

	pthread_setname_np(pthread_self(), "weft-close");
	while (read(from, &fd, sizeof(fd)) == sizeof(fd)) {
		close(fd);
		atomic_fetch_sub(&closer->nb_waiting, 1);
	}
	close(from);
	return NULL;
}

int
closer_start(struct closer *closer)
{
	int err;

	atomic_init(&closer->nb_waiting, 0);
	if (pipe2(closer->fds, O_CLOEXEC) < 0) {
		err = -errno;
		closer->fds[0] = closer->fds[1] = -1;
		return err;
	}
	err = -pthread_create(&closer->thread, NULL, close_all, closer);
	if (err) {
		close(closer->fds[0]);
		close(closer->fds[1]);
		closer->fds[0] = closer->fds[1] = -1;
	}
	return err;
}

void
closer_stop(struct closer *closer)
{
	if (closer->fds[1] < 0)
		return;
	close(closer->fds[1]);
	closer->fds[1] = -1;
	if (atomic_load(&closer->nb_waiting) == 0)
		pthread_join(closer->thread, NULL);
	else
		pthread_detach(closer->thread);
}

bool
closer_has_room(const struct closer *closer, uint32_t nb)
{
	return atomic_load(&closer->nb_waiting) + nb <= CLOSER_MAX;
}

/* The pipe holds more than CLOSER_MAX numbers, so that this never waits. */
void
closer_put(struct closer *closer, int fd)
{
	ssize_t n;

	assert(closer_has_room(closer, 1));
	atomic_fetch_add(&closer->nb_waiting, 1);
	n = write(closer->fds[1], &fd, sizeof(fd));
	assert(n == sizeof(fd));
}
