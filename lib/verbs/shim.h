/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SHIM_H
#define WEFT_SHIM_H

/*
 * A libibverbs.so.1 in front of lib/client: the public structures of <infiniband/verbs.h> with ours
 * inside, so that a call is a cast away from the rings. Only the public ABI is relied on, which
 * rdma-core extends by appending.
 */

#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>

#include "client.h"
#include "list.h"

/** Functions that programs import; the version script gives them their version. */
#define SHIM_EXPORT __attribute__((visibility("default")))

/** IEEE OUI with the locally administered bit: nobody's, so no program takes us for its device. */
#define SHIM_VENDOR_ID 0x765746
#define SHIM_VENDOR_PART_ID 1
/** The default P_Key, the only one. Source: IBA vol. 1, ch. 10.9.1.2. */
#define SHIM_PKEY 0xffff

/**
 * A device in the list. Provider-specific tools look for private data right behind the public
 * part (mlx5dv_is_supported, efadv_query_device) and must find zeros there.
 */
struct shim_device {
	struct ibv_device dev;
	uint8_t zero[512];
	uint64_t guid;    /**< host order */
	uint32_t nb_refs; /**< lists and contexts */
};

struct shim_context {
	struct weft *weft;
	struct verbs_context v;
};

struct shim_pd {
	struct ibv_pd pd;
	uint32_t nb_ahs;
};

struct shim_mr {
	struct ibv_mr mr;
	struct weft_mr weft;
	uint64_t iova;   /**< what keys' users call the byte at mr.addr */
	uint32_t access; /**< as asked for, hints and IBV_ACCESS_ZERO_BASED included */
};

struct shim_channel {
	struct ibv_comp_channel channel;
	struct weft_channel weft;
};

struct shim_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct weft_cq weft;
	const struct shm_cqe *cur; /**< start_poll: the present entry */
	struct shm_cqe flushed;    /**< or here, when the daemon is dead */
};

struct shim_srq {
	struct ibv_srq srq;
	struct weft_srq weft;
	struct shm_qp_cap cap; /**< max_recv_wr and max_recv_sge */
};

struct shim_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct weft_qp weft;
	bool has_ex; /**< created with send_ops_flags */
	bool sq_sig_all;
	/* ibv_wr_start to ibv_wr_complete */
	struct shm_send_wqe *cur; /**< the last request begun, NULL if it failed */
	uint32_t nb_begun;
	int wr_err; /**< errno of the first failure */
};

struct shim_ah {
	struct ibv_ah ah;
	struct shm_av av;
};

static inline struct shim_context *
to_context(const struct ibv_context *context)
{
	return container_of(context, struct shim_context, v.context);
}
static inline struct weft *
to_weft(const struct ibv_context *context)
{
	return to_context(context)->weft;
}
static inline struct shim_cq *
to_cq(struct ibv_cq *cq)
{
	return (struct shim_cq *)cq;
}
static inline struct shim_qp *
to_qp(struct ibv_qp *qp)
{
	return (struct shim_qp *)qp;
}
static inline struct shim_srq *
to_srq(struct ibv_srq *srq)
{
	return (struct shim_srq *)srq;
}

/** Set errno from a negative one and return NULL, as verbs' constructors do. */
static inline void *
shim_null(int err)
{
	errno = -err;
	return NULL;
}

/** Errors of functions that return errno as it is, and set it as well. */
static inline int
shim_errno(int err)
{
	if (err)
		errno = -err;
	return -err;
}

/** Wait until all events about an object are acknowledged. */
void shim_drain_events(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                       uint32_t taken);

/* What <infiniband/verbs.h> calls through the context; see each in the file of its name. */

/* context.c */
void shim_fill_ops(struct verbs_context *v);

/* query.c */
int shim_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                         struct ibv_device_attr_ex *attr, size_t size);
int shim_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                    size_t size);
/** Index of the GID table that holds a GID, or a negative errno. */
int shim_find_gid(struct ibv_context *context, const union ibv_gid *gid);

/* mw.c */
struct ibv_mw *shim_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int shim_dealloc_mw(struct ibv_mw *mw);
int shim_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* cq.c, cq_ex.c */
struct shim_cq *shim_new_cq(struct ibv_context *context, uint32_t nb_cqe, void *user,
                            struct ibv_comp_channel *channel);
int shim_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc);
int shim_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *shim_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* srq.c */
struct ibv_srq *shim_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);

/* qp.c */
struct ibv_qp *shim_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/** The daemon's form of attributes. @return -EINVAL for an address without GRH or of port 0, 2...
 */
int shim_qp_attr(const struct ibv_qp_attr *attr, uint32_t mask, struct shm_qp_attr *out);
int shim_av(const struct ibv_ah_attr *attr, struct shm_av *av);

/* post.c */
int shim_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int shim_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int shim_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* wr.c */
/** Fill the wr_* pointers; false if send_ops_flags asks for something that this type has not. */
bool shim_fill_wr(struct shim_qp *qp, uint64_t send_ops_flags);

#endif
