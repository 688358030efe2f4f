/* SPDX-License-Identifier: BSD-3-Clause */
/* weft.h: QP states and asynchronous events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "client.h"

static_assert(WEFT_RC == (int)SHM_QPT_RC && WEFT_UD == (int)SHM_QPT_UD &&
                      WEFT_REMOTE_ATOMIC == (int)SHM_ACCESS_REMOTE_ATOMIC &&
                      WEFT_EVENT_SRQ_LIMIT == (int)SHM_EVENT_SRQ_LIMIT_REACHED &&
                      WEFT_EVENT_DEVICE_FATAL == (int)CLIENT_EVENT_FATAL &&
                      WEFT_EVENT_LAST_RECV == (int)SHM_EVENT_QP_LAST_WQE_REACHED,
              "public values are the ABI's");

void
api_av(const struct weft_path *path, struct shm_av *av)
{
	*av = (struct shm_av){
		.flow_label = path->flow_label,
		.sgid_index = path->gid_index,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : 64,
	};
	memcpy(av->dgid, path->gid, sizeof(av->dgid));
}

/** Code of a path MTU, 0 if it is none. */
static uint8_t
mtu_code(uint32_t bytes)
{
	for (uint8_t code = SHM_MTU_256; code <= SHM_MTU_4096; code++) {
		if (128u << code == bytes)
			return code;
	}
	return 0;
}

/** Attributes of all steps at once; what each step takes is in its mask. */
static int
fill_attr(struct weft_qp *qp, const struct weft_path *path, unsigned access, uint32_t qkey,
          struct shm_qp_attr *attr)
{
	uint32_t mtu_bytes = path->mtu_bytes;
	struct weft_port port;

	if (mtu_bytes == 0 && qp->type != SHM_QPT_UD) {
		int err = weft_port(qp->weft, &port);

		if (err)
			return err;
		mtu_bytes = port.mtu_bytes;
	}
	*attr = (struct shm_qp_attr){
		.path_mtu = mtu_code(mtu_bytes),
		.port_num = 1,
		.timeout = path->timeout ? path->timeout : 14,
		.retry_cnt = path->retries,
		.rnr_retry = path->rnr_retries,
		.min_rnr_timer = path->min_rnr_timer ? path->min_rnr_timer : 12,
		.max_rd_atomic = path->max_reads ? path->max_reads : WEFT_MAX_RD_ATOMIC,
		.max_dest_rd_atomic = path->max_reads ? path->max_reads : WEFT_MAX_RD_ATOMIC,
		.access = access,
		.qkey = qkey,
		.dest_qpn = path->qpn,
		.rq_psn = path->psn,
		.sq_psn = path->own_psn,
	};
	api_av(path, &attr->av);
	return mtu_bytes && !attr->path_mtu ? -EINVAL : 0;
}

API int
weft_qp_connect(struct weft_qp *qp, const struct weft_path *path, unsigned access, uint32_t qkey)
{
	/* Source: IBA vol. 1, ch. 10.3.1, tables of state changes; ibv_modify_qp(3). */
	static const struct {
		uint8_t state;
		uint32_t mask[5]; /**< by type */
	} steps[] = {
		{SHM_QPS_INIT,
	         {[SHM_QPT_RC] = SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_ACCESS_FLAGS,
	          [SHM_QPT_UC] = SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_ACCESS_FLAGS,
	          [SHM_QPT_UD] = SHM_QP_PKEY_INDEX | SHM_QP_PORT | SHM_QP_QKEY}},
		{SHM_QPS_RTR,
	         {[SHM_QPT_RC] = SHM_QP_AV | SHM_QP_PATH_MTU | SHM_QP_DEST_QPN | SHM_QP_RQ_PSN |
	                         SHM_QP_MAX_DEST_RD_ATOMIC | SHM_QP_MIN_RNR_TIMER,
	          [SHM_QPT_UC] = SHM_QP_AV | SHM_QP_PATH_MTU | SHM_QP_DEST_QPN | SHM_QP_RQ_PSN,
	          [SHM_QPT_UD] = 0}},
		{SHM_QPS_RTS,
	         {[SHM_QPT_RC] = SHM_QP_SQ_PSN | SHM_QP_TIMEOUT | SHM_QP_RETRY_CNT |
	                         SHM_QP_RNR_RETRY | SHM_QP_MAX_QP_RD_ATOMIC,
	          [SHM_QPT_UC] = SHM_QP_SQ_PSN,
	          [SHM_QPT_UD] = SHM_QP_SQ_PSN}},
	};
	struct shm_qp_attr attr;
	int err = fill_attr(qp, path, access, qkey, &attr);

	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(steps[0]); i++) {
		attr.state = steps[i].state;
		err = client_qp_modify(qp, &attr, SHM_QP_STATE | steps[i].mask[qp->type]);
	}
	return err;
}

static int
set_state(struct weft_qp *qp, uint8_t state)
{
	const struct shm_qp_attr attr = {.state = state};

	return client_qp_modify(qp, &attr, SHM_QP_STATE);
}

API int
weft_qp_fail(struct weft_qp *qp)
{
	return set_state(qp, SHM_QPS_ERR);
}

API int
weft_qp_reset(struct weft_qp *qp)
{
	return set_state(qp, SHM_QPS_RESET);
}

API int
weft_qp_error(struct weft_qp *qp, char *text, size_t size)
{
	struct shm_qp_attr attr;
	char reason[WEFT_REASON_LEN];
	int err = client_qp_query(qp, &attr, reason);

	if (!err)
		snprintf(text, size, "%s", reason);
	return err;
}

API int
weft_event_fd(const struct weft *weft)
{
	return weft->events_fd;
}

API int
weft_event_wait(struct weft *weft, struct weft_event *event)
{
	struct client_event got;
	int err = client_event_next(weft, &got);

	if (!err)
		*event = (struct weft_event){(enum weft_event_type)got.type,
		                             got.obj ? got.obj->user : NULL};
	return err;
}
