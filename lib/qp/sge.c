/* SPDX-License-Identifier: BSD-3-Clause */
#include "sge.h"

#include "batch.h"

/* The piece of one entry that begins off bytes into the list; moves off and len on. */
struct cursor {
	const struct shm_sge *sge, *end;
	uint64_t off;
	uint32_t len;
};

static bool
next_piece(struct cursor *c, struct mr_use *use, uint32_t *lkey)
{
	while (c->sge != c->end && c->off >= c->sge->length)
		c->off -= c->sge++->length;
	if (c->sge == c->end)
		return false;
	use->addr = c->sge->addr + c->off;
	use->len = c->sge->length - c->off < c->len ? c->sge->length - c->off : c->len;
	*lkey = c->sge->lkey;
	c->off += use->len;
	c->len -= (uint32_t)use->len;
	return true;
}

bool
sge_gather(struct qp *qp, const struct send_wr *wr, uint64_t off, uint8_t *pkt, uint32_t len)
{
	struct cursor c = {wr->sge, wr->sge + wr->wqe.nb_sge, off, len};
	struct mr_use use = {.pd = qp->pd};
	uint32_t lkey;

	while (c.len) {
		const struct mr *mr;

		if (!next_piece(&c, &use, &lkey))
			return false;
		mr = mr_local(qp->nic, lkey, &use);
		if (!mr || !batch_gather(qp->nic->batch, qp, mr->mem, mr_va(mr, use.addr), pkt,
		                         (uint32_t)use.len))
			return false;
		pkt += use.len;
	}
	return true;
}

static bool
place(struct qp *qp, struct cursor c, uint32_t pd, const uint8_t *pkt, uint32_t psn)
{
	struct mr_use use = {.pd = pd, .access = SHM_ACCESS_LOCAL_WRITE};
	struct batch_dst dst = {.qp = qp, .psn = psn};
	uint32_t lkey;

	while (c.len) {
		const struct mr *mr;

		if (!next_piece(&c, &use, &lkey))
			return false;
		mr = mr_local(qp->nic, lkey, &use);
		if (!mr)
			return false;
		dst.mem = mr->mem;
		dst.va = mr_va(mr, use.addr);
		if (!batch_scatter(qp->nic->batch, &dst, pkt, (uint32_t)use.len))
			return false;
		pkt += use.len;
	}
	return true;
}

bool
sge_place_answer(struct qp *qp, const struct send_wr *wr, uint64_t off, const uint8_t *pkt,
                 uint32_t len)
{
	struct cursor c = {wr->sge, wr->sge + wr->wqe.nb_sge, off, len};

	return place(qp, c, qp->pd, pkt, BATCH_ANSWER);
}

bool
sge_place_recv(struct qp *qp, uint64_t off, const uint8_t *pkt, uint32_t len, uint32_t psn)
{
	const struct recv_wr *wr = qp->recv;
	struct cursor c = {wr->sge, wr->sge + wr->nb_sge, off, len};

	return place(qp, c, qp->srq ? qp->srq->pd : qp->pd, pkt, psn);
}
