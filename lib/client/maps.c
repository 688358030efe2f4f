/* SPDX-License-Identifier: BSD-3-Clause */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
maps_open(struct maps *maps)
{
	maps->len = maps->pos = 0;
	maps->fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	return maps->fd < 0 ? -errno : 0;
}

void
maps_close(struct maps *maps)
{
	close(maps->fd);
}

/** Read a number; false if there is none or it does not end in `end`. */
static bool
number(const char **pos, uint32_t base, char end, uint64_t *value)
{
	const char *start = *pos;

	for (*value = 0;; (*pos)++) {
		uint32_t digit;

		if (**pos >= '0' && **pos <= '9')
			digit = (uint32_t)(**pos - '0');
		else if (**pos >= 'a' && **pos <= 'f')
			digit = (uint32_t)(**pos - 'a' + 10);
		else
			break;
		if (digit >= base)
			break;
		*value = *value * base + digit;
	}
	if (*pos == start || **pos != end)
		return false;
	(*pos)++;
	return true;
}

bool
maps_parse(const char *line, struct maps_entry *entry)
{
	uint64_t major, minor;
	size_t len;

	memset(entry, 0, sizeof(*entry));
	if (!number(&line, 16, '-', &entry->lo) || !number(&line, 16, ' ', &entry->hi))
		return false;
	if (strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	entry->read = line[0] == 'r';
	entry->write = line[1] == 'w';
	entry->exec = line[2] == 'x';
	entry->shared = line[3] == 's';
	line += 5;
	if (!number(&line, 16, ' ', &entry->offset) || !number(&line, 16, ':', &major) ||
	    !number(&line, 16, ' ', &minor))
		return false;
	entry->dev_major = (uint32_t)major;
	entry->dev_minor = (uint32_t)minor;
	/* The kernel writes a space behind the inode even if no name follows. */
	if (!number(&line, 10, ' ', &entry->ino))
		return false;
	line += strspn(line, " ");
	len = strnlen(line, sizeof(entry->name) - 1);
	memcpy(entry->name, line, len);
	return true;
}

/** Make room and read on; false at the end of the file. */
static bool
fill(struct maps *maps)
{
	ssize_t got;

	memmove(maps->buf, maps->buf + maps->pos, maps->len - maps->pos);
	maps->len -= maps->pos;
	maps->pos = 0;
	/* A line longer than the buffer loses its end, which is part of a name. */
	if (maps->len == sizeof(maps->buf) - 1)
		maps->len /= 2;
	do
		got = read(maps->fd, maps->buf + maps->len, sizeof(maps->buf) - 1 - maps->len);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	maps->len += (uint32_t)got;
	return true;
}

bool
maps_next(struct maps *maps, struct maps_entry *entry)
{
	for (;;) {
		char *line = maps->buf + maps->pos;
		char *end = memchr(line, '\n', maps->len - maps->pos);

		if (!end) {
			if (!fill(maps))
				return false;
			continue;
		}
		*end = '\0';
		maps->pos = (uint32_t)(end + 1 - maps->buf);
		if (maps_parse(line, entry))
			return true;
	}
}
