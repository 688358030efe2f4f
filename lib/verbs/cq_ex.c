/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended CQs: one completion at a time, read where it lies. */
#include <endian.h>
#include <stdlib.h>

#include "shim.h"

static inline struct shim_cq *
from_ex(struct ibv_cq_ex *ex)
{
	return (struct shim_cq *)ex;
}

/** Make the next completion the present one. @return 0 or ENOENT. */
static inline int
advance(struct shim_cq *cq)
{
	const struct shm_cqe *cqe;

	while ((cqe = ring_cq_peek(&cq->weft.ring)) && cqe->status == RING_CQE_GONE)
		ring_cq_pop(&cq->weft.ring);
	if (cqe)
		client_cq_took(cq->weft.weft, cqe);
	else if (client_cq_flush(&cq->weft, &cq->flushed))
		cqe = &cq->flushed;
	cq->cur = cqe;
	if (!cqe)
		return ENOENT;
	cq->ex.status = (enum ibv_wc_status)cqe->status;
	cq->ex.wr_id = cqe->wr_id;
	return 0;
}

/** Done with the present completion. */
static inline void
consume(struct shim_cq *cq)
{
	if (cq->cur && cq->cur != &cq->flushed)
		ring_cq_pop(&cq->weft.ring);
	cq->cur = NULL;
}

static int
start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct shim_cq *cq = from_ex(ex);
	uint32_t nb_idle;
	int err;

	if (attr->comp_mask)
		return EINVAL;
	ring_lock(&cq->weft.lock);
	err = advance(cq);
	if (!err) {
		cq->weft.nb_idle = 0;
		return 0; /* locked until end_poll */
	}
	/* Entries of destroyed QPs may have been skipped. */
	ring_cq_publish(&cq->weft.ring);
	nb_idle = ++cq->weft.nb_idle;
	if (atomic_load_explicit(&cq->weft.ring.shm->overrun, memory_order_relaxed))
		err = EOVERFLOW;
	ring_unlock(&cq->weft.lock);
	client_cq_idle(&cq->weft, nb_idle);
	return err;
}

static int
next_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = from_ex(ex);

	consume(cq);
	return advance(cq);
}

static void
end_poll(struct ibv_cq_ex *ex)
{
	struct shim_cq *cq = from_ex(ex);

	consume(cq);
	ring_cq_publish(&cq->weft.ring);
	ring_unlock(&cq->weft.lock);
}

static enum ibv_wc_opcode
read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)from_ex(ex)->cur->op;
}

static uint32_t
read_vendor_err(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->vendor_err;
}

static uint32_t
read_byte_len(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->byte_len;
}

static __be32
read_imm_data(struct ibv_cq_ex *ex)
{
	const struct shm_cqe *cqe = from_ex(ex)->cur;

	return cqe->flags & SHM_WC_WITH_IMM ? htobe32(cqe->imm) : cqe->imm;
}

static uint32_t
read_qp_num(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->qpn;
}

static uint32_t
read_src_qp(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->src_qpn;
}

static unsigned
read_wc_flags(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->flags;
}

static uint8_t
read_sl(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->sl;
}

static uint64_t
read_completion_ts(struct ibv_cq_ex *ex)
{
	return from_ex(ex)->cur->ts_ns;
}

/* What Ethernet has not, or this device: zeros, since verbs.h calls them unchecked. */

static uint32_t
read_zero32(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t
read_zero8(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint16_t
read_zero16(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t
read_zero64(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static void
read_no_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	(void)ex;
	*info = (struct ibv_wc_tm_info){0};
}

struct ibv_cq_ex *
shim_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t known = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	struct shim_cq *cq;

	if (attr->cqe == 0 || attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return shim_null(-EINVAL);
	/* Locks are cheap enough for single threads; overrun is never ignored. */
	if ((attr->wc_flags & ~known) ||
	    (attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)))
		return shim_null(-EOPNOTSUPP);
	cq = shim_new_cq(context, attr->cqe, attr->cq_context, attr->channel);
	if (!cq)
		return NULL;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_zero32;
	cq->ex.read_sl = read_sl;
	cq->ex.read_dlid_path_bits = read_zero8;
	cq->ex.read_completion_ts = read_completion_ts;
	cq->ex.read_cvlan = read_zero16;
	cq->ex.read_flow_tag = read_zero32;
	cq->ex.read_tm_info = read_no_tm_info;
	cq->ex.read_completion_wallclock_ns = read_zero64;
	return &cq->ex;
}
