/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TEST_REL_MEMORY_H
#define WEFT_TEST_REL_MEMORY_H

#include "rel_oracle.h"

/**
 * @file
 * The oracle's memory from inside: where things are, what messages hold, and what must be where.
 * What others may know of it is in rel_oracle.h.
 */

/** Between slots, and at both ends of the blocks; odd, so that most slots begin at odd addresses.
 */
#define GUARD_BYTES 37
/** What nobody has written. */
#define BLANK 0xee

#define BAD(o, ...) rel_bad(&(o)->verdict, __VA_ARGS__)

static inline const struct rel_op *
rel_op_of(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	return &o->s->ways[pair][side].ops[i];
}

/** What must be where p is, in the memory of a side. */
static inline uint8_t *
rel_want(const struct rel_oracle *o, int side, const uint8_t *p)
{
	return o->want[side] + (p - o->mem[side]);
}

/** The words of a side: one of each way to it, then the shared ones. */
uint8_t *rel_word(const struct rel_oracle *o, int side, uint32_t idx);

/** A number that no two operations share. */
uint64_t rel_name(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i);
/** Bytes of a message: each depends on the message and its place in it. */
void rel_fill(uint8_t *p, uint32_t len, uint64_t name);

/** An application writes to a slot of its own memory. */
void rel_own(const struct rel_oracle *o, int side, uint8_t *p);
/** Whether memory is as it must be. */
bool rel_is_right(const struct rel_oracle *o, int side, const uint8_t *p, uint32_t len);
/** It is not: say where. at = whose memory p is in. */
void rel_bad_memory(struct rel_oracle *o, const char *what, uint32_t pair, int side, uint32_t i,
                    int at, const uint8_t *p);

#endif
