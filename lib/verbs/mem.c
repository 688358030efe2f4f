/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "shim.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/** Access flags that are understood; those of the optional range are hints and ignored. */
#define KNOWN_ACCESS                                                                               \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_HUGETLB)

SHIM_EXPORT struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct shim_pd *pd = calloc(1, sizeof(*pd));
	union ctl_msg msg;
	int err;

	if (!pd)
		return NULL;
	err = ctl_call(to_weft(context), CTL_ALLOC_PD, &msg, sizeof(msg.hdr), sizeof(msg.handle),
	               NULL, 0);
	if (err) {
		free(pd);
		return shim_null(err);
	}
	pd->pd = (struct ibv_pd){context, msg.handle.handle};
	return &pd->pd;
}

SHIM_EXPORT int
ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct shim_pd *pd = (struct shim_pd *)ibpd;
	int err = -EBUSY;

	if (__atomic_load_n(&pd->nb_ahs, __ATOMIC_ACQUIRE) == 0)
		err = client_gone_ok(
			ctl_call_handle(to_weft(ibpd->context), CTL_DEALLOC_PD, ibpd->handle));
	if (!err)
		free(pd);
	return shim_errno(err);
}

/** The address that keys' users give for the first byte. */
static uint64_t
first_iova(uint64_t wanted, unsigned access)
{
	return access & IBV_ACCESS_ZERO_BASED ? 0 : wanted;
}

static int
register_mr(struct shim_mr *mr, struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
            unsigned access)
{
	struct client_region region = {
		.pd = pd->handle,
		.access = access & KNOWN_ACCESS &
	                  ~(unsigned)(IBV_ACCESS_HUGETLB | IBV_ACCESS_ZERO_BASED),
		.va = (uintptr_t)addr,
		.length = length,
		.iova = iova,
	};
	int err;

	/* On-demand paging among them: what cannot be honoured is refused, not ignored. */
	if (access & ~(unsigned)(KNOWN_ACCESS | IBV_ACCESS_OPTIONAL_RANGE))
		return -EOPNOTSUPP;
	err = client_mr_init(&mr->weft, to_weft(pd->context), &region);
	if (err)
		return err;
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = mr->weft.key,
		.lkey = mr->weft.key,
		.rkey = mr->weft.key,
	};
	mr->iova = iova;
	mr->access = access;
	return 0;
}

SHIM_EXPORT struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct shim_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = register_mr(mr, pd, addr, length, first_iova(iova, access), access);
	if (err) {
		free(mr);
		return shim_null(err);
	}
	return &mr->mr;
}

SHIM_EXPORT struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

SHIM_EXPORT struct ibv_mr *
ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

SHIM_EXPORT struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                  int access)
{
	(void)pd;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	return shim_null(-EOPNOTSUPP);
}

/** Source: ibv_rereg_mr(3), and what rdma-core refuses before it asks a driver. */
static bool
rereg_makes_sense(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd, const void *addr,
                  size_t length, int access)
{
	if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		return false;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->context != mr->context))
		return false;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length))
		return false;
	return (flags & IBV_REREG_MR_CHANGE_ACCESS) || !access;
}

/**
 * A new registration takes the old one's place, under a new key. What is not changed stays, the
 * addresses that peers use among it. The old one ends last, so that any failure leaves it valid:
 * IBV_REREG_MR_ERR_INPUT says that, whatever errno is.
 */
SHIM_EXPORT int
ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
             int new_access)
{
	struct shim_mr *mr = (struct shim_mr *)ibmr, fresh;
	unsigned access = mr->access;
	uint64_t iova = mr->iova;
	int err;

	if (!rereg_makes_sense(ibmr, flags, pd, addr, length, new_access)) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = ibmr->pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		access = (unsigned)new_access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		iova = first_iova((uintptr_t)addr, access);
	} else {
		addr = ibmr->addr;
		length = ibmr->length;
	}
	err = register_mr(&fresh, pd, addr, length, iova, access);
	if (!err) {
		err = client_mr_fini(&mr->weft);
		if (err)
			client_mr_fini(&fresh.weft);
	}
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_INPUT;
	}
	*mr = fresh;
	return 0;
}

SHIM_EXPORT int
ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct shim_mr *mr = (struct shim_mr *)ibmr;
	int err = client_mr_fini(&mr->weft);

	if (!err)
		free(mr);
	return shim_errno(err);
}
