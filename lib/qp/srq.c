/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

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
	if (srq->nb_refs)
		return -EBUSY;
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
