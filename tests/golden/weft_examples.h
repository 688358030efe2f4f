/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WEFT_EXAMPLES_H
#define WEFT_WEFT_EXAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @file
 * Packets of the weft framing (docs/wire.md), worked out by hand. A is 10.0.0.1 or fd00::1, MAC
 * 02:00:00:00:00:01, QPN 0x22; B is the same with 2, QPN 0x11; path MTU 256, class 3.
 */

struct weft_example {
	const char *id; /**< "3c" */
	const char *what;
	const uint8_t *frame; /**< without VLAN tag and FCS */
	uint32_t len;
	uint32_t l3_off;
	bool ipv6;
	bool has_icrc; /**< header-only packets have none */
};

/** All of them; kept for the life of the process. */
const struct weft_example *weft_examples(uint32_t *nb);

/** One of them; an id that there is not ends the process. */
const struct weft_example *weft_example(const char *id);

#endif
