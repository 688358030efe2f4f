/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "shim.h"

SHIM_EXPORT struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct shim_srq *srq = calloc(1, sizeof(*srq));
	uint32_t max_wr = init->attr.max_wr;
	uint32_t max_sge = init->attr.max_sge ? init->attr.max_sge : 1;
	int err;

	if (!srq)
		return NULL;
	err = client_srq_init(&srq->weft, to_weft(pd->context), pd->handle, &max_wr, &max_sge);
	if (err) {
		free(srq);
		return shim_null(err);
	}
	srq->cap.max_recv_wr = init->attr.max_wr = max_wr;
	srq->cap.max_recv_sge = init->attr.max_sge = max_sge;
	srq->srq.context = pd->context;
	srq->srq.srq_context = init->srq_context;
	srq->srq.pd = pd;
	srq->srq.handle = srq->weft.handle;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	return &srq->srq;
}

/** verbs.h sends plain ones to ibv_create_srq; what is left asks for XRC or tag matching. */
struct ibv_srq *
shim_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	(void)context;
	(void)attr;
	return shim_null(-EOPNOTSUPP);
}

SHIM_EXPORT int
ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct shim_srq *srq = to_srq(ibsrq);

	if (mask & ~IBV_SRQ_LIMIT)
		return shim_errno(mask == IBV_SRQ_MAX_WR ? -EOPNOTSUPP : -EINVAL);
	if (!mask)
		return 0;
	return shim_errno(client_srq_limit(&srq->weft, attr->srq_limit));
}

SHIM_EXPORT int
ibv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct shim_srq *srq = to_srq(ibsrq);

	attr->max_wr = srq->cap.max_recv_wr;
	attr->max_sge = srq->cap.max_recv_sge;
	return shim_errno(client_srq_query(&srq->weft, &attr->srq_limit));
}

SHIM_EXPORT int
ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct shim_srq *srq = to_srq(ibsrq);
	int err = client_srq_fini(&srq->weft);

	if (err)
		return shim_errno(err);
	shim_drain_events(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed,
	                  srq->weft.obj.nb_async_events);
	pthread_cond_destroy(&ibsrq->cond);
	pthread_mutex_destroy(&ibsrq->mutex);
	free(srq);
	return 0;
}
