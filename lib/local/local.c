/* SPDX-License-Identifier: BSD-3-Clause */
#include "local.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t
pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static size_t
ring_bytes(size_t header, uint32_t nb_slots, uint32_t stride)
{
	return (header + (size_t)nb_slots * stride + 63) & ~(size_t)63;
}

uint64_t
local_qp_bytes(uint32_t depth)
{
	return ring_bytes(SHM_CQ_SLOTS, pow2(2 * depth), sizeof(struct shm_cqe)) +
	       ring_bytes(SHM_WQ_SLOTS, pow2(depth), sq_stride(1, 0)) +
	       ring_bytes(SHM_WQ_SLOTS, pow2(depth), rq_stride(1));
}

static void *
alloc_ring(size_t header, uint32_t nb_slots, uint32_t stride)
{
	size_t size = ring_bytes(header, nb_slots, stride);
	void *p = aligned_alloc(64, size);

	if (p)
		memset(p, 0, size);
	return p;
}

/* ---- rings ---- */

int
local_cq_open(struct local_cq *c, uint32_t depth, uint32_t channel, uint64_t cookie)
{
	*c = (struct local_cq){.nb_slots = pow2(depth)};
	c->ring = alloc_ring(SHM_CQ_SLOTS, c->nb_slots, sizeof(struct shm_cqe));
	c->cq = c->ring ? cq_create(c->ring, c->nb_slots, channel, cookie, NULL) : NULL;
	return c->cq ? 0 : -ENOMEM;
}

void
local_cq_close(struct local_cq *c)
{
	if (c->cq) {
		int err = cq_destroy(c->cq);

		assert(!err);
	}
	free(c->ring);
	*c = (struct local_cq){0};
}

bool
local_poll(struct local_cq *c, struct shm_cqe *cqe)
{
	if (atomic_load_explicit(&c->ring->ring.tail, memory_order_acquire) == c->head)
		return false;
	*cqe = *cq_slot(c->ring, c->nb_slots, c->head);
	c->head++;
	atomic_store_explicit(&c->ring->ring.head, c->head, memory_order_release);
	return true;
}

void
local_arm(struct local_cq *c)
{
	atomic_store_explicit(&c->ring->armed, SHM_ARM_ANY, memory_order_relaxed);
}

int
local_wq_open(struct local_wq *q, uint32_t depth, uint32_t stride)
{
	*q = (struct local_wq){.nb_slots = pow2(depth), .stride = stride};
	q->ring = alloc_ring(SHM_WQ_SLOTS, q->nb_slots, stride);
	return q->ring ? 0 : -ENOMEM;
}

void
local_wq_close(struct local_wq *q)
{
	free(q->ring);
	*q = (struct local_wq){0};
}

void
local_wq_put(struct local_wq *q, const void *wqe, size_t len, const void *rest, size_t rest_len)
{
	char *slot =
		(char *)q->ring + SHM_WQ_SLOTS + (size_t)(q->tail & (q->nb_slots - 1)) * q->stride;

	assert(len + rest_len <= q->stride);
	memcpy(slot, wqe, len);
	if (rest_len)
		memcpy(slot + len, rest, rest_len);
	q->tail++;
}

void
local_wq_publish(struct local_wq *q)
{
	atomic_store_explicit(&q->ring->ring.tail, q->tail, memory_order_release);
}

/* ---- QPs ---- */

static int
create_qp(struct local_qp *a, struct nic *nic, const struct local_qp_conf *conf)
{
	uint32_t recv_depth = conf->recv_depth ? conf->recv_depth : conf->depth;
	const struct qp_init init = {
		.type = conf->type,
		.pd = conf->pd,
		.send_cq = a->cq.cq,
		.recv_cq = a->cq.cq,
		.cap = {conf->depth, recv_depth, 1, 1, 0},
		.sq = a->sq.ring,
		.rq = a->rq.ring,
		.sq_slots = a->sq.nb_slots,
		.rq_slots = a->rq.nb_slots,
		.sq_stride = a->sq.stride,
		.rq_stride = a->rq.stride,
		.cookie = conf->cookie,
	};

	a->qp = qp_create(nic, &init);
	return a->qp ? 0 : -errno;
}

