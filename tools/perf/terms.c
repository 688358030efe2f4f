/* SPDX-License-Identifier: BSD-3-Clause */
#include "terms.h"

#include <stdio.h>

/* Grows with any change of what is said. */
#define PROTOCOL 1

bool
terms_number(const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
	const json_t *j = json_object_get(object, name);
	json_int_t n = json_integer_value(j);

	if (json_is_integer(j) && n >= 0 && (uint64_t)n >= min && (uint64_t)n <= max) {
		*value = (uint64_t)n;
		return true;
	}
	fprintf(stderr,
	        "weft-perf: the peer's '%s' is not in %llu to %llu: the same version there?\n",
	        name, (unsigned long long)min, (unsigned long long)max);
	return false;
}

json_t *
terms_test(const struct perf_test *t)
{
	return json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "weft-perf", PROTOCOL,
	                 "op", perf_op_name(t->op), "size", (json_int_t)t->size, "qps",
	                 (json_int_t)t->nb_qps, "depth", (json_int_t)t->depth, "iters",
	                 (json_int_t)t->iters, "seconds", (json_int_t)t->seconds, "lat", t->is_lat,
	                 "check", t->is_checked);
}

bool
terms_take_test(const json_t *j, struct perf_test *t)
{
	const char *op = json_string_value(json_object_get(j, "op"));
	uint64_t size, qps, depth, seconds, version;

	if (!terms_number(j, "weft-perf", PROTOCOL, PROTOCOL, &version) ||
	    !terms_number(j, "size", 1, PERF_MAX_BYTES, &size) ||
	    !terms_number(j, "qps", 1, PERF_MAX_QPS, &qps) ||
	    !terms_number(j, "depth", 1, PERF_MAX_DEPTH, &depth) ||
	    !terms_number(j, "iters", 0, PERF_MAX_ITERS, &t->iters) ||
	    !terms_number(j, "seconds", 0, PERF_MAX_SECONDS, &seconds))
		return false;
	t->op = perf_op_find(op ? op : "");
	t->is_lat = json_is_true(json_object_get(j, "lat"));
	t->is_checked = json_is_true(json_object_get(j, "check"));
	t->size = (uint32_t)size;
	t->nb_qps = (uint32_t)qps;
	t->depth = (uint32_t)depth;
	t->seconds = (uint32_t)seconds;
	/* What the client's options do not allow either. */
	if (t->op != PERF_OP_NB && !t->iters != !t->seconds && !(t->is_lat && t->nb_qps > 1) &&
	    !(t->is_checked && (t->is_lat || t->seconds)) && !(t->op == PERF_ATOMIC && size != 8))
		return true;
	fputs("weft-perf: the client asks for what is no test: the same version there?\n", stderr);
	return false;
}

json_t *
terms_end(const struct perf_end *end, json_t *qps)
{
	char gid[IP_ADDR_TEXT];

	return json_pack("{s:s, s:I, s:I, s:I, s:o}", "gid", ip_addr_text(&end->gid, gid), "mtu",
	                 (json_int_t)end->mtu, "addr", (json_int_t)end->addr, "rkey",
	                 (json_int_t)end->rkey, "qps", qps);
}

json_t *
terms_qp(uint32_t qpn, uint32_t psn)
{
	return json_pack("{s:I, s:I}", "qpn", (json_int_t)qpn, "psn", (json_int_t)psn);
}

const json_t *
terms_take_end(const json_t *j, uint32_t nb_qps, struct perf_end *end)
{
	const char *gid = json_string_value(json_object_get(j, "gid"));
	const json_t *qps = json_object_get(j, "qps");
	uint64_t mtu, rkey;

	if (!gid || !ip_addr_parse(gid, &end->gid)) {
		fputs("weft-perf: the peer's GID is not one\n", stderr);
		return NULL;
	}
	if (json_array_size(qps) != nb_qps) {
		fputs("weft-perf: the peer has another number of QPs\n", stderr);
		return NULL;
	}
	if (!terms_number(j, "mtu", 256, 4096, &mtu) ||
	    !terms_number(j, "addr", 0, INT64_MAX, &end->addr) ||
	    !terms_number(j, "rkey", 0, UINT32_MAX, &rkey))
		return NULL;
	end->mtu = (uint32_t)mtu;
	end->rkey = (uint32_t)rkey;
	return qps;
}

bool
terms_take_qp(const json_t *qps, uint32_t i, uint32_t *qpn, uint32_t *psn)
{
	const json_t *j = json_array_get(qps, i);
	uint64_t qpn64, psn64;

	if (!terms_number(j, "qpn", 2, 0xffffff, &qpn64) ||
	    !terms_number(j, "psn", 0, 0xffffff, &psn64))
		return false;
	*qpn = (uint32_t)qpn64;
	*psn = (uint32_t)psn64;
	return true;
}
