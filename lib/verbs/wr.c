/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_wr_*: requests written piece by piece into their slots between wr_start and wr_complete. The
 * first failure is kept and refuses the whole batch.
 */
#include <endian.h>
#include <string.h>

#include "shim.h"
#include "wqe.h"

static inline struct shim_qp *
from_ex(struct ibv_qp_ex *ex)
{
	return (struct shim_qp *)ex;
}

static void
fail(struct shim_qp *qp, int err)
{
	if (!qp->wr_err)
		qp->wr_err = err;
	qp->cur = NULL;
}

static void
wr_start(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = from_ex(ex);

	ring_lock(&qp->weft.sq.lock);
	qp->cur = NULL;
	qp->nb_begun = 0;
	qp->wr_err = client_qp_may_send(&qp->weft) ? 0 : EINVAL;
}

static int
wr_complete(struct ibv_qp_ex *ex)
{
	struct shim_qp *qp = from_ex(ex);
	int err = qp->wr_err;

	if (!err)
		client_qp_sent(&qp->weft, qp->nb_begun);
	ring_unlock(&qp->weft.sq.lock);
	return err;
}

static void
wr_abort(struct ibv_qp_ex *ex)
{
	ring_unlock(&from_ex(ex)->weft.sq.lock);
}

/** The slot of a new request, without data yet; NULL after a failure. */
static inline struct shm_send_wqe *
begin(struct ibv_qp_ex *ex, enum shm_wr_op op)
{
	struct shim_qp *qp = from_ex(ex);
	struct shm_send_wqe *wqe = qp->wr_err ? NULL : ring_wq_slot(&qp->weft.sq, qp->nb_begun);

	qp->cur = wqe;
	if (!wqe) {
		fail(qp, ENOMEM);
		return NULL;
	}
	qp->nb_begun++;
	wqe->wr_id = ex->wr_id;
	wqe->op = (uint8_t)op;
	wqe->flags =
		(uint8_t)(ex->wr_flags & (SHM_SEND_FENCE | SHM_SEND_SIGNALED | SHM_SEND_SOLICITED));
	wqe->nb_sge = 0;
	wqe->inline_len = 0;
	return wqe;
}

static inline void
begin_remote(struct ibv_qp_ex *ex, enum shm_wr_op op, uint32_t rkey, uint64_t remote_addr,
             uint32_t imm)
{
	struct shm_send_wqe *wqe = begin(ex, op);

	if (!wqe)
		return;
	wqe->remote_addr = remote_addr;
	wqe->rkey = rkey;
	wqe->imm = imm;
}

static inline void
begin_send(struct ibv_qp_ex *ex, enum shm_wr_op op, uint32_t imm)
{
	struct shm_send_wqe *wqe = begin(ex, op);

	if (wqe)
		wqe->imm = imm;
}

static void
wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, SHM_WR_WRITE, rkey, remote_addr, 0);
}

static void
wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	begin_remote(ex, SHM_WR_WRITE_IMM, rkey, remote_addr, be32toh(imm));
}

static void
wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, SHM_WR_READ, rkey, remote_addr, 0);
}

static inline void
begin_atomic(struct ibv_qp_ex *ex, enum shm_wr_op op, uint32_t rkey, uint64_t remote_addr,
             uint64_t compare_add, uint64_t swap)
{
	struct shm_send_wqe *wqe = begin(ex, op);

	if (!wqe)
		return;
	wqe->remote_addr = remote_addr;
	wqe->rkey = rkey;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
}

static void
wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
                  uint64_t swap)
{
	begin_atomic(ex, SHM_WR_CMP_SWAP, rkey, remote_addr, compare, swap);
}

static void
wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	begin_atomic(ex, SHM_WR_FETCH_ADD, rkey, remote_addr, add, 0);
}

static void
wr_send(struct ibv_qp_ex *ex)
{
	begin_send(ex, SHM_WR_SEND, 0);
}

static void
wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	begin_send(ex, SHM_WR_SEND_IMM, be32toh(imm));
}

static void
wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_send(ex, SHM_WR_SEND_INV, rkey);
}

static void
wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_send(ex, SHM_WR_LOCAL_INV, rkey);
}

static void
wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
           const struct ibv_mw_bind_info *info)
{
	struct shim_qp *qp = from_ex(ex);
	struct shm_send_wqe *wqe;

	if (mw->type != IBV_MW_TYPE_2 || (rkey ^ mw->rkey) >> 8 || (!info->mr && info->length)) {
		fail(qp, EINVAL);
		return;
	}
	wqe = begin(ex, SHM_WR_BIND_MW);
	if (!wqe)
		return;
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mw_rkey = rkey;
	wqe->bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE;
	wqe->bind.zero = 0;
}

