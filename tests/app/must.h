/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_MUST_H
#define WEFT_TESTS_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/** A condition that must hold; the program ends if it does not. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,      \
			        #condition, errno);                                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
