/* SPDX-License-Identifier: BSD-3-Clause */
#include "rel_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "framing.h"
#include "mark.h"
#include "mem.h"
#include "prng.h"
#include "world.h"

/* No run takes longer. The longest waits are those for retries that are exhausted. */
#define VIRTUAL_NS_MAX UINT64_C(20000000000)
#define TURNS_MAX 4000000
/* Whatever is still on its way arrives in this time. */
#define REST_NS 20000000
/* Receives posted beyond what is needed. */
#define SPARE_RECVS 2

/* An application at one end of a pair. */
struct end {
	struct app_qp qp;
	uint64_t next_post_ns;
	struct mr *windows[REL_OPS_MAX]; /* which the other end's SEND_INVs invalidate */
	uint32_t inv_keys[REL_OPS_MAX];
};

/* Who posts receives of a QP, or of an SRQ. */
struct poster {
	uint64_t next_ns; /* NEVER_NS: there is no room */
	uint64_t nb;
};

struct run {
	struct rel_schedule *s;
	struct rel_oracle o;
	struct rel_watch *watch;
	struct world w;
	struct local_mr mr[2];
	struct app_srq srq[2];
	struct end ends[REL_PAIRS_MAX][2];
	struct poster posters[REL_PAIRS_MAX][2];
	uint64_t nb_turns;
	struct prng prng; /* whom CE strikes */
	bool is_spoilt;   /* the link is as the schedule says */
	/* mischief */
	uint32_t countdown; /* occasions to let pass; 0 = done */
	struct pkt *leaked;
};

static void
note(struct run *r, enum rel_trace_kind kind, uint32_t pair, int side, uint64_t n, uint8_t status)
{
	if (r->watch->trace)
		rel_trace_app(r->watch->trace, r->w.now_ns, kind, pair, side, n, status);
}

/* ---- the stacks ---- */

static void
note_frames(struct run *r, enum rel_trace_kind kind, int side, struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && r->watch->trace; i++)
		rel_trace_frame(r->watch->trace, r->w.now_ns, kind, side, pkts[i]);
}

/* Some switch on the way is congested. */
static void
mark_some(struct run *r, struct pkt **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n && r->s->ce_ppm; i++) {
		uint8_t *l2 = pkts[i]->data;
		uint32_t l3_off = l2[12] == 0x81 && l2[13] == 0 ? 18 : 14;
		uint16_t type = (uint16_t)(l2[l3_off - 2] << 8 | l2[l3_off - 1]);

		if ((type == 0x0800 || type == 0x86dd) &&
		    prng_below(&r->prng, 1000000) < r->s->ce_ppm)
			r->watch->tally.nb_ce += mark_ce(l2 + l3_off);
	}
}

/* One turn of a side; whether a frame came or went. */
static bool
turn_side(struct run *r, int side)
{
	struct pkt *pkts[STACK_BURST];
	struct world *w = &r->w;
	struct port *port = w->port[side];
	uint32_t nb_in = port->ops->rx_burst(port, pkts, STACK_BURST, w->now_ns), nb_out, room;

	note_frames(r, REL_TRACE_ARRIVED, side, pkts, nb_in);
	if (nb_in)
		stack_rx(w->nic[side], pkts, nb_in, w->now_ns);
	stack_tick(w->nic[side], w->now_ns);
	room = port->ops->tx_room(port);
	nb_out = stack_tx(w->nic[side], pkts, room < STACK_BURST ? room : STACK_BURST, w->now_ns);
	note_frames(r, REL_TRACE_SENT, side, pkts, nb_out);
	mark_some(r, pkts, nb_out);
	if (port->ops->tx_burst(port, pkts, nb_out, w->now_ns) != nb_out)
		rel_bad(&r->o.verdict, "the link refuses frames for which it had room");
	return nb_in || nb_out;
}

static uint64_t
min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When a stack or the link has something to do. */
static uint64_t
stacks_next_ns(const struct run *r)
{
	uint64_t next_ns = NEVER_NS;

	for (int side = 0; side < 2; side++) {
		struct port *port = r->w.port[side];

		next_ns = min_ns(next_ns, stack_next_ns(r->w.nic[side]));
		next_ns = min_ns(next_ns, port->ops->next_ns(port));
	}
	return next_ns;
}

