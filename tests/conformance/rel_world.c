/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_world.h"

#include <stdio.h>
#include <string.h>

#include "rel_run.h"

/* A run from its first turn to its verdict. */

/* No run takes longer. The longest waits are those for retries that are exhausted. */
#define VIRTUAL_NS_MAX UINT64_C(20000000000)
#define TURNS_MAX 4000000

/* SEND_INVs that were received have invalidated their windows, and no others are. */
static void
check_windows(struct run *r, uint32_t pair, int side)
{
	const struct rel_way *way = &r->s->ways[pair][!side];
	uint32_t nb_received = r->o.seen[pair][!side].recv_op;

	for (uint32_t i = 0; i < way->nb_ops; i++) {
		const struct rel_op *op = &way->ops[i];
		bool is_valid;

		if (op->op != SHM_WR_SEND_INV || op->fault)
			continue;
		is_valid = r->ends[pair][side].windows[op->inv]->valid;
		if (is_valid != (i >= nb_received))
			rel_bad(&r->o.verdict, "pair %u, side %d: the window of operation %u is %s",
			        pair, side, i, is_valid ? "valid" : "invalid");
	}
}

static void
judge_end(struct run *r)
{
	uint8_t states[REL_PAIRS_MAX][2];

	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			states[p][side] = r->ends[p][side].qp.qp->state;
			check_windows(r, p, side);
		}
	rel_oracle_end(&r->o, states);
}

static void
hangs(struct run *r)
{
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			const struct rel_seen *seen = &r->o.seen[p][side];

			if (seen->nb_done < r->s->ways[p][side].nb_ops)
				rel_bad(&r->o.verdict,
				        "pair %u, side %d hangs: %u operations of %u complete, %u "
				        "posted",
				        p, side, seen->nb_done, r->s->ways[p][side].nb_ops,
				        seen->nb_posted);
		}
}

static void
name_failed(const struct run *r, char *buf, size_t size)
{
	char why[WEFT_REASON_LEN];
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2 && len < size; side++) {
			const struct qp *qp = r->ends[p][side].qp.qp;
			struct shm_qp_attr attr;

			qp_query(qp, &attr, why, sizeof(why));
			if (why[0])
				len += (size_t)snprintf(buf + len, size - len,
				                        "# pair %u, side %d, QP 0x%06x: %s\n", p,
				                        side, qp->qpn, why);
		}
}

static void
count(const struct run *r, struct rel_tally *t)
{
	for (int side = 0; side < 2; side++) {
		const struct nic_stats *st = &r->w.nic[side]->stats;

		t->nb_retransmits += st->retransmits;
		t->nb_timeouts += st->local_ack_timeout_err;
		t->nb_rnr += st->out_of_buffer;
		t->nb_frames += st->tx_packets;
		t->nb_dropped += st->tx_packets - r->w.nic[!side]->stats.rx_packets;
		for (uint32_t p = 0; p < r->s->nb_pairs; p++)
			t->nb_ops += r->o.seen[p][side].nb_good;
	}
	t->virtual_ns += r->w.now_ns;
}

/* To the end, or to the first thing wrong. */
static void
go(struct run *r)
{
	uint64_t start_ns = r->w.now_ns, end_ns;

	r->nb_turns = 0;
	while (!r->o.verdict.is_bad && !rel_oracle_is_done(&r->o)) {
		uint64_t next_ns = run_apps(r);

		if (!r->is_spoilt && (r->s->open == REL_OPEN_DARK || !run_is_pending(r)))
			run_spoil(r);
		run_turn(r, next_ns, NEVER_NS);
		if (r->w.now_ns - start_ns > VIRTUAL_NS_MAX || r->nb_turns > TURNS_MAX)
			hangs(r);
	}
	if (r->o.verdict.is_bad)
		return;
	for (end_ns = r->w.now_ns + REST_NS; r->w.now_ns < end_ns;)
		run_turn(r, run_apps(r), end_ns);
	run_poll(r);
	judge_end(r);
}

struct rel_verdict
rel_run(const struct rel_subject *subject, uint64_t seed, struct rel_watch *watch)
{
	static struct rel_schedule s;
	static struct run r;

	rel_schedule_make(&s, seed, subject->framing);
	memset(&r, 0, sizeof(r));
	r.s = &s;
	r.watch = watch;
	r.countdown = 1 + (uint32_t)(seed % 4);
	run_set_up(&r, subject);
	go(&r);
	count(&r, &watch->tally);
	if (s.is_again && !r.o.verdict.is_bad) {
		run_set_up_again(&r, subject);
		go(&r);
		watch->tally.nb_again++;
	}
	name_failed(&r, watch->failed, sizeof(watch->failed));
	run_tear_down(&r);
	return r.o.verdict;
}
