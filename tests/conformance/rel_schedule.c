/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_schedule.h"

#include <assert.h>
#include <string.h>

#include "prng.h"

/*
 * Chances are chosen so that a run that should end well does: eight repeats in a row are never all
 * lost, and answers come well before the timeout.
 */

/* Messages of this many packets at most, but for the few runs with large ones. */
#define PKTS_MAX 20
#define SMALL_BYTES_MAX 24576
#define LARGE_BYTES (4u << 20)
#define LARGE_ONE_IN 24

/* While a schedule is made. */
struct maker {
	struct rel_schedule *s;
	struct prng prng;
	uint32_t mtu;
	bool is_large;
	bool is_clean; /* no loss on the link */
	/* WRITEs to one place may follow each other at once. Not under weft: packets are placed as
	 * they come. */
	bool overlaps;
};

static uint32_t
below(struct maker *m, uint32_t n)
{
	return prng_below(&m->prng, n);
}

static bool
one_in(struct maker *m, uint32_t n)
{
	return below(m, n) == 0;
}

const char *
rel_end_text(enum rel_end end)
{
	static const char *const texts[REL_NB_ENDS] = {
		[REL_END_WHOLE] = "all completes",
		[REL_END_SILENCE] = "the link goes down",
		[REL_END_RNR] = "receives come to an end",
		[REL_END_ACCESS] = "a request is not allowed",
	};

	return texts[end];
}

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

static void
count_recvs(struct rel_way *w)
{
	w->nb_recvs = 0;
	for (uint32_t i = 0; i < w->nb_ops; i++)
		w->nb_recvs += rel_needs_recv(&w->ops[i]);
}

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

/* ---- the link ---- */

static uint32_t
some_ppm(struct maker *m, uint32_t max)
{
	return one_in(m, 2) ? below(m, max + 1) : 0;
}

static void
make_dir(struct maker *m, struct fault_dir *d)
{
	uint32_t timeout_ns = (uint32_t)rel_timeout_ns(m->s);

	if (one_in(m, 2)) {
		d->delay_ns = below(m, timeout_ns / 8);
		d->jitter_ns = below(m, timeout_ns / 16);
	}
	d->ppm[FAULT_DUPLICATE] = some_ppm(m, 50000);
	d->ppm[FAULT_REORDER] = some_ppm(m, 100000);
	d->reorder_pkts = 1 + below(m, one_in(m, 2) ? 4 : FAULT_REORDER_MAX_PKTS);
	d->reorder_ns = below(m, timeout_ns / 4);
	if (m->is_clean)
		return;
	d->ppm[FAULT_LOSS] = some_ppm(m, 50000);
	d->ppm[FAULT_CORRUPT] = one_in(m, 3) ? below(m, 10000) : 0;
	if (one_in(m, 4))
		d->burst = (struct fault_burst){
			.p_ppm = below(m, 2000), .r_ppm = 750000, .bad_ppm = 1000000};
}

static void
make_faults(struct maker *m)
{
	struct rel_schedule *s = m->s;
	struct fault_outage *down = &s->fault.down;
	uint64_t timeout_ns = rel_timeout_ns(s);

	s->fault.seed = prng_next(&m->prng) >> 11;
	make_dir(m, &s->fault.tx);
	make_dir(m, &s->fault.rx);
	if (s->end == REL_END_SILENCE) {
		down->at_ns = below(m, 300000);
		down->for_ns = UINT64_C(1000000000000);
	} else if (!m->is_clean && one_in(m, 4)) {
		down->at_ns = below(m, 300000);
		down->for_ns = below(m, (uint32_t)(2 * timeout_ns));
		down->every_ns = one_in(m, 2) ? 0 : 8 * timeout_ns;
	}
}

/* ---- ends ---- */

