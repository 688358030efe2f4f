/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_oracle.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prng.h"

/* Between slots, and at both ends of the blocks; odd, so that most slots begin at odd addresses. */
#define GUARD_BYTES 37
/* What nobody has written. */
#define BLANK 0xee

void
rel_bad(struct rel_verdict *v, const char *fmt, ...)
{
	va_list args;

	if (v->is_bad)
		return;
	v->is_bad = true;
	va_start(args, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, args);
	va_end(args);
}

#define BAD(o, ...) rel_bad(&(o)->verdict, __VA_ARGS__)

/* ---- memory ---- */

static uint64_t
name_of(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	uint64_t x = o->s->seed ^ (uint64_t)pair << 60 ^ (uint64_t)side << 59 ^ (uint64_t)i << 40;

	return prng_splitmix(&x);
}

uint32_t
rel_imm(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	return (uint32_t)(name_of(o, pair, side, i) >> 32);
}

/* Bytes of a message: each depends on the message and its place in it. */
static void
fill(uint8_t *p, uint32_t len, uint64_t name)
{
	uint64_t word;

	for (uint32_t i = 0; i < len; i += 8) {
		word = (name + i) * UINT64_C(0x9e3779b97f4a7c15);
		word ^= word >> 29;
		memcpy(p + i, &word, len - i < 8 ? len - i : 8);
	}
}

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

/* The words of a side: one of each way to it, then the shared ones. */
static uint8_t *
word_at(const struct rel_oracle *o, int side, uint32_t idx)
{
	return o->mem[side] + o->words + idx * 8;
}

static uint32_t
word_of(const struct rel_oracle *o, uint32_t pair, const struct rel_op *op)
{
	return op->word ? o->s->nb_pairs + op->word - 1 : pair;
}

static const struct rel_op *
op_of(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	return &o->s->ways[pair][side].ops[i];
}

uint8_t *
rel_remote(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = op_of(o, pair, side, i);

	if (rel_is(op, SHM_OPS_ATOMIC))
		return word_at(o, !side, word_of(o, pair, op));
	return remote_slot(o, pair, side, op->slot);
}

/* What must be there. */
static uint8_t *
want_at(const struct rel_oracle *o, int side, const uint8_t *p)
{
	return o->want[side] + (p - o->mem[side]);
}

/* An application writes to its own memory. */
static void
own(const struct rel_oracle *o, int side, uint8_t *p)
{
	memset(p, BLANK, o->s->slot_bytes);
	memset(want_at(o, side, p), BLANK, o->s->slot_bytes);
}

static bool
is_right(const struct rel_oracle *o, int side, const uint8_t *p, uint32_t len)
{
	return !memcmp(p, want_at(o, side, p), len);
}