/* Whether an application has something to look at. */
static bool
has_completions(const struct run *r)
{
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			const struct app_qp *qp = &r->ends[p][side].qp;

			if (atomic_load(&qp->scq.ring->ring.tail) != qp->scq.head ||
			    atomic_load(&qp->rcq.ring->ring.tail) != qp->rcq.head)
				return true;
		}
	return false;
}

/* A turn of all; then time goes on, by as much as nothing happens, but not beyond end_ns. */
static void
turn(struct run *r, uint64_t apps_next_ns, uint64_t end_ns)
{
	bool moved = turn_side(r, 0) | turn_side(r, 1) | has_completions(r);
	uint64_t next_ns = min_ns(apps_next_ns, moved ? 0 : stacks_next_ns(r));
	uint64_t least_ns = r->w.now_ns + r->s->step_ns;

	if (next_ns < least_ns)
		next_ns = least_ns;
	r->w.now_ns = next_ns < end_ns || end_ns < least_ns ? next_ns : end_ns;
	r->nb_turns++;
}

static void
rest(struct run *r, uint64_t ns)
{
	uint64_t end_ns = r->w.now_ns + ns;

	while (r->w.now_ns < end_ns)
		turn(r, NEVER_NS, end_ns);
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

/* ---- completions ---- */

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
static void
poll_all(struct run *r)
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

/* Applications do what they can; when they want a turn again, whatever the stacks do. */
static uint64_t
run_apps(struct run *r)
{
	uint64_t next_ns = NEVER_NS;

	poll_all(r);
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			if (p == 0 || !r->s->has_srq[side])
				next_ns = min_ns(next_ns, post_recvs(r, p, side));
			next_ns = min_ns(next_ns, post_all(r, p, side));
		}
	return next_ns;
}

/* ---- set-up ---- */

static void
open_world(struct run *r, const struct rel_subject *subject)
{
	const struct rel_schedule *s = r->s;
	enum framing_wish wish =
		s->open == REL_OPEN_BY_HAND ? FRAMING_WISH_ROCEV2 : FRAMING_WISH_WEFT;
	const struct world_conf conf = {
		.nb_pkts = s->nb_pkts,
		.step_ns = s->step_ns,
		.window_pkts = s->window_pkts,
		.first_msn = s->first_msn,
		.ipv6 = s->ipv6,
		.rate_bps = s->rate_bps,
		.vlan = s->vlan,
		.rel = subject->ops,
		.framing = {wish, wish},
	};

	world_open(&r->w, &conf);
}

static void
open_ends(struct run *r)
{
	const struct rel_schedule *s = r->s;

	for (int side = 0; side < 2; side++) {
		struct app_conf conf = {.depth = s->depth, .max_sge = 4};

		if (s->has_srq[side]) {
			app_srq_open(&r->srq[side], &r->w, side, REL_PAIRS_MAX * s->nb_recv, 4);
			conf.srq = &r->srq[side];
		}
		for (uint32_t p = 0; p < s->nb_pairs; p++) {
			app_open(&r->ends[p][side].qp, &r->w, side, &conf);
			r->posters[p][side].next_ns = NEVER_NS;
		}
	}
}

static void
connect_end(struct run *r, uint32_t pair, int side, uint8_t state)
{
	const struct rel_schedule *s = r->s;
	struct app_qp *qp = &r->ends[pair][side].qp;
	struct shm_qp_attr attr = app_attr(qp, &r->ends[pair][!side].qp);
	uint8_t max_mtu = r->w.nic[side]->active_mtu;
	int err;

	attr.path_mtu = s->mtu_code < max_mtu ? s->mtu_code : max_mtu;
	attr.timeout = s->timeout;
	attr.retry_cnt = s->retry_cnt;
	attr.rnr_retry = s->ways[pair][side].rnr_retry;
	attr.min_rnr_timer = s->min_rnr_timer;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = s->rd_atomic;
	attr.sq_psn = s->ways[pair][side].first_psn;
	attr.rq_psn = s->ways[pair][!side].first_psn;
	err = app_to(qp, &attr, state);
	assert(!err);
}

/* What OPEN would agree on, of an end in RTR. */
static void
agree(struct run *r, uint32_t pair, int side, const struct reliability_ops *ops)
{
	const struct rel_schedule *s = r->s;
	struct qp *qp = r->ends[pair][side].qp.qp;
	const struct weft_terms terms = {
		.tx_first_psn = s->ways[pair][side].first_psn,
		.window_pkts = s->window_pkts,
		.max_msgs = s->max_msgs,
		.tx_wire = ops->info.wire,
		.rx_wire = ops->info.wire,
		.ack_every = s->ack_every,
		.ack_delay_us = s->ack_delay_us,
	};

	qp->framing = QP_PENDING;
	framing_weft(qp, &terms, r->w.now_ns);
}

