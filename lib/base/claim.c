/* SPDX-License-Identifier: BSD-3-Clause */
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether path still names the open file: a holder that ends removes it. */
static bool
is_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static void
read_holder(int fd, char *holder, size_t size)
{
	ssize_t n = pread(fd, holder, size - 1, 0);

	holder[n > 0 ? n : 0] = '\0';
	if (!holder[0])
		snprintf(holder, size, "another process");
}

int
claim_take(struct claim *claim, const char *dir, const char *file, const char *text, char *holder,
           size_t size)
{
	claim->fd = -1;
	if ((size_t)snprintf(claim->path, sizeof(claim->path), "%s/%s", dir, file) >=
	    sizeof(claim->path))
		return -ENAMETOOLONG;
	for (;;) {
		int fd = open(claim->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		int err;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			err = errno == EWOULDBLOCK ? -EBUSY : -errno;
			read_holder(fd, holder, size);
			close(fd);
			return err;
		}
		if (!is_named(fd, claim->path)) {
			close(fd);
			continue;
		}
		if (ftruncate(fd, 0) < 0 || pwrite(fd, text, strlen(text), 0) < 0) {
			err = -errno;
			unlink(claim->path);
			close(fd);
			return err;
		}
		claim->fd = fd;
		return 0;
	}
}

void
claim_drop(struct claim *claim)
{
	if (claim->fd < 0)
		return;
	/* Somebody may have removed it, and then it is the next one's. */
	if (is_named(claim->fd, claim->path))
		unlink(claim->path);
	close(claim->fd);
	claim->fd = -1;
}
