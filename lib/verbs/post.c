/* SPDX-License-Identifier: BSD-3-Clause */
/* ibv_post_send and ibv_post_recv: from the application's lists into the rings. */
#include <endian.h>
#include <string.h>

#include "shim.h"
#include "wqe.h"

static_assert(sizeof(struct ibv_sge) == sizeof(struct shm_sge) &&
                      offsetof(struct ibv_sge, addr) == offsetof(struct shm_sge, addr) &&
                      offsetof(struct ibv_sge, length) == offsetof(struct shm_sge, length) &&
                      offsetof(struct ibv_sge, lkey) == offsetof(struct shm_sge, lkey),
              "scatter/gather lists are copied as they are");
static_assert(SHM_WR_SEND_INV == (int)IBV_WR_SEND_WITH_INV &&
                      SHM_WR_FETCH_ADD == (int)IBV_WR_ATOMIC_FETCH_AND_ADD &&
                      SHM_WR_BIND_MW == (int)IBV_WR_BIND_MW &&
                      SHM_SEND_INLINE == (int)IBV_SEND_INLINE &&
                      SHM_SEND_FENCE == (int)IBV_SEND_FENCE,
              "operations and flags are passed on as they are");

#define SEND_FLAGS (SHM_SEND_FENCE | SHM_SEND_SIGNALED | SHM_SEND_SOLICITED | SHM_SEND_INLINE)

/** Copy the data behind the request. @return 0 or EINVAL: too much. */
static int
fill_inline(const struct ring_wq *sq, struct shm_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	uint32_t total = 0;

	if (!(SHM_OPS_OUT & SHM_OP_BIT(wr->opcode)))
		return EINVAL;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > sq->max_inline - total)
			return EINVAL;
		memcpy(to + total, (const void *)(uintptr_t)sge->addr, sge->length);
		total += sge->length;
	}
	wqe->nb_sge = 0;
	wqe->inline_len = total;
	return 0;
}

/** What is bound, and the key it gets: windows of type 2 only, type 1 has a call of its own. */
static int
fill_bind(struct shm_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	if (!mw || mw->type != IBV_MW_TYPE_2 || (wr->bind_mw.rkey ^ mw->rkey) >> 8 ||
	    (!info->mr && info->length))
		return EINVAL;
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mw_rkey = wr->bind_mw.rkey;
	wqe->bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE;
	wqe->bind.zero = 0;
	return 0;
}

/** The part that differs by operation. */
static inline int
fill_op(const struct shim_qp *qp, struct shm_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	wqe->imm = be32toh(wr->imm_data);
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		return 0;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wqe->imm = wr->invalidate_rkey;
		return 0;
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		if (qp->weft.type != SHM_QPT_UD)
			return 0;
		if (!wr->wr.ud.ah)
			return EINVAL;
		wqe->ud.av = ((const struct shim_ah *)wr->wr.ud.ah)->av;
		wqe->ud.qpn = wr->wr.ud.remote_qpn;
		wqe->ud.qkey = wr->wr.ud.remote_qkey;
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
		return 0;
	case IBV_WR_BIND_MW:
		return fill_bind(wqe, wr);
	case IBV_WR_TSO:
	case IBV_WR_DRIVER1:
	case IBV_WR_ATOMIC_WRITE:
		break;
	}
	return EINVAL;
}

/** @return 0 or a positive errno, as verbs has it. */
static inline int
fill_send(const struct shim_qp *qp, struct shm_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	const struct ring_wq *sq = &qp->weft.sq;
	int err;

	if (!shm_op_allowed(qp->weft.type, wr->opcode) || (uint32_t)wr->num_sge > sq->max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->op = (uint8_t)wr->opcode;
	wqe->flags = wr->send_flags & SEND_FLAGS;
	err = fill_op(qp, wqe, wr);
	if (err)
		return err;
	if (wr->send_flags & IBV_SEND_INLINE)
		return fill_inline(sq, wqe, wr);
	wqe->nb_sge = (uint16_t)wr->num_sge;
	wqe->inline_len = 0;
	for (int i = 0; i < wr->num_sge; i++)
		memcpy((struct shm_sge *)(wqe + 1) + i, &wr->sg_list[i], sizeof(struct shm_sge));
	return 0;
}

int
shim_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct shim_qp *qp = to_qp(ibqp);
	uint32_t nb = 0;
	int err = 0;

	ring_lock(&qp->weft.sq.lock);
	if (__builtin_expect(!client_qp_may_send(&qp->weft), 0))
		err = EINVAL;
	for (; wr && !err; wr = wr->next) {
		struct shm_send_wqe *wqe = ring_wq_slot(&qp->weft.sq, nb);

		err = wqe ? fill_send(qp, wqe, wr) : ENOMEM;
		if (err)
			break;
		nb++;
	}
	client_qp_sent(&qp->weft, nb);
	ring_unlock(&qp->weft.sq.lock);
	if (err) {
		*bad = wr;
		errno = err;
	}
	return err;
}

/** Into a receive queue, which is locked. @return 0 or a positive errno. */
static inline int
fill_recv(struct ring_wq *rq, struct ibv_recv_wr **wr, uint32_t *nb)
{
	for (*nb = 0; *wr; *wr = (*wr)->next, ++*nb) {
		struct shm_recv_wqe *wqe = ring_wq_slot(rq, *nb);

		if (!wqe)
			return ENOMEM;
		if ((uint32_t)(*wr)->num_sge > rq->max_sge)
			return EINVAL;
		wqe->wr_id = (*wr)->wr_id;
		wqe->nb_sge = (uint32_t)(*wr)->num_sge;
		wqe->zero = 0;
		for (int i = 0; i < (*wr)->num_sge; i++)
			memcpy((struct shm_sge *)(wqe + 1) + i, &(*wr)->sg_list[i],
			       sizeof(struct shm_sge));
	}
	return 0;
}

int
shim_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct weft_qp *qp = &to_qp(ibqp)->weft;
	uint32_t nb = 0;
	int err = EINVAL;

	ring_lock(&qp->rq.lock);
	if (__builtin_expect(qp->rq.shm && qp->state != SHM_QPS_RESET, 1))
		err = fill_recv(&qp->rq, &wr, &nb);
	client_qp_received(qp, nb);
	ring_unlock(&qp->rq.lock);
	if (err) {
		*bad = wr;
		errno = err;
	}
	return err;
}

int
shim_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct weft_srq *srq = &to_srq(ibsrq)->weft;
	uint32_t nb;
	int err;

	ring_lock(&srq->rq.lock);
	err = fill_recv(&srq->rq, &wr, &nb);
	ring_wq_publish(&srq->rq, nb);
	ring_unlock(&srq->rq.lock);
	if (err) {
		*bad = wr;
		errno = err;
	}
	return err;
}