/* Windows of an end, bound by its own QP, for the other end to invalidate. */
static void
bind_windows(struct run *r, uint32_t pair, int side)
{
	struct end *end = &r->ends[pair][side];

	for (uint32_t i = 0; i < r->s->ways[pair][!side].nb_windows; i++) {
		struct mr *mw = mr_create_window(r->w.nic[side], PD, 2);
		struct shm_send_wqe wqe = {.op = SHM_WR_BIND_MW, .flags = SHM_SEND_SIGNALED};
		struct shm_cqe c;

		assert(mw);
		wqe.bind.addr = (uintptr_t)r->o.mem[side];
		wqe.bind.length = 1;
		wqe.bind.mw_rkey = mw->key ^ 1;
		wqe.bind.mr_lkey = r->mr[side].mr->key;
		wqe.bind.access = SHM_ACCESS_REMOTE_READ;
		app_post_send(&end->qp, &wqe, NULL);
		while (!local_poll(&end->qp.scq, &c))
			turn(r, NEVER_NS, NEVER_NS);
		assert(c.status == SHM_WC_SUCCESS);
		end->windows[i] = mw;
		end->inv_keys[i] = mw->key;
	}
}

/* So long an OPEN may take, if some of it is lost. */
#define OPEN_NS UINT64_C(20000000000)

static bool
are_pending(const struct run *r)
{
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++)
			if (r->ends[p][side].qp.qp->framing == QP_PENDING)
				return true;
	return false;
}

static void
wait_until_open(struct run *r)
{
	uint64_t end_ns = r->w.now_ns + OPEN_NS;

	while (are_pending(r) && r->w.now_ns < end_ns)
		turn(r, NEVER_NS, end_ns);
	if (are_pending(r))
		rel_bad(&r->o.verdict, "QPs have not agreed on their framing");
}

/* A pair of QPs that come and go: then the NICs know each other's MACs, and what they speak. */
static void
acquaint(struct run *r)
{
	struct app_qp a, b;

	app_open(&a, &r->w, 0, NULL);
	app_open(&b, &r->w, 1, NULL);
	app_connect(&a, &b);
	rest(r, 100000);
	while (a.qp->framing == QP_PENDING || b.qp->framing == QP_PENDING)
		rest(r, 100000);
	app_close(&a);
	app_close(&b);
}

static void
connect_all(struct run *r, const struct rel_subject *subject)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (uint32_t p = 0; p < r->s->nb_pairs; p++)
			for (int side = 0; side < 2; side++) {
				connect_end(r, p, side, state);
				if (state == SHM_QPS_RTR && r->s->framing == FRAMING_WEFT &&
				    r->s->open == REL_OPEN_BY_HAND)
					agree(r, p, side, subject->ops);
			}
	if (r->s->open == REL_OPEN_SPOILT || rel_has_windows(r->s))
		wait_until_open(r);
	for (uint32_t p = 0; p < r->s->nb_pairs && !r->o.verdict.is_bad; p++)
		for (int side = 0; side < 2; side++)
			bind_windows(r, p, side);
}

/* From now on the link is as the schedule says. */
static void
spoil(struct run *r)
{
	r->is_spoilt = true;
	if (port_is_fault(r->w.port[0]))
		port_fault_set(r->w.port[0], &r->s->fault);
	else if (fault_any(&r->s->fault))
		world_spoil(&r->w, &r->s->fault);
}

static void
reg_memory(struct run *r)
{
	rel_oracle_open(&r->o, r->s);
	for (int side = 0; side < 2; side++)
		app_reg(&r->mr[side], &r->w, side, r->o.mem[side], r->o.mem_bytes,
		        SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ |
		                SHM_ACCESS_REMOTE_ATOMIC | SHM_ACCESS_MW_BIND);
}

static void
set_up(struct run *r, const struct rel_subject *subject)
{
	prng_seed(&r->prng, r->s->seed);
	open_world(r, subject);
	reg_memory(r);
	open_ends(r);
	if (r->s->open != REL_OPEN_DARK)
		acquaint(r);
	if (r->s->open == REL_OPEN_SPOILT)
		spoil(r);
	connect_all(r, subject);
}