/* Say where memory differs from what must be there. */
static void
bad_memory(struct rel_oracle *o, const char *what, uint32_t pair, int side, uint32_t i, int at,
           const uint8_t *p)
{
	const uint8_t *want = want_at(o, at, p);
	uint32_t k = 0;

	while (k < o->s->slot_bytes && p[k] == want[k])
		k++;
	BAD(o, "%s: pair %u, side %d, operation %u of %u bytes: byte %u is 0x%02x, not 0x%02x",
	    what, pair, side, i, op_of(o, pair, side, i)->len, k, p[k], want[k]);
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
			memset(word_at(o, side, i), 0, 8);
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

/* ---- posts ---- */

/* In posting order atomics on a word of one way give what one after the other would. */
static void
post_atomic(struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint64_t *compare)
{
	const struct rel_op *op = op_of(o, pair, side, i);
	struct rel_seen *seen = &o->seen[pair][side];
	uint64_t old = seen->word;

	if (op->word || op->fault)
		return;
	seen->old[i] = old;
	*compare = op->hits ? old : ~old;
	if (op->op == SHM_WR_FETCH_ADD)
		seen->word = old + op->add;
	else if (op->hits)
		seen->word = op->add;
	memcpy(want_at(o, side, rel_local(o, pair, side, i)), &old, 8);
}

static void
post_write(struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = op_of(o, pair, side, i);
	struct rel_seen *seen = &o->seen[pair][side];
	uint8_t *to = want_at(o, !side, rel_remote(o, pair, side, i));

	if (op->fault)
		return;
	if (o->s->end != REL_END_WHOLE && op->len) {
		seen->before[i] = malloc(op->len);
		assert(seen->before[i]);
		memcpy(seen->before[i], to, op->len);
	}
	memcpy(to, rel_local(o, pair, side, i), op->len);
	seen->last_write[op->slot] = (int32_t)i;
}

/* What it asks for, as if all went well. */
static void
expect(struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint64_t *compare)
{
	const struct rel_op *op = op_of(o, pair, side, i);
	uint8_t *local = rel_local(o, pair, side, i);

	if (rel_is(op, SHM_OPS_ATOMIC))
		post_atomic(o, pair, side, i, compare);
	else if (op->op == SHM_WR_READ)
		memcpy(want_at(o, side, local), want_at(o, !side, rel_remote(o, pair, side, i)),
		       op->len);
	else if (rel_is(op, SHM_OPS_WRITE))
		post_write(o, pair, side, i);
}

void
rel_oracle_post(struct rel_oracle *o, uint32_t pair, int side, uint64_t *compare)
{
	struct rel_seen *seen = &o->seen[pair][side];
	uint32_t i = seen->nb_posted++;
	const struct rel_op *op = op_of(o, pair, side, i);
	uint8_t *local = rel_local(o, pair, side, i);

	own(o, side, local);
	*compare = 0;
	if (rel_is(op, SHM_OPS_OUT)) {
		uint32_t len = op->fault == REL_TOO_LONG ? op->len - 1 : op->len;

		fill(local, len, name_of(o, pair, side, i));
		memcpy(want_at(o, side, local), local, len);
	}
	if (seen->status) /* it will do nothing */
		return;
	expect(o, pair, side, i, compare);
	seen->nb_tried++;
}

void
rel_oracle_posted(struct rel_oracle *o, uint32_t pair, int side)
{
	uint32_t i = o->seen[pair][side].nb_posted - 1;

	if (op_of(o, pair, side, i)->flags & SHM_SEND_INLINE)
		own(o, side, rel_local(o, pair, side, i));
}

static struct rel_recvs *
recvs_of(struct rel_oracle *o, uint32_t pair, int side)
{
	return &o->recvs[o->s->has_srq[side] ? 0 : pair][side];
}

uint32_t
rel_oracle_recv(struct rel_oracle *o, uint32_t pair, int side, uint64_t *wr_id)
{
	struct rel_recvs *r = recvs_of(o, pair, side);
	uint32_t slot = 0;

	while (r->slots[slot].is_posted)
		slot++;
	*wr_id = r->nb_posted++ << 8 | slot;
	r->slots[slot] = (struct rel_recv){*wr_id, true};
	own(o, side, rel_buffer(o, o->s->has_srq[side] ? 0 : pair, side, slot));
	return slot;
}

/* ---- completions ---- */

/* WRITEs posted before operation end are there, unless the way may have written there again. */
static void
check_writes(struct rel_oracle *o, uint32_t pair, int side, uint32_t end)
{
	struct rel_seen *seen = &o->seen[pair][side];

	for (; seen->nb_checked < end; seen->nb_checked++) {
		uint32_t i = seen->nb_checked;
		const struct rel_op *op = op_of(o, pair, side, i);
		const uint8_t *p = rel_remote(o, pair, side, i);

		if (!rel_is(op, SHM_OPS_WRITE) || seen->last_write[op->slot] != (int32_t)i)
			continue;
		if (!is_right(o, !side, p, op->len))
			bad_memory(o, "WRITE", pair, side, i, !side, p);
	}
}

/* A failed QP gives back what is posted: privately in order. */
static void
flushed(struct rel_oracle *o, uint32_t pair, int side, struct rel_recvs *r,
        const struct shm_cqe *cqe)
{
	if (o->s->end == REL_END_WHOLE)
		BAD(o, "pair %u, side %d: receive completes with status %u", pair, side,
		    cqe->status);
	r->is_flushed = true;
}

/* A receive completes: the slot of its buffer, or -1. */
static int
take_recv(struct rel_oracle *o, uint32_t pair, int side, struct rel_recvs *r, uint64_t wr_id)
{
	uint32_t slot = wr_id & 0xff;
	bool has_srq = o->s->has_srq[side];

	if (slot >= REL_PAIRS_MAX * 8 || !r->slots[slot].is_posted ||
	    r->slots[slot].wr_id != wr_id) {
		BAD(o, "pair %u, side %d: completion of receive %llu, which is not posted", pair,
		    side, (unsigned long long)(wr_id >> 8));
		return -1;
	}
	if (!has_srq && wr_id >> 8 != r->nb_taken)
		BAD(o, "pair %u, side %d: receive %llu completes, due is %llu", pair, side,
		    (unsigned long long)(wr_id >> 8), (unsigned long long)r->nb_taken);
	r->nb_taken++;
	r->slots[slot].is_posted = false;
	return (int)slot;
}

/* What a completion must say of a message. */
static void
check_recv(struct rel_oracle *o, uint32_t pair, int from, uint32_t i, const struct shm_cqe *cqe,
           const uint32_t *inv_keys)
{
	const struct rel_op *op = op_of(o, pair, from, i);
	bool has_imm = op->op == SHM_WR_SEND_IMM || op->op == SHM_WR_WRITE_IMM;
	uint8_t flags = has_imm ? SHM_WC_WITH_IMM : op->op == SHM_WR_SEND_INV ? SHM_WC_WITH_INV : 0;
	uint8_t wc = op->op == SHM_WR_WRITE_IMM ? SHM_WC_RECV_WRITE_IMM : SHM_WC_RECV;
	uint32_t imm = has_imm ? rel_imm(o, pair, from, i) : flags ? inv_keys[op->inv] : cqe->imm;

	if (cqe->byte_len != op->len || cqe->op != wc || cqe->flags != flags || cqe->imm != imm)
		BAD(o,
		    "pair %u, side %d, operation %u: received %u bytes (%u), opcode %u (%u), flags "
		    "%u "
		    "(%u), immediate 0x%x (0x%x)",
		    pair, from, i, cqe->byte_len, op->len, cqe->op, wc, cqe->flags, flags, cqe->imm,
		    imm);
}

void
rel_oracle_received(struct rel_oracle *o, uint32_t pair, int side, const struct shm_cqe *cqe,
                    const uint32_t *inv_keys)
{
	int from = !side;
	const struct rel_way *way = &o->s->ways[pair][from];
	struct rel_seen *seen = &o->seen[pair][from];
	struct rel_recvs *r = recvs_of(o, pair, side);
	int slot = take_recv(o, pair, side, r, cqe->wr_id);
	uint8_t *p;

	if (slot < 0)
		return;
	p = rel_buffer(o, o->s->has_srq[side] ? 0 : pair, side, (uint32_t)slot);
	if (cqe->status != SHM_WC_SUCCESS) {
		flushed(o, pair, side, r, cqe);
		memcpy(want_at(o, side, p), p, o->s->slot_bytes);
		return;
	}
	while (seen->recv_op < seen->nb_posted && !rel_needs_recv(&way->ops[seen->recv_op]))
		seen->recv_op++;
	if (seen->recv_op == seen->nb_posted) {
		BAD(o, "pair %u, side %d: a message that nobody has sent", pair, side);
		return;
	}
	check_recv(o, pair, from, seen->recv_op, cqe, inv_keys);
	check_writes(o, pair, from, seen->recv_op + 1);
	if (way->ops[seen->recv_op].op != SHM_WR_WRITE_IMM)
		fill(want_at(o, side, p), way->ops[seen->recv_op].len,
		     name_of(o, pair, from, seen->recv_op));
	if (!is_right(o, side, p, o->s->slot_bytes))
		bad_memory(o, "receive", pair, from, seen->recv_op, side, p);
	seen->recv_op++;
	seen->nb_received++;
}

/* An operation completed well, with or without a word: what it was for has happened. */
static void
check_done(struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = op_of(o, pair, side, i);
	struct rel_seen *seen = &o->seen[pair][side];
	uint8_t *local = rel_local(o, pair, side, i);

	if (op->fault)
		BAD(o, "pair %u, side %d: operation %u is not allowed, and was done", pair, side,
		    i);
	check_writes(o, pair, side, i + 1);
	if (rel_needs_recv(op) && seen->recv_op <= i)
		BAD(o, "pair %u, side %d: operation %u is complete and was not received", pair,
		    side, i);
	if (rel_is(op, SHM_OPS_ATOMIC) && op->word) {
		memcpy(&seen->old[i], local, 8);
		memcpy(want_at(o, side, local), local, 8);
	}
	if (!is_right(o, side, local, o->s->slot_bytes))
		bad_memory(o, "local buffer", pair, side, i, side, local);
}

/* What the peer says of it. */
static const uint8_t fault_status[] = {
	[REL_BAD_KEY] = SHM_WC_REM_ACCESS_ERR,
	[REL_TOO_LONG] = SHM_WC_REM_INV_REQ_ERR,
	[REL_MISALIGNED] = SHM_WC_REM_INV_REQ_ERR,
	[REL_BAD_INV] = SHM_WC_REM_ACCESS_ERR,
};

/* Under weft a message that still waits for a receive is flushed in front of what has failed. */
static bool
was_refused(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint8_t status)
{
	return o->s->framing == FRAMING_WEFT && status == SHM_WC_WR_FLUSH_ERR &&
	       rel_needs_recv(op_of(o, pair, side, i)) && o->seen[pair][side].recv_op <= i;
}

/* Whether a way may end with this. */
static bool
may_fail(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint8_t status)
{
	const struct rel_op *op = op_of(o, pair, side, i);
	bool is_bad_pair = pair == 0, is_bad_way = is_bad_pair && side == o->s->bad_side;
	bool loses = fault_any(&o->s->fault);

	switch (o->s->end) {
	case REL_END_WHOLE:
	case REL_NB_ENDS:
		return false;
	case REL_END_SILENCE: /* or the peer never spoke, and was taken for one of RoCEv2 only */
		return status == SHM_WC_RETRY_EXC_ERR ||
		       (o->s->open == REL_OPEN_DARK && status == SHM_WC_WR_FLUSH_ERR);
	case REL_END_RNR:
		if (is_bad_way)
			return status == SHM_WC_RNR_RETRY_EXC_ERR && rel_needs_recv(op) &&
			       o->seen[pair][side].nb_received == o->s->ways[pair][side].recv_max;
		/* Who has failed answers no more. */
		return is_bad_pair && status == SHM_WC_RETRY_EXC_ERR;
	case REL_END_ACCESS:
		/* The peer has failed, and what it said last can be lost: also of what was well. */
		if (is_bad_way)
			return (op->fault && status == fault_status[op->fault]) ||
			       (loses && status == SHM_WC_RETRY_EXC_ERR) ||
			       was_refused(o, pair, side, i, status);
		return is_bad_pair && status == SHM_WC_WR_FLUSH_ERR;
	}
	return false;
}

static void
failed(struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint8_t status)
{
	struct rel_seen *seen = &o->seen[pair][side];

	if (!seen->status && !may_fail(o, pair, side, i, status))
		BAD(o, "pair %u, side %d: operation %u ends with status %u", pair, side, i, status);
	if (seen->status && status != SHM_WC_WR_FLUSH_ERR &&
	    (seen->is_explained || !op_of(o, pair, side, i)->fault))
		BAD(o, "pair %u, side %d: operation %u behind the failed one has status %u", pair,
		    side, i, status);
	if (!seen->status)
		seen->status = status;
	seen->is_explained |= status != SHM_WC_WR_FLUSH_ERR;
}

void
rel_oracle_sent(struct rel_oracle *o, uint32_t pair, int side, const struct shm_cqe *cqe)
{
	struct rel_seen *seen = &o->seen[pair][side];
	uint32_t i = (uint32_t)cqe->wr_id;

	if (cqe->wr_id >= seen->nb_posted || i < seen->nb_done) {
		BAD(o, "pair %u, side %d: completion %llu, %u are posted and %u complete", pair,
		    side, (unsigned long long)cqe->wr_id, seen->nb_posted, seen->nb_done);
		return;
	}
	/* Those before were not signalled, and are well, or would have had to say so. */
	for (; seen->nb_done < i; seen->nb_done++) {
		if (seen->status ||
		    (op_of(o, pair, side, seen->nb_done)->flags & SHM_SEND_SIGNALED))
			BAD(o, "pair %u, side %d: completion %u, due is %u", pair, side, i,
			    seen->nb_done);
		check_done(o, pair, side, seen->nb_done);
		seen->nb_good++;
	}
	seen->nb_done++;
	if (cqe->status == SHM_WC_SUCCESS) {
		if (seen->status)
			BAD(o, "pair %u, side %d: operation %u succeeds behind a failed one", pair,
			    side, i);
		if (cqe->op != shm_wc_op_of(op_of(o, pair, side, i)->op))
			BAD(o, "pair %u, side %d: operation %u completes as %u", pair, side, i,
			    cqe->op);
		check_done(o, pair, side, i);
		seen->nb_good++;
	} else {
		failed(o, pair, side, i, cqe->status);
	}
}

/* ---- the end ---- */

static bool
way_is_done(const struct rel_oracle *o, uint32_t pair, int side)
{
	const struct rel_way *w = &o->s->ways[pair][side];
	const struct rel_seen *seen = &o->seen[pair][side];

	return seen->nb_done == w->nb_ops;
}

bool
rel_oracle_is_done(const struct rel_oracle *o)
{
	bool is_done = true;

	for (uint32_t p = 0; p < o->s->nb_pairs; p++)
		is_done &= way_is_done(o, p, 0) && way_is_done(o, p, 1);
	return is_done;
}

/* Bytes of what was not completed are as before, or as they were to be. */
static void
either(struct rel_oracle *o, int side, uint8_t *p, const uint8_t *before, uint32_t len,
       const char *what)
{
	uint8_t *want = want_at(o, side, p);

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
		const struct rel_op *op = op_of(o, pair, side, i);
		uint8_t *local = rel_local(o, pair, side, i);

		if (rel_is(op, SHM_OPS_WRITE) && !op->fault)
			either(o, !side, rel_remote(o, pair, side, i), seen->before[i], op->len,
			       "WRITE");
		if (rel_is(op, SHM_OPS_ATOMIC))
			memcpy(want_at(o, side, local), local, 8);
		if (op->op == SHM_WR_READ && seen->nb_posted - i <= o->s->nb_local)
			either(o, side, local, NULL, op->len, "READ");
	}
}

/* A way's word: after what ended well, or after some more of what was posted. */
static void
check_word(struct rel_oracle *o, uint32_t pair, int side)
{
	const struct rel_seen *seen = &o->seen[pair][side];
	uint8_t *p = word_at(o, !side, pair);
	uint64_t word;

	memcpy(&word, p, 8);
	memcpy(want_at(o, !side, p), p, 8);
	if (word == seen->word)
		return;
	for (uint32_t i = seen->nb_good; i < seen->nb_tried; i++) {
		const struct rel_op *op = op_of(o, pair, side, i);

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
			const struct rel_op *op = op_of(o, p, !side, i);

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
	uint8_t *p = word_at(o, side, o->s->nb_pairs + word);
	uint64_t sum = 0, there;

	memcpy(&there, p, 8);
	memcpy(want_at(o, side, p), p, 8);
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
			memcpy(want_at(o, side, p), p, o->s->slot_bytes);
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
