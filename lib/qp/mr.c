/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"

#include <errno.h>
#include <stdlib.h>

#include "qp.h"

/* Rights to change memory: they need local write. Source: IBA vol. 1, ch. 10. */
#define REMOTE_CHANGE (SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_ATOMIC)

/* The table goes by the upper 24 bits: the low 8 of a window of type 2 change with each bind. */
static uint32_t
slot_of(uint32_t key)
{
	return key >> 8;
}

struct mr *
mr_find(const struct nic *nic, uint32_t key)
{
	struct mr *mr = keytab_get(&nic->keys, slot_of(key));

	return mr && mr->key == key ? mr : NULL;
}

static struct mr *
add(struct nic *nic, struct mr init)
{
	struct mr *mr = malloc(sizeof(*mr));

	if (!mr) {
		errno = ENOMEM;
		return NULL;
	}
	do
		init.key = (uint32_t)nic_random(nic);
	while (!slot_of(init.key) || keytab_get(&nic->keys, slot_of(init.key)));
	*mr = init;
	if (keytab_put(&nic->keys, slot_of(mr->key), mr)) {
		free(mr);
		errno = ENOMEM;
		return NULL;
	}
	return mr;
}

struct mr *
mr_create(struct nic *nic, uint32_t pd, uint32_t access, uint64_t va, uint64_t iova, uint64_t len,
          const struct mem *mem)
{
	if (va + len < va || iova + len < iova ||
	    ((access & REMOTE_CHANGE) && !(access & SHM_ACCESS_LOCAL_WRITE))) {
		errno = EINVAL;
		return NULL;
	}
	if (access & SHM_ACCESS_ZERO_BASED)
		iova = 0;
	return add(nic, (struct mr){.kind = MR_REGION,
	                            .pd = pd,
	                            .access = access,
	                            .iova = iova,
	                            .len = len,
	                            .va = va,
	                            .mem = mem,
	                            .valid = true});
}

struct mr *
mr_create_window(struct nic *nic, uint32_t pd, uint32_t type)
{
	if (type != 1 && type != 2) {
		errno = EINVAL;
		return NULL;
	}
	return add(nic, (struct mr){.kind = type == 1 ? MR_WINDOW_1 : MR_WINDOW_2,
	                            .pd = pd,
	                            .valid = type == 1});
}

static void
unbind(struct mr *mw)
{
	if (mw->region)
		mw->region->nb_windows--;
	mw->region = NULL;
	mw->mem = NULL;
	mw->access = 0;
	mw->len = 0;
	mw->valid = mw->kind == MR_WINDOW_1;
}

int
mr_destroy(struct nic *nic, struct mr *mr)
{
	if (mr->nb_windows)
		return -EBUSY;
	if (mr->kind != MR_REGION)
		unbind(mr);
	keytab_del(&nic->keys, slot_of(mr->key));
	nic->mr_generation++;
	free(mr);
	return 0;
}

static bool
covers(const struct mr *mr, const struct mr_use *use)
{
	uint64_t off = use->addr - mr->iova;

	return mr->valid && off <= mr->len && use->len <= mr->len - off &&
	       (mr->access & use->access) == use->access;
}

const struct mr *
mr_local(const struct nic *nic, uint32_t lkey, const struct mr_use *use)
{
	const struct mr *mr = mr_find(nic, lkey);

	if (!mr || mr->kind != MR_REGION || mr->pd != use->pd || !covers(mr, use))
		return NULL;
	return mr;
}

const struct mr *
mr_remote(const struct nic *nic, uint32_t rkey, const struct mr_use *use)
{
	const struct mr *mr = mr_find(nic, rkey);

	if (!mr || !covers(mr, use))
		return NULL;
	/* A bound window of type 2 belongs to its QP, everything else to its PD. */
	if (mr->kind == MR_WINDOW_2 ? mr->bound_qpn != use->qpn : mr->pd != use->pd)
		return NULL;
	return mr;
}

void
mr_remember(struct mr_reach *r, const struct nic *nic, const struct mr *mr,
            const struct mr_use *use)
{
	const struct mem_seg *seg = mem_seg_of(mr->mem, mr_va(mr, use->addr));
	uint64_t begin = seg->va > mr->va ? seg->va : mr->va;
	uint64_t left = seg->len - (begin - seg->va), mine = mr->len - (begin - mr->va);

	if (!seg->map)
		return;
	*r = (struct mr_reach){.generation = nic->mr_generation,
	                       .key = mr->key,
	                       .pd = use->pd,
	                       .access = use->access,
	                       .addr = begin - mr->va + mr->iova,
	                       .len = left < mine ? left : mine,
	                       .map = seg->map + (begin - seg->va)};
}

/*
 * Whether a region may be seen through a window with these rights. A window grants what the
 * region's owner could grant: rights to change need local write. Source: IBA vol. 1, ch. 10 (bind).
 */
static bool
may_bind(const struct mr *region, const struct mr *mw, const struct shm_send_wqe *wqe)
{
	uint64_t off = wqe->bind.addr - region->iova;

	if (region->kind != MR_REGION || region->pd != mw->pd)
		return false;
	if (!(region->access & SHM_ACCESS_MW_BIND) || (region->access & SHM_ACCESS_ZERO_BASED))
		return false;
	if ((wqe->bind.access & REMOTE_CHANGE) && !(region->access & SHM_ACCESS_LOCAL_WRITE))
		return false;
	return off <= region->len && wqe->bind.length <= region->len - off;
}

uint8_t
mr_bind(struct nic *nic, const struct qp *qp, const struct shm_send_wqe *wqe)
{
	const uint32_t grant = SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_READ |
	                       SHM_ACCESS_REMOTE_ATOMIC | SHM_ACCESS_ZERO_BASED;
	struct mr *mw = keytab_get(&nic->keys, slot_of(wqe->bind.mw_rkey));
	struct mr *region = wqe->bind.length ? mr_find(nic, wqe->bind.mr_lkey) : NULL;

	if (!mw || mw->kind == MR_REGION || mw->pd != qp->pd)
		return SHM_WC_MW_BIND_ERR;
	/* Type 1 is rebound at will, type 2 only when invalid, which length 0 does not make it. */
	if (mw->kind == MR_WINDOW_2 && (mw->valid || !wqe->bind.length))
		return SHM_WC_MW_BIND_ERR;
	if (wqe->bind.length && (!region || !may_bind(region, mw, wqe)))
		return SHM_WC_MW_BIND_ERR;
	unbind(mw);
	nic->mr_generation++;
	mw->key = wqe->bind.mw_rkey;
	mw->valid = true;
	if (!region)
		return SHM_WC_SUCCESS;
	mw->region = region;
	region->nb_windows++;
	mw->mem = region->mem;
	mw->access = wqe->bind.access & grant;
	mw->va = mr_va(region, wqe->bind.addr);
	mw->iova = wqe->bind.access & SHM_ACCESS_ZERO_BASED ? 0 : wqe->bind.addr;
	mw->len = wqe->bind.length;
	mw->bound_qpn = qp->qpn;
	return SHM_WC_SUCCESS;
}

bool
mr_invalidate(struct nic *nic, const struct qp *qp, uint32_t rkey)
{
	struct mr *mw = mr_find(nic, rkey);

	if (!mw || mw->kind != MR_WINDOW_2 || !mw->valid || mw->bound_qpn != qp->qpn)
		return false;
	unbind(mw);
	nic->mr_generation++;
	return true;
}
