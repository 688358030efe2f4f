/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HELLO_EXAMPLES_H
#define WEFT_HELLO_EXAMPLES_H

#include <stdint.h>

/**
 * @file
 * Messages of HELLO and OPEN (docs/wire.md), worked out by hand: UDP payloads. A wants irn for B
 * and B for A; A has QP 0x22, B QP 0x11.
 */

struct hello_example {
	const char *what;
	const char *hex; /**< pairs of digits, with blanks between some: golden_hex */
};

/** All of them, seven. */
extern const struct hello_example hello_examples[];
#define HELLO_EXAMPLES_NB 7u

#endif
