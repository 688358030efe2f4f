/* SPDX-License-Identifier: BSD-3-Clause */
#include "adopt.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/** Sealed against shrinking, on tmpfs, and open for writing: a daemon can map it without SIGBUS. */
static bool
is_safe(int fd)
{
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) && !(seals & F_SEAL_WRITE) &&
	       fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

static bool
is_behind(int fd, const struct maps_entry *entry)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == entry->ino &&
	       major(st.st_dev) == entry->dev_major && minor(st.st_dev) == entry->dev_minor;
}

/** A descriptor of what is mapped: from /proc/self/map_files (privileged), or one still open. */
static int
find_fd(const struct maps_entry *entry)
{
	char path[64];
	struct dirent *file;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)entry->lo,
	         (unsigned long)entry->hi);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return -1;
	while (fd < 0 && (file = readdir(dir))) {
		int open_fd = atoi(file->d_name);

		if (isdigit((unsigned char)file->d_name[0]) && open_fd != dirfd(dir) &&
		    is_behind(open_fd, entry))
			fd = fcntl(open_fd, F_DUPFD_CLOEXEC, 0);
	}
	closedir(dir);
	return fd;
}

int
adopt_fd(const struct maps_entry *entry, uint64_t *length)
{
	struct stat st;
	int fd = -1;

	if (entry->shared && entry->ino)
		fd = find_fd(entry);
	if (fd < 0)
		return -1;
	if (!is_behind(fd, entry) || !is_safe(fd) || fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	*length = (uint64_t)st.st_size;
	return fd;
}
