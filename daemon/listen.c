/* SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

int
listen_at(const char *path, int type, mode_t mode, gid_t gid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		log_error("%s: too long for a socket", path);
		return -ENAMETOOLONG;
	}
	strcpy(addr.sun_path, path);
	unlink(path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    (gid != (gid_t)-1 && chown(path, (uid_t)-1, gid) < 0) || chmod(path, mode) < 0 ||
	    listen(fd, SOMAXCONN) < 0) {
		int err = -errno;

		log_error("%s: %s", path, strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	return fd;
}
