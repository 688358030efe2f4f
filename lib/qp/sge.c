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
sge_gather(struct qp *qp, const struct shm_sge *sge, uint32_t nb_sge, uint64_t off, uint8_t *pkt,
           uint32_t len)
{
	struct cursor c = {sge, sge + nb_sge, off, len};
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

bool
sge_scatter(struct qp *qp, const struct shm_sge *sge, uint32_t nb_sge, uint64_t off,
            const uint8_t *pkt, uint32_t len)
{
	struct cursor c = {sge, sge + nb_sge, off, len};
	struct mr_use use = {.pd = qp->pd, .access = SHM_ACCESS_LOCAL_WRITE};
	uint32_t lkey;

	while (c.len) {
		const struct mr *mr;

		if (!next_piece(&c, &use, &lkey))
			return false;
		mr = mr_local(qp->nic, lkey, &use);
		if (!mr || !batch_scatter(qp->nic->batch, qp, mr->mem, mr_va(mr, use.addr), pkt,
		                          (uint32_t)use.len))
			return false;
		pkt += use.len;
	}
	return true;
}
