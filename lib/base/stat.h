/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_STAT_H
#define WEFT_STAT_H

#include <stddef.h>

/** One exported counter: a uint64_t at this offset of a state. Tables end with a NULL name. */
struct stat_desc {
	const char *name; /**< as `rdma statistic` and ethtool name it, where they do */
	size_t offset;    /**< of a uint64_t member that only ever grows */
};

#endif
