/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <time.h>

#include "client.h"
#include "cpu.h"
#include "wqe.h"

/** Take the ring that the daemon made. */
static int
take_cq_ring(struct weft_cq *cq, const struct ctl_cq *msg)
{
	struct shm_cq *shm = client_ring(cq->weft, &msg->ring, SHM_CQ_SLOTS, msg->nb_cqe,
	                                 sizeof(struct shm_cqe));
	uint32_t head;

	if (!shm || msg->ring.stride != sizeof(struct shm_cqe))
		return -EPROTO;
	head = atomic_load(&shm->ring.head);
	cq->ring = (struct ring_cq){
		.shm = shm,
		.slots = (struct shm_cqe *)((uint8_t *)shm + SHM_CQ_SLOTS),
		.mask = msg->ring.nb_slots - 1,
		.head = head,
		.given = head,
		.tail = head,
	};
	cq->nb_cqe = msg->nb_cqe;
	atomic_store(&cq->shared, shm);
	return 0;
}

int
client_cq_init(struct weft_cq *cq, struct weft *weft, uint32_t nb_cqe, struct weft_channel *channel)
{
	struct ctl_cq msg = {.nb_cqe = nb_cqe, .channel = channel ? channel->handle : 0};
	void *user = cq->obj.user;
	int err;

	if (nb_cqe == 0 || nb_cqe > WEFT_MAX_CQE || (channel && channel->weft != weft))
		return -EINVAL;
	*cq = (struct weft_cq){.obj.user = user, .weft = weft, .channel = channel};
	err = client_register(weft, &cq->obj, CLIENT_CQ);
	if (err)
		return err;
	msg.cookie = cq->obj.cookie;
	err = ctl_call(weft, CTL_CREATE_CQ, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (!err) {
		cq->handle = msg.handle;
		err = take_cq_ring(cq, &msg);
		if (err)
			ctl_call_handle(weft, CTL_DESTROY_CQ, msg.handle);
	}
	if (err) {
		client_unregister(weft, &cq->obj);
		return err;
	}
	if (channel)
		channel->nb_cqs++;
	return 0;
}

int
client_cq_resize(struct weft_cq *cq, uint32_t nb_cqe)
{
	struct ctl_cq msg = {.handle = cq->handle, .nb_cqe = nb_cqe, .cookie = cq->obj.cookie};
	int err;

	if (nb_cqe == 0 || nb_cqe > WEFT_MAX_CQE)
		return -EINVAL;
	/* Nobody takes entries while the daemon moves them. */
	ring_lock(&cq->lock);
	err = ctl_call(cq->weft, CTL_RESIZE_CQ, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (!err)
		err = take_cq_ring(cq, &msg);
	ring_unlock(&cq->lock);
	return err;
}

int
client_cq_fini(struct weft_cq *cq)
{
	struct weft *weft = cq->weft;
	int err = cq->nb_qps ? -EBUSY
	                     : client_gone_ok(ctl_call_handle(weft, CTL_DESTROY_CQ, cq->handle));

	if (err)
		return err;
	client_unregister(weft, &cq->obj);
	if (cq->channel)
		cq->channel->nb_cqs--;
	return 0;
}

static uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** Whether nobody has looked after the daemon for a while; then the caller does. */
static bool
is_time_to_look(struct weft *weft, uint64_t now_ns)
{
	if (now_ns - atomic_load_explicit(&weft->looked_ns, memory_order_relaxed) < CLIENT_LOOK_NS)
		return false;
	atomic_store_explicit(&weft->looked_ns, now_ns, memory_order_relaxed);
	return true;
}

/* Give up the core, unless somebody took it for a whole slice of time a moment ago. */
static void
step_aside(struct weft *weft, uint64_t now_ns)
{
	uint64_t took_ns;

	if (now_ns < atomic_load_explicit(&weft->yield_ns, memory_order_relaxed)) {
		cpu_relax();
		return;
	}
	sched_yield();
	took_ns = clock_ns() - now_ns;
	if (took_ns > CLIENT_YIELD_SLOW_NS)
		atomic_store_explicit(&weft->yield_ns, now_ns + took_ns + CLIENT_YIELD_OFF_NS,
		                      memory_order_relaxed);
}

void
client_cq_idle(struct weft_cq *cq, uint32_t nb_idle)
{
	uint64_t now_ns;

	if (nb_idle % CLIENT_LOOK_EVERY == 0) {
		client_alive(cq->weft);
		return;
	}
	if (nb_idle < CLIENT_SPINS) {
		cpu_relax();
		return;
	}
	now_ns = clock_ns();
	if (is_time_to_look(cq->weft, now_ns))
		client_alive(cq->weft);
	else
		step_aside(cq->weft, now_ns);
}

/** Take the oldest request that is outstanding; NULL if there is none. */
static const void *
flush_one(struct ring_wq *wq)
{
	uint32_t idx;

	if (!wq->shm)
		return NULL;
	/* From our own indices: a daemon may have died because shared memory was overwritten. */
	idx = wq->is_srq ? ring_srq_done(wq) : atomic_load(&wq->done);
	if (idx == ring_wq_tail(wq))
		return NULL;
	atomic_store(&wq->done, idx + 1);
	return wq->slots + (size_t)(idx & wq->mask) * wq->stride;
}

static bool
flush_qp(struct weft_cq *cq, struct weft_qp *qp, struct shm_cqe *cqe)
{
	const struct shm_send_wqe *send = qp->send_cq == cq ? flush_one(&qp->sq) : NULL;
	const struct shm_recv_wqe *recv = NULL;

	if (!send && qp->recv_cq == cq)
		recv = flush_one(qp->srq ? &qp->srq->rq : &qp->rq);
	if (!send && !recv)
		return false;
	*cqe = (struct shm_cqe){
		.wr_id = send ? send->wr_id : recv->wr_id,
		.qpn = qp->qpn,
		.status = SHM_WC_WR_FLUSH_ERR,
		.op = send ? shm_wc_op_of(send->op) : SHM_WC_RECV,
	};
	return true;
}

bool
client_cq_flush(struct weft_cq *cq, struct shm_cqe *cqe)
{
	bool found = false;

	if (!atomic_load_explicit(&cq->weft->dead, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&cq->weft->obj_lock);
	for (struct weft_qp *qp = cq->weft->qps; qp && !found; qp = qp->next)
		found = flush_qp(cq, qp, cqe);
	if (found)
		cq->told_dead = false;
	pthread_mutex_unlock(&cq->weft->obj_lock);
	return found;
}
