/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_oracle.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rel_memory.h"

/* What is posted, and what must be true when it completes. */

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

/* ---- posts ---- */

/* In posting order atomics on a word of one way give what one after the other would. */
static void
post_atomic(struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint64_t *compare)
{
	const struct rel_op *op = rel_op_of(o, pair, side, i);
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
	memcpy(rel_want(o, side, rel_local(o, pair, side, i)), &old, 8);
}

static void
post_write(struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = rel_op_of(o, pair, side, i);
	struct rel_seen *seen = &o->seen[pair][side];
	uint8_t *to = rel_want(o, !side, rel_remote(o, pair, side, i));

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
	const struct rel_op *op = rel_op_of(o, pair, side, i);
	uint8_t *local = rel_local(o, pair, side, i);

	if (rel_is(op, SHM_OPS_ATOMIC))
		post_atomic(o, pair, side, i, compare);
	else if (op->op == SHM_WR_READ)
		memcpy(rel_want(o, side, local), rel_want(o, !side, rel_remote(o, pair, side, i)),
		       op->len);
	else if (rel_is(op, SHM_OPS_WRITE))
		post_write(o, pair, side, i);
}

void
rel_oracle_post(struct rel_oracle *o, uint32_t pair, int side, uint64_t *compare)
{
	struct rel_seen *seen = &o->seen[pair][side];
	uint32_t i = seen->nb_posted++;
	const struct rel_op *op = rel_op_of(o, pair, side, i);
	uint8_t *local = rel_local(o, pair, side, i);

	rel_own(o, side, local);
	*compare = 0;
	if (rel_is(op, SHM_OPS_OUT)) {
		uint32_t len = op->fault == REL_TOO_LONG ? op->len - 1 : op->len;

		rel_fill(local, len, rel_name(o, pair, side, i));
		memcpy(rel_want(o, side, local), local, len);
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

	if (rel_op_of(o, pair, side, i)->flags & SHM_SEND_INLINE)
		rel_own(o, side, rel_local(o, pair, side, i));
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
	rel_own(o, side, rel_buffer(o, o->s->has_srq[side] ? 0 : pair, side, slot));
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
		const struct rel_op *op = rel_op_of(o, pair, side, i);
		const uint8_t *p = rel_remote(o, pair, side, i);

		if (!rel_is(op, SHM_OPS_WRITE) || seen->last_write[op->slot] != (int32_t)i)
			continue;
		if (!rel_is_right(o, !side, p, op->len))
			rel_bad_memory(o, "WRITE", pair, side, i, !side, p);
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
	const struct rel_op *op = rel_op_of(o, pair, from, i);
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
		memcpy(rel_want(o, side, p), p, o->s->slot_bytes);
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
		rel_fill(rel_want(o, side, p), way->ops[seen->recv_op].len,
		         rel_name(o, pair, from, seen->recv_op));
	if (!rel_is_right(o, side, p, o->s->slot_bytes))
		rel_bad_memory(o, "receive", pair, from, seen->recv_op, side, p);
	seen->recv_op++;
	seen->nb_received++;
}

/* An operation completed well, with or without a word: what it was for has happened. */
static void
check_done(struct rel_oracle *o, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = rel_op_of(o, pair, side, i);
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
		memcpy(rel_want(o, side, local), local, 8);
	}
	if (!rel_is_right(o, side, local, o->s->slot_bytes))
		rel_bad_memory(o, "local buffer", pair, side, i, side, local);
}

/* ---- failures ---- */

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
	       rel_needs_recv(rel_op_of(o, pair, side, i)) && o->seen[pair][side].recv_op <= i;
}

/* Whether a way may end with this. */
static bool
may_fail(const struct rel_oracle *o, uint32_t pair, int side, uint32_t i, uint8_t status)
{
	const struct rel_op *op = rel_op_of(o, pair, side, i);
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
	    (seen->is_explained || !rel_op_of(o, pair, side, i)->fault))
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
		    (rel_op_of(o, pair, side, seen->nb_done)->flags & SHM_SEND_SIGNALED))
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
		if (cqe->op != shm_wc_op_of(rel_op_of(o, pair, side, i)->op))
			BAD(o, "pair %u, side %d: operation %u completes as %u", pair, side, i,
			    cqe->op);
		check_done(o, pair, side, i);
		seen->nb_good++;
	} else {
		failed(o, pair, side, i, cqe->status);
	}
}

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
