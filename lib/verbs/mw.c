/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "shim.h"
#include "wqe.h"

struct ibv_mw *
shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;
	uint32_t key;
	int err;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return shim_null(-EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	err = client_mw_init(to_weft(pd->context), pd->handle, type, &key);
	if (err) {
		free(mw);
		return shim_null(err);
	}
	*mw = (struct ibv_mw){
		.context = pd->context, .pd = pd, .rkey = key, .handle = key, .type = type};
	return mw;
}

int
shim_dealloc_mw(struct ibv_mw *mw)
{
	/* By the first key: the low 8 bits may have been changed by binds. */
	int err = client_gone_ok(ctl_call_handle(to_weft(mw->context), CTL_DEALLOC_MW, mw->handle));

	if (!err)
		free(mw);
	return shim_errno(err);
}

/** Bind a window of type 1: a work request, whose success the application sees as a completion. */
int
shim_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	struct shim_qp *qp = to_qp(ibqp);
	struct shm_send_wqe *wqe;
	int err = 0;

	if ((bind->send_flags & IBV_SEND_INLINE) || (!info->mr && info->length) ||
	    !shm_op_allowed(qp->weft.type, SHM_WR_BIND_MW))
		return shim_errno(-EINVAL);
	ring_lock(&qp->weft.sq.lock);
	wqe = ring_wq_slot(&qp->weft.sq, 0);
	if (!client_qp_may_send(&qp->weft)) {
		err = -EINVAL;
	} else if (!wqe) {
		err = -ENOMEM;
	} else {
		*wqe = (struct shm_send_wqe){
			.wr_id = bind->wr_id,
			.op = SHM_WR_BIND_MW,
			.flags = (uint8_t)(bind->send_flags & (SHM_SEND_FENCE | SHM_SEND_SIGNALED)),
			.bind =
				{
					.addr = info->addr,
					.length = info->length,
					.mw_rkey = ibv_inc_rkey(mw->rkey),
					.mr_lkey = info->mr ? info->mr->lkey : 0,
					.access = info->mw_access_flags &
		                                  ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE,
				},
		};
		client_qp_sent(&qp->weft, 1);
		mw->rkey = ibv_inc_rkey(mw->rkey);
	}
	ring_unlock(&qp->weft.sq.lock);
	return shim_errno(err);
}
