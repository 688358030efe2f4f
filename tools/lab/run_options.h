/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_RUN_OPTIONS_H
#define WEFT_LAB_RUN_OPTIONS_H

#include <stdbool.h>

/** Keys of a command line at most; our choice. */
#define RUN_OVERRIDES_MAX 256

/** What "weft-lab run" or "check" was asked for. Texts are argv's. */
struct run_options {
	const char *scenario;
	const char *overrides[RUN_OVERRIDES_MAX + 1]; /**< ends with NULL */
	char seed[32];                                /**< "seed=N", as one of them */
	const char *csv, *json, *plot;                /**< NULL = not wanted */
	char pcap_node[64];                           /**< "" = none */
	const char *pcap;
	bool is_quiet;
};

/**
 * Read a command line; argv[0] is what messages begin with.
 *
 * @param is_check  There are no options but --help.
 * @return          -1 to go on, or the exit code: usage was printed, or what is wrong.
 */
int run_options_parse(struct run_options *opt, bool is_check, int argc, char **argv);

#endif
