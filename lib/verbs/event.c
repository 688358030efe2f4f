/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "shim.h"

SHIM_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	struct shim_channel *channel = calloc(1, sizeof(*channel));
	int err;

	if (!channel)
		return NULL;
	err = client_channel_init(&channel->weft, to_weft(context));
	if (err) {
		free(channel);
		return shim_null(err);
	}
	channel->channel.context = context;
	channel->channel.fd = channel->weft.fd;
	return &channel->channel;
}

SHIM_EXPORT int
ibv_destroy_comp_channel(struct ibv_comp_channel *ibchannel)
{
	struct shim_channel *channel = (struct shim_channel *)ibchannel;
	int err = -EBUSY;

	/* A CQ that is being destroyed waits for its events and then looks at the channel. */
	pthread_mutex_lock(&ibchannel->context->mutex);
	if (!ibchannel->refcnt)
		err = client_channel_fini(&channel->weft);
	pthread_mutex_unlock(&ibchannel->context->mutex);
	if (!err)
		free(channel);
	return shim_errno(err);
}

SHIM_EXPORT int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	struct weft_cq *weft;
	int err = client_channel_next(&((struct shim_channel *)channel)->weft, &weft);

	if (err) {
		errno = -err;
		return -1;
	}
	*cq = &container_of(weft, struct shim_cq, weft)->cq;
	*user = (*cq)->cq_context;
	return 0;
}

SHIM_EXPORT void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned nb)
{
	if (!nb)
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nb;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

SHIM_EXPORT int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct client_event got;
	int err = client_event_next(to_weft(context), &got);

	if (err) {
		errno = -err;
		return -1;
	}
	event->event_type = (enum ibv_event_type)got.type;
	event->element.port_num = 1;
	if (!got.obj)
		return 0;
	switch (got.obj->kind) {
	case CLIENT_CQ:
		event->element.cq = &container_of(got.obj, struct shim_cq, weft.obj)->cq;
		break;
	case CLIENT_QP:
		event->element.qp = &container_of(got.obj, struct shim_qp, weft.obj)->qp;
		break;
	case CLIENT_SRQ:
		event->element.srq = &container_of(got.obj, struct shim_srq, weft.obj)->srq;
		break;
	case CLIENT_NONE:
		break;
	}
	return 0;
}

static void
acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

SHIM_EXPORT void
ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
}
