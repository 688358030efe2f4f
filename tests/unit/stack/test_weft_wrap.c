/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "pair.h"
#include "sr.h"

/*
 * PSN, MSN and SSN of 24 bits wrap, in both streams, while all operations run; a packet is lost and
 * a message refused just there.
 */

#define NB 28
#define SLOT 4096u
#define LEN 1500u /* two packets */
/** First number of all kinds: some before the wrap. */
#define FIRST 0xfffffau
/** Where the counter of the atomics is, at side 1. */
#define COUNTER (NB * SLOT)

enum kind { PSN, MSN, SSN, NB_KINDS };

/* One number on the wire. */
struct at {
	int to; /* the side that the stream goes to */
	enum kind kind;
	uint32_t value;
};

/* What the wire does, and what was seen on it. */
struct wire {
	const struct pair *p;
	struct at lose; /* once */
	uint32_t refused_ssn;
	uint32_t nb_lost, nb_refusals;
	bool wrapped[2][NB_KINDS]; /* by side that it goes to: 0 was seen */
};

static bool
number_is(const struct wire_pkt *w, enum kind kind, uint32_t value)
{
	switch (kind) {
	case PSN:
		return w->psn == value;
	case MSN:
		return w->msn == value;
	case SSN:
		return (w->op->flags & (OPF_SEND | OPF_SSN)) && w->weft.ssn == value;
	case NB_KINDS:
		break;
	}
	return false;
}

static void
on_frame(void *arg, const struct pkt *pkt)
{
	struct wire *v = arg;
	struct wire_pkt w;
	enum wire_bad bad;
	int to;

	if (wire_parse(pkt->data, pkt->len, &w, &bad) != WIRE_ROCE)
		return;
	to = w.dest_qpn == v->p->qp[1].qp->qpn;
	if (w.opcode == (OP_WEFT | OP_ACK)) {
		v->nb_refusals += w.weft.has_rnr && w.weft.rnr_ssn == v->refused_ssn;
		return;
	}
	for (int kind = 0; kind < NB_KINDS; kind++)
		v->wrapped[to][kind] |= number_is(&w, kind, 0);
	if (to != v->lose.to || v->nb_lost || !number_is(&w, v->lose.kind, v->lose.value))
		return;
	v->nb_lost++;
	pkt->data[w.end_off - 1] ^= 1;
}

static uint8_t
op_of(uint32_t k)
{
	static const uint8_t ops[] = {SHM_WR_SEND, SHM_WR_WRITE_IMM, SHM_WR_READ, SHM_WR_FETCH_ADD};

	return ops[k % 4];
}

static bool
uses_recv(uint32_t k)
{
	return k % 4 < 2;
}

/* The world, with a queue of receives that side 1's QP has alone or shares. */
struct run {
	struct pair p;
	struct app_srq srq;
	struct wire wire;
	bool shared;
};

static void
connect(struct pair *p)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			struct shm_qp_attr attr = app_attr(&p->qp[i], &p->qp[!i]);

			attr.rq_psn = attr.sq_psn = FIRST;
			attr.timeout = 4;
			cr_assert_eq(app_to(&p->qp[i], &attr, state), 0);
			if (i && state == SHM_QPS_RTR)
				app_agree(&p->qp[0], &p->qp[1]);
		}
}

static void
open_run(struct run *r, const struct reliability_ops *rel)
{
	struct world_conf wc = {
		.weft = true, .rel = rel, .first_msn = FIRST, .tap = on_frame, .tap_arg = &r->wire};

	r->wire.p = &r->p;
	pair_make(&r->p, &wc, NULL);
	if (r->shared) {
		app_close(&r->p.qp[1]);
		app_srq_open(&r->srq, &r->p.w, 1, 64, 4);
		app_open(&r->p.qp[1], &r->p.w, 1, &(struct app_conf){.srq = &r->srq});
	}
	connect(&r->p);
	for (uint32_t k = 0; k < NB; k++)
		if (op_of(k) == SHM_WR_READ)
			for (uint32_t i = 0; i < LEN; i++)
				r->p.buf[1][k * SLOT + i] = (uint8_t)(3 * i + k);
	memset(r->p.buf[1] + COUNTER, 0, 8);
	world_run(&r->p.w, 20); /* the MACs */
}

static void
close_run(struct run *r)
{
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(r->p.qp[i].qp->state, SHM_QPS_RTS);
		pair_expect_rest(&r->p.w, i, 1);
	}
	if (r->shared) {
		app_close(&r->p.qp[1]);
		app_srq_close(&r->srq);
		app_open(&r->p.qp[1], &r->p.w, 1, NULL); /* for pair_close */
	}
	pair_close(&r->p);
}

