/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_PROGRESS_H
#define WEFT_LAB_SWEEP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sweep_journal.h"

/**
 * @file
 * How far a sweep is, on stderr: on a terminal one line that is written over, elsewhere a line from
 * time to time.
 */
struct sweep_progress {
	bool is_quiet, is_terminal, has_line;
	uint32_t nb_before; /**< done when this program began */
	uint64_t begin_ns, told_ns;
};

void sweep_progress_begin(struct sweep_progress *p, const struct journal *journal, bool is_quiet);
/** Call it as often as you like. */
void sweep_progress_tell(struct sweep_progress *p, const struct journal *journal,
                         uint32_t nb_running);
void sweep_progress_end(struct sweep_progress *p);

#endif
