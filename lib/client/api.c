/* SPDX-License-Identifier: BSD-3-Clause */
/* weft.h: objects. Each call is one of client.h with its memory around it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "api.h"
#include "client.h"
#include "memkind.h"

static void *
null(int err)
{
	errno = -err;
	return NULL;
}

/* ---- devices ---- */

struct device_list {
	struct weft_device *list;
	int max, nb;
};

static bool
append(void *arg, const char *path, const struct ctl_list *found)
{
	struct device_list *devices = arg;

	(void)path;
	for (uint32_t i = 0; i < found->nb_devices; i++, devices->nb++) {
		struct weft_device *device = &devices->list[devices->nb];

		if (devices->nb >= devices->max)
			continue;
		memcpy(device->name, found->device[i].name, sizeof(device->name));
		device->guid = found->device[i].guid;
	}
	return false;
}

API int
weft_devices(struct weft_device *list, int max)
{
	struct device_list devices = {list, max, 0};

	client_discover(append, &devices);
	return devices.nb;
}

API struct weft *
weft_open(const char *name)
{
	struct weft *weft;
	int err = client_open(name, &weft);

	return err ? null(err) : weft;
}

API void
weft_close(struct weft *weft)
{
	client_close(weft);
}

API int
weft_port(struct weft *weft, struct weft_port *port)
{
	union ctl_msg msg;
	int err = ctl_call(weft, CTL_QUERY_PORT, &msg, sizeof(msg.hdr), sizeof(msg.port), NULL, 0);

	if (err)
		return err;
	*port = (struct weft_port){
		.active = msg.port.state == SHM_PORT_ACTIVE,
		.mtu_bytes = 128u << msg.port.active_mtu,
		.speed_mbps = msg.port.speed_mbps,
		.nb_gids = weft->info.nb_gids,
	};
	return 0;
}

