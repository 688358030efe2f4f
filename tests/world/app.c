/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* The applications of a world: their rings, as the client library uses them. */

static uint32_t
pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void *
ring(size_t header, uint32_t nb_slots, uint32_t stride)
{
	size_t size = (header + (size_t)nb_slots * stride + 63) & ~(size_t)63;
	void *p = aligned_alloc(64, size);

	assert(p);
	memset(p, 0, size);
	return p;
}

static void
open_cq(struct app_cq *c, uint32_t depth, uint32_t channel)
{
	c->nb_slots = pow2(depth);
	c->ring = ring(SHM_CQ_SLOTS, c->nb_slots, sizeof(struct shm_cqe));
	c->head = 0;
	c->cq = cq_create(c->ring, c->nb_slots, channel, 0xc0, NULL);
	assert(c->cq);
}

static void
close_cq(struct app_cq *c)
{
	int err = cq_destroy(c->cq);

	assert(!err);
	free(c->ring);
}

static void
open_wq(struct app_wq *q, uint32_t depth, uint32_t stride)
{
	*q = (struct app_wq){.nb_slots = pow2(depth), .stride = stride};
	q->ring = ring(SHM_WQ_SLOTS, q->nb_slots, stride);
}

void
app_open(struct app_qp *a, struct world *w, int side, const struct app_conf *conf)
{
	struct app_conf c = conf ? *conf : (struct app_conf){0};
	struct qp_init init;

	c.type = c.type ? c.type : SHM_QPT_RC;
	c.depth = c.depth ? c.depth : 64;
	c.max_sge = c.max_sge ? c.max_sge : 4;
	c.cq_depth = c.cq_depth ? c.cq_depth : 4 * c.depth;
	*a = (struct app_qp){.world = w, .side = side, .srq = c.srq};
	open_cq(&a->scq, c.cq_depth, c.channel);
	open_cq(&a->rcq, c.cq_depth, c.channel);
	open_wq(&a->sq, c.depth, sq_stride(c.max_sge, WEFT_MAX_INLINE));
	if (!c.srq)
		open_wq(&a->rq, c.depth, rq_stride(c.max_sge));
	init = (struct qp_init){
		.client = c.client,
		.type = c.type,
		.pd = PD,
		.send_cq = a->scq.cq,
		.recv_cq = a->rcq.cq,
		.srq = c.srq ? c.srq->srq : NULL,
		.cap = {c.depth, c.srq ? 0 : c.depth, c.max_sge, c.max_sge, WEFT_MAX_INLINE},
		.sq_sig_all = c.sig_all,
		.sq = a->sq.ring,
		.rq = a->rq.ring,
		.sq_slots = a->sq.nb_slots,
		.rq_slots = a->rq.nb_slots,
		.sq_stride = a->sq.stride,
		.rq_stride = a->rq.stride,
		.cookie = 0x100 + (uint64_t)side,
	};
	a->qp = qp_create(w->nic[side], &init);
	assert(a->qp);
}

void
app_close(struct app_qp *a)
{
	qp_destroy(a->qp);
	close_cq(&a->scq);
	close_cq(&a->rcq);
	free(a->sq.ring);
	free(a->rq.ring);
}

void
app_srq_open(struct app_srq *s, struct world *w, int side, uint32_t depth, uint32_t max_sge)
{
	open_wq(&s->wq, depth, rq_stride(max_sge));
	s->srq = srq_create(w->nic[side], PD, s->wq.ring, s->wq.nb_slots, depth, max_sge, 0x50,
	                    NULL);
	assert(s->srq);
}

void
app_srq_close(struct app_srq *s)
{
	int err = srq_destroy(s->srq);

	assert(!err);
	free(s->wq.ring);
}

struct shm_qp_attr
app_attr(const struct app_qp *a, const struct app_qp *peer)
{
	uint8_t gid = a->world->conf.ipv6 ? 2 : 1;
	struct shm_qp_attr attr = {
		.path_mtu = 3,
		.port_num = 1,
		.timeout = 8,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                  SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC,
		.qkey = 0x1234,
		.dest_qpn = peer->qp->qpn,
		.rq_psn = peer->side ? 0xfffff0 : 0x7ffffe,
		.sq_psn = a->side ? 0xfffff0 : 0x7ffffe,
		.av = {.sgid_index = gid, .hop_limit = 64},
	};

	memcpy(attr.av.dgid, peer->qp->nic->gids.entry[gid].ip.b, 16);
	return attr;
}

