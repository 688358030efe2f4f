/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket_folder.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int
socket_folder_check(const char *socket, char *why, size_t why_size)
{
	char copy[PATH_MAX], *folder;
	struct stat st;

	snprintf(copy, sizeof(copy), "%s", socket);
	folder = dirname(copy);
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
		snprintf(why, why_size, "there is no folder %s: make it", folder);
		return -ENOENT;
	}
	if (eaccess(folder, W_OK | X_OK) == 0)
		return 0;
	snprintf(why, why_size,
	         "user %u may not make files in %s: give it the folder, or choose another",
	         (unsigned int)geteuid(), folder);
	return -EACCES;
}
