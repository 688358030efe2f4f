/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim.h"

/** XRC is not offered, so no domain exists that could be closed; verbs.h calls it unchecked. */
static int
close_xrcd(struct ibv_xrcd *xrcd)
{
	(void)xrcd;
	return EOPNOTSUPP;
}

static int
old_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return shim_query_port(context, port, (struct ibv_port_attr *)attr,
	                       offsetof(struct ibv_port_attr, port_cap_flags2));
}

/** What is left NULL is checked by verbs.h and ends in EOPNOTSUPP. */
void
shim_fill_ops(struct verbs_context *v)
{
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->sz = sizeof(*v);
	v->query_port = shim_query_port;
	v->query_device_ex = shim_query_device_ex;
	v->create_cq_ex = shim_create_cq_ex;
	v->create_qp_ex = shim_create_qp_ex;
	v->create_srq_ex = shim_create_srq_ex;
	v->close_xrcd = close_xrcd;

	v->context.ops._compat_query_device = ibv_query_device;
	v->context.ops._compat_query_port = old_query_port;
	v->context.ops.alloc_mw = shim_alloc_mw;
	v->context.ops.bind_mw = shim_bind_mw;
	v->context.ops.dealloc_mw = shim_dealloc_mw;
	v->context.ops.poll_cq = shim_poll_cq;
	v->context.ops.req_notify_cq = shim_req_notify_cq;
	v->context.ops.post_srq_recv = shim_post_srq_recv;
	v->context.ops.post_send = shim_post_send;
	v->context.ops.post_recv = shim_post_recv;
}

void
shim_drain_events(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                  uint32_t taken)
{
	pthread_mutex_lock(mutex);
	while (*completed != taken)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
