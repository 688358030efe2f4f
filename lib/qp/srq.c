/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "lease.h"
#include "qp.h"
#include "wr.h"

struct srq *
srq_create(struct nic *nic, uint32_t pd, struct shm_wq *ring, uint32_t nb_slots, uint32_t max_wr,
           uint32_t max_sge, uint64_t cookie, void *owner)
{
	struct srq *srq;

	if (!max_wr || max_wr > nb_slots || max_wr > WEFT_MAX_WR || max_sge > WEFT_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->nic = nic;
	srq->pd = pd;
	srq->wq = (struct wq){ring, nb_slots, rq_stride(max_sge), max_wr, max_sge, 0};
	srq->cookie = cookie;
	srq->owner = owner;
	return srq;
}

int
srq_destroy(struct srq *srq)
{
	struct recv_wr *wr;

	if (srq->nb_refs)
		return -EBUSY;
	while ((wr = srq->returned)) {
		srq->returned = wr->next;
		lease_give(srq->nic, srq->recv_slab, wr);
	}
	free(srq);
	return 0;
}

int
srq_set_limit(struct srq *srq, uint32_t limit)
{
	if (limit > srq->wq.max_wr)
		return -EINVAL;
	srq->limit = limit;
	srq_check_limit(srq);
	return 0;
}

void
srq_check_limit(struct srq *srq)
{
	if (!srq->limit || wq_posted(&srq->wq, srq->wq.head) >= srq->limit)
		return;
	srq->limit = 0;
	srq->nic->conf.driver->event(srq->owner, SHM_EVENT_SRQ_LIMIT_REACHED, srq->cookie);
}

/* One that a QP took and did not use goes first. */
static struct recv_wr *
take_shared(struct qp *qp)
{
	struct recv_wr *wr = qp->srq->returned;

	if (!wr)
		return NULL;
	qp->srq->returned = wr->next;
	return wr;
}

struct recv_wr *
recv_take(struct qp *qp)
{
	struct srq *srq = qp->srq;
	struct recv_wr *wr = srq ? take_shared(qp) : NULL;

	if (wr)
		return wr;
	wr = lease_take(qp->nic, qp->recv_slab);
	if (!wr)
		return NULL;
	if (!wq_take_recv(srq ? &srq->wq : &qp->rq, wr)) {
		lease_give(qp->nic, qp->recv_slab, wr);
		return NULL;
	}
	if (srq) {
		wq_give_back(&srq->wq);
		srq_check_limit(srq);
	}
	return wr;
}

void
recv_end(struct qp *qp, struct recv_wr *wr)
{
	lease_give(qp->nic, qp->recv_slab, wr);
}

void
recv_put_back(struct qp *qp, struct recv_wr *wr)
{
	struct srq *srq = qp->srq;

	wr->next = srq->returned;
	srq->returned = wr;
	srq->recv_slab = qp->recv_slab;
}
