/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CQ_H
#define WEFT_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "nic.h"

/** A completion queue: the daemon's side of its ring. */
struct cq {
	struct shm_cq *ring; /**< shared: nothing read from it is trusted */
	uint32_t nb_slots;   /**< power of two */
	uint32_t tail;       /**< entries written; the ring's tail is a copy of this */
	uint32_t nb_refs;    /**< QPs that complete here */
	uint32_t channel;    /**< 0 = none */
	uint64_t cookie;
	void *owner; /**< for nic_driver */
	bool overrun;
};

/** A ring of nb_slots (a power of two) that the caller laid out and zeroed. NULL: no memory. */
struct cq *cq_create(struct shm_cq *ring, uint32_t nb_slots, uint32_t channel, uint64_t cookie,
                     void *owner);
/** -EBUSY while a QP completes here. The ring is the caller's to free. */
int cq_destroy(struct cq *cq);
/** Entries that go to another ring in one call: others wait meanwhile. Source: our choice. */
#define CQ_RESIZE_CQES 2048
/** A change to another ring, that the caller laid out and zeroed. */
struct cq_resize {
	struct shm_cq *ring;
	uint32_t nb_slots; /**< power of two */
	uint32_t next;     /**< entry to copy next */
	bool begun;        /**< false at first */
};
/**
 * Move to another ring, with the entries not yet taken.
 *
 * @return 0; -EAGAIN: call again, until then the old ring is in use; -EINVAL if they do not fit.
 */
int cq_resize(struct cq *cq, struct cq_resize *to);

/**
 * Write one entry and notify if armed. The caller has moved the data before.
 * Without room the CQ is dead: entries are lost, its owner gets SHM_EVENT_CQ_ERR once.
 *
 * @param solicited  wakes SHM_ARM_SOLICITED as well; errors always do.
 * @return           false if there was no room.
 */
bool cq_write(struct nic *nic, struct cq *cq, const struct shm_cqe *cqe, bool solicited);

static inline struct shm_cqe *
cq_slot(struct shm_cq *ring, uint32_t nb_slots, uint32_t idx)
{
	return (struct shm_cqe *)((char *)ring + SHM_CQ_SLOTS) + (idx & (nb_slots - 1));
}

#endif