static void
end_receives(struct maker *m, struct rel_way *w)
{
	if (!w->nb_recvs) {
		w->ops[0].op = SHM_WR_SEND;
		w->ops[0].flags &= (uint8_t)~SHM_SEND_INLINE;
		count_recvs(w);
	}
	w->recv_max = below(m, w->nb_recvs < m->s->nb_recv ? w->nb_recvs : m->s->nb_recv);
	w->recv_ahead = m->s->nb_recv; /* all are there before the first is needed */
	w->recv_late_ns = 0;
	w->recv_after = REL_NO_OP;
	w->rnr_retry = (uint8_t)below(m, 4);
}

static void
spoil_request(struct maker *m, struct rel_way *w)
{
	struct rel_op *op = &w->ops[below(m, w->nb_ops)];

	if (rel_is(op, SHM_OPS_SEND | SHM_OP_BIT(SHM_WR_SEND_INV)))
		op->op = SHM_WR_WRITE;
	if (!op->len)
		op->len = 1;
	op->fault = REL_BAD_KEY;
	count_recvs(w);
}

/* The request that is not allowed asks for something else. */
static void
spoil_otherwise(struct maker *m, struct rel_way *w)
{
	static const struct {
		uint8_t fault, op;
	} kinds[] = {
		{REL_TOO_LONG, SHM_WR_SEND},       {REL_TOO_LONG, SHM_WR_SEND_IMM},
		{REL_MISALIGNED, SHM_WR_CMP_SWAP}, {REL_MISALIGNED, SHM_WR_FETCH_ADD},
		{REL_BAD_INV, SHM_WR_SEND_INV},
	};
	uint32_t kind = below(m, sizeof(kinds) / sizeof(kinds[0]));
	struct rel_op *op = w->ops;

	while (!op->fault)
		op++;
	op->fault = kinds[kind].fault;
	op->op = kinds[kind].op;
	op->flags &= (uint8_t)~SHM_SEND_INLINE;
	if (op->fault == REL_TOO_LONG)
		op->len = m->s->slot_bytes + 1;
	if (op->fault == REL_MISALIGNED)
		op->len = 8;
	count_recvs(w);
}

static void
make_end(struct maker *m)
{
	struct rel_schedule *s = m->s;
	struct rel_way *w;

	s->bad_side = -1;
	if (s->end != REL_END_RNR && s->end != REL_END_ACCESS)
		return;
	s->bad_side = (int)below(m, 2);
	w = &s->ways[0][s->bad_side];
	if (s->end == REL_END_RNR) {
		s->has_srq[0] = s->has_srq[1] = false;
		end_receives(m, w);
	} else {
		spoil_request(m, w);
	}
}

/* ---- all of it ---- */

static void
make_memory(struct maker *m)
{
	struct rel_schedule *s = m->s;
	uint32_t bytes = m->mtu * PKTS_MAX;

	s->slot_bytes = bytes < SMALL_BYTES_MAX ? bytes : SMALL_BYTES_MAX;
	s->nb_local = 2 + below(m, 7);
	s->nb_remote = 1 + below(m, 6);
	s->nb_recv = 8;
	if (!m->is_large)
		return;
	s->slot_bytes = LARGE_BYTES;
	s->nb_local = 2;
	s->nb_remote = 1;
	s->nb_recv = 2;
}

static void
make_connections(struct maker *m)
{
	static const uint32_t windows[] = {1, 2, 3, 8, 16, 64, 100, 256};
	static const uint64_t rates_bps[] = {0, 0, 0, UINT64_C(5000000000)};
	static const uint8_t acks[] = {0, 0, 1, 4};
	static const uint16_t vlans[] = {0, 0, 0, 7};
	struct rel_schedule *s = m->s;

	s->ipv6 = one_in(m, 3);
	s->vlan = vlans[below(m, 4)];
	s->timeout = (uint8_t)(3 + below(m, 5));
	s->retry_cnt = 7;
	if (s->end == REL_END_SILENCE)
		s->retry_cnt = (uint8_t)below(m, 8);
	s->min_rnr_timer = (uint8_t)(1 + below(m, 8));
	s->rd_atomic = (uint8_t)(1 + below(m, WEFT_MAX_RD_ATOMIC));
	s->depth = 8u << below(m, 4);
	s->window_pkts = windows[below(m, 8)];
	if (m->is_large)
		s->window_pkts = 256;
	s->first_msn = one_in(m, 2) ? 0xffffff - below(m, 40) : 0;
	s->max_msgs = 16u << below(m, 5);
	s->ack_every = acks[below(m, 4)];
	s->ack_delay_us = (uint8_t)below(m, 12);
	s->rate_bps = rates_bps[below(m, 4)];
	s->nb_pkts = 256u << below(m, 3);
	s->step_ns = 200u << below(m, 4);
	for (int i = 0; i < 2; i++)
		s->has_srq[i] = one_in(m, 4);
}