int
local_qp_open(struct local_qp *a, struct nic *nic, const struct local_qp_conf *conf)
{
	uint32_t recv_depth = conf->recv_depth ? conf->recv_depth : conf->depth;
	int err;

	*a = (struct local_qp){0};
	err = local_cq_open(&a->cq, conf->depth + recv_depth, conf->channel, conf->cookie);
	if (!err)
		err = local_wq_open(&a->sq, conf->depth, sq_stride(1, 0));
	if (!err)
		err = local_wq_open(&a->rq, recv_depth, rq_stride(1));
	if (!err)
		err = create_qp(a, nic, conf);
	if (err)
		local_qp_close(a);
	return err;
}

void
local_qp_close(struct local_qp *a)
{
	if (a->qp)
		qp_destroy(a->qp);
	a->qp = NULL;
	local_cq_close(&a->cq);
	local_wq_close(&a->sq);
	local_wq_close(&a->rq);
}

int
local_qp_to(struct qp *qp, const struct shm_qp_attr *attr, uint8_t state, uint64_t now_ns)
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
	static const uint32_t masks[SHM_QPS_NB][SHM_QPT_UD + 1] = {
		[SHM_QPS_INIT] = {[SHM_QPT_RC] = INIT, [SHM_QPT_UC] = INIT, [SHM_QPT_UD] = INIT_UD},
		[SHM_QPS_RTR] =
			{[SHM_QPT_RC] = RTR_RC, [SHM_QPT_UC] = RTR_UC, [SHM_QPT_UD] = SHM_QP_STATE},
		[SHM_QPS_RTS] = {[SHM_QPT_RC] = RTS_RC, [SHM_QPT_UC] = RTS, [SHM_QPT_UD] = RTS},
	};
	struct shm_qp_attr to = *attr;
	uint32_t mask = masks[state][qp->type];

	to.state = state;
	return qp_modify(qp, &to, mask ? mask : SHM_QP_STATE, now_ns);
}

int
local_qp_connect(struct local_qp *a, const struct local_peer *peer, uint64_t now_ns)
{
	struct shm_qp_attr attr = {
		.path_mtu = peer->path_mtu,
		.port_num = 1,
		.timeout = peer->timeout,
		.retry_cnt = peer->retry_cnt,
		.rnr_retry = peer->rnr_retry,
		.min_rnr_timer = peer->min_rnr_timer,
		.max_rd_atomic = peer->nb_rd_atomic,
		.max_dest_rd_atomic = peer->nb_rd_atomic,
		.access = SHM_ACCESS_LOCAL_WRITE | SHM_ACCESS_REMOTE_WRITE |
	                  SHM_ACCESS_REMOTE_READ | SHM_ACCESS_REMOTE_ATOMIC,
		.dest_qpn = peer->qpn,
		.rq_psn = peer->psn,
		.sq_psn = peer->own_psn,
		.av = {.sgid_index = peer->sgid_index, .hop_limit = 64},
	};
	int err = 0;

	memcpy(attr.av.dgid, peer->gid.b, sizeof(attr.av.dgid));
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS && !err; state++)
		err = local_qp_to(a->qp, &attr, state, now_ns);
	return err;
}

void
local_put_send(struct local_qp *a, const struct shm_send_wqe *wqe, const struct shm_sge *sge)
{
	assert(wqe->nb_sge == 1);
	local_wq_put(&a->sq, wqe, sizeof(*wqe), sge, sizeof(*sge));
}

void
local_put_recv(struct local_qp *a, uint64_t wr_id, const struct shm_sge *sge)
{
	const struct shm_recv_wqe wqe = {.wr_id = wr_id, .nb_sge = 1};

	local_wq_put(&a->rq, &wqe, sizeof(wqe), sge, sizeof(*sge));
}

void
local_ring(struct local_qp *a, uint64_t now_ns)
{
	local_wq_publish(&a->sq);
	local_wq_publish(&a->rq);
	qp_doorbell(a->qp, now_ns);
}

/* ---- memory ---- */

int
local_mr_open(struct local_mr *m, struct nic *nic, uint32_t pd, void *buf, uint64_t len,
              uint32_t access)
{
	m->seg = (struct mem_seg){.va = (uintptr_t)buf, .len = len, .map = buf};
	m->mem = (struct mem){.nb_segs = 1, .segs = &m->seg};
	m->mr = mr_create(nic, pd, access, (uintptr_t)buf, (uintptr_t)buf, len, &m->mem);
	return m->mr ? 0 : -errno;
}

void
local_mr_close(struct local_mr *m, struct nic *nic)
{
	if (m->mr) {
		int err = mr_destroy(nic, m->mr);

		assert(!err);
	}
	*m = (struct local_mr){0};
}
