/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_PROGRESS_H
#define WEFT_LAB_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * @file
 * How far a run is: a bar in the last line of a terminal, or a line now and then where there is
 * none. It goes to stderr, never to stdout.
 *
 * The share that is done is of virtual time where the scenario says how long it is, and of flows
 * else; the time left is what the same speed takes.
 */

struct progress {
	FILE *out;
	bool is_terminal;
	int columns;
	uint64_t length_ps; /**< of the run; 0 = until its flows are done */
	uint64_t begin_ns;
	uint64_t next_ns; /**< not shown before */
	bool is_shown;    /**< there is a bar to erase */
};

/** Clock of the wall, ns from some time on: for the calls below, and all else that lasts. */
uint64_t progress_clock_ns(void);

/** Begin; out is where it is shown, stderr as a rule. */
void progress_begin(struct progress *p, FILE *out, uint64_t length_ps, uint64_t wall_ns);

/**
 * It is so far; cheap unless it is time to show something.
 *
 * @param virtual_ps         of the run.
 * @param nb_ended, nb_known  flows; nb_known 0 = nobody knows.
 */
void progress_update(struct progress *p, uint64_t virtual_ps, uint64_t nb_ended, uint64_t nb_known,
                     uint64_t wall_ns);

/** Erase the bar, so that other lines may follow; the next update shows it again. */
void progress_hide(struct progress *p);

#endif
