/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "advice.h"
#include "client.h"
#include "wqe.h"

/* ---- shared receive queues ---- */

/** Take a work queue that the daemon made; loc without slots is none. */
static int
take_wq_ring(struct ring_wq *wq, const struct weft *weft, const struct shm_ring_loc *loc,
             uint32_t max_wr, uint32_t max_sge, uint32_t min_stride)
{
	struct shm_wq *shm = client_ring(weft, loc, SHM_WQ_SLOTS, max_wr, min_stride);

	if (!shm)
		return -EPROTO;
	*wq = (struct ring_wq){
		.shm = shm,
		.slots = (uint8_t *)shm + SHM_WQ_SLOTS,
		.mask = loc->nb_slots - 1,
		.stride = loc->stride,
		.max_wr = max_wr,
		.max_sge = max_sge,
	};
	return 0;
}

int
client_srq_init(struct weft_srq *srq, struct weft *weft, uint32_t pd, uint32_t *max_wr,
                uint32_t *max_sge)
{
	struct ctl_srq msg = {.pd = pd, .max_wr = *max_wr, .max_sge = *max_sge};
	void *user = srq->obj.user;
	int err;

	if (*max_wr == 0 || *max_wr > WEFT_MAX_WR || *max_sge > WEFT_MAX_SGE)
		return -EINVAL;
	*srq = (struct weft_srq){.obj.user = user, .weft = weft};
	err = client_register(weft, &srq->obj, CLIENT_SRQ);
	if (err)
		return err;
	msg.cookie = srq->obj.cookie;
	err = ctl_call(weft, CTL_CREATE_SRQ, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (!err) {
		srq->handle = msg.handle;
		err = msg.max_sge <= WEFT_MAX_SGE
		              ? take_wq_ring(&srq->rq, weft, &msg.ring, msg.max_wr, msg.max_sge,
		                             rq_stride(msg.max_sge))
		              : -EPROTO;
		srq->rq.is_srq = true;
		if (err)
			ctl_call_handle(weft, CTL_DESTROY_SRQ, msg.handle);
	}
	if (err) {
		client_unregister(weft, &srq->obj);
		return err;
	}
	*max_wr = msg.max_wr;
	*max_sge = msg.max_sge;
	return 0;
}

int
client_srq_limit(struct weft_srq *srq, uint32_t limit)
{
	struct ctl_srq msg = {.handle = srq->handle, .limit = limit};

	return ctl_call(srq->weft, CTL_MODIFY_SRQ, &msg, sizeof(msg), 0, NULL, 0);
}

int
client_srq_query(struct weft_srq *srq, uint32_t *limit)
{
	struct ctl_srq msg = {.handle = srq->handle};
	int err = ctl_call(srq->weft, CTL_QUERY_SRQ, &msg, sizeof(msg), sizeof(msg), NULL, 0);

	*limit = err ? 0 : msg.limit;
	return err;
}

int
client_srq_fini(struct weft_srq *srq)
{
	int err =
		srq->nb_qps
			? -EBUSY
			: client_gone_ok(ctl_call_handle(srq->weft, CTL_DESTROY_SRQ, srq->handle));

	if (!err)
		client_unregister(srq->weft, &srq->obj);
	return err;
}

/* ---- queue pairs ---- */

static int
take_qp(struct weft_qp *qp, const struct ctl_qp *msg)
{
	const struct shm_qp_cap *cap = &msg->cap;
	int err = 0;

	if (msg->bell >= WEFT_MAX_QP || cap->max_send_sge > WEFT_MAX_SGE ||
	    cap->max_recv_sge > WEFT_MAX_SGE || cap->max_inline > WEFT_MAX_INLINE)
		return -EPROTO;
	if (msg->sq.nb_slots || cap->max_send_wr)
		err = take_wq_ring(&qp->sq, qp->weft, &msg->sq, cap->max_send_wr, cap->max_send_sge,
		                   sq_stride(cap->max_send_sge, cap->max_inline));
	if (!err && !qp->srq && (msg->rq.nb_slots || cap->max_recv_wr))
		err = take_wq_ring(&qp->rq, qp->weft, &msg->rq, cap->max_recv_wr, cap->max_recv_sge,
		                   rq_stride(cap->max_recv_sge));
	qp->sq.max_inline = cap->max_inline;
	qp->qpn = msg->qpn;
	qp->bell = msg->bell;
	qp->cap = *cap;
	return err;
}

/** Count the QP in or out at what it stands on. */
static void
count_refs(struct weft_qp *qp, uint32_t delta)
{
	qp->send_cq->nb_qps += delta;
	qp->recv_cq->nb_qps += delta;
	if (qp->srq)
		qp->srq->nb_qps += delta;
}

int
client_qp_init(struct weft_qp *qp, struct weft *weft, const struct client_qp_init *init)
{
	struct ctl_qp msg = {
		.type = init->type,
		.pd = init->pd,
		.send_cq = init->send_cq->handle,
		.recv_cq = init->recv_cq->handle,
		.srq = init->srq ? init->srq->handle : 0,
		.sq_sig_all = init->sq_sig_all,
		.cap = init->cap,
	};
	void *user = qp->obj.user;
	int err;

	/* Handles of another connection would name something else there. */
	if (init->send_cq->weft != weft || init->recv_cq->weft != weft ||
	    (init->srq && init->srq->weft != weft))
		return -EINVAL;
	*qp = (struct weft_qp){
		.obj.user = user,
		.weft = weft,
		.type = init->type,
		.state = SHM_QPS_RESET,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
	};
	err = client_register(weft, &qp->obj, CLIENT_QP);
	if (err)
		return err;
	msg.cookie = qp->obj.cookie;
	err = ctl_call(weft, CTL_CREATE_QP, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (!err) {
		err = take_qp(qp, &msg);
		if (err)
			ctl_call_handle(weft, CTL_DESTROY_QP, msg.qpn);
	}
	if (err) {
		client_unregister(weft, &qp->obj);
		return err;
	}
	pthread_mutex_lock(&weft->obj_lock);
	qp->next = weft->qps;
	qp->link = &weft->qps;
	if (qp->next)
		qp->next->link = &qp->next;
	weft->qps = qp;
	pthread_mutex_unlock(&weft->obj_lock);
	count_refs(qp, 1);
	return 0;
}

/** Whoever needs both locks takes that of the lower address first. */
static void
lock_cqs(const struct weft_qp *qp)
{
	bool ordered = (uintptr_t)qp->send_cq <= (uintptr_t)qp->recv_cq;

	ring_lock(ordered ? &qp->send_cq->lock : &qp->recv_cq->lock);
	if (qp->send_cq != qp->recv_cq)
		ring_lock(ordered ? &qp->recv_cq->lock : &qp->send_cq->lock);
}

static void
unlock_cqs(const struct weft_qp *qp)
{
	ring_unlock(&qp->send_cq->lock);
	if (qp->send_cq != qp->recv_cq)
		ring_unlock(&qp->recv_cq->lock);
}

/**
 * Drop the QP's entries from its CQs, which are locked: its number will mean nothing, or a QP that
 * starts anew.
 */
static void
forget_completions(const struct weft_qp *qp)
{
	ring_cq_forget_qp(&qp->send_cq->ring, qp->qpn);
	if (qp->send_cq != qp->recv_cq)
		ring_cq_forget_qp(&qp->recv_cq->ring, qp->qpn);
}

int
client_qp_modify(struct weft_qp *qp, const struct shm_qp_attr *attr, uint32_t mask)
{
	struct ctl_qp_attr msg = {.qpn = qp->qpn, .mask = mask, .attr = *attr};
	bool reset = (mask & SHM_QP_STATE) && attr->state == SHM_QPS_RESET;
	int err;

	if (!reset) {
		err = ctl_call(qp->weft, CTL_MODIFY_QP, &msg, sizeof(msg), 0, NULL, 0);
		if (!err && (mask & SHM_QP_STATE))
			qp->state = attr->state;
		return err;
	}
	/*
	 * The daemon empties the rings: nobody posts meanwhile. The CQs first, as who posts from
	 * between ibv_start_poll and ibv_end_poll has them.
	 */
	lock_cqs(qp);
	ring_lock(&qp->sq.lock);
	ring_lock(&qp->rq.lock);
	err = ctl_call(qp->weft, CTL_MODIFY_QP, &msg, sizeof(msg), 0, NULL, 0);
	if (!err) {
		qp->state = SHM_QPS_RESET;
		/* In this order: a poller must not count an old completion afterwards. */
		forget_completions(qp);
		ring_wq_drop(&qp->sq);
		ring_wq_drop(&qp->rq);
	}
	ring_unlock(&qp->rq.lock);
	ring_unlock(&qp->sq.lock);
	unlock_cqs(qp);
	return err;
}

int
client_qp_query(struct weft_qp *qp, struct shm_qp_attr *attr, char *reason)
{
	struct ctl_qp_attr msg = {.qpn = qp->qpn};
	int err = ctl_call(qp->weft, CTL_QUERY_QP, &msg, sizeof(msg), sizeof(msg), NULL, 0);

	if (err)
		return err;
	*attr = msg.attr;
	if (reason) {
		msg.reason[sizeof(msg.reason) - 1] = '\0';
		strcpy(reason, msg.reason);
	}
	return 0;
}

int
client_qp_fini(struct weft_qp *qp)
{
	struct weft *weft = qp->weft;
	int err = client_gone_ok(ctl_call_handle(weft, CTL_DESTROY_QP, qp->qpn));

	if (err)
		return err;
	pthread_mutex_lock(&weft->obj_lock);
	*qp->link = qp->next;
	if (qp->next)
		qp->next->link = qp->link;
	pthread_mutex_unlock(&weft->obj_lock);
	client_unregister(weft, &qp->obj);
	lock_cqs(qp);
	forget_completions(qp);
	unlock_cqs(qp);
	/* Last: from here on the CQs may be destroyed. */
	count_refs(qp, -1u);
	return 0;
}
