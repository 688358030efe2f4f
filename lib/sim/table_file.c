/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int
table_file_refuse(const struct table_file *t, const char *fmt, ...)
{
	int len = snprintf(t->why, t->why_size, "%s:%u: ", t->name, t->line);
	va_list ap;

	if (len < 0 || (size_t)len >= t->why_size)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(t->why + len, t->why_size - (size_t)len, fmt, ap);
	va_end(ap);
	/* Bytes of the file, which are for a terminal now. */
	for (char *c = t->why + len; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return -EINVAL;
}

/** @return 1, 0 at the end, or -EINVAL. */
static int
read_line(struct table_file *t)
{
	size_t len = 0;
	int c;

	t->line++;
	while ((c = getc(t->in)) != EOF && c != '\n') {
		if (len == TABLE_LINE_MAX)
			return table_file_refuse(t,
			                         "the line is longer than %d bytes; is this a file "
			                         "of rows of numbers?",
			                         TABLE_LINE_MAX);
		if (c == '\0')
			return table_file_refuse(t, "a byte of 0; this is no text file");
		t->text[len++] = (char)c;
	}
	t->text[len] = '\0';
	if (ferror(t->in))
		return table_file_refuse(t, "cannot be read: %s", strerror(errno));
	return c != EOF || len > 0;
}

int
table_file_next(struct table_file *t)
{
	for (int rc = read_line(t); rc != 0; rc = read_line(t)) {
		char *rest = t->text, *field;
		int nb = 0;

		if (rc < 0)
			return rc;
		t->text[strcspn(t->text, "#")] = '\0';
		while ((field = strsep(&rest, " \t\r,;")) != NULL) {
			if (*field == '\0')
				continue;
			if (nb == TABLE_FIELDS_MAX)
				return table_file_refuse(t, "more than %d fields",
				                         TABLE_FIELDS_MAX);
			t->fields[nb++] = field;
		}
		if (nb > 0)
			return nb;
	}
	return 0;
}

/**
 * The folder that shipped files are in, seen from the program: installed, in a build tree, and from
 * a unit test there.
 */
static const char *const places[] = {WEFT_LAB_INSTALLED, "../../conf/lab", "../../../conf/lab"};

static FILE *
open_shipped(const char *file, const char *suffix)
{
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *in = NULL;
	char *slash;

	if (strchr(file, '/') || len < 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !in; i++) {
		bool is_absolute = places[i][0] == '/';

		snprintf(path, sizeof(path), "%s%s%s/%s%s", is_absolute ? "" : self,
		         is_absolute ? "" : "/", places[i], file, suffix);
		in = fopen(path, "re");
	}
	return in;
}

FILE *
table_file_open(const char *folder, const char *file, const char *suffix, char *why, size_t size)
{
	bool is_plain = file[0] == '/' || !folder;
	char path[PATH_MAX];
	FILE *in = NULL;
	int err;

	if (snprintf(path, sizeof(path), "%s%s%s", is_plain ? "" : folder, is_plain ? "" : "/",
	             file) >= (int)sizeof(path)) {
		snprintf(why, size, "the path is longer than %d bytes", PATH_MAX - 1);
		return NULL;
	}
	in = fopen(path, "re");
	err = errno;
	if (!in && err == ENOENT)
		in = open_shipped(file, suffix);
	if (!in)
		snprintf(why, size, "%s: %s%s", path, strerror(err),
		         err == ENOENT && !strchr(file, '/') ? "; there is no shipped file of that "
		                                               "name either"
		                                             : "");
	return in;
}
