/* SPDX-License-Identifier: BSD-3-Clause */
#include "piece.h"

#include <string.h>

#include "batch.h"

/* mr_local or mr_remote. */
typedef const struct mr *find_fn(const struct nic *nic, uint32_t key, const struct mr_use *use);

/* What this thread reaches is copied at once, unless slower pieces of the packet wait. */
static inline bool
gather(struct qp *qp, find_fn *find, uint32_t key, const struct mr_use *use, uint8_t *pkt)
{
	struct nic *nic = qp->nic;
	struct out_pkt *o = batch_last(nic->batch);
	const uint8_t *src = mr_reached(&qp->reach_out, nic, key, use);
	const struct mr *mr = NULL;

	if (!src || o->waits) {
		mr = find(nic, key, use);
		if (!mr)
			return false;
		mr_remember(&qp->reach_out, nic, mr, use);
		src = o->waits ? NULL : mr_reached(&qp->reach_out, nic, key, use);
	}
	if (src) {
		o->crc = icrc_copy(o->crc, pkt, src, (uint32_t)use->len);
		return true;
	}
	return batch_gather(nic->batch, qp, mr->mem, mr_va(mr, use->addr), pkt, (uint32_t)use->len);
}

static inline bool
place(struct qp *qp, find_fn *find, uint32_t key, const struct mr_use *use, const uint8_t *pkt,
      uint32_t psn)
{
	struct nic *nic = qp->nic;
	uint8_t *at = mr_reached(&qp->reach_in, nic, key, use);
	struct batch_dst dst = {.qp = qp, .psn = psn};
	bool waits = nic->batch->nb_runs_in != 0;
	const struct mr *mr = NULL;

	if (!at || waits) {
		mr = find(nic, key, use);
		if (!mr)
			return false;
		mr_remember(&qp->reach_in, nic, mr, use);
		at = waits ? NULL : mr_reached(&qp->reach_in, nic, key, use);
	}
	/* The packet was verified just now and is in the nearest cache. */
	if (at) {
		memcpy(at, pkt, use->len);
		return true;
	}
	dst.mem = mr->mem;
	dst.va = mr_va(mr, use->addr);
	return batch_scatter(nic->batch, &dst, pkt, (uint32_t)use->len);
}

bool
piece_gather(struct qp *qp, uint32_t lkey, uint64_t addr, uint32_t len, uint8_t *pkt)
{
	struct mr_use use = {.addr = addr, .len = len, .pd = qp->pd};

	return gather(qp, mr_local, lkey, &use, pkt);
}

bool
piece_place(struct qp *qp, uint32_t pd, uint32_t lkey, uint64_t addr, uint32_t len,
            const uint8_t *pkt, uint32_t psn)
{
	struct mr_use use = {.addr = addr, .len = len, .pd = pd, .access = SHM_ACCESS_LOCAL_WRITE};

	return place(qp, mr_local, lkey, &use, pkt, psn);
}

static struct mr_use
remote_use(const struct qp *qp, uint64_t addr, uint64_t len, uint32_t access)
{
	return (struct mr_use){
		.addr = addr, .len = len, .pd = qp->pd, .access = access, .qpn = qp->qpn};
}

const struct mr *
piece_remote(const struct qp *qp, uint32_t rkey, uint64_t addr, uint64_t len, uint32_t access)
{
	struct mr_use use = remote_use(qp, addr, len, access);

	return mr_remote(qp->nic, rkey, &use);
}

bool
piece_readable(const struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len)
{
	struct mr_use use = remote_use(qp, addr, len, SHM_ACCESS_REMOTE_READ);

	return mr_reached(&qp->reach_out, qp->nic, rkey, &use) || mr_remote(qp->nic, rkey, &use);
}

bool
piece_gather_remote(struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len, uint8_t *pkt)
{
	struct mr_use use = remote_use(qp, addr, len, SHM_ACCESS_REMOTE_READ);

	return gather(qp, mr_remote, rkey, &use, pkt);
}

bool
piece_place_remote(struct qp *qp, uint32_t rkey, uint64_t addr, uint32_t len, const uint8_t *pkt,
                   uint32_t psn)
{
	struct mr_use use = remote_use(qp, addr, len, SHM_ACCESS_REMOTE_WRITE);

	return place(qp, mr_remote, rkey, &use, pkt, psn);
}
