/* SPDX-License-Identifier: BSD-3-Clause */
#include "sockdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
sockdir_path(uid_t uid, char *buf, size_t size)
{
	const char *own = secure_getenv("WEFT_RUNTIME_DIR");
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	int len;

	if (own && *own && *own != '/')
		return -EINVAL;
	if (own && *own)
		len = snprintf(buf, size, "%s", own);
	else if (uid == 0)
		len = snprintf(buf, size, "%s", SOCKDIR_SYSTEM);
	else if (xdg && *xdg)
		len = snprintf(buf, size, "%s/weft", xdg);
	else
		len = snprintf(buf, size, "/tmp/weft-%u", (unsigned)uid);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int
sockdir_check(const char *path, uid_t uid, const char **why)
{
	struct stat st;
	int err = 0;

	if (lstat(path, &st) < 0)
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err) {
		*why = strerror(-err);
		return err;
	}
	if (st.st_uid != 0 && st.st_uid != uid && strcmp(path, SOCKDIR_SYSTEM) != 0) {
		*why = "it belongs to another user";
		return -EPERM;
	}
	if (st.st_mode & S_IWOTH) {
		*why = "others may write there";
		return -EPERM;
	}
	return 0;
}
