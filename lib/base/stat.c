/* SPDX-License-Identifier: BSD-3-Clause */
#include "stat.h"

void
stat_add(const struct stat_desc *descs, const void *state, uint64_t *sums)
{
	STAT_FOREACH (d, descs) {
		*sums++ += stat_read(d, state);
	}
}
