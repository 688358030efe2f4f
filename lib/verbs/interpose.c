/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two calls of libc that mean something else once private memory has become a mapped object. The
 * shim is preloaded, so programs and their allocators find these first.
 */
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maps.h"
#include "memkind.h"
#include "ranges.h"
#include "shim.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/** What the interposed functions are made of; errno is set as they set it. */
static int
sys_madvise(uint64_t lo, uint64_t hi, int advice)
{
	return (int)syscall(SYS_madvise, lo, hi - lo, advice);
}

/**
 * Private memory reads as zeros after MADV_DONTNEED, and allocators count on it. A mapped object
 * would show its old content again: punch a hole instead, which also gives the memory back.
 */
static int
discard(uint64_t lo, uint64_t hi, int advice)
{
	struct maps_entry entry;
	struct maps maps;
	int ret = 0;

	if (maps_open(&maps))
		return sys_madvise(lo, hi, advice);
	while (lo < hi && maps_next(&maps, &entry)) {
		uint64_t end = entry.hi < hi ? entry.hi : hi;

		if (entry.hi <= lo)
			continue;
		if (entry.lo > lo)
			break; /* the call below says what it thinks of holes */
		if (sys_madvise(lo, end, ranges_hold(&entry) ? MADV_REMOVE : advice) < 0)
			ret = -1;
		lo = end;
	}
	maps_close(&maps);
	return lo < hi ? sys_madvise(lo, hi, advice) : ret;
}

SHIM_EXPORT int
madvise(void *addr, size_t length, int advice)
{
	uint64_t lo = (uintptr_t)addr;
	uint64_t page = (uint64_t)getpagesize();
	uint64_t hi = (lo + length + page - 1) & ~(page - 1);

	if ((advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_DONTNEED_LOCKED) &&
	    lo % page == 0 && ranges_touch(lo, hi))
		return discard(lo, hi, advice);
	return (int)syscall(SYS_madvise, addr, length, advice);
}

/** Whether one of our mappings lies in [lo, hi), by the kernel's list. */
static bool
holds_ours(uint64_t lo, uint64_t hi)
{
	struct maps_entry entry;
	struct maps maps;
	bool found = false;

	if (!ranges_touch(lo, hi) || maps_open(&maps))
		return false;
	while (!found && maps_next(&maps, &entry) && entry.lo < hi)
		found = entry.hi > lo && ranges_hold(&entry);
	maps_close(&maps);
	return found;
}

/** What mremap would do to private memory, by copying: an object has an end, and others map it. */
static void *
move(void *old, size_t old_size, size_t new_size, int flags, void *wanted)
{
	bool fixed = flags & MREMAP_FIXED;
	size_t bytes = old_size < new_size ? old_size : new_size;
	void *fresh;

	if (!(flags & MREMAP_MAYMOVE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	fresh = mmap(fixed ? wanted : NULL, new_size, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | (fixed ? MAP_FIXED : 0), -1, 0);
	if (fresh == MAP_FAILED)
		return MAP_FAILED;
	memcpy(fresh, old, bytes);
	munmap(old, old_size);
	return fresh;
}

/** Whether it is a call that the kernel would not refuse out of hand. Source: mremap(2). */
static bool
is_legal(uint64_t lo, uint64_t old_size, uint64_t wanted, uint64_t new_size, int flags)
{
	uint64_t page = (uint64_t)getpagesize();

	if (!old_size || !new_size || lo % page || (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)))
		return false;
	if (!(flags & MREMAP_FIXED))
		return true;
	return (flags & MREMAP_MAYMOVE) && wanted % page == 0 &&
	       (wanted >= lo + old_size || lo >= wanted + new_size);
}

SHIM_EXPORT void *
mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
	uint64_t lo = (uintptr_t)old;
	void *wanted = NULL;

	if (flags & MREMAP_FIXED) {
		va_list args;

		va_start(args, flags);
		wanted = va_arg(args, void *);
		va_end(args);
	}
	if ((new_size > old_size || (flags & MREMAP_FIXED)) &&
	    is_legal(lo, old_size, (uintptr_t)wanted, new_size, flags) &&
	    holds_ours(lo, lo + old_size))
		return move(old, old_size, new_size, flags, wanted);
	return (void *)syscall(SYS_mremap, old, old_size, new_size, flags, wanted);
}

/** With the two in place remapping is safe. */
static __attribute__((constructor)) void
start(void)
{
	memkind_allow_remap(true);
}
