/* SPDX-License-Identifier: BSD-3-Clause */
/* weft.h: posting and polling. */
#include <errno.h>
#include <string.h>

#include "api.h"
#include "client.h"
#include "wqe.h"

static_assert(WEFT_FETCH_ADD == (int)SHM_WR_FETCH_ADD && WEFT_SEND == (int)SHM_WR_SEND &&
                      WEFT_INLINE == (int)SHM_SEND_INLINE && WEFT_FENCE == (int)SHM_SEND_FENCE &&
                      WEFT_ARM_ANY == (int)SHM_ARM_ANY &&
                      WEFT_WC_GENERAL == (int)SHM_WC_GENERAL_ERR &&
                      WEFT_DONE_RECV_WRITE_IMM == (int)SHM_WC_RECV_WRITE_IMM,
              "public values are the ABI's");
static_assert(sizeof(struct weft_sge) == sizeof(struct shm_sge) &&
                      offsetof(struct weft_sge, bytes) == offsetof(struct shm_sge, length) &&
                      offsetof(struct weft_sge, key) == offsetof(struct shm_sge, lkey),
              "lists are copied as they are");

/** What weft.h offers: without memory windows, so without what invalidates them. */
#define OFFERED (SHM_OPS_SEND | SHM_OPS_WRITE | SHM_OPS_RD)

/** Copy the data behind the request. @return 0 or EINVAL: too much, or nothing that is sent. */
static int
fill_inline(const struct ring_wq *sq, struct shm_send_wqe *wqe, const struct weft_send *send)
{
	uint8_t *to = (uint8_t *)(wqe + 1);

	if (!(SHM_OPS_OUT & SHM_OP_BIT(send->op)))
		return EINVAL;
	for (uint32_t i = 0; i < send->nb_sge; i++) {
		const struct weft_sge *sge = &send->sge[i];

		if (sge->bytes > sq->max_inline - wqe->inline_len)
			return EINVAL;
		memcpy(to + wqe->inline_len, (const void *)(uintptr_t)sge->addr, sge->bytes);
		wqe->inline_len += sge->bytes;
	}
	return 0;
}

/** @return 0 or a positive errno, for errno. */
static int
fill_send(const struct weft_qp *qp, struct shm_send_wqe *wqe, const struct weft_send *send)
{
	const uint32_t flags = WEFT_FENCE | WEFT_SIGNALED | WEFT_SOLICITED | WEFT_INLINE;

	if (!shm_op_allowed(qp->type, send->op) || !(OFFERED & SHM_OP_BIT(send->op)) ||
	    send->nb_sge > qp->sq.max_sge || (send->flags & ~flags) ||
	    (qp->type == SHM_QPT_UD && !send->to))
		return EINVAL;
	*wqe = (struct shm_send_wqe){
		.wr_id = send->wr_id,
		.op = (uint8_t)send->op,
		.flags = (uint8_t)send->flags,
		.imm = send->imm,
		.remote_addr = send->remote_addr,
		.rkey = send->remote_key,
	};
	if (qp->type == SHM_QPT_UD) {
		api_av(send->to, &wqe->ud.av);
		wqe->ud.qpn = send->to->qpn;
		wqe->ud.qkey = send->to_qkey;
	} else {
		wqe->atomic.compare_add = send->compare_add;
		wqe->atomic.swap = send->swap;
	}
	if (send->flags & WEFT_INLINE)
		return fill_inline(&qp->sq, wqe, send);
	wqe->nb_sge = (uint16_t)send->nb_sge;
	if (send->nb_sge)
		memcpy(wqe + 1, send->sge, send->nb_sge * sizeof(*send->sge));
	return 0;
}

API int
weft_post_send(struct weft_qp *qp, const struct weft_send *list, int nb)
{
	int done, err = 0;

	ring_lock(&qp->sq.lock);
	for (done = 0; done < nb; done++) {
		struct shm_send_wqe *wqe = ring_wq_slot(&qp->sq, (uint32_t)done);

		if (!client_qp_may_send(qp))
			err = EINVAL;
		else
			err = wqe ? fill_send(qp, wqe, &list[done]) : ENOMEM;
		if (err)
			break;
	}
	client_qp_sent(qp, (uint32_t)done);
	ring_unlock(&qp->sq.lock);
	if (err)
		errno = err;
	return done;
}