API int
weft_gid(struct weft *weft, uint32_t index, uint8_t gid[16])
{
	struct ctl_gid msg = {.index = index};
	int err = -EINVAL;

	if (index >= weft->info.nb_gids)
		advice_gid(weft, index);
	else
		err = ctl_call(weft, CTL_QUERY_GID, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (err)
		return err;
	memcpy(gid, msg.gid, sizeof(msg.gid));
	return msg.valid ? 0 : -ENODATA;
}

API int
weft_gid_default(struct weft *weft, uint8_t gid[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t entry[16];
	int found = -ENODATA;

	for (uint32_t i = 0; i < weft->info.nb_gids; i++) {
		int err = weft_gid(weft, i, entry);

		if (err == -ENODATA)
			continue;
		if (err)
			return err;
		memcpy(gid, entry, sizeof(entry));
		found = (int)i;
		if (memcmp(entry, v4, sizeof(v4)) == 0)
			break;
	}
	return found;
}

/* ---- memory ---- */

struct weft_pd {
	struct weft *weft;
	uint32_t handle;
};

API struct weft_pd *
weft_pd_alloc(struct weft *weft)
{
	struct weft_pd *pd = malloc(sizeof(*pd));
	union ctl_msg msg;
	int err;

	if (!pd)
		return NULL;
	err = ctl_call(weft, CTL_ALLOC_PD, &msg, sizeof(msg.hdr), sizeof(msg.handle), NULL, 0);
	if (err) {
		free(pd);
		return null(err);
	}
	*pd = (struct weft_pd){weft, msg.handle.handle};
	return pd;
}

API int
weft_pd_free(struct weft_pd *pd)
{
	int err = client_gone_ok(ctl_call_handle(pd->weft, CTL_DEALLOC_PD, pd->handle));

	if (!err)
		free(pd);
	return err;
}

API void *
weft_mem_alloc(struct weft *weft, size_t bytes)
{
	void *mem;
	int err = memkind_alloc(weft, bytes, &mem);

	return err ? null(err) : mem;
}

API int
weft_mem_free(struct weft *weft, void *mem)
{
	return memkind_free(weft, mem);
}

API struct weft_mr *
weft_mr_reg(struct weft_pd *pd, void *addr, size_t bytes, unsigned access)
{
	const struct client_region region = {
		.pd = pd->handle,
		.access = access,
		.va = (uintptr_t)addr,
		.length = bytes,
		.iova = (uintptr_t)addr,
	};
	struct weft_mr *mr = malloc(sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = client_mr_init(mr, pd->weft, &region);
	if (err) {
		free(mr);
		return null(err);
	}
	return mr;
}

API int
weft_mr_dereg(struct weft_mr *mr)
{
	int err = client_mr_fini(mr);

	if (!err)
		free(mr);
	return err;
}

API uint32_t
weft_mr_key(const struct weft_mr *mr)
{
	return mr->key;
}

/* ---- completion queues ---- */

API struct weft_channel *
weft_channel_create(struct weft *weft)
{
	struct weft_channel *channel = malloc(sizeof(*channel));
	int err;

	if (!channel)
		return NULL;
	err = client_channel_init(channel, weft);
	if (err) {
		free(channel);
		return null(err);
	}
	return channel;
}

API int
weft_channel_destroy(struct weft_channel *channel)
{
	int err = client_channel_fini(channel);

	if (!err)
		free(channel);
	return err;
}

API int
weft_channel_fd(const struct weft_channel *channel)
{
	return channel->fd;
}

API int
weft_channel_wait(struct weft_channel *channel, struct weft_cq **cq)
{
	return client_channel_next(channel, cq);
}

API struct weft_cq *
weft_cq_create(struct weft *weft, uint32_t depth, struct weft_channel *channel, void *user)
{
	struct weft_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (!cq)
		return NULL;
	cq->obj.user = user;
	err = client_cq_init(cq, weft, depth, channel);
	if (err) {
		free(cq);
		return null(err);
	}
	return cq;
}

API int
weft_cq_destroy(struct weft_cq *cq)
{
	int err = client_cq_fini(cq);

	if (!err)
		free(cq);
	return err;
}

API void *
weft_cq_user(const struct weft_cq *cq)
{
	return cq->obj.user;
}

/* ---- queue pairs ---- */

API struct weft_srq *
weft_srq_create(struct weft_pd *pd, uint32_t max_wr, uint32_t max_sge, void *user)
{
	struct weft_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq)
		return NULL;
	srq->obj.user = user;
	max_sge = max_sge ? max_sge : 1;
	err = client_srq_init(srq, pd->weft, pd->handle, &max_wr, &max_sge);
	if (err) {
		free(srq);
		return null(err);
	}
	return srq;
}

API int
weft_srq_destroy(struct weft_srq *srq)
{
	int err = client_srq_fini(srq);

	if (!err)
		free(srq);
	return err;
}

API int
weft_srq_limit(struct weft_srq *srq, uint32_t limit)
{
	return client_srq_limit(srq, limit);
}

API struct weft_qp *
weft_qp_create(struct weft_pd *pd, const struct weft_qp_init *init)
{
	const struct client_qp_init what = {
		.type = (uint8_t)init->type,
		.pd = pd->handle,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap =
			{
				.max_send_wr = init->max_send,
				.max_recv_wr = init->srq ? 0 : init->max_recv,
				.max_send_sge = init->max_send_sge ? init->max_send_sge : 1,
				.max_recv_sge = init->max_recv_sge ? init->max_recv_sge : 1,
				.max_inline = init->max_inline,
			},
		.sq_sig_all = init->signal_all,
	};
	struct weft_qp *qp;
	int err;

	if (init->type < WEFT_RC || init->type > WEFT_UD || !init->send_cq || !init->recv_cq)
		return null(-EINVAL);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->obj.user = init->user;
	err = client_qp_init(qp, pd->weft, &what);
	if (err) {
		free(qp);
		return null(err);
	}
	return qp;
}

API int
weft_qp_destroy(struct weft_qp *qp)
{
	int err = client_qp_fini(qp);

	if (!err)
		free(qp);
	return err;
}

API uint32_t
weft_qp_num(const struct weft_qp *qp)
{
	return qp->qpn;
}
