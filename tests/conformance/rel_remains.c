/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "rel_memory.h"

/* What must be true when nothing more comes: of words, buffers and every byte. */

/* Bytes of what was not completed are as before, or as they were to be. */
static void
either(struct rel_oracle *o, int side, uint8_t *p, const uint8_t *before, uint32_t len,
       const char *what)
{
	uint8_t *want = rel_want(o, side, p);

	for (uint32_t i = 0; i < len; i++) {
		if (p[i] != want[i] && p[i] != (before ? before[i] : BLANK)) {
			BAD(o, "side %d: byte %u of a %s that failed is 0x%02x", side, i, what,
			    p[i]);
			return;
		}
		want[i] = p[i];
	}
}

/* Operations of a way that did not end well may have happened, in part. */
static void
allow_failed(struct rel_oracle *o, uint32_t pair, int side)
{
	struct rel_seen *seen = &o->seen[pair][side];

	for (uint32_t i = seen->nb_tried; i-- > seen->nb_good;) {
		const struct rel_op *op = rel_op_of(o, pair, side, i);
		uint8_t *local = rel_local(o, pair, side, i);

		if (rel_is(op, SHM_OPS_WRITE) && !op->fault)
			either(o, !side, rel_remote(o, pair, side, i), seen->before[i], op->len,
			       "WRITE");
		if (rel_is(op, SHM_OPS_ATOMIC))
			memcpy(rel_want(o, side, local), local, 8);
		if (op->op == SHM_WR_READ && seen->nb_posted - i <= o->s->nb_local)
			either(o, side, local, NULL, op->len, "READ");
	}
}

/* A way's word: after what ended well, or after some more of what was posted. */
static void
check_word(struct rel_oracle *o, uint32_t pair, int side)
{
	const struct rel_seen *seen = &o->seen[pair][side];
	uint8_t *p = rel_word(o, !side, pair);
	uint64_t word;

	memcpy(&word, p, 8);
	memcpy(rel_want(o, !side, p), p, 8);
	if (word == seen->word)
		return;
	for (uint32_t i = seen->nb_good; i < seen->nb_tried; i++) {
		const struct rel_op *op = rel_op_of(o, pair, side, i);

		if (rel_is(op, SHM_OPS_ATOMIC) && !op->word && !op->fault && seen->old[i] == word)
			return;
	}
	BAD(o, "pair %u, side %d: word 0x%llx, and 0x%llx after all atomics", pair, side,
	    (unsigned long long)word, (unsigned long long)seen->word);
}

/* An addition to a shared word that ended well. */
struct addition {
	uint64_t old, add;
	uint32_t pair, i;
};

static uint32_t
find_additions(const struct rel_oracle *o, int side, uint32_t word, struct addition *all)
{
	uint32_t nb = 0;

	for (uint32_t p = 0; p < o->s->nb_pairs; p++)
		for (uint32_t i = 0; i < o->seen[p][!side].nb_good; i++) {
			const struct rel_op *op = rel_op_of(o, p, !side, i);

			if (rel_is(op, SHM_OPS_ATOMIC) && op->word == word + 1)
				all[nb++] =
					(struct addition){o->seen[p][!side].old[i], op->add, p, i};
		}
	return nb;
}

/* From 0 on each finds what another left, in the order in which each way posted them. */
static void
check_shared(struct rel_oracle *o, int side, uint32_t word)
{
	struct addition all[REL_PAIRS_MAX * REL_OPS_MAX];
	uint32_t nb = find_additions(o, side, word, all), next[REL_PAIRS_MAX] = {0};
	uint8_t *p = rel_word(o, side, o->s->nb_pairs + word);
	uint64_t sum = 0, there;

	memcpy(&there, p, 8);
	memcpy(rel_want(o, side, p), p, 8);
	if (o->s->end != REL_END_WHOLE)
		return;
	for (uint32_t n = 0, k; n < nb; n++) {
		for (k = 0; k < nb && all[k].old != sum; k++)
			;
		if (k == nb) {
			BAD(o, "side %d, shared word %u: nobody has found 0x%llx, after %u of %u",
			    side, word, (unsigned long long)sum, n, nb);
			return;
		}
		if (all[k].i < next[all[k].pair])
			BAD(o, "side %d, shared word %u: pair %u's addition %u came too late", side,
			    word, all[k].pair, all[k].i);
		next[all[k].pair] = all[k].i + 1;
		sum += all[k].add;
	}
	if (there != sum)
		BAD(o, "side %d, shared word %u: 0x%llx, the sum is 0x%llx", side, word,
		    (unsigned long long)there, (unsigned long long)sum);
}

/* Buffers of receives that have not completed: untouched, unless something was on its way. */
static void
check_buffers(struct rel_oracle *o, uint32_t pair, int side)
{
	const struct rel_recvs *r = &o->recvs[pair][side];

	if (o->s->end == REL_END_WHOLE)
		return;
	for (uint32_t slot = 0; slot < REL_PAIRS_MAX * 8; slot++) {
		uint8_t *p = rel_buffer(o, pair, side, slot);

		if (r->slots[slot].is_posted)
			memcpy(rel_want(o, side, p), p, o->s->slot_bytes);
	}
}

static void
check_way(struct rel_oracle *o, uint32_t pair, int side, uint8_t state)
{
	const struct rel_way *w = &o->s->ways[pair][side];
	const struct rel_seen *seen = &o->seen[pair][side];

	if (seen->status && state != SHM_QPS_ERR)
		BAD(o, "pair %u, side %d: has failed, and its QP is in state %u", pair, side,
		    state);
	if (o->s->end == REL_END_WHOLE && state != SHM_QPS_RTS)
		BAD(o, "pair %u, side %d: state %u at the end", pair, side, state);
	if (!seen->status && seen->nb_received != w->nb_recvs)
		BAD(o, "pair %u, side %d: %u messages received of %u", pair, side,
		    seen->nb_received, w->nb_recvs);
	if (pair == 0 && side == o->s->bad_side && !seen->is_explained)
		BAD(o, "pair 0, side %d: no error", side);
	/* The application has posted receives at the other end that a failed QP must flush. */
	if (state == SHM_QPS_ERR && !o->s->has_srq[side] &&
	    o->recvs[pair][side].nb_taken != o->recvs[pair][side].nb_posted)
		BAD(o, "pair %u, side %d: %llu receives completed of %llu", pair, side,
		    (unsigned long long)o->recvs[pair][side].nb_taken,
		    (unsigned long long)o->recvs[pair][side].nb_posted);
}

void
rel_oracle_end(struct rel_oracle *o, uint8_t states[REL_PAIRS_MAX][2])
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t p = 0; p < o->s->nb_pairs; p++) {
			check_way(o, p, side, states[p][side]);
			allow_failed(o, p, side);
			check_word(o, p, side);
			check_buffers(o, p, side);
		}
		for (uint32_t i = 0; i < REL_SHARED_WORDS; i++)
			check_shared(o, side, i);
	}
	for (int side = 0; side < 2; side++) {
		size_t at = 0;

		while (at < o->mem_bytes && o->mem[side][at] == o->want[side][at])
			at++;
		if (at < o->mem_bytes)
			BAD(o,
			    "side %d: byte %zu of memory (slot %zu, byte %zu in it) is 0x%02x, not "
			    "0x%02x",
			    side, at, (at - GUARD_BYTES) / o->stride,
			    (at - GUARD_BYTES) % o->stride, o->mem[side][at], o->want[side][at]);
	}
}
