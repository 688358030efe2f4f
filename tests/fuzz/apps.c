/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps.h"

#include <string.h>

#include "attack.h"

#define SRQ_DEPTH 32

/* ---- what they know ---- */

static struct app_qp *
qp_of(struct apps *all, int side)
{
	return &all->crowd->end[side].qp[CROWD_RC];
}

static void
note(struct ledger *l, const struct shm_cqe *cqe)
{
	bool is_good = cqe->status == SHM_WC_SUCCESS;

	FUZZ_CHECK(!is_good || !l->has_failed);
	l->has_failed = !is_good;
}

static void
take_in_order(struct ledger *l, const struct shm_cqe *cqe)
{
	FUZZ_CHECK(l->nb_done < l->nb_posted && cqe->wr_id == l->nb_done);
	l->nb_done++;
	note(l, cqe);
}

static void
take_shared(struct side *me, const struct shm_cqe *cqe)
{
	FUZZ_CHECK(cqe->wr_id < me->nb_shared && me->is_open[cqe->wr_id]);
	me->is_open[cqe->wr_id] = false;
	note(&me->rq, cqe);
}

void
apps_take(struct apps *all, int side)
{
	struct app_qp *a = qp_of(all, side);
	struct side *me = &all->sides[side];
	struct shm_cqe cqe;

	while (local_poll(&a->scq, &cqe))
		take_in_order(&me->sq, &cqe);
	while (local_poll(&a->rcq, &cqe)) {
		if (a->srq)
			take_shared(me, &cqe);
		else
			take_in_order(&me->rq, &cqe);
	}
}

/* The QP is reset or gone: what was not complete never will be. */
static void
forget(struct apps *all, int side)
{
	all->sides[side].sq = all->sides[side].rq = (struct ledger){0};
}

/* ---- what they do ---- */

static uint32_t
nb_free(const struct local_wq *q)
{
	return q->nb_slots - (q->tail - atomic_load(&q->ring->ring.head));
}

static void
post_recv(struct apps *all, struct script *s, int side)
{
	const struct crowd_end *me = &all->crowd->end[side];
	struct shm_sge sge = {(uintptr_t)me->buf, attack_pick_len(s) * (1 + script_below(s, 4)),
	                      me->mr.mr->key ^ (script_below(s, 64) == 0)};
	struct app_qp *a = qp_of(all, side);
	struct side *mine = &all->sides[side];

	if (a->qp->state == SHM_QPS_RESET)
		return;
	if (!a->srq && nb_free(&a->rq)) {
		app_post_recv(a, mine->rq.nb_posted++, &sge, 1);
	} else if (a->srq && nb_free(&a->srq->wq) && mine->nb_shared < RECVS_MAX) {
		mine->is_open[mine->nb_shared] = true;
		app_srq_post(a->srq, mine->nb_shared++, &sge, 1);
	}
}

static void
bind(struct script *s, const struct crowd_end *me, struct shm_send_wqe *w)
{
	w->nb_sge = 0;
	w->bind.addr = (uintptr_t)me->buf;
	w->bind.length = script_below(s, 4) ? CROWD_BUF / 2 : 0;
	w->bind.mw_rkey = me->window->key;
	w->bind.mr_lkey = me->mr.mr->key;
	w->bind.access = 14;
}

static void
post_send(struct apps *all, struct script *s, int side)
{
	static const uint8_t ops[] = {SHM_WR_SEND,     SHM_WR_SEND,      SHM_WR_SEND_IMM,
	                              SHM_WR_SEND_INV, SHM_WR_WRITE,     SHM_WR_WRITE_IMM,
	                              SHM_WR_READ,     SHM_WR_READ,      SHM_WR_FETCH_ADD,
	                              SHM_WR_CMP_SWAP, SHM_WR_LOCAL_INV, SHM_WR_BIND_MW};
	const struct crowd_end *me = &all->crowd->end[side], *peer = &all->crowd->end[!side];
	struct app_qp *a = qp_of(all, side);
	struct shm_send_wqe w = {.wr_id = all->sides[side].sq.nb_posted,
	                         .op = ops[script_below(s, sizeof(ops))],
	                         .flags = SHM_SEND_SIGNALED | ((uint8_t)script_take(s, 1) & 7),
	                         .nb_sge = 1,
	                         .remote_addr = (uintptr_t)peer->buf,
	                         .rkey = peer->mr.mr->key,
	                         .imm = me->window->key};
	bool is_atomic = w.op == SHM_WR_FETCH_ADD || w.op == SHM_WR_CMP_SWAP;
	struct shm_sge sge = {(uintptr_t)me->buf, attack_pick_len(s) * (1 + script_below(s, 4)),
	                      me->mr.mr->key ^ (script_below(s, 64) == 0)};

	if (a->qp->state == SHM_QPS_RESET || !nb_free(&a->sq))
		return;
	if (w.op == SHM_WR_SEND_INV)
		w.imm = peer->window->key;
	if (w.op == SHM_WR_BIND_MW)
		bind(s, me, &w);
	if (is_atomic)
		sge.length = 8;
	all->sides[side].sq.nb_posted++;
	app_post_send(a, &w, &sge);
}

