/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MEMKIND_H
#define WEFT_MEMKIND_H

/*
 * How the daemon reaches memory that is registered:
 *
 *   vm      through its descriptor of our /proc/self/mem, a system call per linear run. Correct for
 *           any memory.
 *   remap   private anonymous memory is copied to a sealed memfd of the daemon's, which is then
 *           mapped in its place. The fast way; WEFT_REMAP=0 switches it off.
 *   shared  a sealed memfd that is mapped already is handed over as it is.
 *
 * One registration may be made of runs of several kinds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_ctl.h"

struct weft;
/** What a registration keeps reachable until it ends. */
struct mem_use;

/**
 * Describe a range to the daemon. All of it must be mapped, and writable if `write`.
 *
 * @param length  bytes, 1 or more.
 * @param segs    gets up to WEFT_MAX_SEGS runs.
 * @param use     to be given to memkind_unmap after the registration has ended.
 * @return        0; -EFAULT if it is not all mapped with these rights; -EINVAL if it wraps.
 */
int memkind_map(struct weft *weft, uint64_t va, uint64_t length, bool write, struct ctl_seg *segs,
                uint32_t *nb_segs, struct mem_use **use);
void memkind_unmap(struct mem_use *use);

/**
 * Let memkind_map remap. Only for whoever also interposes madvise and mremap in the process; off
 * at the start.
 */
void memkind_allow_remap(bool allow);

/** Memory made of the daemon's memfd from the start. @return 0 or a negative errno. */
int memkind_alloc(struct weft *weft, size_t bytes, void **mem);
/**
 * @return -EBUSY while registered; -EINVAL if it is not from memkind_alloc, or if this device has
 *         neither made nor registered it.
 */
int memkind_free(struct weft *weft, void *mem);

/** A device is closed: the daemon forgets its backings, its registrations are gone. */
void memkind_forget(struct weft *weft);

#endif