static void
close_memory(struct run *r)
{
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++)
			for (uint32_t i = 0; i < r->s->ways[p][!side].nb_windows; i++)
				if (r->ends[p][side].windows[i])
					mr_destroy(r->w.nic[side], r->ends[p][side].windows[i]);
	for (int side = 0; side < 2; side++)
		local_mr_close(&r->mr[side], r->w.nic[side]);
	rel_oracle_close(&r->o);
}

/* The same QPs once more, with memory of their own. */
static void
set_up_again(struct run *r, const struct rel_subject *subject)
{
	struct fault_params none = {.seed = r->s->fault.seed};
	const struct shm_qp_attr attr = {0};
	struct shm_cqe c;

	r->is_spoilt = false;
	if (port_is_fault(r->w.port[0]))
		port_fault_set(r->w.port[0], &none);
	rest(r, REST_NS);
	close_memory(r);
	rel_schedule_again(r->s);
	reg_memory(r);
	for (uint32_t p = 0; p < r->s->nb_pairs; p++)
		for (int side = 0; side < 2; side++) {
			struct end *end = &r->ends[p][side];
			int err = app_to(&end->qp, &attr, SHM_QPS_RESET);

			assert(!err);
			while (local_poll(&end->qp.scq, &c) || local_poll(&end->qp.rcq, &c))
				;
			end->next_post_ns = 0;
			r->posters[p][side].next_ns = NEVER_NS;
		}
	if (r->s->open == REL_OPEN_SPOILT)
		spoil(r);
	connect_all(r, subject);
}

/* ---- the end ---- */

static void
check_leaks(struct run *r)
{
	uint32_t nb_free = pkt_pool_mem_nb_free(r->w.pool);

	for (int side = 0; side < 2; side++) /* these are at hand */
		nb_free += r->w.nic[side]->batch->nb_spare;
	if (nb_free != r->w.conf.nb_pkts)
		rel_bad(&r->o.verdict, "%u packets of %u have not come home",
		        r->w.conf.nb_pkts - nb_free, r->w.conf.nb_pkts);
	for (int side = 0; side < 2; side++) {
		const struct slab_set *set = &r->w.nic[side]->slabs;

		for (uint32_t i = 0; i < set->nb_slabs; i++)
			if (slab_used(set->slabs[i]))
				rel_bad(&r->o.verdict, "side %d: %u blocks of %u bytes are leased",
				        side, slab_used(set->slabs[i]), set->slabs[i]->block_bytes);
	}
}

static void
tear_down(struct run *r)
{
	for (int side = 0; side < 2; side++) {
		for (uint32_t p = 0; p < r->s->nb_pairs; p++)
			app_close(&r->ends[p][side].qp);
		if (r->s->has_srq[side])
			app_srq_close(&r->srq[side]);
	}
	if (!r->o.verdict.is_bad)
		check_leaks(r);
	if (r->leaked)
		pkt_free(&r->leaked, 1);
	close_memory(r);
	world_close(&r->w);
}

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

/* To the end, or to the first thing wrong. */
static void
go(struct run *r)
{
	uint64_t start_ns = r->w.now_ns, end_ns;

	r->nb_turns = 0;
	while (!r->o.verdict.is_bad && !rel_oracle_is_done(&r->o)) {
		uint64_t next_ns = run_apps(r);

		if (!r->is_spoilt && (r->s->open == REL_OPEN_DARK || !are_pending(r)))
			spoil(r);
		turn(r, next_ns, NEVER_NS);
		if (r->w.now_ns - start_ns > VIRTUAL_NS_MAX || r->nb_turns > TURNS_MAX)
			hangs(r);
	}
	if (r->o.verdict.is_bad)
		return;
	for (end_ns = r->w.now_ns + REST_NS; r->w.now_ns < end_ns;)
		turn(r, run_apps(r), end_ns);
	poll_all(r);
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
	set_up(&r, subject);
	go(&r);
	count(&r, &watch->tally);
	if (s.is_again && !r.o.verdict.is_bad) {
		set_up_again(&r, subject);
		go(&r);
		watch->tally.nb_again++;
	}
	name_failed(&r, watch->failed, sizeof(watch->failed));
	tear_down(&r);
	return r.o.verdict;
}