/* Refused by create_qp_ex, so reached only by a program that does not look at its result. */

static void
wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_size, uint16_t mss)
{
	(void)hdr;
	(void)hdr_size;
	(void)mss;
	fail(from_ex(ex), EOPNOTSUPP);
}

static void
wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	(void)remote_srqn;
	fail(from_ex(ex), EOPNOTSUPP);
}

static void
wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *value)
{
	(void)rkey;
	(void)remote_addr;
	(void)value;
	fail(from_ex(ex), EOPNOTSUPP);
}

static void
wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct shim_qp *qp = from_ex(ex);

	if (!qp->cur)
		return;
	if (qp->weft.type != SHM_QPT_UD || !ah) {
		fail(qp, EINVAL);
		return;
	}
	qp->cur->ud.av = ((const struct shim_ah *)ah)->av;
	qp->cur->ud.qpn = qpn;
	qp->cur->ud.qkey = qkey;
}

static void
wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct shim_qp *qp = from_ex(ex);

	if (!qp->cur)
		return;
	if (qp->weft.sq.max_sge < 1) {
		fail(qp, EINVAL);
		return;
	}
	*(struct shm_sge *)(qp->cur + 1) = (struct shm_sge){addr, length, lkey};
	qp->cur->nb_sge = 1;
}

static void
wr_set_sge_list(struct ibv_qp_ex *ex, size_t nb, const struct ibv_sge *list)
{
	struct shim_qp *qp = from_ex(ex);

	if (!qp->cur)
		return;
	if (nb > qp->weft.sq.max_sge) {
		fail(qp, EINVAL);
		return;
	}
	if (nb)
		memcpy(qp->cur + 1, list, nb * sizeof(*list));
	qp->cur->nb_sge = (uint16_t)nb;
}

static void
wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t nb, const struct ibv_data_buf *list)
{
	struct shim_qp *qp = from_ex(ex);
	uint32_t total = 0;

	if (!qp->cur)
		return;
	for (size_t i = 0; i < nb; i++) {
		if (list[i].length > qp->weft.sq.max_inline - total) {
			fail(qp, EINVAL);
			return;
		}
		memcpy((uint8_t *)(qp->cur + 1) + total, list[i].addr, list[i].length);
		total += (uint32_t)list[i].length;
	}
	qp->cur->flags |= SHM_SEND_INLINE;
	qp->cur->inline_len = total;
}

static void
wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(ex, 1, &buf);
}

static_assert(IBV_QP_EX_WITH_RDMA_WRITE == 1 << SHM_WR_WRITE &&
                      IBV_QP_EX_WITH_SEND == 1 << SHM_WR_SEND &&
                      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD == 1 << SHM_WR_FETCH_ADD &&
                      IBV_QP_EX_WITH_BIND_MW == 1 << SHM_WR_BIND_MW &&
                      IBV_QP_EX_WITH_SEND_WITH_INV == 1 << SHM_WR_SEND_INV,
              "flag n asks for operation n");

bool
shim_fill_wr(struct shim_qp *qp, uint64_t send_ops_flags)
{
	for (uint32_t op = 0; op < 64; op++) {
		if ((send_ops_flags >> op & 1) && !shm_op_allowed(qp->weft.type, op))
			return false;
	}
	/* verbs.h calls all of them unchecked, so that none may stay NULL. */
	qp->ex.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->ex.wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->ex.wr_bind_mw = wr_bind_mw;
	qp->ex.wr_local_inv = wr_local_inv;
	qp->ex.wr_rdma_read = wr_rdma_read;
	qp->ex.wr_rdma_write = wr_rdma_write;
	qp->ex.wr_rdma_write_imm = wr_rdma_write_imm;
	qp->ex.wr_send = wr_send;
	qp->ex.wr_send_imm = wr_send_imm;
	qp->ex.wr_send_inv = wr_send_inv;
	qp->ex.wr_send_tso = wr_send_tso;
	qp->ex.wr_set_ud_addr = wr_set_ud_addr;
	qp->ex.wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->ex.wr_set_inline_data = wr_set_inline_data;
	qp->ex.wr_set_inline_data_list = wr_set_inline_data_list;
	qp->ex.wr_set_sge = wr_set_sge;
	qp->ex.wr_set_sge_list = wr_set_sge_list;
	qp->ex.wr_start = wr_start;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_abort = wr_abort;
	qp->ex.wr_atomic_write = wr_atomic_write;
	qp->has_ex = true;
	return true;
}
