/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_H
#define WEFT_LAB_SWEEP_H

#include <stdio.h>

#include "sweep_crew.h"

/** What a sweep does with a scenario. */
struct sweep_ops {
	/** Run it; in a child process. */
	crew_cell run;
	/**
	 * Whether a scenario with these overrides ("KEY=VALUE", and a NULL) can be run at all.
	 *
	 * @param errors  gets a line for each mistake.
	 */
	bool (*check)(const char *scenario, char *const *overrides, FILE *errors);
};

/**
 * weft-lab sweep.
 *
 * @param argv  the words after "sweep" are parsed; argv[0] is skipped.
 * @return      the program's exit code, see lab_cmd.h: 1 if cells failed, 2 if nothing could be
 *              done; or 128 and the signal that stopped it.
 */
int sweep_main(int argc, char **argv, const struct sweep_ops *ops);

#endif
