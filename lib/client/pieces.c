/* SPDX-License-Identifier: BSD-3-Clause */
#include "pieces.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "backing.h"

/** A larger one without rights guards no stack: malloc reserves arenas so. Bytes; our choice. */
#define GUARD_MAX (UINT64_C(1) << 20)

int
pieces_look(uint64_t lo, uint64_t hi, bool write, struct piece *pieces)
{
	uint64_t guard_hi = 0;
	struct maps_entry entry;
	struct maps maps;
	int nb = 0, err = maps_open(&maps);

	if (err)
		return err;
	while (lo < hi && maps_next(&maps, &entry)) {
		if (entry.hi <= lo) {
			if (!entry.read && !entry.write && entry.hi - entry.lo <= GUARD_MAX)
				guard_hi = entry.hi;
			continue;
		}
		if (entry.lo > lo || !entry.read || (write && !entry.write))
			break;
		if (nb < PIECES_MAX)
			pieces[nb] = (struct piece){entry, guard_hi == entry.lo};
		if (nb <= PIECES_MAX)
			nb++;
		lo = entry.hi;
	}
	maps_close(&maps);
	return lo < hi ? -EFAULT : nb;
}

/** What a thread's stack has at most, unless it was made with a size of its own. */
static uint64_t
stack_bytes(void)
{
	static uint64_t known;
	pthread_attr_t attr;
	size_t bytes = 8 << 20;

	if (!known && pthread_getattr_default_np(&attr) == 0) {
		pthread_attr_getstacksize(&attr, &bytes);
		pthread_attr_destroy(&attr);
	}
	if (!known)
		known = bytes;
	return known;
}

bool
piece_may_move(const struct piece *piece, uint64_t lo)
{
	const struct maps_entry *entry = &piece->entry;
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	if (!entry->read || !entry->write || entry->exec)
		return false;
	/* Once remapped, memory is the application's own under another name. */
	if (backing_find(entry))
		return true;
	if (entry->shared || entry->ino)
		return false;
	if (*entry->name && strcmp(entry->name, "[heap]") != 0 &&
	    (strncmp(entry->name, "[anon:", 6) != 0 || strstr(entry->name, "stack")))
		return false;
	if (entry->lo <= here && here < entry->hi)
		return false;
	return !(piece->guarded && lo < entry->lo + stack_bytes());
}
