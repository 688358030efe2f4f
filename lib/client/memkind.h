/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MEMKIND_H
#define WEFT_MEMKIND_H

/*
 * How the daemon reaches memory that is registered. `vm`: through its descriptor of our
 * /proc/self/mem, a system call per linear run; correct for any memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct weft;
/** What a registration keeps reachable until it ends. */
struct mem_use;

/**
 * Describe a range to the daemon. All of it must be mapped, and writable if `write`.
 *
 * @param length   bytes, 1 or more.
 * @param segs     gets up to WEFT_MAX_SEGS runs.
 * @param use      to be given to memkind_unmap after the registration has ended.
 * @return         0; -EFAULT if it is not all mapped with these rights; -EINVAL if it wraps.
 */
int memkind_map(struct weft *weft, uint64_t va, uint64_t length, bool write, struct ctl_seg *segs,
                uint32_t *nb_segs, struct mem_use **use);
void memkind_unmap(struct weft *weft, struct mem_use *use);
/** A device is closed: the daemon has forgotten its backings. */
void memkind_forget(struct weft *weft);

#endif
