/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit alone, for scripts: 'PAYLOAD NS' for each payload of the command line. */
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		unsigned long len = strtoul(argv[i], NULL, 10);

		if (len < 64 || len > 4096) {
			fprintf(stderr, "usage: bench_limit PAYLOAD... (64 to 4096 bytes)\n");
			return 2;
		}
		printf("%lu %.1f\n", len, limit_ns((uint32_t)len));
	}
	return 0;
}
