/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile application: its rings and the headers of its rings hold anything, it rings for
 * anything, and asks for any change of state. Its own QPs may end; nothing crashes, nothing is
 * written outside of what was registered, and others do not notice.
 */
#include <string.h>

#include "crowd.h"

static uint64_t nb_mutations;

static void
scribble(struct script *s, void *p, size_t len)
{
	nb_mutations++;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = (uint8_t)script_take(s, 1);
}

/* A request that is nearly right: pure noise dies at the first check. */
static void
wqe(struct script *s, const struct crowd *c, int side, int type, uint8_t *slot)
{
	const struct crowd_end *me = &c->end[side], *peer = &c->end[!side];
	struct shm_send_wqe w = {.wr_id = script_take(s, 1),
	                         .op = (uint8_t)script_below(s, SHM_WR_NB + 1),
	                         .flags = (uint8_t)(script_take(s, 1) & 7),
	                         .nb_sge = (uint16_t)script_below(s, 6),
	                         .imm = me->window->key,
	                         .remote_addr = (uintptr_t)peer->buf + script_below(s, 64),
	                         .rkey = script_below(s, 4) ? peer->mr.mr->key : peer->window->key};
	struct shm_sge sge[4];

	if (script_below(s, 5) == 0) {
		w.flags |= SHM_SEND_INLINE;
		w.nb_sge = 0;
		w.inline_len =
			script_below(s, 4) ? script_below(s, 256) : (uint32_t)script_take(s, 4);
	}
	if (w.op == SHM_WR_FETCH_ADD || w.op == SHM_WR_CMP_SWAP) {
		w.nb_sge = 1;
		w.remote_addr &= ~UINT64_C(7);
	}
	if (w.op == SHM_WR_BIND_MW) {
		w.bind.addr = (uintptr_t)me->buf + script_below(s, 32);
		w.bind.length = script_take(s, 2);
		w.bind.mw_rkey = me->window->key + script_below(s, 4);
		w.bind.mr_lkey = me->mr.mr->key;
		w.bind.access = script_below(s, 64);
	}
	if (type == CROWD_UD) {
		w.op = SHM_WR_SEND;
		w.ud.av = app_attr(&me->qp[type], &peer->qp[type]).av;
		w.ud.av.sgid_index = (uint8_t)script_below(s, 4);
		w.ud.qpn = peer->qp[type].qp->qpn;
		w.ud.qkey = 0x1234;
	}
	for (int i = 0; i < 4; i++)
		sge[i] = (struct shm_sge){(uintptr_t)me->buf + script_take(s, 1),
		                          w.op == SHM_WR_FETCH_ADD || w.op == SHM_WR_CMP_SWAP
		                                  ? 8
		                                  : (uint32_t)script_take(s, 2) % 5000,
		                          me->mr.mr->key};
	nb_mutations++;
	memcpy(slot, &w, sizeof(w));
	if (!(w.flags & SHM_SEND_INLINE))
		memcpy(slot + sizeof(w), sge, sizeof(sge));
	if (script_below(s, 8) == 0)
		scribble(s, slot + script_below(s, 64), 1 + script_below(s, 8));
}

static void
recv_wqe(struct script *s, const struct crowd *c, int side, uint8_t *slot)
{
	const struct crowd_end *me = &c->end[side];
	struct shm_recv_wqe w = {.nb_sge = script_below(s, 16) ? script_below(s, 5)
	                                                       : (uint32_t)script_take(s, 4)};
	struct shm_sge sge[4];

	for (int i = 0; i < 4; i++)
		sge[i] = (struct shm_sge){(uintptr_t)me->buf + script_take(s, 1),
		                          (uint32_t)script_take(s, 2) % 8192,
		                          script_below(s, 16) ? me->mr.mr->key : 77};
	nb_mutations++;
	memcpy(slot, &w, sizeof(w));
	memcpy(slot + sizeof(w), sge, sizeof(sge));
}

static uint8_t *
slot_of(const struct local_wq *q, uint32_t i)
{
	return (uint8_t *)q->ring + SHM_WQ_SLOTS + (size_t)(i & (q->nb_slots - 1)) * q->stride;
}

