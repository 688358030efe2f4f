/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bitmap.h"
#include "lazy.h"

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
	*arena = (struct arena){.fd = fd, .base = base, .used = lazy_zeros(ARENA_UNITS / 8)};
	if (arena->used)
		return 0;
	munmap(base, ARENA_BYTES);
fail:
	err = -errno;
	close(fd);
	return err;
}

void
arena_fini(struct arena *arena)
{
	lazy_free(arena->used, ARENA_UNITS / 8);
	munmap(arena->base, ARENA_BYTES);
	close(arena->fd);
}

static uint64_t
units_of(uint64_t bytes)
{
	return bytes / ARENA_UNIT + (bytes % ARENA_UNIT != 0);
}

/* First unit of the first run of so many free ones; ARENA_UNITS if there is none. */
static uint64_t
find_run(struct arena *arena, uint64_t want)
{
	const struct bitmap used = bitmap_of(arena->used, ARENA_UNITS);
	uint64_t first, end;

	while (arena->nb_full < ARENA_UNITS / 64 && arena->used[arena->nb_full] == UINT64_MAX)
		arena->nb_full++;
	for (first = arena->nb_full * UINT64_C(64); first < ARENA_UNITS; first = end) {
		first = bitmap_next(&used, first, ARENA_UNITS, false);
		if (want > ARENA_UNITS - first)
			break;
		end = bitmap_next(&used, first, first + want, true);
		if (end == first + want)
			return first;
	}
	return ARENA_UNITS;
}

int
arena_alloc(struct arena *arena, uint64_t bytes, uint64_t *offset)
{
	struct bitmap used = bitmap_of(arena->used, ARENA_UNITS);
	uint64_t want = units_of(bytes), first = find_run(arena, want);

	assert(bytes > 0);
	if (first == ARENA_UNITS)
		return -ENOMEM;
	for (uint64_t i = first; i < first + want; i++)
		bitmap_set(&used, i);
	arena->nb_used += (uint32_t)want;
	*offset = first * ARENA_UNIT;
	/* The application may have written here. It also makes the pages, so that the worker need
	 * not. */
	memset(arena->base + *offset, 0, want * ARENA_UNIT);
	return 0;
}

/* Give back the pages of these bytes, if no one else lies in the first and the last. */
static void
free_pages(struct arena *arena, uint64_t begin, uint64_t end)
{
	const struct bitmap used = bitmap_of(arena->used, ARENA_UNITS);
	const uint64_t per_page = ARENA_PAGE / ARENA_UNIT;
	uint64_t first = begin / ARENA_PAGE, last = (end + ARENA_PAGE - 1) / ARENA_PAGE;

	if (bitmap_count(&used, first * per_page, (first + 1) * per_page))
		first++;
	if (last > first && bitmap_count(&used, (last - 1) * per_page, last * per_page))
		last--;
	/* If it fails, the memory is merely kept. */
	if (last > first)
		(void)!fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                 (off_t)(first * ARENA_PAGE), (off_t)((last - first) * ARENA_PAGE));
}

void
arena_leave(struct arena *arena)
{
	arena->is_left = true;
}

void
arena_free(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	struct bitmap used = bitmap_of(arena->used, ARENA_UNITS);
	uint64_t first = offset / ARENA_UNIT, nb = units_of(bytes);

	assert(offset % ARENA_UNIT == 0 && first + nb <= ARENA_UNITS);
	for (uint64_t i = first; i < first + nb; i++) {
		assert(bitmap_test(&used, i));
		bitmap_clear(&used, i);
	}
	arena->nb_used -= (uint32_t)nb;
	if (arena->nb_full > first / 64)
		arena->nb_full = (uint32_t)(first / 64);
	if (!arena->is_left)
		free_pages(arena, offset, offset + nb * ARENA_UNIT);
}
