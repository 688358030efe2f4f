/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "rel_maker.h"

/* What one end of a pair asks of the other, and how the other end posts receives for it. */

/* ---- operations ---- */

static uint8_t
some_op(struct maker *m, uint32_t mix)
{
	static const uint8_t mixes[][10] = {
		{SHM_WR_SEND, SHM_WR_SEND_IMM, SHM_WR_SEND_INV, SHM_WR_WRITE, SHM_WR_WRITE_IMM,
	         SHM_WR_READ, SHM_WR_CMP_SWAP, SHM_WR_FETCH_ADD, SHM_WR_WRITE, SHM_WR_READ},
		{SHM_WR_SEND, SHM_WR_SEND_IMM, SHM_WR_SEND_INV, SHM_WR_SEND, SHM_WR_SEND,
	         SHM_WR_SEND, SHM_WR_WRITE_IMM, SHM_WR_WRITE_IMM, SHM_WR_READ, SHM_WR_WRITE},
		{SHM_WR_READ, SHM_WR_READ, SHM_WR_READ, SHM_WR_READ, SHM_WR_READ, SHM_WR_WRITE,
	         SHM_WR_WRITE, SHM_WR_FETCH_ADD, SHM_WR_CMP_SWAP, SHM_WR_SEND},
		{SHM_WR_WRITE, SHM_WR_WRITE, SHM_WR_WRITE, SHM_WR_WRITE, SHM_WR_WRITE, SHM_WR_WRITE,
	         SHM_WR_WRITE, SHM_WR_WRITE_IMM, SHM_WR_READ, SHM_WR_SEND},
		{SHM_WR_CMP_SWAP, SHM_WR_CMP_SWAP, SHM_WR_CMP_SWAP, SHM_WR_FETCH_ADD,
	         SHM_WR_FETCH_ADD, SHM_WR_FETCH_ADD, SHM_WR_FETCH_ADD, SHM_WR_READ, SHM_WR_WRITE,
	         SHM_WR_SEND},
	};

	return mixes[mix % 5][below(m, 10)];
}

static uint32_t
some_len(struct maker *m)
{
	uint32_t max = m->s->slot_bytes, mtu = m->mtu;
	const uint32_t lens[] = {
		0,
		1,
		mtu - 1,
		mtu,
		mtu + 1,
		mtu * (2 + below(m, PKTS_MAX - 1)),
		below(m, 257),
		below(m, mtu * PKTS_MAX + 1),
		m->is_large ? max - below(m, 3) : below(m, 3 * mtu),
	};
	uint32_t len = lens[below(m, sizeof(lens) / sizeof(lens[0]))];

	return len < max ? len : max;
}

/* What of a way was last used by which operation. */
struct uses {
	int32_t write[8], read[8]; /* of a slot */
	int32_t signaled;
};

static void
wait_for(struct rel_op *op, int32_t earlier)
{
	if (op->after < earlier)
		op->after = earlier;
}

/* A place of the other side's memory; nothing undefined may come of it. */
static void
place(struct maker *m, struct rel_op *op, int32_t i, struct uses *u)
{
	uint32_t slot = below(m, m->s->nb_remote);

	op->slot = (uint8_t)slot;
	if (op->op == SHM_WR_READ) {
		u->read[slot] = i;
		return;
	}
	if (!m->overlaps)
		wait_for(op, u->write[slot]);
	if (u->read[slot] > op->after && one_in(m, 2))
		op->flags |= SHM_SEND_FENCE;
	else
		wait_for(op, u->read[slot]);
	u->write[slot] = i;
}

