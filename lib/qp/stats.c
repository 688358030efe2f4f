/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include "nic.h"
#include "qp.h"

/* What a NIC counts, by name. */

#define STAT(member)                                                                               \
	{                                                                                          \
		.name = #member, .offset = offsetof(struct nic_stats, member)                      \
	}
#define BAD(name, why)                                                                             \
	{                                                                                          \
		name, offsetof(struct nic_stats, bad[why])                                         \
	}
#define DROP(name, why)                                                                            \
	{                                                                                          \
		name, offsetof(struct nic_stats, drop[why])                                        \
	}

const struct stat_desc nic_stat_descs[] = {
	STAT(rx_packets),
	STAT(rx_bytes),
	STAT(tx_packets),
	STAT(tx_bytes),
	STAT(rx_write_requests),
	STAT(rx_read_requests),
	STAT(rx_atomic_requests),
	STAT(out_of_sequence),
	STAT(packet_seq_err),
	STAT(duplicate_request),
	STAT(local_ack_timeout_err),
	STAT(implied_nak_seq_err),
	STAT(rnr_nak_retry_err),
	STAT(out_of_buffer),
	STAT(no_memory),
	STAT(retransmits),
	STAT(rx_trimmed),
	STAT(np_cnp_sent),
	STAT(rp_cnp_handled),
	STAT(np_ecn_marked_roce_packets),
	STAT(req_remote_invalid_request),
	STAT(req_remote_access_errors),
	STAT(resp_local_length_error),
	STAT(resp_remote_access_errors),
	STAT(req_cqe_error),
	STAT(req_cqe_flush_error),
	STAT(resp_cqe_error),
	STAT(resp_cqe_flush_error),
	PAUSE_STAT_ROWS(struct nic_stats, pfc),
	BAD("rx_bad_short", WIRE_BAD_SHORT),
	BAD("rx_bad_ip", WIRE_BAD_IP),
	BAD("rx_bad_udp", WIRE_BAD_UDP),
	BAD("rx_bad_opcode", WIRE_BAD_OPCODE),
	BAD("rx_bad_length", WIRE_BAD_LENGTH),
	BAD("rx_bad_field", WIRE_BAD_FIELD),
	BAD("rx_bad_sum", WIRE_BAD_SUM),
	DROP("rx_icrc_encapsulated", DROP_ICRC),
	DROP("drop_not_roce", DROP_NOT_ROCE),
	DROP("drop_no_qp", DROP_NO_QP),
	DROP("drop_qp_type", DROP_QP_TYPE),
	DROP("drop_qp_state", DROP_QP_STATE),
	DROP("drop_address", DROP_ADDRESS),
	DROP("drop_pkey", DROP_PKEY),
	DROP("drop_qkey", DROP_QKEY),
	DROP("drop_no_recv", DROP_NO_RECV),
	DROP("drop_length", DROP_LENGTH),
	DROP("drop_gap", DROP_GAP),
	DROP("drop_stale", DROP_STALE),
	DROP("drop_busy", DROP_BUSY),
	DROP("drop_sequence", DROP_SEQUENCE),
	DROP("drop_memory", DROP_MEMORY),
	DROP("drop_vlan", DROP_VLAN),
	DROP("drop_no_neigh", DROP_NO_NEIGH),
	DROP("drop_link", DROP_LINK),
	DROP("drop_mtu", DROP_MTU),
	DROP("drop_framing", DROP_FRAMING),
	DROP("drop_parts", DROP_PARTS),
	DROP("drop_message", DROP_MESSAGE),
	{NULL},
};

/* ---- counters of engines, which lie in the states of QPs ---- */

static const struct engine_info *
info_of(const struct nic *nic, enum nic_engine which)
{
	switch (which) {
	case NIC_ENGINE_REL:
		return &nic->conf.rel->info;
	case NIC_ENGINE_REL_DGRAM:
		return &nic->conf.rel_dgram->info;
	case NIC_ENGINE_CC:
		return &nic->conf.cc->info;
	case NIC_ENGINE_LB:
		return &nic->conf.lb->info;
	case NIC_ENGINE_NB:
		break;
	}
	assert(!"an engine");
	return NULL;
}

const struct stat_desc *
nic_engine_stat_descs(const struct nic *nic, enum nic_engine which)
{
	return info_of(nic, which)->stats;
}

void
nic_add_engine_stats(const struct qp *qp, uint64_t sums[NIC_ENGINE_NB][NIC_ENGINE_STATS_MAX])
{
	enum nic_engine rel =
		qp->rel_ops == qp->nic->conf.rel ? NIC_ENGINE_REL : NIC_ENGINE_REL_DGRAM;

	stat_add(qp->rel_ops->info.stats, qp->rel, sums[rel]);
	stat_add(qp->cc_ops->info.stats, qp->cc, sums[NIC_ENGINE_CC]);
	stat_add(qp->lb_ops->info.stats, qp->lb, sums[NIC_ENGINE_LB]);
}

void
nic_engine_stats(const struct nic *nic, uint64_t sums[NIC_ENGINE_NB][NIC_ENGINE_STATS_MAX])
{
	const struct qp *qp;
	uint32_t pos = 0;

	memcpy(sums, nic->ended_stats, sizeof(nic->ended_stats));
	while ((qp = keytab_next(&nic->qps, &pos)))
		nic_add_engine_stats(qp, sums);
}

bool
nic_engine_stats_fit(const struct nic *nic)
{
	for (uint32_t which = 0; which < NIC_ENGINE_NB; which++) {
		uint32_t n = 0;

		STAT_FOREACH (d, nic_engine_stat_descs(nic, which))
			n++;
		if (n > NIC_ENGINE_STATS_MAX)
			return false;
	}
	return true;
}