int
app_to(struct app_qp *a, const struct shm_qp_attr *attr, uint8_t state)
{
	enum {
		INIT_UD = SHM_QP_STATE | SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_QKEY,
		INIT = SHM_QP_STATE | SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_ACCESS_FLAGS,
		RTR_UC = SHM_QP_STATE | SHM_QP_AV | SHM_QP_PATH_MTU | SHM_QP_DEST_QPN |
		         SHM_QP_RQ_PSN,
		RTR_RC = RTR_UC | SHM_QP_MAX_DEST_RD_ATOMIC | SHM_QP_MIN_RNR_TIMER,
		RTS = SHM_QP_STATE | SHM_QP_SQ_PSN,
		RTS_RC = RTS | SHM_QP_TIMEOUT | SHM_QP_RETRY_CNT | SHM_QP_RNR_RETRY |
		         SHM_QP_MAX_QP_RD_ATOMIC,
	};
	static const uint32_t masks[SHM_QPS_NB][5] = {
		[SHM_QPS_INIT] = {[SHM_QPT_RC] = INIT, [SHM_QPT_UC] = INIT, [SHM_QPT_UD] = INIT_UD},
		[SHM_QPS_RTR] =
			{[SHM_QPT_RC] = RTR_RC, [SHM_QPT_UC] = RTR_UC, [SHM_QPT_UD] = SHM_QP_STATE},
		[SHM_QPS_RTS] = {[SHM_QPT_RC] = RTS_RC, [SHM_QPT_UC] = RTS, [SHM_QPT_UD] = RTS},
	};
	struct shm_qp_attr to = *attr;
	uint32_t mask = masks[state][a->qp->type];

	to.state = state;
	return qp_modify(a->qp, &to, mask ? mask : SHM_QP_STATE, a->world->now_ns);
}

static void
must_go_to(struct app_qp *a, const struct app_qp *peer, uint8_t state)
{
	struct shm_qp_attr attr = app_attr(a, peer);
	int err = app_to(a, &attr, state);

	assert(!err);
}

void
app_connect(struct app_qp *a, struct app_qp *b)
{
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++) {
		must_go_to(a, b, state);
		must_go_to(b, a, state);
	}
}

void
app_reg(struct app_mr *m, struct world *w, int side, void *buf, uint64_t len, uint32_t access)
{
	m->seg = (struct mem_seg){.va = (uintptr_t)buf, .len = len, .map = buf};
	m->mem = (struct mem){.nb_segs = 1, .segs = &m->seg};
	m->mr = mr_create(w->nic[side], PD, access, (uintptr_t)buf, (uintptr_t)buf, len, &m->mem);
	assert(m->mr);
}

static char *
slot(struct app_wq *q)
{
	return (char *)q->ring + SHM_WQ_SLOTS + (size_t)(q->tail & (q->nb_slots - 1)) * q->stride;
}

static void
publish(struct app_wq *q)
{
	q->tail++;
	atomic_store_explicit(&q->ring->ring.tail, q->tail, memory_order_release);
}

void
app_post_send(struct app_qp *a, const struct shm_send_wqe *wqe, const struct shm_sge *sge)
{
	char *at = slot(&a->sq);

	memcpy(at, wqe, sizeof(*wqe));
	if (wqe->nb_sge)
		memcpy(at + sizeof(*wqe), sge, wqe->nb_sge * sizeof(*sge));
	publish(&a->sq);
	qp_doorbell(a->qp, a->world->now_ns);
}

void
app_post_inline(struct app_qp *a, struct shm_send_wqe wqe, const void *data, uint32_t len)
{
	char *at = slot(&a->sq);

	wqe.flags |= SHM_SEND_INLINE;
	wqe.inline_len = len;
	memcpy(at, &wqe, sizeof(wqe));
	memcpy(at + sizeof(wqe), data, len);
	publish(&a->sq);
	qp_doorbell(a->qp, a->world->now_ns);
}

static void
post_recv(struct app_wq *q, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	struct shm_recv_wqe wqe = {.wr_id = wr_id, .nb_sge = nb_sge};
	char *at = slot(q);

	memcpy(at, &wqe, sizeof(wqe));
	if (nb_sge)
		memcpy(at + sizeof(wqe), sge, nb_sge * sizeof(*sge));
	publish(q);
}

void
app_post_recv(struct app_qp *a, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	post_recv(&a->rq, wr_id, sge, nb_sge);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&a->rq.ring->need_bell))
		qp_doorbell(a->qp, a->world->now_ns);
}

void
app_srq_post(struct app_srq *s, uint64_t wr_id, const struct shm_sge *sge, uint32_t nb_sge)
{
	post_recv(&s->wq, wr_id, sge, nb_sge);
}

bool
app_poll(struct app_cq *c, struct shm_cqe *cqe)
{
	if (atomic_load_explicit(&c->ring->ring.tail, memory_order_acquire) == c->head)
		return false;
	*cqe = *cq_slot(c->ring, c->nb_slots, c->head);
	c->head++;
	atomic_store_explicit(&c->ring->ring.head, c->head, memory_order_release);
	return true;
}

bool
app_wait(struct world *w, struct app_cq *c, struct shm_cqe *cqe, uint64_t turns)
{
	while (!app_poll(c, cqe)) {
		if (!turns--)
			return false;
		world_step(w);
	}
	return true;
}