static void
make_op(struct maker *m, struct rel_way *w, int32_t i, uint32_t mix, struct uses *u)
{
	struct rel_op *op = &w->ops[i];

	*op = (struct rel_op){.op = some_op(m, mix), .after = REL_NO_OP};
	op->len = rel_is(op, SHM_OPS_ATOMIC) ? 8 : some_len(m);
	op->nb_sge = (uint8_t)(1 + below(m, 4));
	op->gap_ns = one_in(m, 6) ? below(m, 30000) : 0;
	op->add = prng_next(&m->prng);
	op->hits = !one_in(m, 3);
	if (one_in(m, 2))
		op->flags |= SHM_SEND_SIGNALED;
	if (one_in(m, 10))
		op->flags |= SHM_SEND_FENCE;
	if (one_in(m, 4))
		op->flags |= SHM_SEND_SOLICITED;
	if (rel_is(op, SHM_OPS_OUT) && op->len <= WEFT_MAX_INLINE && one_in(m, 2))
		op->flags |= SHM_SEND_INLINE;
	if (op->op == SHM_WR_FETCH_ADD && one_in(m, 2))
		op->word = (uint8_t)(1 + below(m, REL_SHARED_WORDS));
	if (op->op == SHM_WR_SEND_INV)
		op->inv = w->nb_windows++;
	if (rel_is(op, SHM_OPS_WRITE | SHM_OP_BIT(SHM_WR_READ)))
		place(m, op, i, u);
	if (i >= (int32_t)m->s->nb_local)
		wait_for(op, i - (int32_t)m->s->nb_local);
	if (one_in(m, 12))
		wait_for(op, i - 1);
}

/* An application can only wait for what completes visibly. */
static void
signal_enough(struct maker *m, struct rel_way *w, int32_t i, struct uses *u)
{
	struct rel_op *op = &w->ops[i];

	if (op->after > u->signaled) {
		w->ops[i - 1].flags |= SHM_SEND_SIGNALED;
		u->signaled = i - 1;
	}
	if (i - u->signaled >= (int32_t)m->s->depth / 2 || i == (int32_t)w->nb_ops - 1)
		op->flags |= SHM_SEND_SIGNALED;
	if (op->flags & SHM_SEND_SIGNALED)
		u->signaled = i;
}

/* ---- receives ---- */

/*
 * An operation of the other way, itself in need of no receive, nor behind one that is. Its
 * completion is waited for.
 */
static int32_t
some_free_op(struct maker *m, struct rel_way *other)
{
	int32_t nb = 0, chosen;

	while (nb < (int32_t)other->nb_ops && !rel_needs_recv(&other->ops[nb]))
		nb++;
	if (!nb)
		return REL_NO_OP;
	chosen = (int32_t)below(m, (uint32_t)nb);
	other->ops[chosen].flags |= SHM_SEND_SIGNALED;
	return chosen;
}

static void
make_recvs(struct maker *m, struct rel_way *w, struct rel_way *other)
{
	uint32_t timeout_ns = (uint32_t)rel_timeout_ns(m->s);

	w->recv_ahead = 1 + below(m, m->s->nb_recv);
	w->recv_late_ns = one_in(m, 3) ? below(m, 4 * timeout_ns) : 0;
	w->recv_after = REL_NO_OP;
	w->recv_max = UINT32_MAX;
	w->rnr_retry = 7;
	if (one_in(m, 5))
		w->recv_after = some_free_op(m, other);
}

void
count_recvs(struct rel_way *w)
{
	w->nb_recvs = 0;
	for (uint32_t i = 0; i < w->nb_ops; i++)
		w->nb_recvs += rel_needs_recv(&w->ops[i]);
}

/* ---- ways ---- */

static uint32_t
some_psn(struct maker *m)
{
	uint32_t any = (uint32_t)prng_next(&m->prng) & 0xffffff;

	switch (below(m, 4)) {
	case 0:
		return any;
	case 1:
		return 0x800000 - below(m, 64);
	default:
		return 0xffffff - below(m, 64);
	}
}

static void
make_way(struct maker *m, struct rel_way *w)
{
	struct uses u = {.signaled = REL_NO_OP};
	uint32_t mix = below(m, 8);

	memset(u.write, 0xff, sizeof(u.write));
	memset(u.read, 0xff, sizeof(u.read));
	w->nb_ops = m->is_large ? 1 + below(m, 4) : 1 + below(m, one_in(m, 4) ? REL_OPS_MAX : 24);
	w->first_psn = some_psn(m);
	for (int32_t i = 0; i < (int32_t)w->nb_ops; i++) {
		make_op(m, w, i, mix, &u);
		signal_enough(m, w, i, &u);
	}
	count_recvs(w);
}

void
make_ways(struct maker *m)
{
	struct rel_schedule *s = m->s;

	for (uint32_t p = 0; p < s->nb_pairs; p++) {
		for (int side = 0; side < 2; side++)
			make_way(m, &s->ways[p][side]);
		for (int side = 0; side < 2; side++)
			make_recvs(m, &s->ways[p][side], &s->ways[p][!side]);
	}
}
