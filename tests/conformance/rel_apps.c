/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "rel_run.h"

/* The applications: they post what the schedule says, take what completes, and tell the oracle. */

/* Receives posted beyond what is needed. */
#define SPARE_RECVS 2

static void
note(struct run *r, enum rel_trace_kind kind, uint32_t pair, int side, uint64_t n, uint8_t status)
{
	if (r->watch->trace)
		rel_trace_app(r->watch->trace, r->w.now_ns, kind, pair, side, n, status);
}

/* ---- requests ---- */

/* Cut a buffer into entries of random length, the same each time. */
static uint32_t
cut(const struct rel_op *op, struct shm_sge sge[4], uint8_t *p, uint32_t len, uint32_t key)
{
	uint32_t nb = 0;
	uint64_t dice = op->add;

	for (; nb + 1 < op->nb_sge; nb++, dice >>= 16) {
		uint32_t piece = (uint32_t)((uint64_t)len * (dice & 0xffff) >> 16);

		sge[nb] = (struct shm_sge){(uintptr_t)p, piece, key};
		p += piece;
		len -= piece;
	}
	sge[nb++] = (struct shm_sge){(uintptr_t)p, len, key};
	return nb;
}

/* Of a message that is longer than its buffer the first byte is sent last, too. */
static uint32_t
entries(const struct run *r, const struct rel_op *op, struct shm_sge sge[4], uint8_t *local,
        int side)
{
	uint32_t key = r->mr[side].mr->key;

	if (op->fault != REL_TOO_LONG)
		return cut(op, sge, local, op->len, key);
	sge[0] = (struct shm_sge){(uintptr_t)local, op->len - 1, key};
	sge[1] = (struct shm_sge){(uintptr_t)local, 1, key};
	return 2;
}

static void
post(struct run *r, uint32_t pair, int side)
{
	struct end *end = &r->ends[pair][side];
	uint32_t i = r->o.seen[pair][side].nb_posted;
	const struct rel_op *op = &r->s->ways[pair][side].ops[i];
	uint8_t *local = rel_local(&r->o, pair, side, i);
	struct shm_send_wqe wqe = {.wr_id = i,
	                           .op = op->op,
	                           .flags = op->flags,
	                           .imm = rel_imm(&r->o, pair, side, i),
	                           .remote_addr = (uintptr_t)rel_remote(&r->o, pair, side, i),
	                           .rkey = r->mr[!side].mr->key};
	struct shm_sge sge[4];
	uint64_t compare;

	rel_oracle_post(&r->o, pair, side, &compare);
	if (op->fault == REL_BAD_KEY)
		wqe.rkey ^= 0x5a00;
	if (op->fault == REL_MISALIGNED)
		wqe.remote_addr++;
	if (op->op == SHM_WR_SEND_INV)
		wqe.imm = op->fault ? 0x5a5a : r->ends[pair][!side].inv_keys[op->inv];
	if (op->op == SHM_WR_FETCH_ADD)
		wqe.atomic.compare_add = op->add;
	if (op->op == SHM_WR_CMP_SWAP) {
		wqe.atomic.compare_add = compare;
		wqe.atomic.swap = op->add;
	}
	note(r, REL_TRACE_POST, pair, side, i, op->op);
	if (op->flags & SHM_SEND_INLINE) {
		app_post_inline(&end->qp, wqe, local, op->len);
	} else {
		wqe.nb_sge = (uint16_t)entries(r, op, sge, local, side);
		app_post_send(&end->qp, &wqe, sge);
	}
	rel_oracle_posted(&r->o, pair, side);
}

/* Post what may be; when the next may, if time alone decides that. */
static uint64_t
post_all(struct run *r, uint32_t pair, int side)
{
	const struct rel_way *way = &r->s->ways[pair][side];
	const struct rel_seen *seen = &r->o.seen[pair][side];
	struct end *end = &r->ends[pair][side];

	while (seen->nb_posted < way->nb_ops && seen->nb_posted - seen->nb_done < r->s->depth &&
	       way->ops[seen->nb_posted].after < (int32_t)seen->nb_done) {
		if (r->w.now_ns < end->next_post_ns)
			return end->next_post_ns;
		post(r, pair, side);
		if (seen->nb_posted < way->nb_ops)
			end->next_post_ns = r->w.now_ns + way->ops[seen->nb_posted].gap_ns;
	}
	return NEVER_NS;
}

/* ---- receives ---- */

static void
post_recv(struct run *r, uint32_t pair, int side)
{
	uint64_t wr_id;
	uint32_t slot = rel_oracle_recv(&r->o, pair, side, &wr_id);
	const struct rel_op *op = &r->s->ways[pair][!side].ops[wr_id % REL_OPS_MAX];
	uint8_t *p = rel_buffer(&r->o, r->s->has_srq[side] ? 0 : pair, side, slot);
	struct shm_sge sge[4];
	uint32_t nb = cut(op, sge, p, r->s->slot_bytes, r->mr[side].mr->key);

	note(r, REL_TRACE_RECV, pair, side, wr_id >> 8, 0);
	if (r->s->has_srq[side])
		app_srq_post(&r->srq[side], wr_id, sge, nb);
	else
		app_post_recv(&r->ends[pair][side].qp, wr_id, sge, nb);
}

