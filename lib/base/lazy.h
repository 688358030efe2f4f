/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAZY_H
#define WEFT_LAZY_H

#include <stddef.h>
#include <sys/mman.h>

/**
 * @file
 * Large arrays of zeros of which most will never be touched: pages of the kernel's, made when
 * something is written. calloc() would write them itself whenever it uses memory again.
 */

/** NULL with errno without memory. */
static inline void *
lazy_zeros(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/** Give back what lazy_zeros gave; NULL does nothing. */
static inline void
lazy_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

#endif
