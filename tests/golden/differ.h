/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_DIFFER_H
#define WEFT_DIFFER_H

#include "wire.h"

/**
 * The name of a field in which two packets differ, of those that build is given and parse defines
 * for the opcode of a; NULL if there is none. Addresses and what else only a frame has: not looked
 * at.
 */
const char *wire_differ(const struct wire_pkt *a, const struct wire_pkt *b);

#endif
