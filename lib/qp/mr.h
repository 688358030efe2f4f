/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MR_H
#define WEFT_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "mem.h"
#include "nic.h"

struct qp;

enum mr_kind { MR_REGION, MR_WINDOW_1, MR_WINDOW_2 };

/** What a key stands for: a memory region, or a window onto one. */
struct mr {
	enum mr_kind kind;
	uint32_t key; /**< lkey and rkey; a window has an rkey only */
	uint32_t pd;
	uint32_t access;       /**< enum shm_access */
	uint64_t iova;         /**< first byte, as the key's users call it */
	uint64_t len;          /**< bytes; an unbound window has access 0 and len 0 */
	uint64_t va;           /**< of the same byte in the application */
	const struct mem *mem; /**< of a window: that of its region */
	struct mr *region;     /**< window: what it is bound to, NULL = unbound */
	uint32_t nb_windows;   /**< region: windows bound to it */
	uint32_t bound_qpn;    /**< window of type 2: the QP that bound it */
	bool valid; /**< window of type 2: false after an invalidation, until bound again */
};

/** What one access needs. */
struct mr_use {
	uint64_t addr;
	uint64_t len;
	uint32_t pd;
	uint32_t access; /**< all of these bits; 0 = local read */
	uint32_t qpn;    /**< for windows of type 2 */
};

/**
 * Register memory under a random key. The memory must cover [va, va + len).
 *
 * @param iova  name of the first byte; addr - iova + va is the application's address.
 * @return      NULL with errno ENOMEM or EINVAL.
 */
struct mr *mr_create(struct nic *nic, uint32_t pd, uint32_t access, uint64_t va, uint64_t iova,
                     uint64_t len, const struct mem *mem);
/** Make an unbound window. type is 1 or 2. */
struct mr *mr_create_window(struct nic *nic, uint32_t pd, uint32_t type);
/** -EBUSY if it is a region that windows are bound to. */
int mr_destroy(struct nic *nic, struct mr *mr);
/** By its present key; NULL if there is none. */
struct mr *mr_find(const struct nic *nic, uint32_t key);

/** The region of an lkey if it allows this access to these bytes, else NULL. */
const struct mr *mr_local(const struct nic *nic, uint32_t lkey, const struct mr_use *use);
/** The region or window of an rkey if it allows this access to these bytes, else NULL. */
const struct mr *mr_remote(const struct nic *nic, uint32_t rkey, const struct mr_use *use);

/**
 * Where an access that was allowed leads, as a NIC's translation cache knows it: one mapped run of
 * memory under one key, good until a registration or a window changes. All zero knows nothing.
 */
struct mr_reach {
	uint64_t generation; /**< of nic.mr_generation */
	uint32_t key;
	uint32_t pd;
	uint32_t access; /**< as in mr_use, exactly: local and remote use differ in it */
	uint64_t addr;   /**< first byte, as the key's users call it */
	uint64_t len;    /**< bytes */
	uint8_t *map;    /**< the same byte here */
};

/** Where this thread reaches the bytes of an access, if that is known; else NULL: look it up. */
static inline uint8_t *
mr_reached(const struct mr_reach *r, const struct nic *nic, uint32_t key, const struct mr_use *use)
{
	uint64_t off = use->addr - r->addr;

	if (r->generation != nic->mr_generation || r->key != key || r->pd != use->pd ||
	    r->access != use->access || off > r->len || use->len > r->len - off)
		return NULL;
	return r->map + off;
}

/** Remember the run that holds an access which mr allowed; nothing if it is not mapped here. */
void mr_remember(struct mr_reach *r, const struct nic *nic, const struct mr *mr,
                 const struct mr_use *use);

/** Execute a bind work request: a shm_wc_status. */
uint8_t mr_bind(struct nic *nic, const struct qp *qp, const struct shm_send_wqe *wqe);
/** Invalidate a window of type 2: by its owner (SHM_WR_LOCAL_INV) or by the peer (SEND_INV). */
bool mr_invalidate(struct nic *nic, const struct qp *qp, uint32_t rkey);

/** The application's address of an access that mr_local or mr_remote allowed. */
static inline uint64_t
mr_va(const struct mr *mr, uint64_t addr)
{
	return addr - mr->iova + mr->va;
}

#endif
