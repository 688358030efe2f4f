/* SPDX-License-Identifier: BSD-3-Clause */
#include "link_conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * The memory: the words of both rings, then the bytes of each. Whatever the size of a page, each
 * part can be mapped by itself.
 */
#define WORDS_BYTES (64u << 10)
#define MEMORY_BYTES (WORDS_BYTES + 2 * LINK_RING_BYTES)
/* Mapped: the words once, the bytes of each ring twice in a row. */
#define MAP_BYTES (WORDS_BYTES + 4 * (size_t)LINK_RING_BYTES)

static_assert(2 * sizeof(struct link_ring_shm) <= WORDS_BYTES, "two rings fit");
static_assert(LINK_RING_BYTES % WORDS_BYTES == 0, "the bytes begin at a page");

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

int
link_memory_create(void)
{
	int fd = memfd_create("weft-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd >= 0 && ftruncate(fd, MEMORY_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0)
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int
link_memory_check(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	/* Huge pages of another kind of memfd can be missing, and that is a SIGBUS. */
	if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(fd, &fs) < 0 ||
	    fs.f_type != TMPFS_MAGIC || fstat(fd, &st) < 0 || st.st_size != MEMORY_BYTES)
		return -EPROTO;
	return 0;
}

static bool
map_part(uint8_t *at, size_t bytes, int fd, size_t offset)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
	            (off_t)offset) != MAP_FAILED;
}

int
link_conn_create(int fd, int memory_fd, enum link_role role, struct link_conn **conn)
{
	struct link_conn *c = calloc(1, sizeof(*c));
	uint8_t *at, *bytes[2];
	struct link_ring_shm *rings;

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	c->map = mmap(NULL, MAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->map == MAP_FAILED) {
		free(c);
		return -ENOMEM;
	}
	at = c->map;
	if (!map_part(at, WORDS_BYTES, memory_fd, 0))
		goto fail;
	rings = c->map;
	at += WORDS_BYTES;
	for (int i = 0; i < 2; i++) {
		bytes[i] = at;
		for (int twice = 0; twice < 2; twice++, at += LINK_RING_BYTES)
			if (!map_part(at, LINK_RING_BYTES, memory_fd,
			              WORDS_BYTES + (size_t)i * LINK_RING_BYTES))
				goto fail;
	}
	link_writer_init(&c->tx, &rings[role], bytes[role]);
	link_reader_init(&c->rx, &rings[!role], bytes[!role]);
	c->fd = fd;
	*conn = c;
	return 0;
fail:
	link_conn_free(c);
	return -ENOMEM;
}

void
link_conn_free(struct link_conn *conn)
{
	if (!conn)
		return;
	if (conn->fd >= 0)
		close(conn->fd);
	munmap(conn->map, MAP_BYTES);
	free(conn);
}

void
link_conn_ring(struct link_conn *conn)
{
	/* If there is no room, enough lies there to wake the peer. */
	(void)!send(conn->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
