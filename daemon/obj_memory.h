/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OBJ_MEMORY_H
#define WEFT_OBJ_MEMORY_H

#include "mr.h"
#include "session.h"

/*
 * An application's memory: protection domains, backings (memory that both of us have mapped),
 * registrations and windows.
 *
 * A backing is a memfd that cannot shrink, so that no access of ours ends in SIGBUS: one that we
 * made, or one that the application made and sealed. What has no backing is reached through the
 * application's /proc/self/mem, a call for each run of bytes: slow, but right for every kind of
 * memory. That file belongs to the address space and not to the process id, so that after an exec
 * it leads nowhere.
 */

struct pd {
	struct obj obj;
};

struct backing {
	struct obj obj;
	uint8_t *map;
	uint64_t len;
};

#endif