/** Into a locked receive queue. @return how many; errno if less than nb. */
static int
fill_recvs(struct ring_wq *rq, const struct weft_recv *list, int nb)
{
	for (int i = 0; i < nb; i++) {
		struct shm_recv_wqe *wqe = ring_wq_slot(rq, (uint32_t)i);

		if (!wqe || list[i].nb_sge > rq->max_sge) {
			errno = wqe ? EINVAL : ENOMEM;
			return i;
		}
		*wqe = (struct shm_recv_wqe){.wr_id = list[i].wr_id, .nb_sge = list[i].nb_sge};
		if (list[i].nb_sge)
			memcpy(wqe + 1, list[i].sge, list[i].nb_sge * sizeof(*list[i].sge));
	}
	return nb;
}

API int
weft_post_recv(struct weft_qp *qp, const struct weft_recv *list, int nb)
{
	int done;

	if (!qp->rq.shm || qp->state == SHM_QPS_RESET) {
		errno = EINVAL;
		return 0;
	}
	ring_lock(&qp->rq.lock);
	done = fill_recvs(&qp->rq, list, nb);
	client_qp_received(qp, (uint32_t)done);
	ring_unlock(&qp->rq.lock);
	return done;
}

API int
weft_post_srq_recv(struct weft_srq *srq, const struct weft_recv *list, int nb)
{
	int done;

	ring_lock(&srq->rq.lock);
	done = fill_recvs(&srq->rq, list, nb);
	ring_wq_publish(&srq->rq, (uint32_t)done);
	ring_unlock(&srq->rq.lock);
	return done;
}

static void
fill_completion(struct weft_completion *completion, const struct shm_cqe *cqe)
{
	*completion = (struct weft_completion){
		.wr_id = cqe->wr_id,
		.ts_ns = cqe->ts_ns,
		.status = (enum weft_status)cqe->status,
		.op = (enum weft_done)cqe->op,
		.flags = cqe->flags,
		.bytes = cqe->byte_len,
		.imm = cqe->imm,
		.qpn = cqe->qpn,
		.src_qpn = cqe->src_qpn,
		.vendor_err = cqe->vendor_err,
	};
}

API int
weft_poll(struct weft_cq *cq, struct weft_completion *list, int max)
{
	const struct shm_cqe *cqe;
	struct shm_cqe flushed;
	uint32_t nb_idle = 0;
	int nb = 0;

	ring_lock(&cq->lock);
	while (nb < max && (cqe = ring_cq_peek(&cq->ring))) {
		if (cqe->status != RING_CQE_GONE) {
			fill_completion(&list[nb++], cqe);
			client_cq_took(cq->weft, cqe);
		}
		ring_cq_pop(&cq->ring);
	}
	ring_cq_publish(&cq->ring);
	if (nb == 0) {
		while (nb < max && client_cq_flush(cq, &flushed))
			fill_completion(&list[nb++], &flushed);
		if (nb == 0 && atomic_load_explicit(&cq->ring.shm->overrun, memory_order_relaxed))
			nb = -EOVERFLOW;
	}
	nb_idle = cq->nb_idle = nb == 0 ? cq->nb_idle + 1 : 0;
	ring_unlock(&cq->lock);
	if (nb == 0)
		client_cq_idle(cq, nb_idle);
	return nb;
}

API int
weft_cq_arm(struct weft_cq *cq, enum weft_arm arm)
{
	if (arm != WEFT_ARM_SOLICITED && arm != WEFT_ARM_ANY)
		return -EINVAL;
	ring_lock(&cq->lock);
	ring_cq_arm(&cq->ring, (enum shm_arm)arm);
	ring_unlock(&cq->lock);
	return 0;
}

API const char *
weft_status_str(enum weft_status status)
{
	static const char *const table[] = {
		[WEFT_WC_SUCCESS] = "success",
		[WEFT_WC_LOCAL_LENGTH] = "local length error",
		[WEFT_WC_LOCAL_OPERATION] = "local operation error",
		[WEFT_WC_LOCAL_PROTECTION] = "local protection error",
		[WEFT_WC_FLUSHED] = "flushed",
		[WEFT_WC_BIND] = "memory window bind error",
		[WEFT_WC_BAD_RESPONSE] = "bad response",
		[WEFT_WC_LOCAL_ACCESS] = "local access error",
		[WEFT_WC_REMOTE_INVALID] = "remote invalid request",
		[WEFT_WC_REMOTE_ACCESS] = "remote access error",
		[WEFT_WC_REMOTE_OPERATION] = "remote operation error",
		[WEFT_WC_RETRY_EXCEEDED] = "transport retry counter exceeded",
		[WEFT_WC_RNR_RETRY_EXCEEDED] = "RNR retry counter exceeded",
		[WEFT_WC_GENERAL] = "general error",
	};
	size_t idx = (size_t)status;

	return idx < sizeof(table) / sizeof(table[0]) && table[idx] ? table[idx] : "unknown";
}
