/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <stdlib.h>

#include "shim.h"

static_assert(SHM_WC_GENERAL_ERR == (int)IBV_WC_GENERAL_ERR &&
                      SHM_WC_RECV_WRITE_IMM == (int)IBV_WC_RECV_RDMA_WITH_IMM &&
                      SHM_WC_LOCAL_INV == (int)IBV_WC_LOCAL_INV &&
                      SHM_WC_WITH_INV == (int)IBV_WC_WITH_INV,
              "completions are copied, not translated");

struct shim_cq *
shim_new_cq(struct ibv_context *context, uint32_t nb_cqe, void *user,
            struct ibv_comp_channel *ibchannel)
{
	struct shim_channel *channel = (struct shim_channel *)ibchannel;
	struct shim_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (!cq)
		return NULL;
	err = client_cq_init(&cq->weft, to_weft(context), nb_cqe, channel ? &channel->weft : NULL);
	if (err) {
		free(cq);
		return shim_null(err);
	}
	cq->cq.context = context;
	cq->cq.channel = ibchannel;
	cq->cq.cq_context = user;
	cq->cq.handle = cq->weft.handle;
	cq->cq.cqe = (int)cq->weft.nb_cqe;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	if (ibchannel) {
		pthread_mutex_lock(&context->mutex);
		ibchannel->refcnt++;
		pthread_mutex_unlock(&context->mutex);
	}
	return cq;
}

SHIM_EXPORT struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int nb_cqe, void *user, struct ibv_comp_channel *channel,
              int comp_vector)
{
	struct shim_cq *cq;

	if (nb_cqe <= 0 || comp_vector < 0 || comp_vector >= context->num_comp_vectors)
		return shim_null(-EINVAL);
	cq = shim_new_cq(context, (uint32_t)nb_cqe, user, channel);
	return cq ? &cq->cq : NULL;
}

SHIM_EXPORT int
ibv_resize_cq(struct ibv_cq *ibcq, int nb_cqe)
{
	struct shim_cq *cq = to_cq(ibcq);
	int err = nb_cqe <= 0 ? -EINVAL : client_cq_resize(&cq->weft, (uint32_t)nb_cqe);

	if (!err)
		ibcq->cqe = (int)cq->weft.nb_cqe;
	return shim_errno(err);
}

SHIM_EXPORT int
ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct shim_cq *cq = to_cq(ibcq);
	int err = client_cq_fini(&cq->weft);

	if (err)
		return shim_errno(err);
	shim_drain_events(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed,
	                  cq->weft.obj.nb_comp_events);
	shim_drain_events(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed,
	                  cq->weft.obj.nb_async_events);
	if (ibcq->channel) {
		pthread_mutex_lock(&ibcq->context->mutex);
		ibcq->channel->refcnt--;
		pthread_mutex_unlock(&ibcq->context->mutex);
	}
	pthread_cond_destroy(&ibcq->cond);
	pthread_mutex_destroy(&ibcq->mutex);
	free(cq);
	return 0;
}

static inline void
fill_wc(struct ibv_wc *wc, const struct shm_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->op;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	if (cqe->flags & SHM_WC_WITH_IMM)
		wc->imm_data = htobe32(cqe->imm);
	else
		wc->invalidated_rkey = cqe->imm;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qpn;
	wc->wc_flags = cqe->flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

/** What the ring holds, up to max. The CQ is locked. */
static inline int
take(struct weft_cq *cq, int max, struct ibv_wc *wc)
{
	const struct shm_cqe *cqe;
	int nb = 0;

	while (nb < max && (cqe = ring_cq_peek(&cq->ring))) {
		if (cqe->status != RING_CQE_GONE) {
			fill_wc(&wc[nb++], cqe);
			client_cq_took(cq->weft, cqe);
		}
		ring_cq_pop(&cq->ring);
	}
	ring_cq_publish(&cq->ring);
	return nb;
}

/** The ring is empty: is that all? The CQ is locked. */
static __attribute__((noinline)) int
take_flushed(struct weft_cq *cq, int max, struct ibv_wc *wc)
{
	struct shm_cqe cqe;
	int nb = 0;

	while (nb < max && client_cq_flush(cq, &cqe))
		fill_wc(&wc[nb++], &cqe);
	if (nb == 0 && atomic_load_explicit(&cq->ring.shm->overrun, memory_order_relaxed))
		return -1;
	return nb;
}

int
shim_poll_cq(struct ibv_cq *ibcq, int max, struct ibv_wc *wc)
{
	struct weft_cq *cq = &to_cq(ibcq)->weft;
	uint32_t nb_idle = 0;
	int nb;

	ring_lock(&cq->lock);
	nb = take(cq, max, wc);
	if (__builtin_expect(nb == 0, 0)) {
		nb = take_flushed(cq, max, wc);
		nb_idle = ++cq->nb_idle;
	} else {
		cq->nb_idle = 0;
	}
	ring_unlock(&cq->lock);
	if (nb == 0)
		client_cq_idle(cq, nb_idle);
	return nb;
}

int
shim_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct weft_cq *cq = &to_cq(ibcq)->weft;

	ring_lock(&cq->lock);
	ring_cq_arm(&cq->ring, solicited_only ? SHM_ARM_SOLICITED : SHM_ARM_ANY);
	ring_unlock(&cq->lock);
	return 0;
}