/* Some posts, as a client library would publish them, or a tail that is anything. */
static void
post(struct script *s, struct crowd *c, int side, int type)
{
	struct app_qp *a = &c->end[side].qp[type];
	uint32_t n = 1 + script_below(s, 8);
	uint32_t tail = a->qp->sq.head + (a->qp->sq_open - a->qp->sq.head);

	for (uint32_t i = 0; i < n; i++) {
		wqe(s, c, side, type, slot_of(&a->sq, tail + i));
		recv_wqe(s, c, side, slot_of(&a->rq, a->qp->rq.head + i));
	}
	if (script_below(s, 16) == 0)
		n = (uint32_t)script_take(s, 4);
	atomic_store(&a->sq.ring->ring.tail, tail + n);
	atomic_store(&a->rq.ring->ring.tail, a->qp->rq.head + n);
	qp_doorbell(a->qp, c->w.now_ns);
}

/* An application that takes its completions, mostly; or says it took what was never there. */
static void
take(struct script *s, struct local_cq *cq)
{
	uint32_t tail = atomic_load(&cq->ring->ring.tail);

	switch (script_below(s, 16)) {
	case 0:
		scribble(s, &cq->ring->ring.head, 4);
		break;
	case 1:
		scribble(s, &cq->ring->ring.tail, 4);
		break;
	case 2:
		atomic_store(&cq->ring->armed, (uint32_t)script_take(s, 1));
		break;
	default:
		atomic_store(&cq->ring->ring.head, tail);
		break;
	}
}

static void
change_state(struct script *s, struct crowd *c, int side, int type)
{
	struct app_qp *a = &c->end[side].qp[type];
	struct shm_qp_attr attr = app_attr(a, &c->end[!side].qp[type]);
	char why[64];

	attr.state = (uint8_t)script_below(s, SHM_QPS_NB + 1);
	if (script_below(s, 2))
		app_to(a, &attr, attr.state % SHM_QPS_NB);
	else
		qp_modify(a->qp, &attr, (uint32_t)script_take(s, 4) & 0x1fffff, c->w.now_ns);
	qp_query(a->qp, &attr, why, sizeof(why));
}

/* The daemon's memory of a dead CQ ends with the CQ; here the ring is made whole with the QP. */
static void
start_again(struct crowd *c, int type)
{
	for (int i = 0; i < 2; i++) {
		struct app_qp *a = &c->end[i].qp[type];
		struct local_cq *cqs[] = {&a->scq, &a->rcq};

		for (int k = 0; k < 2; k++) {
			cqs[k]->cq->overrun = false;
			cqs[k]->cq->tail = 0;
			memset(cqs[k]->ring, 0, SHM_CQ_SLOTS);
		}
	}
	crowd_connect(c, type);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct script s = {.data = data, .len = len};
	static struct crowd c;

	crowd_open(&c, NULL);
	while (s.at < s.len) {
		int side = (int)script_below(&s, 2), type = (int)script_below(&s, CROWD_TYPES);
		struct app_qp *a = &c.end[side].qp[type];

		switch (script_below(&s, 32)) {
		case 0:
			change_state(&s, &c, side, type);
			break;
		case 1:
			start_again(&c, type);
			break;
		case 2:
			scribble(&s, slot_of(&a->sq, (uint32_t)script_take(&s, 1)), 64);
			break;
		case 3:
			scribble(&s, a->sq.ring, sizeof(struct shm_ring));
			qp_doorbell(a->qp, c.w.now_ns);
			break;
		case 4:
			scribble(&s, a->rq.ring, sizeof(struct shm_ring));
			qp_doorbell(a->qp, c.w.now_ns);
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			take(&s, &a->scq);
			take(&s, &a->rcq);
			break;
		case 9:
		case 10:
		case 11:
		case 12:
		case 13:
		case 14:
			crowd_run(&c, script_below(&s, 8));
			break;
		default:
			if (a->qp->state == SHM_QPS_ERR || a->qp->state == SHM_QPS_SQE ||
			    a->scq.cq->overrun)
				start_again(&c, type);
			post(&s, &c, side, type);
			break;
		}
	}
	crowd_close(&c);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "rings",
		.unit = "mutations",
		.max_len = 16384,
		.nb_done = &nb_mutations,
	};

	return fuzz_main(argc, argv, &fuzz);
}
#endif
