/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs.h"

#include <string.h>

struct ibv_context *
verbs_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	if (!list)
		return NULL;
	for (struct ibv_device **d = list; *d && !context; d++) {
		if (!name || strcmp(ibv_get_device_name(*d), name) == 0)
			context = ibv_open_device(*d);
	}
	ibv_free_device_list(list);
	return context;
}

void
verbs_to_rts(struct ibv_qp *qp, struct ibv_qp_attr attr)
{
	static const int masks[][3] = {
		[IBV_QPT_RC] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	                        IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	                        IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	                                IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC},
		[IBV_QPT_UC] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	                        IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	                        IBV_QP_SQ_PSN},
		[IBV_QPT_UD] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN},
	};

	for (int i = 0; i < 3; i++) {
		attr.qp_state = IBV_QPS_INIT + i;
		must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | masks[qp->qp_type][i]) == 0);
	}
}

struct ibv_qp *
verbs_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {depth, 1, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	must(qp);
	return qp;
}

void
verbs_connect_rc(struct ibv_qp *qp, uint32_t peer_qpn, const union ibv_gid *peer_gid,
                 uint8_t gid_idx, uint8_t timeout)
{
	const struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer_qpn,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1,
	                    .port_num = 1,
	                    .grh = {.dgid = *peer_gid, .sgid_index = gid_idx, .hop_limit = 64}},
	};

	verbs_to_rts(qp, attr);
}

struct ibv_wc
verbs_good(struct ibv_wc wc)
{
	if (wc.status)
		fprintf(stderr, "request %lu: %s\n", (unsigned long)wc.wr_id,
		        ibv_wc_status_str(wc.status));
	must(wc.status == IBV_WC_SUCCESS);
	return wc;
}
