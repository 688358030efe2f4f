/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_OBJ_RINGS_H
#define WEFT_OBJ_RINGS_H

#include "qp.h"
#include "session.h"

/*
 * Completion channels, CQs, SRQs and QPs: rings are laid out on the control thread; the rest of
 * each object is the NIC's, made and ended on its worker.
 */

struct channel {
	struct obj obj;
	struct mailbox mail;
};

/** A ring in the arena; bytes 0 = none. */
struct ring {
	uint64_t offset, bytes;
};

struct cq_obj {
	struct obj obj;
	struct cq *cq;
	struct channel *channel; /**< NULL = none; then it has no notices */
	struct outbox_mark events, notices;
	struct ring ring;
};

struct srq_obj {
	struct obj obj;
	struct srq *srq;
	struct obj *pd;
	struct outbox_mark events;
	struct ring ring;
};

struct qp_obj {
	struct obj obj;
	struct qp *qp;
	struct obj *pd;
	struct cq_obj *send_cq, *recv_cq;
	struct srq_obj *srq;
	struct outbox_mark events;
	struct ring sq, rq;
	uint32_t bell;
};

/** Slots of a ring for so many entries: a power of two. */
uint32_t slots_of(uint32_t entries);
/** A zeroed ring with so many slots behind a header; 0 slots: none. @return 0 or ENOMEM. */
int new_ring(struct client *client, struct ring *ring, size_t header, uint32_t slots,
             uint32_t stride, struct shm_ring_loc *loc);
void free_ring(struct client *client, const struct ring *ring);
/** NULL if there is none. */
void *ring_at(struct client *client, const struct ring *ring);

#endif
