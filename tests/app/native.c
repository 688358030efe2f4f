/* SPDX-License-Identifier: BSD-3-Clause */
#include "native.h"

#include <string.h>
#include <time.h>

void
native_open(struct native *n, const char *device, uint32_t bytes, uint32_t nb_cqe)
{
	int gid_index;

	must((n->weft = weft_open(device)));
	must((n->pd = weft_pd_alloc(n->weft)));
	must((n->buf = weft_mem_alloc(n->weft, bytes)));
	must((n->mr = weft_mr_reg(n->pd, n->buf, bytes,
	                          WEFT_LOCAL_WRITE | WEFT_REMOTE_WRITE | WEFT_REMOTE_READ)));
	must((n->cq = weft_cq_create(n->weft, nb_cqe, NULL, NULL)));
	must((gid_index = weft_gid_default(n->weft, n->gid)) >= 0);
	n->gid_index = (uint8_t)gid_index;
}

void
native_close(struct native *n)
{
	must(weft_cq_destroy(n->cq) == 0);
	must(weft_mr_dereg(n->mr) == 0);
	must(weft_mem_free(n->weft, n->buf) == 0);
	must(weft_pd_free(n->pd) == 0);
	weft_close(n->weft);
}

struct weft_qp *
native_qp(const struct native *n, uint32_t depth)
{
	const struct weft_qp_init init = {
		.type = WEFT_RC,
		.max_send = depth,
		.max_recv = depth,
		.send_cq = n->cq,
		.recv_cq = n->cq,
	};
	struct weft_qp *qp = weft_qp_create(n->pd, &init);

	must(qp);
	return qp;
}

struct weft_path
native_path(const struct native *n, const struct native *peer, struct weft_qp *to)
{
	struct weft_path path = {
		.gid_index = n->gid_index,
		.qpn = weft_qp_num(to),
		.retries = 7,
		.rnr_retries = 7,
	};

	memcpy(path.gid, peer->gid, sizeof(path.gid));
	return path;
}

void
native_connect(struct weft_qp *qp, const struct weft_path *path)
{
	must(weft_qp_connect(qp, path, WEFT_REMOTE_WRITE | WEFT_REMOTE_READ, 0) == 0);
}

void
native_post(const struct native *n, struct weft_qp *qp, struct weft_send send, uint64_t offset,
            uint32_t bytes)
{
	const struct weft_sge sge = {(uintptr_t)n->buf + offset, bytes, weft_mr_key(n->mr)};

	send.flags = WEFT_SIGNALED;
	send.sge = &sge;
	send.nb_sge = 1;
	must(weft_post_send(qp, &send, 1) == 1);
}

enum weft_status
native_wait(const struct native *n)
{
	time_t limit = time(NULL) + 60;
	struct weft_completion done;

	while (weft_poll(n->cq, &done, 1) == 0)
		must(time(NULL) < limit);
	return done.status;
}
