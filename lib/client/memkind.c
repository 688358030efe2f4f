/* SPDX-License-Identifier: BSD-3-Clause */
#include "memkind.h"

#include <errno.h>

#include "client.h"
#include "maps.h"

/** Whether [lo, hi) is mapped without a hole, readable, and writable if asked. */
static int
check_mapped(uint64_t lo, uint64_t hi, bool write)
{
	struct maps maps;
	struct maps_entry entry;
	int err = maps_open(&maps);

	if (err)
		return err;
	while (lo < hi && maps_next(&maps, &entry)) {
		if (entry.hi <= lo)
			continue;
		if (entry.lo > lo || !entry.read || (write && !entry.write))
			break;
		lo = entry.hi;
	}
	maps_close(&maps);
	return lo < hi ? -EFAULT : 0;
}

int
memkind_map(struct weft *weft, uint64_t va, uint64_t length, bool write, struct ctl_seg *segs,
            uint32_t *nb_segs, struct mem_use **use)
{
	int err;

	(void)weft;
	if (va + length < va)
		return -EINVAL;
	err = check_mapped(va, va + length, write);
	if (err)
		return err;
	segs[0] = (struct ctl_seg){.va = va, .length = length};
	*nb_segs = 1;
	*use = NULL;
	return 0;
}

void
memkind_unmap(struct weft *weft, struct mem_use *use)
{
	(void)weft;
	(void)use;
}

void
memkind_forget(struct weft *weft)
{
	(void)weft;
}