/* What a QP's application posts: so many at a time, so many in all. */
static void
recv_plan(const struct run *r, uint32_t pair, int side, uint32_t *ahead, uint64_t *max)
{
	const struct rel_way *way = &r->s->ways[pair][!side];

	*ahead = way->recv_ahead;
	*max = way->nb_recvs + SPARE_RECVS;
	if (way->recv_max < *max)
		*max = way->recv_max;
	if (!r->s->has_srq[side])
		return;
	for (uint32_t p = 1; p < r->s->nb_pairs; p++) {
		*ahead += r->s->ways[p][!side].recv_ahead;
		*max += r->s->ways[p][!side].nb_recvs;
	}
}

static uint64_t
post_recvs(struct run *r, uint32_t pair, int side)
{
	const struct rel_way *way = &r->s->ways[pair][!side];
	const struct rel_recvs *recvs = &r->o.recvs[pair][side];
	struct poster *p = &r->posters[pair][side];
	uint32_t ahead;
	uint64_t max;

	recv_plan(r, pair, side, &ahead, &max);
	if (!r->s->has_srq[side] && way->recv_after >= (int32_t)r->o.seen[pair][side].nb_done)
		return NEVER_NS;
	while (recvs->nb_posted < max && recvs->nb_posted - recvs->nb_taken < ahead) {
		if (p->next_ns == NEVER_NS)
			p->next_ns = r->w.now_ns + way->recv_late_ns;
		if (r->w.now_ns < p->next_ns)
			return p->next_ns;
		post_recv(r, pair, side);
		p->next_ns = NEVER_NS;
	}
	return NEVER_NS;
}

/* ---- what the rig does wrong ---- */

const char *
rel_mischief_text(enum rel_mischief mischief)
{
	static const char *const texts[REL_NB_MISCHIEFS] = {
		[REL_NO_MISCHIEF] = "none",
		[REL_FLIP_BYTE] = "what was read is changed",
		[REL_FLIP_GUARD] = "a byte in front of a buffer is changed",
		[REL_ADD_AGAIN] = "an atomic is done twice",
		[REL_LOSE_SENT] = "a completion is lost",
		[REL_DOUBLE_SENT] = "a completion comes twice",
		[REL_FAIL_SENT] = "a completion has another status",
		[REL_LOSE_RECV] = "the completion of a receive is lost",
		[REL_DOUBLE_RECV] = "the completion of a receive comes twice",
		[REL_LENGTHEN] = "a receive is said to be longer",
		[REL_OTHER_IMM] = "immediate data are others",
		[REL_LEAK] = "a packet leaks",
	};

	return texts[mischief];
}

/* Whether this occasion for a kind of mischief is taken. */
static bool
is_time_for(struct run *r, enum rel_mischief mischief)
{
	return r->watch->mischief == mischief && r->countdown && !--r->countdown;
}

/* What happens to memory while an operation completes. */
static void
spoil_memory(struct run *r, uint32_t pair, int side, uint32_t i)
{
	const struct rel_op *op = &r->s->ways[pair][side].ops[i];
	uint8_t *remote = rel_remote(&r->o, pair, side, i);

	if (op->op == SHM_WR_READ && op->len && is_time_for(r, REL_FLIP_BYTE))
		rel_local(&r->o, pair, side, i)[op->len / 2] ^= 4;
	if (is_time_for(r, REL_FLIP_GUARD))
		remote[rel_is(op, SHM_OPS_ATOMIC) ? -8 : -1] ^= 4;
	if (rel_is(op, SHM_OPS_ATOMIC) && is_time_for(r, REL_ADD_AGAIN))
		*(uint64_t *)(void *)remote += op->add | 1;
	if (is_time_for(r, REL_LEAK))
		r->w.pool->alloc(r->w.pool, &r->leaked, 1);
}

/* ---- completions ---- */

static void
take_sent(struct run *r, uint32_t pair, int side, struct shm_cqe *c)
{
	note(r, REL_TRACE_DONE, pair, side, c->wr_id, c->status);
	spoil_memory(r, pair, side, (uint32_t)c->wr_id);
	if (is_time_for(r, REL_LOSE_SENT))
		return;
	if (is_time_for(r, REL_FAIL_SENT))
		c->status = SHM_WC_GENERAL_ERR;
	if (is_time_for(r, REL_DOUBLE_SENT))
		rel_oracle_sent(&r->o, pair, side, c);
	rel_oracle_sent(&r->o, pair, side, c);
}

static void
take_received(struct run *r, uint32_t pair, int side, struct shm_cqe *c)
{
	const uint32_t *inv_keys = r->ends[pair][side].inv_keys;

	note(r, REL_TRACE_TAKEN, pair, side, c->wr_id >> 8, c->status);
	if (is_time_for(r, REL_LOSE_RECV))
		return;
	if (is_time_for(r, REL_LENGTHEN))
		c->byte_len++;
	if (c->flags && is_time_for(r, REL_OTHER_IMM))
		c->imm ^= 1;
	if (is_time_for(r, REL_DOUBLE_RECV))
		rel_oracle_received(&r->o, pair, side, c, inv_keys);
	rel_oracle_received(&r->o, pair, side, c, inv_keys);
}

/* Receives first: who is told that a message was received may look whether it was. */
void
run_poll(struct run *r)
{
	struct shm_cqe c;

	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++)
			while (local_poll(&r->ends[p][side].qp.rcq, &c))
				take_received(r, p, side, &c);
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++)
			while (local_poll(&r->ends[p][side].qp.scq, &c))
				take_sent(r, p, side, &c);
}

uint64_t
run_apps(struct run *r)
{
	uint64_t next_ns = NEVER_NS;

	run_poll(r);
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			if (p == 0 || !r->s->has_srq[side])
				next_ns = min_ns(next_ns, post_recvs(r, p, side));
			next_ns = min_ns(next_ns, post_all(r, p, side));
		}
	return next_ns;
}