static void
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

bool
rel_has_windows(const struct rel_schedule *s)
{
	for (uint32_t p = 0; p < s->nb_pairs; p++)
		if (s->ways[p][0].nb_windows || s->ways[p][1].nb_windows)
			return true;
	return false;
}

/* What came to the suite later has dice of its own: so what a seed did, it does. */
static void
make_more(struct maker *m)
{
	struct rel_schedule *s = m->s;

	prng_seed(&m->prng, ~s->seed);
	s->ce_ppm = some_ppm(m, 300000);
	s->open = m->s->framing == FRAMING_WEFT ? (enum rel_open)below(m, 3) : REL_OPEN_BY_HAND;
	if (s->open == REL_OPEN_SPOILT && s->end == REL_END_SILENCE)
		s->open = rel_has_windows(s) ? REL_OPEN_CLEAN : REL_OPEN_DARK;
	s->is_again = !s->has_srq[0] && !s->has_srq[1] && one_in(m, 3);
	if (s->open == REL_OPEN_DARK) /* a peer is believed to be silent for a minute */
		s->is_again = false;
	if (s->end == REL_END_ACCESS && one_in(m, 2))
		spoil_otherwise(m, &s->ways[0][s->bad_side]);
	if (m->is_clean || one_in(m, 2))
		return;
	s->fault.tx.ppm[FAULT_TRIM] = some_ppm(m, 20000);
	s->fault.rx.ppm[FAULT_TRIM] = some_ppm(m, 20000);
}

void
rel_schedule_make(struct rel_schedule *s, uint64_t seed, enum framing framing)
{
	static const enum rel_end ends[] = {REL_END_WHOLE, REL_END_WHOLE, REL_END_WHOLE,
	                                    REL_END_WHOLE, REL_END_WHOLE, REL_END_SILENCE,
	                                    REL_END_RNR,   REL_END_ACCESS};
	struct maker m = {.s = s};

	*s = (struct rel_schedule){.seed = seed, .framing = framing};
	prng_seed(&m.prng, seed);
	s->end = ends[below(&m, 8)];
	m.is_large = one_in(&m, LARGE_ONE_IN);
	m.is_clean = one_in(&m, 6);
	m.overlaps = framing == FRAMING_ROCEV2 && s->end == REL_END_WHOLE && one_in(&m, 2);
	s->mtu_code = (uint8_t)(1 + below(&m, 5));
	m.mtu = 128u << s->mtu_code;
	s->nb_pairs = m.is_large ? 1 : 1 + below(&m, REL_PAIRS_MAX);
	make_memory(&m);
	make_connections(&m);
	make_ways(&m);
	make_end(&m);
	make_faults(&m);
	make_more(&m);
}

void
rel_schedule_again(struct rel_schedule *s)
{
	struct maker m = {
		.s = s, .mtu = 128u << s->mtu_code, .is_large = s->slot_bytes == LARGE_BYTES};

	s->seed ^= UINT64_C(0xa6a1);
	prng_seed(&m.prng, s->seed);
	s->end = REL_END_WHOLE;
	s->bad_side = -1;
	s->retry_cnt = 7;
	s->fault.down = (struct fault_outage){0};
	memset(s->ways, 0, sizeof(s->ways));
	make_ways(&m);
}
