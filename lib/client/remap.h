/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_REMAP_H
#define WEFT_REMAP_H

#include <stdint.h>

/**
 * Smaller pieces stay on vm. One page is worth its mapping: a small buffer is used for latency and
 * message rates, where two system calls per packet are most of the cost. Bytes; our choice.
 */
#define REMAP_MIN_BYTES (UINT64_C(4) << 10)

/**
 * Copy [lo, hi) of private anonymous memory to a memfd and map that in its place, without losing
 * what other threads write meanwhile.
 *
 * @param lo, hi    page-aligned.
 * @param uffd_dev  a descriptor of /dev/userfaultfd, -1 = none.
 * @return          0; -EPERM if other threads run and cannot be held; or another negative errno.
 *                  After an error the memory is as it was.
 */
int remap_range(uint64_t lo, uint64_t hi, int fd, int uffd_dev);

#endif
