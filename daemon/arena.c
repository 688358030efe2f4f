/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int
arena_init(struct arena *arena)
{
	int fd = memfd_create("weft-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *base;
	int err;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, ARENA_BYTES) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto fail;
	base = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		goto fail;
	memset(arena, 0, sizeof(*arena));
	arena->fd = fd;
	arena->base = base;
	return 0;
fail:
	err = -errno;
	close(fd);
	return err;
}

void
arena_fini(struct arena *arena)
{
	munmap(arena->base, ARENA_BYTES);
	close(arena->fd);
}

static bool
is_used(const struct arena *arena, uint64_t page)
{
	return arena->used[page / 64] >> page % 64 & 1;
}

static uint64_t
pages_of(uint64_t bytes)
{
	return bytes / ARENA_PAGE + (bytes % ARENA_PAGE != 0);
}

int
arena_alloc(struct arena *arena, uint64_t bytes, uint64_t *offset)
{
	uint64_t want = pages_of(bytes), run = 0, first;

	assert(bytes > 0);
	for (uint64_t page = 0; page < ARENA_PAGES; page++) {
		if (page % 64 == 0 && arena->used[page / 64] == UINT64_MAX) {
			page += 63;
			run = 0;
			continue;
		}
		run = is_used(arena, page) ? 0 : run + 1;
		if (run < want)
			continue;
		first = page + 1 - want;
		for (uint64_t i = first; i <= page; i++)
			arena->used[i / 64] |= UINT64_C(1) << i % 64;
		arena->nb_used_pages += (uint32_t)want;
		*offset = first * ARENA_PAGE;
		/* The application may have written here. It also makes the pages, so that the
		 * worker need not. */
		memset(arena->base + *offset, 0, want * ARENA_PAGE);
		return 0;
	}
	return -ENOMEM;
}

void
arena_free(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / ARENA_PAGE, nb = pages_of(bytes);

	assert(offset % ARENA_PAGE == 0 && first + nb <= ARENA_PAGES);
	for (uint64_t i = first; i < first + nb; i++) {
		assert(is_used(arena, i));
		arena->used[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	arena->nb_used_pages -= (uint32_t)nb;
	/* If it fails, the memory is merely kept. */
	(void)!fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
	                 (off_t)(nb * ARENA_PAGE));
}