/* Receives of the SSNs [from, to), counted from the first: each at the place of its message. */
static void
post_recvs(struct run *r, uint32_t from, uint32_t to)
{
	for (uint32_t k = 0, i = 0; k < NB; k++) {
		struct shm_sge sge = pair_sge(&r->p, 1, k * SLOT, SLOT);

		if (!uses_recv(k))
			continue;
		if (i >= from && i < to && r->shared)
			app_srq_post(&r->srq, k, &sge, 1);
		else if (i >= from && i < to)
			app_post_recv(&r->p.qp[1], k, &sge, 1);
		i++;
	}
}

static void
post_all(struct run *r)
{
	for (uint32_t k = 0; k < NB; k++) {
		bool is_add = op_of(k) == SHM_WR_FETCH_ADD;
		struct shm_send_wqe wqe = pair_wqe(&r->p, op_of(k), k, is_add ? COUNTER : k * SLOT);
		struct shm_sge sge = pair_sge(&r->p, 0, k * SLOT, is_add ? 8 : LEN);

		wqe.imm = 0xabc000 + k;
		if (is_add)
			wqe.atomic.compare_add = 1;
		app_post_send(&r->p.qp[0], &wqe, &sge);
	}
}

static void
expect_all(struct run *r, const char *what)
{
	uint64_t nb_adds = 0, sum;

	for (uint32_t k = 0; k < NB; k++) {
		const uint8_t *here = r->p.buf[0] + k * SLOT, *there = r->p.buf[1] + k * SLOT;

		pair_expect(&r->p, &r->p.qp[0].scq, k, SHM_WC_SUCCESS);
		if (op_of(k) == SHM_WR_FETCH_ADD)
			cr_expect_eq(memcmp(here, &nb_adds, 8), 0, "%s: %u", what, k);
		else
			cr_expect_eq(memcmp(here, there, LEN), 0, "%s: %u", what, k);
		nb_adds += op_of(k) == SHM_WR_FETCH_ADD;
		if (!uses_recv(k))
			continue;
		cr_expect_eq(pair_expect(&r->p, &r->p.qp[1].rcq, k, SHM_WC_SUCCESS).imm,
		             op_of(k) == SHM_WR_SEND ? 0 : 0xabc000 + k, "%s: %u", what, k);
	}
	memcpy(&sum, r->p.buf[1] + COUNTER, 8);
	cr_expect_eq(sum, nb_adds, "%s", what);
	world_run(&r->p.w, 1000); /* what is repeated though it is done */
	pair_expect_none(&r->p.qp[0].scq);
	pair_expect_none(&r->p.qp[1].rcq);
}

static void
run(const struct reliability_ops *rel, bool shared, const struct at *lose, uint32_t refused_ssn)
{
	static const char *const names[] = {"PSN", "MSN", "SSN"};
	struct run r = {.shared = shared, .wire = {.lose = *lose, .refused_ssn = refused_ssn}};
	uint32_t nb_early = (refused_ssn - FIRST) & 0xffffff;
	const struct nic_stats *st;
	char what[96];

	snprintf(what, sizeof(what), "%s, %s queue, to %d: %s 0x%x lost, SSN 0x%x refused",
	         rel ? rel->info.name : "gbn", shared ? "shared" : "own", lose->to,
	         names[lose->kind], lose->value, refused_ssn);
	open_run(&r, rel);
	st = &r.p.w.nic[1]->stats;
	post_recvs(&r, 0, nb_early);
	post_all(&r);
	for (uint32_t i = 0; i < 20000 && r.wire.nb_refusals < 2; i++)
		world_step(&r.p.w);
	cr_expect_geq(r.wire.nb_refusals, 2, "%s: not refused", what);
	/* READs and atomics behind what is refused wait. */
	cr_expect_eq(st->rx_read_requests + st->rx_atomic_requests, nb_early / 2 * 2, "%s", what);
	post_recvs(&r, nb_early, NB);
	expect_all(&r, what);
	cr_expect_eq(r.wire.nb_lost, 1, "%s: not lost", what);
	for (int i = 0; i < 2; i++) {
		const struct nic_stats *stats = &r.p.w.nic[i]->stats;

		cr_expect(r.wire.wrapped[i][PSN] && r.wire.wrapped[i][MSN], "%s: to %d", what, i);
		cr_expect_eq(stats->drop[DROP_MESSAGE] + stats->drop[DROP_STALE], 0, "%s: at %d",
		             what, i);
	}
	cr_expect(r.wire.wrapped[1][SSN], "%s", what);
	cr_expect_geq(r.p.w.nic[!lose->to]->stats.retransmits, 1, "%s", what);
	close_run(&r);
}

Test(weft_wrap, whatever_is_lost_and_refused_at_the_wrap_comes_once_and_in_order)
{
	static const struct reliability_ops *const rels[] = {NULL, &sr_ops, &sr_all_ops};
	static const uint32_t edge[] = {0xffffff, 0};

	for (uint32_t i = 0; i < 24; i++)
		for (int to = 0; to < 2; to++)
			for (enum kind kind = PSN; kind <= (to ? SSN : MSN); kind++)
				run(rels[i % 3], i & 1, &(struct at){to, kind, edge[i / 6 % 2]},
				    edge[i / 12]);
}
