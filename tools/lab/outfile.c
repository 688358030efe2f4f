/* SPDX-License-Identifier: BSD-3-Clause */
#include "outfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

int
outfile_folder(const char *folder)
{
	struct stat st;
	int err;

	if (mkdir(folder, 0777) == 0)
		return 0;
	err = errno;
	if (err != EEXIST) {
		log_error("cannot make folder %s: %s", folder, strerror(err));
		return -err;
	}
	if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
		err = ENOTDIR;
	else if (access(folder, W_OK | X_OK) != 0)
		err = errno;
	else
		return 0;
	log_error("cannot write into %s: %s", folder, strerror(err));
	return -err;
}

/* 0 or a positive errno. */
static int
may_be_begun(const char *path)
{
	const char *slash = strrchr(path, '/');
	int len = !slash ? 1 : slash == path ? 1 : (int)(slash - path);
	char folder[PATH_MAX];
	struct stat st;

	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return EISDIR;
		return access(path, W_OK) == 0 ? 0 : errno;
	}
	if (errno != ENOENT)
		return errno;
	if (snprintf(folder, sizeof(folder), "%.*s", len, slash ? path : ".") >=
	    (int)sizeof(folder))
		return ENAMETOOLONG;
	return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

int
outfile_check(const char *path)
{
	int err = may_be_begun(path);

	if (err)
		log_error("cannot write %s: %s", path, strerror(err));
	return -err;
}

int
outfile_open(struct outfile *out, const char *folder, const char *name)
{
	int len = snprintf(out->path, sizeof(out->path), "%s%s%s", folder ? folder : "",
	                   folder ? "/" : "", name);
	int err = ENAMETOOLONG;

	out->f = NULL;
	if (len < (int)sizeof(out->path)) {
		out->f = fopen(out->path, "we");
		err = errno;
	}
	if (out->f)
		return 0;
	log_error("cannot write %s: %s", out->path, strerror(err));
	return -err;
}

int
outfile_close(struct outfile *out)
{
	const bool failed = ferror(out->f);
	int err;

	/* Of a write that failed before, errno is gone: another try says why. */
	errno = 0;
	if (failed)
		fflush(out->f);
	err = failed && errno == 0 ? EIO : errno;
	if (fclose(out->f) && err == 0)
		err = errno;
	out->f = NULL;
	if (err)
		log_error("cannot write %s: %s; the file is not complete", out->path,
		          strerror(err));
	return -err;
}
