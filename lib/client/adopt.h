/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_ADOPT_H
#define WEFT_ADOPT_H

#include <stdint.h>

#include "maps.h"

/**
 * A descriptor of the object behind a shared mapping, if a daemon can map it without fear: on
 * tmpfs, sealed against shrinking (or the daemon could get SIGBUS), writable.
 *
 * @param length  gets the object's size, bytes.
 * @return        -1 if it cannot be had or is not safe; else the caller's to close.
 */
int adopt_fd(const struct maps_entry *entry, uint64_t *length);

#endif
