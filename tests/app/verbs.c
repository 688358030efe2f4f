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

struct ibv_wc
verbs_good(struct ibv_wc wc)
{
	if (wc.status)
		fprintf(stderr, "request %lu: %s\n", (unsigned long)wc.wr_id,
		        ibv_wc_status_str(wc.status));
	must(wc.status == IBV_WC_SUCCESS);
	return wc;
}
