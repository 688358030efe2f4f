/* SPDX-License-Identifier: BSD-3-Clause */
#include "cq.h"

#include <errno.h>
#include <stdlib.h>

struct cq *
cq_create(struct shm_cq *ring, uint32_t nb_slots, uint32_t channel, uint64_t cookie, void *owner)
{
	struct cq *cq = calloc(1, sizeof(*cq));

	assert(nb_slots && !(nb_slots & (nb_slots - 1)));
	if (!cq)
		return NULL;
	cq->ring = ring;
	cq->nb_slots = nb_slots;
	cq->channel = channel;
	cq->cookie = cookie;
	cq->owner = owner;
	return cq;
}

int
cq_destroy(struct cq *cq)
{
	if (cq->nb_refs)
		return -EBUSY;
	free(cq);
	return 0;
}

/* Entries that the application has not taken; more than there can be if it lies. */
static uint32_t
cq_used(const struct cq *cq)
{
	return cq->tail - atomic_load_explicit(&cq->ring->ring.head, memory_order_acquire);
}

int
cq_resize(struct cq *cq, struct cq_resize *to)
{
	uint32_t used = cq_used(cq), head = cq->tail - used;

	assert(to->nb_slots && !(to->nb_slots & (to->nb_slots - 1)));
	if (used > cq->nb_slots || used > to->nb_slots)
		return -EINVAL;
	/* What was taken since the last call need not be copied. */
	if (!to->begun || (int32_t)(head - to->next) > 0)
		to->next = head;
	to->begun = true;
	for (uint32_t n = 0; n < CQ_RESIZE_CQES && to->next != cq->tail; n++, to->next++)
		*cq_slot(to->ring, to->nb_slots, to->next) =
			*cq_slot(cq->ring, cq->nb_slots, to->next);
	if (to->next != cq->tail)
		return -EAGAIN;
	atomic_store(&to->ring->ring.head, head);
	atomic_store(&to->ring->armed, atomic_load(&cq->ring->armed));
	atomic_store(&to->ring->overrun, cq->overrun);
	atomic_store_explicit(&to->ring->ring.tail, cq->tail, memory_order_release);
	cq->ring = to->ring;
	cq->nb_slots = to->nb_slots;
	return 0;
}

/* The application arms, then polls once more; we publish, then look: one of us sees the other. */
static void
notify(struct nic *nic, struct cq *cq, bool solicited)
{
	uint32_t armed;

	atomic_thread_fence(memory_order_seq_cst);
	armed = atomic_load_explicit(&cq->ring->armed, memory_order_relaxed);
	if (armed != SHM_ARM_ANY && !(armed == SHM_ARM_SOLICITED && solicited))
		return;
	atomic_store_explicit(&cq->ring->armed, SHM_ARM_NONE, memory_order_relaxed);
	nic->conf.driver->notify(cq->owner, cq->channel, cq->cookie);
}

bool
cq_write(struct nic *nic, struct cq *cq, const struct shm_cqe *cqe, bool solicited)
{
	if (cq->overrun)
		return false;
	if (cq_used(cq) >= cq->nb_slots) {
		cq->overrun = true;
		atomic_store(&cq->ring->overrun, 1);
		nic->conf.driver->event(cq->owner, SHM_EVENT_CQ_ERR, cq->cookie);
		return false;
	}
	*cq_slot(cq->ring, cq->nb_slots, cq->tail) = *cqe;
	cq->tail++;
	atomic_store_explicit(&cq->ring->ring.tail, cq->tail, memory_order_release);
	if (cq->channel)
		notify(nic, cq, solicited || cqe->status != SHM_WC_SUCCESS);
	return true;
}
