/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "prng.h"

/* The memory of both sides: its layout, and the double that holds what must be there. */

/* ---- what messages hold ---- */

uint64_t
rel_name(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	uint64_t x = o->s->seed ^ (uint64_t)pair << 60 ^ (uint64_t)side << 59 ^ (uint64_t)i << 40;

	return prng_splitmix(&x);
}

uint32_t
rel_imm(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	return (uint32_t)(rel_name(o, pair, side, i) >> 32);
}

void
rel_fill(uint8_t *p, uint32_t len, uint64_t name)
{
	uint64_t word;

	for (uint32_t i = 0; i < len; i += 8) {
		word = (name + i) * UINT64_C(0x9e3779b97f4a7c15);
		word ^= word >> 29;
		memcpy(p + i, &word, len - i < 8 ? len - i : 8);
	}
}

/* ---- where things are ---- */

static uint8_t *
slot_of(const struct rel_oracle *o, int side, uint32_t idx)
{
	return o->mem[side] + GUARD_BYTES + idx * o->stride;
}

uint8_t *
rel_local(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	return slot_of(o, side, pair * o->s->nb_local + i % o->s->nb_local);
}

static uint8_t *
remote_slot(const struct rel_oracle *o, uint32_t pair, int side, uint32_t slot)
{
	const struct rel_schedule *s = o->s;

	return slot_of(o, !side, s->nb_pairs * s->nb_local + pair * s->nb_remote + slot);
}

uint8_t *
rel_buffer(const struct rel_oracle *o, uint32_t pair, int side, uint32_t slot)
{
	const struct rel_schedule *s = o->s;

	return slot_of(o, side,
	               s->nb_pairs * (s->nb_local + s->nb_remote) + pair * s->nb_recv + slot);
}

uint8_t *
rel_word(const struct rel_oracle *o, int side, uint32_t idx)
{
	return o->mem[side] + o->words + idx * 8;
}

static uint32_t
word_of(const struct rel_oracle *o, uint32_t pair, const struct rel_op *op)
{
	return op->word ? o->s->nb_pairs + op->word - 1 : pair;
}

uint8_t *
rel_remote(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = rel_op_of(o, pair, side, i);

	if (rel_is(op, SHM_OPS_ATOMIC))
		return rel_word(o, !side, word_of(o, pair, op));
	return remote_slot(o, pair, side, op->slot);
}

/* ---- what must be there ---- */

void
rel_own(const struct rel_oracle *o, int side, uint8_t *p)
{
	memset(p, BLANK, o->s->slot_bytes);
	memset(rel_want(o, side, p), BLANK, o->s->slot_bytes);
}

bool
rel_is_right(const struct rel_oracle *o, int side, const uint8_t *p, uint32_t len)
{
	return !memcmp(p, rel_want(o, side, p), len);
}

void
rel_bad_memory(struct rel_oracle *o, const char *what, uint32_t pair, int side, uint32_t i, int at,
               const uint8_t *p)
{
	const uint8_t *want = rel_want(o, at, p);
	uint32_t k = 0;

	while (k < o->s->slot_bytes && p[k] == want[k])
		k++;
	BAD(o, "%s: pair %u, side %d, operation %u of %u bytes: byte %u is 0x%02x, not 0x%02x",
	    what, pair, side, i, rel_op_of(o, pair, side, i)->len, k, p[k], want[k]);
}

void
rel_oracle_open(struct rel_oracle *o, const struct rel_schedule *s)
{
	uint32_t nb_slots = s->nb_pairs * (s->nb_local + s->nb_remote + s->nb_recv);

	*o = (struct rel_oracle){.s = s, .stride = s->slot_bytes + GUARD_BYTES};
	o->words = (GUARD_BYTES + nb_slots * o->stride + 7) & ~(size_t)7;
	o->mem_bytes = o->words + (s->nb_pairs + REL_SHARED_WORDS) * 8 + GUARD_BYTES;
	for (int side = 0; side < 2; side++) {
		o->mem[side] = malloc(o->mem_bytes);
		o->want[side] = malloc(o->mem_bytes);
		assert(o->mem[side] && o->want[side]);
		memset(o->mem[side], BLANK, o->mem_bytes);
		for (uint32_t i = 0; i < s->nb_pairs + REL_SHARED_WORDS; i++)
			memset(rel_word(o, side, i), 0, 8);
		memcpy(o->want[side], o->mem[side], o->mem_bytes);
		for (uint32_t p = 0; p < s->nb_pairs; p++)
			memset(o->seen[p][side].last_write, 0xff,
			       sizeof(o->seen[p][side].last_write));
	}
}

void
rel_oracle_close(struct rel_oracle *o)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t p = 0; p < o->s->nb_pairs; p++)
			for (uint32_t i = 0; i < REL_OPS_MAX; i++)
				free(o->seen[p][side].before[i]);
		free(o->mem[side]);
		free(o->want[side]);
	}
}
