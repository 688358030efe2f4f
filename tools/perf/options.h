/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PERF_OPTIONS_H
#define WEFT_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf.h"
#include "perf.h"

/** What the command line says. */
struct options {
	struct perf_test test; /**< what a client wants; a server does what its client wants */
	struct conf *conf;     /**< of one [nic perf], to be freed by conf_free */
	const char *server;    /**< NULL = be one */
	uint64_t max_memory;   /**< that a server takes for a client's test, bytes */
	uint16_t tcp_port;
	int gid_index; /**< -1 = by the address of the TCP connection */
	bool gbits, json, verbose;
};

/** @return an exit code, after what there was to say; or -1 to go on. */
int options_parse(struct options *opt, int argc, char **argv);

#endif
