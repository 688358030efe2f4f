/* SPDX-License-Identifier: BSD-3-Clause */
#include "outfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"

int
outfile_folder(const char *folder)
{
	struct stat st;
	int err;

	if (mkdir(folder, 0777) == 0)
		return 0;
	err = errno;
	if (err == EEXIST) {
		if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
			return 0;
		err = ENOTDIR;
	}
	log_error("cannot make folder %s: %s", folder, strerror(err));
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
