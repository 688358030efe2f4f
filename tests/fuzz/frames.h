/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_FRAMES_H
#define WEFT_TESTS_FRAMES_H

#include <stddef.h>

#include "golden.h"
#include "prng.h"

/** Longest frame that these make. */
#define FRAMES_MAX_LEN (GOLDEN_FRAME_MAX + 4)

/**
 * A frame that is right, of RoCEv2 or the weft framing: of the latter an example, header-only ones
 * among them, or any opcode with any options. @return its length.
 */
uint32_t frames_roce(struct prng *rng, uint8_t *frame);
uint32_t frames_weft(struct prng *rng, uint8_t *frame);

/**
 * A frame for fuzzers: one of those, half of the weft framing, some with a VLAN tag, and
 * with a few bytes of its headers changed. @return its length.
 */
size_t frames_make(struct prng *rng, uint8_t *frame);

#endif