void
apps_post(struct apps *all, struct script *s, int side)
{
	for (uint32_t n = script_below(s, 8); n > 0; n--) {
		if (script_below(s, 3))
			post_send(all, s, side);
		else
			post_recv(all, s, (int)script_below(s, 2));
	}
	apps_take(all, side);
}

/* ---- connections ---- */

static const uint32_t optional_parts[] = {0, WIRE_TS, WIRE_CE_ECHO | WIRE_SACK, WIRE_TS | WIRE_SACK,
                                          WIRE_PATH | WIRE_ECT | WIRE_SACK};

/* What a QP puts up with: mostly all. */
static void
set_limits(struct apps *all, struct script *s, struct qp *qp)
{
	static const uint8_t retries[] = {7, 7, 7, 0, 1};
	struct shm_qp_attr attr = {.access = script_below(s, 16)};

	if (script_below(s, 8) == 0)
		FUZZ_CHECK(!qp_modify(qp, &attr, SHM_QP_ACCESS_FLAGS, all->crowd->w.now_ns));
	qp->attr.rnr_retry = retries[script_below(s, 5)];
}

/* Both ends, on other terms than the last time. Lanes are the enemy's alone: no engine has any. */
static void
connect_anew(struct apps *all, struct script *s)
{
	uint32_t wire = optional_parts[script_below(s, 5)], slots = script_below(s, 4);
	uint8_t lanes = (uint8_t)script_below(s, 16);

	for (int i = 0; i < 2; i++)
		apps_take(all, i);
	crowd_connect(all->crowd, CROWD_RC);
	for (int i = 0; i < 2; i++) {
		struct qp *qp = qp_of(all, i)->qp;
		struct weft_terms *t = &qp->terms;

		apps_take(all, i);
		forget(all, i);
		set_limits(all, s, qp);
		t->tx_wire = t->rx_wire = wire | (qp->rel_ops->info.wire & WIRE_TRIM);
		t->tx_slots = t->rx_slots = (uint8_t)slots;
		t->tx_lanes = t->rx_lanes = lanes;
	}
}

static const struct app_conf own_queue = {.depth = 16, .max_sge = 4, .cq_depth = 128};

/* Its completion queues end with it, and what is in them. */
static void
make_anew(struct apps *all, struct script *s, int side)
{
	struct app_conf conf = own_queue;

	apps_take(all, side);
	app_close(qp_of(all, side));
	forget(all, side);
	if (script_below(s, 2))
		conf.srq = &all->sides[side].srq;
	app_open(qp_of(all, side), &all->crowd->w, side, &conf);
}

/* With nothing else, which is refused where it would need more. */
static void
go_to(struct apps *all, int side, uint8_t state)
{
	struct shm_qp_attr attr = {.state = state};

	qp_modify(qp_of(all, side)->qp, &attr, SHM_QP_STATE, all->crowd->w.now_ns);
}

void
apps_change_state(struct apps *all, struct script *s, int side)
{
	apps_take(all, side);
	switch (script_below(s, 8)) {
	case 0:
		go_to(all, side, SHM_QPS_ERR);
		break;
	case 1:
		go_to(all, side, SHM_QPS_RESET);
		apps_take(all, side);
		forget(all, side);
		break;
	case 2:
		make_anew(all, s, side);
		break;
	case 3:
	case 4:
	case 5:
		go_to(all, side, SHM_QPS_SQD);
		break;
	default:
		go_to(all, side, SHM_QPS_RTS);
		break;
	}
}

static bool
is_usable(struct apps *all, int side)
{
	uint8_t state = qp_of(all, side)->qp->state;

	return state == SHM_QPS_RTS || state == SHM_QPS_SQD;
}

void
apps_mend(struct apps *all, struct script *s)
{
	if ((!is_usable(all, 0) || !is_usable(all, 1)) && script_below(s, 4) == 0)
		connect_anew(all, s);
}

/* ---- begin and end ---- */

void
apps_open(struct apps *all, struct crowd *crowd, struct script *s)
{
	memset(all, 0, sizeof(*all));
	all->crowd = crowd;
	for (int i = 0; i < 2; i++) {
		app_srq_open(&all->sides[i].srq, &crowd->w, i, SRQ_DEPTH, 4);
		make_anew(all, s, i);
	}
	connect_anew(all, s);
}

/* Shared queues can go when no QP has them any more. */
void
apps_close(struct apps *all)
{
	for (int i = 0; i < 2; i++) {
		apps_take(all, i);
		app_close(qp_of(all, i));
		app_srq_close(&all->sides[i].srq);
		app_open(qp_of(all, i), &all->crowd->w, i, &own_queue);
	}
}
