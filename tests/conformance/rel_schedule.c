/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_schedule.h"

#include <string.h>

#include "rel_maker.h"

/*
 * Chances are chosen so that a run that should end well does: eight repeats in a row are never all
 * lost, and answers come well before the timeout.
 */

#define SMALL_BYTES_MAX 24576
#define LARGE_BYTES (4u << 20)
#define LARGE_ONE_IN 24

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

bool
rel_has_windows(const struct rel_schedule *s)
{
	for (uint32_t p = 0; p < s->nb_pairs; p++)
		if (s->ways[p][0].nb_windows || s->ways[p][1].nb_windows)
			return true;
	return false;
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
