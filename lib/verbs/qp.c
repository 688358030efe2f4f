/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "shim.h"
#include "wqe.h"

static_assert(SHM_QPT_UD == (int)IBV_QPT_UD && SHM_QPS_ERR == (int)IBV_QPS_ERR &&
                      SHM_QP_RATE_LIMIT == (int)IBV_QP_RATE_LIMIT &&
                      SHM_QP_DEST_QPN == (int)IBV_QP_DEST_QPN,
              "types, states and masks are passed on as they are");

static struct ibv_qp *
create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, const uint64_t *send_ops_flags)
{
	struct client_qp_init init = {
		.type = (uint8_t)attr->qp_type,
		.pd = pd->handle,
		.srq = attr->srq ? &to_srq(attr->srq)->weft : NULL,
		.cap =
			{
				.max_send_wr = attr->cap.max_send_wr,
				.max_recv_wr = attr->srq ? 0 : attr->cap.max_recv_wr,
				.max_send_sge = attr->cap.max_send_sge,
				.max_recv_sge = attr->srq ? 0 : attr->cap.max_recv_sge,
				.max_inline = attr->cap.max_inline_data,
			},
		.sq_sig_all = attr->sq_sig_all,
	};
	struct shim_qp *qp;
	int err;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD)
		return shim_null(-EOPNOTSUPP);
	if (!attr->send_cq || !attr->recv_cq || !shm_qp_cap_ok(&init.cap))
		return shim_null(-EINVAL);
	init.send_cq = &to_cq(attr->send_cq)->weft;
	init.recv_cq = &to_cq(attr->recv_cq)->weft;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->weft.type = init.type;
	if (send_ops_flags && !shim_fill_wr(qp, *send_ops_flags)) {
		free(qp);
		return shim_null(-EOPNOTSUPP);
	}
	err = client_qp_init(&qp->weft, to_weft(pd->context), &init);
	if (err) {
		free(qp);
		return shim_null(err);
	}
	qp->sq_sig_all = attr->sq_sig_all;
	qp->qp.context = pd->context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.handle = qp->qp.qp_num = qp->weft.qpn;
	qp->qp.state = IBV_QPS_RESET;
	qp->qp.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	attr->cap = (struct ibv_qp_cap){
		.max_send_wr = qp->weft.cap.max_send_wr,
		.max_recv_wr = qp->weft.cap.max_recv_wr,
		.max_send_sge = qp->weft.cap.max_send_sge,
		.max_recv_sge = qp->weft.cap.max_recv_sge,
		.max_inline_data = qp->weft.cap.max_inline,
	};
	return &qp->qp;
}

SHIM_EXPORT struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return create_qp(pd, attr, NULL);
}

struct ibv_qp *
shim_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
	                       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool has_ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	(void)context;
	if ((attr->comp_mask & ~known) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags))
		return shim_null(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		return shim_null(-EINVAL);
	/* The extended attributes begin with the plain ones. */
	return create_qp(attr->pd, (struct ibv_qp_init_attr *)attr,
	                 has_ops ? &attr->send_ops_flags : NULL);
}

SHIM_EXPORT struct ibv_qp_ex *
ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return to_qp(qp)->has_ex ? &to_qp(qp)->ex : NULL;
}

SHIM_EXPORT int
ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct shim_qp *qp = to_qp(ibqp);
	int err = client_qp_fini(&qp->weft);

	if (err)
		return shim_errno(err);
	shim_drain_events(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed,
	                  qp->weft.obj.nb_async_events);
	pthread_cond_destroy(&ibqp->cond);
	pthread_mutex_destroy(&ibqp->mutex);
	free(qp);
	return 0;
}

int
shim_av(const struct ibv_ah_attr *attr, struct shm_av *av)
{
	/* RoCE has no address without a GRH. Source: IBA vol. 1, annex A17. */
	if (!attr->is_global)
		advice_grh();
	if (!attr->is_global || attr->port_num > 1)
		return -EINVAL;
	*av = (struct shm_av){
		.flow_label = attr->grh.flow_label & IB_GRH_FLOWLABEL_MASK,
		.sgid_index = attr->grh.sgid_index,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
	};
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
	return 0;
}

