/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs of the weft framing under engines that take packets in any order, with every optional part,
 * between an enemy on the wire (attack.h) and applications that change their minds: they post what
 * comes to their minds, too few receives, drain, fail, reset and destroy QPs, with a queue of
 * receives of their own or a shared one. Requests and receives complete each once, in their order,
 * and none well behind one that failed; memory and neighbours are as fuzz_stack.c has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"
#include "judge.h"
#include "sr.h"
#include "trim.h"

#define SRQ_DEPTH 32
#define RECVS_MAX 65536

static uint64_t nb_frames;

static struct crowd crowd;
static struct attack enemy = {.crowd = &crowd};

/* ---- what applications know ---- */

/* A queue: requests are numbered as they are posted. */
struct ledger {
	uint64_t nb_posted, nb_done;
	bool has_failed; /* one did, since the QP was connected */
};

struct side {
	struct ledger sq, rq;
	struct app_srq srq;
	bool is_open[RECVS_MAX]; /* receives of the shared queue, by number */
	uint32_t nb_shared;
};
static struct side sides[2];

static struct app_qp *
qp_of(int side)
{
	return &crowd.end[side].qp[CROWD_RC];
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

static void
take(int side)
{
	struct app_qp *a = qp_of(side);
	struct side *me = &sides[side];
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
forget(int side)
{
	sides[side].sq = sides[side].rq = (struct ledger){0};
}

/* ---- what they do ---- */

static uint32_t
nb_free(const struct local_wq *q)
{
	return q->nb_slots - (q->tail - atomic_load(&q->ring->ring.head));
}

static void
post_recv(struct script *s, int side)
{
	const struct crowd_end *me = &crowd.end[side];
	struct shm_sge sge = {(uintptr_t)me->buf, attack_pick_len(s) * (1 + script_below(s, 4)),
	                      me->mr.mr->key ^ (script_below(s, 64) == 0)};
	struct app_qp *a = qp_of(side);
	struct side *mine = &sides[side];

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
post_send(struct script *s, int side)
{
	static const uint8_t ops[] = {SHM_WR_SEND,     SHM_WR_SEND,      SHM_WR_SEND_IMM,
	                              SHM_WR_SEND_INV, SHM_WR_WRITE,     SHM_WR_WRITE_IMM,
	                              SHM_WR_READ,     SHM_WR_READ,      SHM_WR_FETCH_ADD,
	                              SHM_WR_CMP_SWAP, SHM_WR_LOCAL_INV, SHM_WR_BIND_MW};
	const struct crowd_end *me = &crowd.end[side], *peer = &crowd.end[!side];
	struct app_qp *a = qp_of(side);
	struct shm_send_wqe w = {.wr_id = sides[side].sq.nb_posted,
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
	sides[side].sq.nb_posted++;
	app_post_send(a, &w, &sge);
}

static void
post(struct script *s, int side)
{
	for (uint32_t n = script_below(s, 8); n > 0; n--) {
		if (script_below(s, 3))
			post_send(s, side);
		else
			post_recv(s, (int)script_below(s, 2));
	}
	take(side);
}

/* ---- connections ---- */

static const uint32_t optional_parts[] = {0, WIRE_TS, WIRE_CE_ECHO | WIRE_SACK, WIRE_TS | WIRE_SACK,
                                          WIRE_PATH | WIRE_ECT | WIRE_SACK};

/* What a QP puts up with: mostly all. */
static void
set_limits(struct script *s, struct qp *qp)
{
	static const uint8_t retries[] = {7, 7, 7, 0, 1};
	struct shm_qp_attr attr = {.access = script_below(s, 16)};

	if (script_below(s, 8) == 0)
		FUZZ_CHECK(!qp_modify(qp, &attr, SHM_QP_ACCESS_FLAGS, crowd.w.now_ns));
	qp->attr.rnr_retry = retries[script_below(s, 5)];
}

/* Both ends, on other terms than the last time. Lanes are the enemy's alone: no engine has any. */
static void
connect_anew(struct script *s)
{
	uint32_t wire = optional_parts[script_below(s, 5)], slots = script_below(s, 4);
	uint8_t lanes = (uint8_t)script_below(s, 16);

	for (int i = 0; i < 2; i++)
		take(i);
	crowd_connect(&crowd, CROWD_RC);
	for (int i = 0; i < 2; i++) {
		struct qp *qp = qp_of(i)->qp;
		struct weft_terms *t = &qp->terms;

		take(i);
		forget(i);
		set_limits(s, qp);
		t->tx_wire = t->rx_wire = wire | (qp->rel_ops->info.wire & WIRE_TRIM);
		t->tx_slots = t->rx_slots = (uint8_t)slots;
		t->tx_lanes = t->rx_lanes = lanes;
	}
}

static const struct app_conf own_queue = {.depth = 16, .max_sge = 4, .cq_depth = 128};

/* Its completion queues end with it, and what is in them. */
static void
make_anew(struct script *s, int side)
{
	struct app_conf conf = own_queue;

	take(side);
	app_close(qp_of(side));
	forget(side);
	if (script_below(s, 2))
		conf.srq = &sides[side].srq;
	app_open(qp_of(side), &crowd.w, side, &conf);
}

/* With nothing else, which is refused where it would need more. */
static void
go_to(int side, uint8_t state)
{
	struct shm_qp_attr attr = {.state = state};

	qp_modify(qp_of(side)->qp, &attr, SHM_QP_STATE, crowd.w.now_ns);
}

static void
change_state(struct script *s, int side)
{
	take(side);
	switch (script_below(s, 8)) {
	case 0:
		go_to(side, SHM_QPS_ERR);
		break;
	case 1:
		go_to(side, SHM_QPS_RESET);
		take(side);
		forget(side);
		break;
	case 2:
		make_anew(s, side);
		break;
	case 3:
	case 4:
	case 5:
		go_to(side, SHM_QPS_SQD);
		break;
	default:
		go_to(side, SHM_QPS_RTS);
		break;
	}
}

static bool
is_usable(int side)
{
	uint8_t state = qp_of(side)->qp->state;

	return state == SHM_QPS_RTS || state == SHM_QPS_SQD;
}

/* A QP that ended is left alone for a while: packets for it, and what it still says, go on. */
static void
mend(struct script *s)
{
	if ((!is_usable(0) || !is_usable(1)) && script_below(s, 4) == 0)
		connect_anew(s);
}

/* ---- the enemy ---- */

/* A switch on the way may cut what lets itself be cut. */
static uint32_t
trim(struct script *s, uint8_t *frame, uint32_t len)
{
	bool ipv6 = crowd.w.conf.ipv6;

	if (script_below(s, 4) || len < 64 || !wire_may_trim(frame, len, 14, ipv6))
		return len;
	return wire_trim(frame, 14, ipv6);
}

static void
attack(struct script *s, int side)
{
	static uint8_t frame[ATTACK_FRAME_MAX];
	static struct judge judge;

	for (uint32_t n = 1 + script_below(s, 6); n > 0; n--) {
		uint32_t len = trim(s, frame, attack_make(&enemy, s, side, CROWD_RC, frame));
		struct pkt *pkt;

		FUZZ_CHECK(crowd.w.pool->alloc(crowd.w.pool, &pkt, 1) == 1);
		memcpy(pkt->data, frame, len);
		pkt->len = len;
		judge_begin(&judge, &crowd, side);
		stack_rx(crowd.w.nic[side], &pkt, 1, crowd.w.now_ns);
		judge_one(&judge, frame, len);
		nb_frames++;
	}
	take(side);
}

static void
rest(struct script *s)
{
	for (uint32_t n = script_below(s, 32); n > 0; n--) {
		crowd_run(&crowd, 1);
		take(0);
		take(1);
	}
}

/* ---- engines ---- */

static struct reliability_ops gbn_all, sr_odd;

/* Whatever an engine may answer to a packet beyond what is due, by turns. */
static void
answer_oddly(const struct rel_head *h, const struct rel_rx *rx, struct rel_rx_out *out)
{
	static const enum rel_resp answers[] = {REL_RESP_GAP, REL_RESP_MISSING, REL_RESP_RESTART};
	uint64_t nb = rx->psn - h->rx_cum;

	out->resp = answers[rx->psn % 3];
	out->miss_first = h->rx_cum;
	out->miss_stride = 1;
	out->miss_count = nb < REL_MISSING_MAX ? (uint32_t)nb : REL_MISSING_MAX;
}

static void
odd_on_data(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	sr_ops.on_data(state, rx, now_ns, out);
	if (out->resp == REL_RESP_GAP)
		answer_oddly(state, rx, out);
}

static void
odd_on_trimmed(void *state, const struct rel_rx *rx, uint64_t now_ns, struct rel_rx_out *out)
{
	const struct rel_head *h = state;

	(void)now_ns;
	if (rx->psn <= h->rx_cum || rx->psn % 2)
		out->resp = REL_RESP_BOUNCE;
	else
		answer_oddly(h, rx, out);
}

static void
make_engines(void)
{
	gbn_all = *reliability_find("gbn");
	gbn_all.info.wire = WIRE_SACK | WIRE_TS | WIRE_CE_ECHO | WIRE_ACK_EACH;
	sr_odd = sr_ops;
	sr_odd.info.wire |= WIRE_TRIM;
	sr_odd.on_data = odd_on_data;
	sr_odd.on_trimmed = odd_on_trimmed;
}

/* ---- an input ---- */

static void
begin(struct script *s)
{
	const struct reliability_ops *engines[] = {reliability_find("gbn"), &gbn_all, &sr_ops,
	                                           &sr_all_ops, &sr_odd};
	static const uint32_t windows[] = {256, 256, 64, 5}, msns[] = {0, 0xffffff, 0x7ffffe};
	struct world_conf conf = {.nb_pkts = 1024,
	                          .weft = true,
	                          .ipv6 = script_below(s, 4) == 0,
	                          .rel = engines[script_below(s, 5)],
	                          .window_pkts = windows[script_below(s, 4)],
	                          .first_msn = msns[script_below(s, 3)],
	                          .tap = attack_tap,
	                          .tap_arg = &enemy};

	make_engines();
	setenv("WEFT_TEST_FRAMING", "weft", 1);
	memset(enemy.nb_seen, 0, sizeof(enemy.nb_seen));
	memset(enemy.seen, 0, sizeof(enemy.seen));
	memset(sides, 0, sizeof(sides));
	crowd_open(&crowd, &conf);
	for (int i = 0; i < 2; i++) {
		app_srq_open(&sides[i].srq, &crowd.w, i, SRQ_DEPTH, 4);
		make_anew(s, i);
	}
	connect_anew(s);
}

/* Shared queues can go when no QP has them any more. */
static void
end(void)
{
	for (int i = 0; i < 2; i++) {
		take(i);
		app_close(qp_of(i));
		app_srq_close(&sides[i].srq);
		app_open(qp_of(i), &crowd.w, i, &own_queue);
	}
	crowd_close(&crowd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {.data = data, .len = len};

	begin(&s);
	while (s.at < s.len) {
		int side = (int)script_below(&s, 2);

		mend(&s);
		switch (script_below(&s, 16)) {
		case 0:
			change_state(&s, side);
			break;
		case 1:
		case 2:
		case 3:
		case 4:
			rest(&s);
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			post(&s, side);
			break;
		default:
			attack(&s, side);
			break;
		}
	}
	end();
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "weft",
		.unit = "packets",
		.max_len = 8192,
		.nb_done = &nb_frames,
	};

	return fuzz_main(argc, argv, &fuzz);
}
#endif
