/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "workload_impl.h"

#define ROW(name, type, member, def, min, max, unit, source)                                       \
	{                                                                                          \
		name, type, offsetof(struct workload_params, member), def, min, max, unit, source  \
	}

const struct param_desc workload_param_descs[] = {
	ROW("start", PARAM_U64, start_ns, 0, 0, 1e15, "ns", "our choice: at once"),
	ROW("stop", PARAM_U64, stop_ns, 0, 0, 1e15, "ns", "0: never"),
	ROW("bytes", PARAM_U64, bytes, 1 << 20, 1, 0x1p40, "B", "our choice"),
	ROW("message", PARAM_U32, msg_bytes, 1 << 20, 1, 1 << 30, "B",
            "our choice; IBA: at most 2^31"),
	ROW("qps", PARAM_U32, qps, 1, 1, 64, "1", "our choice"),
	{NULL},
};

const struct workload_ops *const workload_kinds[] = {
	&workload_long,        &workload_incast,
	&workload_permutation, &workload_uniform,
	&workload_cdf,         &workload_all_to_all,
	&workload_allreduce,   &workload_hotspot,
	&workload_trace,       NULL,
};

const struct workload_ops *
workload_find(const char *kind)
{
	for (const struct workload_ops *const *k = workload_kinds; *k; k++) {
		if (!strcmp((*k)->name, kind))
			return *k;
	}
	return NULL;
}

int
workload_refuse(const struct workload_mistake *m, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, m->size, fmt, ap);
	va_end(ap);
	*m->key = key;
	return -EINVAL;
}

int
workload_refuse_host(const struct workload_mistake *m, const struct workload *w, const char *key,
                     uint32_t host)
{
	return workload_refuse(m, key, "there is no host %u; the last is %u", host,
	                       w->env.nb_hosts - 1);
}

int
workload_check(const struct workload *w, const char **key, char *why, size_t size)
{
	const struct workload_params *p = &w->params;
	struct workload_mistake m = {key, why, size};

	if (w->env.nb_hosts < 2)
		return workload_refuse(&m, "kind", "%u host has nobody to talk to; 2 would do",
		                       w->env.nb_hosts);
	if (p->stop_ns != 0 && p->stop_ns <= p->start_ns)
		return workload_refuse(&m, "stop",
		                       "%" PRIu64 " ns are not after start; later, or "
		                       "0 = never, would do",
		                       p->stop_ns);
	if (p->bytes < p->qps)
		return workload_refuse(&m, "bytes",
		                       "%" PRIu64 " bytes are not one for each of %u QPs; more "
		                       "bytes or fewer qps would do",
		                       p->bytes, p->qps);
	return w->ops->check ? w->ops->check(w, key, why, size) : 0;
}

void
workload_start(struct workload *w, uint32_t src, uint32_t dst, uint32_t qp, uint64_t bytes,
               uint64_t tag)
{
	const struct flow_conf flow = {
		.src = src,
		.dst = dst,
		.bytes = bytes,
		.msg_bytes = w->params.msg_bytes,
		.workload = w->index,
		.qp = qp,
		.verb = w->verb,
		.tag = tag,
	};

	w->env.start(w->env.arg, &flow);
}
