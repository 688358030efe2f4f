/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_SR_H
#define WEFT_TEST_SR_H

#include "reliability.h"

/** Plain selective repeat, in order that hosts meet packets out of order. For tests alone. */
extern const struct reliability_ops sr_ops;
/** The same, asking for every optional part of packets that does not change what it does. */
extern const struct reliability_ops sr_all_ops;

#endif