int
shim_qp_attr(const struct ibv_qp_attr *attr, uint32_t mask, struct shm_qp_attr *out)
{
	/* Values out of an octet's range must not become legal ones. */
	if (((mask & IBV_QP_STATE) && attr->qp_state >= IBV_QPS_UNKNOWN) ||
	    ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state >= IBV_QPS_UNKNOWN) ||
	    ((mask & IBV_QP_PATH_MTU) && attr->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	*out = (struct shm_qp_attr){
		.state = (uint8_t)attr->qp_state,
		.cur_state = (uint8_t)attr->cur_qp_state,
		.path_mtu = (uint8_t)attr->path_mtu,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.en_sqd_notify = attr->en_sqd_async_notify,
		.pkey_index = attr->pkey_index,
		.access = attr->qp_access_flags & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE,
		.qkey = attr->qkey,
		.dest_qpn = attr->dest_qp_num,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.rate_limit_kbps = attr->rate_limit,
	};
	return mask & IBV_QP_AV ? shim_av(&attr->ah_attr, &out->av) : 0;
}

SHIM_EXPORT int
ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct shim_qp *qp = to_qp(ibqp);
	struct shm_qp_attr shm;
	int err = shim_qp_attr(attr, (uint32_t)mask, &shm);

	if (!err)
		err = client_qp_modify(&qp->weft, &shm, (uint32_t)mask);
	if (!err && (mask & IBV_QP_STATE))
		ibqp->state = attr->qp_state;
	return shim_errno(err);
}

/** What a query tells of attributes. The inverse of shim_qp_attr. */
static void
fill_attr(const struct shm_qp_attr *shm, struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)shm->state,
		.cur_qp_state = (enum ibv_qp_state)shm->state,
		.path_mtu = (enum ibv_mtu)shm->path_mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = shm->qkey,
		.rq_psn = shm->rq_psn,
		.sq_psn = shm->sq_psn,
		.dest_qp_num = shm->dest_qpn,
		.qp_access_flags = shm->access,
		.pkey_index = shm->pkey_index,
		.en_sqd_async_notify = shm->en_sqd_notify,
		.sq_draining = shm->sq_draining,
		.max_rd_atomic = shm->max_rd_atomic,
		.max_dest_rd_atomic = shm->max_dest_rd_atomic,
		.min_rnr_timer = shm->min_rnr_timer,
		.port_num = shm->port_num,
		.timeout = shm->timeout,
		.retry_cnt = shm->retry_cnt,
		.rnr_retry = shm->rnr_retry,
		.rate_limit = shm->rate_limit_kbps,
		.ah_attr =
			{
				.grh =
					{
						.flow_label = shm->av.flow_label,
						.sgid_index = shm->av.sgid_index,
						.hop_limit = shm->av.hop_limit,
						.traffic_class = shm->av.traffic_class,
					},
				.is_global = 1,
				.port_num = shm->port_num,
			},
	};
	memcpy(attr->ah_attr.grh.dgid.raw, shm->av.dgid, sizeof(shm->av.dgid));
}

SHIM_EXPORT int
ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct shim_qp *qp = to_qp(ibqp);
	const struct shm_qp_cap *cap = &qp->weft.cap;
	struct shm_qp_attr shm;
	int err = client_qp_query(&qp->weft, &shm, NULL);

	/* The mask may narrow the answer; all of it is at hand. */
	(void)mask;
	if (err)
		return shim_errno(err);
	fill_attr(&shm, attr);
	attr->cap = (struct ibv_qp_cap){
		cap->max_send_wr,  cap->max_recv_wr, cap->max_send_sge,
		cap->max_recv_sge, cap->max_inline,
	};
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.qp_type = ibqp->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	/* The daemon may have moved it to an error state meanwhile. */
	ibqp->state = attr->qp_state;
	qp->weft.state = shm.state;
	return 0;
}

SHIM_EXPORT int
ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

SHIM_EXPORT int
ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return shim_errno(-EOPNOTSUPP);
}

SHIM_EXPORT int
ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){0};
	return shim_errno(-EOPNOTSUPP);
}

/* Multicast is not offered: query_device says 0 groups. */

SHIM_EXPORT int
ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return shim_errno(-EOPNOTSUPP);
}

SHIM_EXPORT int
ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	return shim_errno(-EOPNOTSUPP);
}
