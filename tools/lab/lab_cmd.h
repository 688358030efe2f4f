/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_CMD_H
#define WEFT_LAB_CMD_H

/**
 * @file
 * What weft-lab does, by the first word of its command line. Each gets "weft-lab WORD" as argv[0],
 * parses the rest by itself, and prints its own usage.
 */

/** What it ends with. */
enum lab_exit {
	LAB_EXIT_OK = 0,
	LAB_EXIT_VIOLATED = 1, /**< a checker was */
	LAB_EXIT_USAGE = 2,    /**< of options or of the scenario, which was told */
};

/** run SCENARIO [KEY=VALUE ...] [option ...] */
int lab_cmd_run(int argc, char **argv);
/** check SCENARIO [KEY=VALUE ...] */
int lab_cmd_check(int argc, char **argv);
int lab_cmd_sweep(int argc, char **argv);
int lab_cmd_swarm(int argc, char **argv);

#endif
