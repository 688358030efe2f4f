/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWARM_OPTIONS_H
#define WEFT_LAB_SWARM_OPTIONS_H

#include "swarm.h"

/** The command line of weft-lab swarm. */
struct swarm_options {
	struct swarm_conf conf;
	bool is_print; /**< only the scenarios */
};

/** @return -1 to go on, else what the program ends with: its usage, or a mistake, was told. */
int swarm_options_parse(struct swarm_options *opt, int argc, char **argv);

#endif
