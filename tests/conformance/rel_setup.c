/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "batch.h"
#include "framing.h"
#include "mem.h"
#include "rel_run.h"

/* Two stacks, pairs of connected QPs and their memory: how a run begins, and that it leaves
 * nothing. */

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
reg_memory(struct run *r)
{
	rel_oracle_open(&r->o, r->s);
	for (int side = 0; side < 2; side++)
		app_reg(&r->mr[side], &r->w, side, r->o.mem[side], r->o.mem_bytes,
		        SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ |
		                SHM_ACCESS_REMOTE_ATOMIC | SHM_ACCESS_MW_BIND);
}

/* ---- connections ---- */

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
			run_turn(r, NEVER_NS, NEVER_NS);
		assert(c.status == SHM_WC_SUCCESS);
		end->windows[i] = mw;
		end->inv_keys[i] = mw->key;
	}
}

/* So long an OPEN may take, if some of it is lost. */
#define OPEN_NS UINT64_C(20000000000)

bool
run_is_pending(const struct run *r)
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

	while (run_is_pending(r) && r->w.now_ns < end_ns)
		run_turn(r, NEVER_NS, end_ns);
	if (run_is_pending(r))
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
	run_rest(r, 100000);
	while (a.qp->framing == QP_PENDING || b.qp->framing == QP_PENDING)
		run_rest(r, 100000);
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

/* ---- all of it ---- */

void
run_spoil(struct run *r)
{
	r->is_spoilt = true;
	if (port_is_fault(r->w.port[0]))
		port_fault_set(r->w.port[0], &r->s->fault);
	else if (fault_any(&r->s->fault))
		world_spoil(&r->w, &r->s->fault);
}

void
run_set_up(struct run *r, const struct rel_subject *subject)
{
	prng_seed(&r->prng, r->s->seed);
	open_world(r, subject);
	reg_memory(r);
	open_ends(r);
	if (r->s->open != REL_OPEN_DARK)
		acquaint(r);
	if (r->s->open == REL_OPEN_SPOILT)
		run_spoil(r);
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

void
run_set_up_again(struct run *r, const struct rel_subject *subject)
{
	struct fault_params none = {.seed = r->s->fault.seed};
	const struct shm_qp_attr attr = {0};
	struct shm_cqe c;

	r->is_spoilt = false;
	if (port_is_fault(r->w.port[0]))
		port_fault_set(r->w.port[0], &none);
	run_rest(r, REST_NS);
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
		run_spoil(r);
	connect_all(r, subject);
}

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

void
run_tear_down(struct run *r)
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
