/* SPDX-License-Identifier: BSD-3-Clause */
#include "memif_socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "socket_folder.h"

/*
 * Whether somebody has bound it; -ECONNREFUSED if nobody does any more. A server of memif is asked
 * by a datagram socket, of which it does not hear: callers that are gone at once ended
 * dpdk-testpmd.
 */
static int
call(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	err = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* What lies where a server will make its socket. */
static int
clear_way(const char *path, char *why, size_t why_size)
{
	struct stat st;
	int err;

	if (lstat(path, &st) < 0) {
		err = errno == ENOENT ? 0 : -errno;
		if (err)
			snprintf(why, why_size, "memif %s: %s", path, strerror(-err));
		return err;
	}
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, why_size,
		         "memif %s: is there already, and no socket: remove it, or choose another "
		         "name",
		         path);
		return -EEXIST;
	}
	err = call(path);
	if (err == -ECONNREFUSED && unlink(path) < 0)
		err = -errno;
	else if (err == -ECONNREFUSED)
		return 0;
	if (err == -EACCES || err == -EPERM) {
		snprintf(why, why_size,
		         "memif %s: is there already, and may not be used: remove it, or choose "
		         "another name",
		         path);
		return err;
	}
	if (err && err != -EPROTOTYPE) {
		snprintf(why, why_size, "memif %s: %s", path, strerror(-err));
		return err;
	}
	snprintf(why, why_size,
	         "memif %s: another process serves it: end that, make this end a client, or choose "
	         "another name",
	         path);
	return -EADDRINUSE;
}

int
memif_socket_check(const char *path, bool is_server, char *why, size_t why_size)
{
	char folder_why[PATH_MAX + 64];
	int err = socket_folder_check(path, folder_why, sizeof(folder_why));

	if (err) {
		snprintf(why, why_size, "memif %s: %s", path, folder_why);
		return err;
	}
	return is_server ? clear_way(path, why, why_size) : 0;
}
